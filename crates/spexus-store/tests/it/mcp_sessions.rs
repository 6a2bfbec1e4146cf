//! Sessions of MCP clients: kept, bounded, ended once, and seen by other nodes.

use crate::world::{World, both};
use spexus_domain::{Timestamp, Uuid};
use spexus_store::Store;
use spexus_store::mcp_sessions::{self, SessionLimits, StoredSession};
use std::time::Duration;

both![
    what_was_asked_for_is_not_undone_by_what_was_read,
    a_session_is_kept_and_ends_once,
    an_owner_has_so_many_and_no_more,
    what_was_not_seen_for_long_is_forgotten,
    other_nodes_are_woken_and_find_what_was_written,
    sessions_end_with_their_token,
];

const LIMITS: SessionLimits = SessionLimits {
    max_idle_ms: 60_000,
    max_per_owner: 3,
};
const HERE: Uuid = Uuid::from_u128(1);
const THERE: Uuid = Uuid::from_u128(2);

fn session(store: &Store, id: &str, owner: u128) -> StoredSession {
    StoredSession {
        id: id.into(),
        owner: Uuid::from_u128(owner),
        state: "{}".into(),
        unread: "[]".into(),
        mark: 7,
        seen_at: store.now(),
        rev: 0,
    }
}

/// As it is read, whatever its number.
async fn plain(world: &World, id: &str) -> Option<StoredSession> {
    let found = get(world, id).await?;
    Some(StoredSession { rev: 0, ..found })
}

async fn open(world: &World, session: StoredSession) -> Vec<String> {
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { mcp_sessions::open(tx, &session, HERE, LIMITS).await })
    });
    job.await.unwrap().1
}

async fn put(world: &World, session: StoredSession, node: Uuid) -> i64 {
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { mcp_sessions::put(tx, &session, node).await })
    });
    job.await.unwrap()
}

async fn end(world: &World, id: &'static str) -> Option<i64> {
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { mcp_sessions::end(tx, id, HERE).await })
    });
    job.await.unwrap()
}

async fn get(world: &World, id: &str) -> Option<StoredSession> {
    let now = world.store.now();
    mcp_sessions::get(&mut world.read().await, id, now, LIMITS)
        .await
        .unwrap()
}

//= specs/spexus-store.md#sessions
//= type=test
//# A session that ended MUST NOT come back by a later write.
async fn a_session_is_kept_and_ends_once(world: World) {
    let first = session(&world.store, "a", 1);
    assert_eq!(open(&world, first.clone()).await, [""; 0]);
    assert_eq!(plain(&world, "a").await, Some(first.clone()));
    let later = StoredSession {
        state: r#"{"watched":["epic://EP-001"]}"#.into(),
        unread: r#"["news \u0000 от Анны"]"#.into(),
        mark: 9,
        seen_at: Timestamp(first.seen_at.0 - 5),
        ..first.clone()
    };
    put(&world, later.clone(), HERE).await;
    let seen_at = first.seen_at;
    assert_eq!(
        plain(&world, "a").await,
        Some(StoredSession {
            seen_at,
            ..later.clone()
        }),
        "the later sight counts"
    );
    assert!(end(&world, "a").await.is_some());
    assert_eq!(end(&world, "a").await, None, "it ends once");
    put(&world, later, HERE).await;
    assert_eq!(get(&world, "a").await, None);
    assert_eq!(get(&world, "' OR 1=1 --").await, None);
}

//= specs/spexus-store.md#sessions
//= type=test
//# An owner MUST NOT have more sessions than the limit; those unseen for longest MUST end.
async fn an_owner_has_so_many_and_no_more(world: World) {
    for id in ["a", "b", "c"] {
        open(&world, session(&world.store, id, 1)).await;
    }
    open(&world, session(&world.store, "other", 2)).await;
    put(&world, session(&world.store, "a", 1), HERE).await;
    assert_eq!(open(&world, session(&world.store, "d", 1)).await, ["b"]);
    let mut alive = Vec::new();
    for id in ["a", "b", "c", "d", "other"] {
        alive.extend(get(&world, id).await.map(|found| found.id));
    }
    assert_eq!(alive, ["a", "c", "d", "other"]);
}

//= specs/spexus-store.md#sessions
//= type=test
//# A session that was not seen for the idle time MUST be forgotten.
async fn what_was_not_seen_for_long_is_forgotten(world: World) {
    let idle = |ms: i64| Timestamp(world.store.now().0 - ms * 1_000);
    let old = StoredSession {
        seen_at: idle(60_001),
        ..session(&world.store, "old", 1)
    };
    let young = StoredSession {
        seen_at: idle(59_000),
        ..session(&world.store, "young", 1)
    };
    put(&world, old, HERE).await;
    put(&world, young, HERE).await;
    assert_eq!(get(&world, "old").await, None);
    assert!(get(&world, "young").await.is_some());
    assert_eq!(world.place.number("SELECT count(*) FROM mcp_session").await, 2);
    open(&world, session(&world.store, "new", 2)).await;
    assert_eq!(
        world.place.number("SELECT count(*) FROM mcp_session").await,
        2,
        "the next one that is opened sweeps"
    );
}

//= specs/spexus-store.md#sessions
//= type=test
//# A write to a session by another process MUST wake those who follow sessions.
async fn other_nodes_are_woken_and_find_what_was_written(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let mut following = other.follow_sessions();
    let rev = put(&world, session(&world.store, "a", 1), THERE).await;
    let woken = tokio::time::timeout(Duration::from_secs(30), following.wait_for(|last| *last >= rev));
    woken.await.expect("woken").unwrap();
    let mut conn = other.read().await.unwrap();
    let found = mcp_sessions::written_since(&mut conn, rev - 1, HERE, 10)
        .await
        .unwrap();
    assert_eq!(
        (found[0].id.as_str(), found[0].state.as_deref()),
        ("a", Some("{}"))
    );
    let own = mcp_sessions::written_since(&mut conn, rev - 1, THERE, 10)
        .await
        .unwrap();
    assert_eq!(own, [], "one's own writes are no news");
    let ended = end(&world, "a").await.unwrap();
    let found = mcp_sessions::written_since(&mut conn, rev, THERE, 10)
        .await
        .unwrap();
    assert_eq!((found[0].rev, &found[0].state), (ended, &None));
    assert_eq!(mcp_sessions::last_rev(&mut conn).await.unwrap(), ended);
}

//= specs/spexus-store.md#sessions
//= type=test
//# The sessions of a token MUST end with it.
async fn sessions_end_with_their_token(world: World) {
    open(&world, session(&world.store, "a", 1)).await;
    open(&world, session(&world.store, "b", 2)).await;
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move { spexus_store::tokens::remove(tx, Uuid::from_u128(1)).await })
    });
    job.await.unwrap();
    assert_eq!(get(&world, "a").await, None);
    assert!(get(&world, "b").await.is_some());
}

/// A node that has not heard of what another was asked for writes what its client read, and leaves the rest.
async fn what_was_asked_for_is_not_undone_by_what_was_read(world: World) {
    let stale = session(&world.store, "a", 1);
    open(&world, stale.clone()).await;
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move {
            assert_eq!(mcp_sessions::state(tx, "a").await?.as_deref(), Some("{}"));
            assert_eq!(mcp_sessions::state(tx, "b").await?, None);
            mcp_sessions::set_state(tx, "a", "asked", THERE).await
        })
    });
    let rev = job.await.unwrap();
    let read = StoredSession {
        unread: "read".into(),
        mark: 8,
        ..stale
    };
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move { mcp_sessions::save(tx, &read, HERE).await })
    });
    job.await.unwrap();
    let found = get(&world, "a").await.unwrap();
    assert_eq!((found.state.as_str(), found.unread.as_str()), ("asked", "read"));
    assert_eq!((found.mark, found.rev), (8, rev));
}
