//! What becomes of a statement that takes too long, or that nobody waits for any more, on both engines.

use crate::engine::{Conn, params};
use crate::{Location, Result, Store, StoreOptions};
use refusal::Code;
use std::sync::Arc;
use std::time::Duration;

/// Takes longer than anybody will wait, and not much memory.
const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n";

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);

async fn open(location: &Location, options: &StoreOptions) -> Store {
    let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(0));
    Store::open(location, options, clock).await.unwrap().0
}

/// The same on a file and on a server.
async fn on_both(story: impl AsyncFn(&Location)) {
    let folder = tempfile::tempdir().unwrap();
    story(&Location::File(folder.path().join("interrupts.db"))).await;
    if let Some(url) = test_support::fresh_database() {
        story(&Location::Server(url)).await;
    }
}

async fn endless(conn: &mut Conn) -> Result<i64> {
    conn.all(ENDLESS, params![]).await?.remove(0).int("n")
}

async fn one(conn: &mut Conn) -> i64 {
    conn.one("SELECT count(*) AS n FROM schema_version", params![])
        .await
        .unwrap()
        .int("n")
        .unwrap()
}

//= specs/spexus-store.md#time
//= type=test
//# A statement that takes longer than its limit MUST be interrupted and refused with TIMEOUT.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_interrupted() {
    on_both(async |location| {
        let options = StoreOptions {
            max_statement_ms: 200,
            ..StoreOptions::default()
        };
        let store = open(location, &options).await;
        let mut conn = store.read().await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, endless(&mut conn)).await;
        let refusal = ended.expect("it ends").unwrap_err().into_refusal();
        assert_eq!(refusal.code, Code::Timeout, "{refusal:?}");
        assert_eq!(one(&mut conn).await, 1, "the connection is as good as before");
    })
    .await;
}

//= specs/spexus-store.md#time
//= type=test
//# A statement that nobody waits for any more MUST be interrupted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_whose_caller_left_is_interrupted_and_its_connection_is_free() {
    on_both(async |location| {
        let options = StoreOptions {
            max_read_connections: 1,
            max_statement_ms: 0,
            ..StoreOptions::default()
        };
        let store = open(location, &options).await;
        for _ in 0..3 {
            let mut conn = store.read().await.unwrap();
            let waited = tokio::time::timeout(Duration::from_millis(200), endless(&mut conn)).await;
            assert!(waited.is_err(), "nobody waits for the end of it");
            drop(conn);
            let mut next = store.read().await.expect("the only connection is free");
            assert_eq!(one(&mut next).await, 1);
        }
        if let Location::Server(_) = location {
            tokio::time::timeout(PATIENCE, until_nothing_runs(&store))
                .await
                .expect("the server stops what nobody waits for");
        }
    })
    .await;
}

async fn until_nothing_runs(store: &Store) {
    let sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
               AND query LIKE 'WITH RECURSIVE n%'";
    loop {
        let mut conn = store.read().await.unwrap();
        if conn.one(sql, params![]).await.unwrap().int("n").unwrap() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What was interrupted for one must not end what the next does with the same connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_gets_the_connection_next_is_not_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        max_read_connections: 1,
        ..StoreOptions::default()
    };
    let store = open(&Location::File(folder.path().join("next.db")), &options).await;
    let long = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) AS n FROM n";
    for _ in 0..3 {
        let mut conn = store.read().await.unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(60), endless(&mut conn)).await;
        drop(conn);
        let mut next = store.read().await.unwrap();
        let counted = next.all(long, params![]).await.unwrap();
        assert_eq!(counted[0].int("n").unwrap(), 300_000);
    }
}

/// A statement in a transaction of many steps ends with it, and the writer is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_read_inside_a_transaction_ends_with_it() {
    on_both(async |location| {
        let options = StoreOptions {
            max_transaction_ms: 300,
            ..StoreOptions::default()
        };
        let store = open(location, &options).await;
        let actor = crate::Actor {
            user_id: uuid::Uuid::nil(),
            username: String::new(),
            token_id: None,
            client: String::new(),
        };
        let held = store.together(actor.clone(), true, async |inside| {
            endless(&mut inside.read().await?).await
        });
        let held = tokio::time::timeout(PATIENCE, held).await.expect("it ends");
        assert_eq!(held.unwrap_err().into_refusal().code, Code::Timeout);
        let next = store.write(actor, |tx| Box::pin(async move { Ok(tx.seq()) }));
        let next = tokio::time::timeout(PATIENCE, next)
            .await
            .expect("the writer is free");
        assert_eq!(next.unwrap(), 0);
    })
    .await;
}
