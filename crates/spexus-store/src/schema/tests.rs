//! Databases of older versions, brought up to date.

use super::*;
use crate::pool::Pool;
use crate::{Location, Store, StoreOptions};
use spexus_domain::change::{FormerHead, FormerRow, Payload};
use std::sync::Arc;
use uuid::Uuid;

const PROJECT: Uuid = Uuid::from_u128(11);

/// A connection on which tables of an older version are being made.
async fn making(version: usize, location: &Location) -> (Pool, Conn) {
    let pool = Pool::for_writing(location, &StoreOptions::default())
        .await
        .unwrap();
    let mut conn = pool.acquire().await.unwrap();
    begin(&mut conn).await.unwrap();
    let found = super::version(&mut conn).await.unwrap();
    for (at, step) in STEPS.iter().enumerate().take(version).skip(found as usize) {
        apply(&mut conn, step, at as i64 + 1).await.unwrap();
    }
    (pool, conn)
}

/// A database as an older program left it, with something in it.
async fn left_by(version: usize, location: &Location) {
    let (pool, mut conn) = making(version.min(BEFORE_LEDGERS), location).await;
    let sql = "INSERT INTO account (id, username, username_folded, role, active, password_hash, rev, created_at, updated_at) \
               VALUES ($1, 'kim', 'kim', 'Administrator', 1, 'x', 1, 7, 7)";
    conn.run(sql, params![Uuid::from_u128(9)]).await.unwrap();
    let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
               VALUES ($1, 'web', 'web', '', '[]', 1, 7, 7)";
    conn.run(sql, params![PROJECT]).await.unwrap();
    let mut head = FormerHead::NONE;
    for project in [None, Some(PROJECT), Some(PROJECT)] {
        head = former_change(&mut conn, head, project).await;
    }
    let sql = "INSERT INTO baseline (id, project_id, name, description, seq, hash, created_by, created_at) \
               VALUES ($1, $2, 'first', '', 3, $3, $4, 7)";
    let (id, user) = (Uuid::from_u128(12), Uuid::from_u128(9));
    conn.run(sql, params![id, PROJECT, head.hash, user])
        .await
        .unwrap();
    former_change(&mut conn, head, None).await;
    former_items::insert(&mut conn, PROJECT).await;
    for (id, at) in [(21, 7), (22, 86_400_000_007_i64), (23, 8)] {
        let sql = "INSERT INTO audit (id, at, event, username, address, client, detail) VALUES ($1, $2, 'login', 'kim', '', '', '')";
        conn.run(sql, params![Uuid::from_u128(id), at]).await.unwrap();
    }
    conn.script("COMMIT").await.unwrap();
    drop(conn);
    pool.close().await;
    if version > BEFORE_LEDGERS {
        let (pool, mut conn) = making(version, location).await;
        conn.script("COMMIT").await.unwrap();
        drop(conn);
        pool.close().await;
    }
}

/// Adds a change as older programs did.
async fn former_change(conn: &mut Conn, head: FormerHead, project_id: Option<Uuid>) -> FormerHead {
    let payload = Payload {
        username: "kim",
        client: "cli",
        label: "a thing",
        before: "{}",
        after: r#"{"name":"thing"}"#,
    };
    let row = FormerRow {
        seq: head.changes + 1,
        at: spexus_domain::Timestamp(7),
        user_id: Uuid::from_u128(9),
        token_id: None,
        project_id,
        entity: "setting",
        entity_id: Uuid::from_u128(10),
        item_id: None,
        other_item_id: None,
        action: "created",
        rev: 1,
        payload,
    };
    let hash = row.hash(&head.hash);
    let sql = "INSERT INTO change (seq, at, user_id, username, client, project_id, entity, entity_id, label, action, rev, \
               before, after, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    let FormerRow { payload, .. } = &row;
    let values = params![
        row.seq,
        row.at,
        row.user_id,
        payload.username,
        payload.client,
        row.project_id,
        row.entity,
        row.entity_id,
        payload.label,
        row.action,
        row.rev,
        payload.before,
        payload.after,
        hash,
    ];
    conn.run(sql, values).await.unwrap();
    FormerHead {
        changes: row.seq,
        hash,
    }
}

async fn open(location: &Location) -> Store {
    let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(8));
    let (store, fresh) = Store::open(location, &StoreOptions::default(), clock)
        .await
        .unwrap();
    assert!(!fresh, "it was not empty");
    store
}

async fn is_kept(version: usize, location: &Location) {
    let store = open(location).await;
    let mut conn = store.read().await.unwrap();
    assert_eq!(super::version(&mut conn).await.unwrap(), VERSION);
    let kim = crate::accounts::by_name(&mut conn, "kim").await.unwrap();
    assert_eq!(kim.unwrap().user.id, Uuid::from_u128(9), "from version {version}");
    // Every table of today is there.
    crate::copy::fingerprint(&mut conn).await.unwrap();
    let verdict = crate::chain::verify(&mut conn).await.unwrap();
    assert_eq!(
        (verdict.fault, verdict.changes),
        (None, 5),
        "and what the upgrade found"
    );
    let all = crate::changes::since(&mut conn, None, 0, 9).await.unwrap();
    let places: Vec<_> = all.iter().map(|change| (change.seq, change.number)).collect();
    assert_eq!(places, [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)]);
    assert_eq!((all[1].project_id, all[1].fields.len()), (Some(PROJECT), 1));
    former_items::are_kept(&mut conn, PROJECT, version).await;
    let state = crate::replay::compare_all(&mut conn, &|_| {}).await.unwrap();
    // What these rows are derived into was never made.
    let is_sealed = |fault: &&crate::state_verdict::StateFault| {
        crate::evidence::sealed().any(|(name, _)| name == fault.entity)
    };
    let differing = state.differences.iter().find(is_sealed);
    assert_eq!(differing, None, "it was sealed as it was");
    let trail = crate::audit_verification::verify(&mut conn).await.unwrap();
    assert_eq!((trail.days, trail.events, trail.faults), (2, 3, vec![]));
    drop(conn);
    store.close().await;
}

/// The last version without ledgers.
const BEFORE_LEDGERS: usize = 10;

/// The last version without members.
const BEFORE_MEMBERS: usize = 9;

async fn members_are_mapped(location: &Location) {
    left_by(BEFORE_MEMBERS, location).await;
    let pool = Pool::for_writing(location, &StoreOptions::default())
        .await
        .unwrap();
    let mut conn = pool.acquire().await.unwrap();
    let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at) \
               VALUES ($1, 'default', 'x', '', '[]', 1, 7, 7)";
    let default = Uuid::from_u128(1);
    conn.run(sql, params![default]).await.unwrap();
    for (id, name, role) in [(13, "sam", "User"), (14, "carl", "Commenter")] {
        let sql = "INSERT INTO account (id, username, username_folded, role, active, password_hash, rev, created_at, \
                   updated_at) VALUES ($1, $2, $2, $3, 1, 'x', 1, 7, 7)";
        conn.run(sql, params![Uuid::from_u128(id), name, role])
            .await
            .unwrap();
    }
    drop(conn);
    pool.close().await;
    let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(8));
    let opened = Store::open(location, &StoreOptions::default(), clock).await;
    let (store, _) = opened.unwrap();
    let mut conn = store.read().await.unwrap();
    for project in [default, PROJECT, former_items::OTHER_PROJECT] {
        let members = crate::members::of_project(&mut conn, project).await;
        let roles: Vec<(String, &str)> = members
            .unwrap()
            .into_iter()
            .map(|member| (member.member, member.role.name()))
            .collect();
        assert_eq!(
            roles,
            [("carl".to_owned(), "commenter"), ("sam".to_owned(), "author")],
            "administrators need no place of their own"
        );
    }
    let open = crate::projects::all(&mut conn).await.unwrap();
    let open: Vec<(&str, &str)> = open
        .iter()
        .map(|project| (project.key.as_str(), project.default_role.name()))
        .collect();
    assert_eq!(open, [("default", "author"), ("other", "none"), ("web", "none")]);
    drop(conn);
    store.close().await;
}

//= specs/spexus-store.md#schema
//= type=test
//# What users and commenters could do in every project they MUST be able to do in each, as authors and commenters, when a database
//# from before there were members is brought up to date.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_worked_everywhere_is_a_member_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    members_are_mapped(&Location::File(folder.path().join("old.db"))).await;
    if let Some(url) = test_support::fresh_database() {
        members_are_mapped(&Location::Server(url)).await;
    }
}

fn some_file() -> (tempfile::TempDir, Location) {
    let folder = tempfile::tempdir().unwrap();
    let file = Location::File(folder.path().join("old.db"));
    (folder, file)
}

/// A place on each engine.
fn places() -> (tempfile::TempDir, Vec<Location>) {
    let (folder, file) = some_file();
    let server = test_support::fresh_database().map(Location::Server);
    (folder, std::iter::once(file).chain(server).collect())
}

//= specs/spexus-store.md#schema
//= type=test
//# A database of an older version MUST keep all it holds when it is brought to this program's version.
//= specs/spexus-store.md#search
//= type=test
//# Where an older version knew words by other rules, the index MUST be written anew when its database is brought to this
//# program's version.
//= specs/spexus-store.md#schema
//= type=test
//# What the history of an older version could not tell MUST be sealed as it stood when its database was brought up to date.
//= specs/spexus-store.md#schema
//= type=test
//# The events of an older version MUST be chained by the days they happened on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_every_older_version_is_brought_up_to_date_with_what_it_holds() {
    for version in 1..VERSION as usize {
        let (_folder, places) = places();
        for place in places {
            left_by(version, &place).await;
            is_kept(version, &place).await;
        }
    }
}

//= specs/spexus-store.md#schema
//= type=test
//# An upgrade that is interrupted at any point MUST leave the database as it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_upgrade_leaves_the_database_as_it_was() {
    let (_folder, places) = places();
    for place in places {
        left_by(4, &place).await;
        for interrupted_behind in 5..=STEPS.len() {
            let (pool, conn) = making(interrupted_behind, &place).await;
            // The process is gone in the middle of it.
            conn.abandon();
            pool.close().await;
            let (pool, mut conn) = making(4, &place).await;
            assert_eq!(super::version(&mut conn).await.unwrap(), 4);
            let rows = conn
                .all("SELECT project_id FROM change", params![])
                .await
                .unwrap();
            assert_eq!(rows.len(), 4, "behind step {interrupted_behind}");
            conn.script("ROLLBACK").await.unwrap();
            drop(conn);
            pool.close().await;
        }
        is_kept(4, &place).await;
    }
}

//= specs/spexus-store.md#schema
//= type=test
//# The former history MUST be verified before it is brought into ledgers, and every ledger MUST begin with its last hash.
//= specs/spexus-store.md#history
//= type=test
//# A fault of the former history that was found when it was brought into ledgers MUST be told by every verification.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_of_the_former_history_is_told_for_good() {
    let (_folder, places) = places();
    for place in places {
        left_by(9, &place).await;
        let (pool, mut conn) = making(9, &place).await;
        conn.script("UPDATE change SET label = 'forged' WHERE seq = 2; COMMIT")
            .await
            .unwrap();
        drop(conn);
        pool.close().await;
        for _ in 0..2 {
            let store = open(&place).await;
            let mut conn = store.read().await.unwrap();
            let fault = crate::chain::verify(&mut conn).await.unwrap().fault.unwrap();
            assert_eq!(fault.seq, 2, "{fault:?}");
            drop(conn);
            store.close().await;
        }
    }
}

/// What is forged after the upgrade is found by the former chain even where all ledgers were computed anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_former_chain_is_still_evidence() {
    let (_folder, places) = places();
    for place in places {
        left_by(9, &place).await;
        let store = open(&place).await;
        let mut conn = store.read().await.unwrap();
        let row = conn
            .one("SELECT changes, head FROM former_history", params![])
            .await
            .unwrap();
        let former = FormerHead {
            changes: row.int("changes").unwrap(),
            hash: row.bytes("head").unwrap().try_into().unwrap(),
        };
        assert_eq!(former.changes, 4);
        let first = crate::ledger_head::LedgerHead::read(&mut conn, PROJECT, 1)
            .await
            .unwrap();
        assert_eq!((first.number, first.hash), (0, former.genesis(PROJECT)));
        drop(conn);
        store.close().await;
    }
}

//= specs/spexus-store.md#schema
//= type=test
//# Before the tables of a database are written anew, a copy of the whole database MUST be made beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_nodes_upgrade_once_and_the_copy_is_the_way_back() {
    for version in [9, 11] {
        nodes_upgrade_and_go_back(version).await;
    }
}

async fn nodes_upgrade_and_go_back(version: usize) {
    let (_folder, places) = places();
    for place in places {
        left_by(version, &place).await;
        let nodes = (0..4).map(|_| {
            let place = place.clone();
            tokio::spawn(async move { open(&place).await })
        });
        for node in futures_util::future::join_all(nodes).await {
            node.unwrap().close().await;
        }
        is_kept(version, &place).await;
        restore(&place).await;
        let (pool, mut conn) = making(version, &place).await;
        assert_eq!(
            super::version(&mut conn).await.unwrap(),
            version as i64,
            "as the older program left it"
        );
        if version > BEFORE_LEDGERS {
            let rewritten = conn.script("UPDATE change SET label = 'forged'").await;
            assert!(
                rewritten.is_err(),
                "what keeps the history is in the copy as well"
            );
        }
        conn.script("ROLLBACK").await.unwrap();
        drop(conn);
        pool.close().await;
        is_kept(version, &place).await;
    }
}

/// Puts the copy in the place of the database, as `docs/operate.md` has it.
async fn restore(place: &Location) {
    match place {
        Location::File(path) => {
            for suffix in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
            }
            std::fs::rename(format!("{}.before-v{REWRITTEN_SINCE}", path.display()), path).unwrap();
        }
        Location::Server(_) => {
            let pool = Pool::for_writing(place, &StoreOptions::default()).await.unwrap();
            let mut conn = pool.acquire().await.unwrap();
            let schema = format!("spexus_before_v{REWRITTEN_SINCE}");
            conn.script(format!(
                "ALTER SCHEMA public RENAME TO spexus_after; ALTER SCHEMA {schema} RENAME TO public"
            ))
            .await
            .unwrap();
            drop(conn);
            pool.close().await;
        }
    }
}
