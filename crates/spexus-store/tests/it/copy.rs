//! Copies: everything arrives, in all four directions, and a difference does not go unnoticed.

use crate::world::{Place, World, actor_of, both, create_in, make, pointer, refused, review_of};
use spexus_domain::account::{Scope, Token, User};
use spexus_domain::lease::Lease;
use spexus_domain::member::{Group, ProjectRole};
use spexus_domain::saved_view::{SavedView, ViewPage};
use spexus_domain::{Code, Kind, Timestamp, Uuid};
use spexus_store::copy::{CopiedTable, copy, fingerprint};
use spexus_store::{
    Error, Location, Store, Tx, accounts, audit, backup, baselines, chain, groups, idempotency, leases,
    mcp_sessions, members, reviews, saved_views, settings, tokens,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

both![
    everything_arrives_in_the_same_engine,
    everything_arrives_in_the_other_engine,
    a_table_longer_than_a_page_arrives,
    a_target_that_is_not_empty_is_refused,
    a_row_that_changes_on_the_way_is_noticed,
    a_change_in_any_table_changes_the_fingerprint,
    a_source_can_be_read_and_written_after_a_copy,
    a_backup_holds_what_there_was,
    a_backup_is_whole_while_writes_go_on,
    a_backup_replaces_nothing,
    a_backup_is_for_its_owner_only,
    a_backup_into_a_folder_that_is_missing_is_told_so,
];

/// One row at least in every table, with pointers that lead to rows with larger ids.
async fn furnish_richly(world: &World) {
    let epic = world.epic("Войти в систему").await;
    let mut story = world.draft(Kind::UserStory, "by password").under(&epic);
    story.id = Some(Uuid::from_u128(1));
    let story = world.create(story).await;
    let criterion = world.criterion(&story, "'quoted' \"text\" \\ with 🎄").await;
    let mut requirement = world.draft(Kind::Requirement, "hash it").under(&story);
    requirement.id = Some(Uuid::from_u128(2));
    requirement.criterion = Some(pointer(&criterion));
    let requirement = world.create(requirement).await;
    let later = world.epic("later").await;
    let target = pointer(&later);
    world.edit(&story, move |item| item.parent = Some(target)).await;
    world.link("depends_on", &epic, &later).await.unwrap();
    let comment = world.comment(&epic, "first").await;
    let mut reply = world.reply(&epic, Some(&comment), "second").await;
    reply.id = Uuid::from_u128(3);
    world.add_comment(reply).await;
    let gone = world.requirement(&story, "gone").await;
    world.delete(&[&gone]).await;
    world
        .edit(&requirement, |item| item.description = "changed".into())
        .await;
    let (user, project) = (world.user.clone(), world.project.id);
    let held = Lease {
        item: epic.reference_id.clone(),
        item_id: epic.id,
        project: epic.project.clone(),
        project_id: project,
        user_id: user.id,
        token_id: None,
        holder: user.username.clone(),
        intent: "To look at it".into(),
        since: Timestamp(1),
        until: Timestamp(i64::MAX),
    };
    let view = SavedView {
        id: Uuid::from_u128(5),
        project: epic.project.clone(),
        name: "Drafts".into(),
        page: ViewPage::Table,
        query: "status=Draft".into(),
        shared: true,
        owner: user.username.clone(),
        owner_id: user.id,
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    };
    let review = review_of(epic.id, user.id);
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let id = tx.new_id();
                baselines::insert(tx, id, project, "release", "").await?;
                leases::put(tx, &held).await?;
                saved_views::put(tx, project, &view).await?;
                reviews::put(tx, project, &review, true).await?;
                settings::put_secret(tx, "key", [7; 32]).await?;
                let session = accounts::Session {
                    id: tx.new_id(),
                    user_id: user.id,
                    expires_at: tx.now().plus_seconds(60),
                };
                accounts::open_session(tx, &session, [1; 32]).await?;
                let token = Token {
                    id: tx.new_id(),
                    user: user.username.clone(),
                    name: "laptop".into(),
                    scopes: vec![Scope::Read],
                    project: None,
                    project_id: None,
                    agent: false,
                    expires_at: None,
                    last_used_at: None,
                    created_at: tx.now(),
                };
                tokens::insert(tx, &token, user.id, Some(project), [2; 32]).await?;
                idempotency::remember(tx, "once", [3; 32], "{}").await?;
                let event = spexus_domain::audit::AuditEvent {
                    id: tx.new_id(),
                    at: tx.now(),
                    event: "login".into(),
                    username: user.username.clone(),
                    token_id: Some(token.id),
                    address: "::1".into(),
                    client: "test".into(),
                    detail: String::new(),
                    target_id: None,
                    target: String::new(),
                    times: 1,
                };
                audit::insert(tx, &[event]).await?;
                let now = tx.now();
                spexus_store::logins::fail(tx, [4; 32], now).await?;
                spexus_store::logins::remember(tx, user.id, "192.0.2.7").await?;
                let session = mcp_sessions::StoredSession {
                    id: "kept".into(),
                    owner: token.id,
                    state: "{}".into(),
                    unread: "[]".into(),
                    mark: 1,
                    seen_at: tx.now(),
                    rev: 0,
                };
                mcp_sessions::put(tx, &session, Uuid::from_u128(1)).await?;
                let root = spexus_domain::root::AddedRoot {
                    uri: "file:///srv/specs".into(),
                    name: "specs".into(),
                    description: String::new(),
                };
                spexus_store::roots::put(tx, &root, user.id).await?;
                let app = spexus_domain::app::InstalledApp {
                    name: "linter".into(),
                    installation: "1".into(),
                    version: "1.0.0".into(),
                    source: "bundle".into(),
                    installed_at: tx.now(),
                };
                spexus_store::apps::put(tx, &app, user.id).await?;
                crate::world::push_evidence(tx, project, Uuid::from_u128(2)).await?;
                belong(tx, project, &user).await?;
                crate::prompts::insert(tx, "analyst", true).await.map(drop)
            })
        })
        .await
        .unwrap();
}

/// A member, a group that is one, and a service account that stands before its owner.
async fn belong(tx: &mut Tx, project: Uuid, user: &User) -> spexus_store::Result<()> {
    let robot = User {
        id: Uuid::from_u128(4),
        owner: Some(user.username.clone()),
        owner_id: Some(user.id),
        ..crate::world::user("robot")
    };
    accounts::insert(tx, &robot, "-").await?;
    let group = Group {
        id: tx.new_id(),
        name: "backend".into(),
        users: vec![],
        rev: 1,
        created_at: tx.now(),
    };
    groups::insert(tx, &group).await?;
    groups::add(tx, group.id, robot.id).await?;
    members::put(tx, project, robot.id, ProjectRole::Author).await?;
    members::put_group(tx, project, group.id, ProjectRole::Reader).await
}

async fn prints(store: &Store) -> Vec<CopiedTable> {
    fingerprint(&mut store.read().await.unwrap()).await.unwrap()
}

//= specs/spexus-store.md#copies
//= type=test
//# A copy MUST hold every row of every table, also those that point to rows with larger ids.
async fn everything_arrives(world: World, target: Place) {
    // As if there had been a history before there were ledgers, of no change.
    let nothing = "0".repeat(64);
    let nothing = match world.is_sqlite() {
        true => format!("x'{nothing}'"),
        false => format!("'\\x{nothing}'"),
    };
    let former = format!(
        "INSERT INTO former_history (changes, head, fault_seq, fault) VALUES (0, {nothing}, NULL, '')"
    );
    world.place.meddle(&former).await;
    // And a ledger that began elsewhere, and came here before its first change.
    let ledger = match world.is_sqlite() {
        true => format!("x'{}'", Uuid::from_u128(77).simple()),
        false => format!("'{}'", Uuid::from_u128(77)),
    };
    let origin = format!(
        "INSERT INTO ledger_origin (ledger, installation, former_changes, former_head, number, hash, arrived_at) \
         VALUES ({ledger}, 'elsewhere', 0, {nothing}, 0, {nothing}, 1)"
    );
    world.place.meddle(&origin).await;
    let dropped = format!(
        "INSERT INTO dropped_segment (ledger, number, seq, hash, at, dropped_at) VALUES ({ledger}, 1, 1, {nothing}, 1, 1)"
    );
    world.place.meddle(&dropped).await;
    furnish_richly(&world).await;
    let (store, _) = target.open().await.unwrap();
    let copied = copy(&world.store, &store, |_, _| {}).await.unwrap();
    assert!(
        copied.tables.iter().all(|table| table.rows > 0),
        "every table was tried: {copied:?}"
    );
    assert_eq!(prints(&store).await, prints(&world.store).await);
    assert_eq!(prints(&store).await, copied.tables);
    let there = World::again(store, target).await;
    there.chain_is_whole().await;
    for text in ["войти", "first", "hash", "gone"] {
        assert_eq!(there.finds(text).await, world.finds(text).await, "{text}");
    }
    let next = there.epic("life goes on").await;
    assert_eq!(next.reference_id.to_string(), "EP-003");
    there.chain_is_whole().await;
}

async fn everything_arrives_in_the_same_engine(world: World) {
    let target = world.place.another();
    everything_arrives(world, target).await;
}

async fn everything_arrives_in_the_other_engine(world: World) {
    let other = match world.place.location {
        Location::File(_) => Place::postgres(),
        Location::Server(_) => Some(Place::sqlite()),
    };
    if let Some(target) = other {
        everything_arrives(world, target).await;
    }
}

async fn a_table_longer_than_a_page_arrives(world: World) {
    let draft = world.draft(Kind::Epic, "one of many");
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                for _ in 0..1_001 {
                    make(tx, &draft).await?;
                }
                Ok(())
            })
        })
        .await
        .unwrap();
    let target = world.place.another();
    let (store, _) = target.open().await.unwrap();
    let steps = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = steps.clone();
    copy(&world.store, &store, move |table, rows| {
        heard.lock().unwrap().push((table, rows));
    })
    .await
    .unwrap();
    assert_eq!(prints(&store).await, prints(&world.store).await);
    let steps = steps.lock().unwrap();
    assert!(steps.contains(&("item", 1_000)) && steps.contains(&("item", 1_001)));
}

//= specs/spexus-store.md#copies
//= type=test
//# A database that is not empty MUST be refused as the target of a copy.
async fn a_target_that_is_not_empty_is_refused(world: World) {
    let target = World::at(world.place.another()).await;
    let answer = copy(&world.store, &target.store, |_, _| {}).await;
    assert_eq!(refused(answer), Code::RuleViolated);
    let kept = accounts::by_id(&mut target.read().await, target.user.id).await;
    assert!(kept.unwrap().is_some(), "it is as it was");
}

//= specs/spexus-store.md#copies
//= type=test
//# A copy MUST fail and leave nothing behind when the target differs from the source.
async fn a_row_that_changes_on_the_way_is_noticed(world: World) {
    world.epic("as it was").await;
    let target = world.place.another();
    let (store, _) = target.open().await.unwrap();
    let garble = if world.is_sqlite() {
        "CREATE TRIGGER garble AFTER INSERT ON item BEGIN UPDATE item SET title = 'other' WHERE id = NEW.id; END"
    } else {
        "CREATE FUNCTION garble() RETURNS trigger AS 'BEGIN NEW.title := ''other''; RETURN NEW; END' LANGUAGE plpgsql; \
         CREATE TRIGGER garble BEFORE INSERT ON item FOR EACH ROW EXECUTE FUNCTION garble()"
    };
    target.meddle(garble).await;
    let answer = copy(&world.store, &store, |_, _| {}).await;
    assert!(
        matches!(&answer, Err(Error::Broken(why)) if why.contains("table item")),
        "{answer:?}"
    );
    assert_eq!(
        target.number("SELECT count(*) FROM account").await,
        0,
        "nothing is kept"
    );
}

async fn a_change_in_any_table_changes_the_fingerprint(world: World) {
    furnish_richly(&world).await;
    world.place.drop_triggers().await;
    let before = prints(&world.store).await;
    for (table, meddling) in [
        ("item", "UPDATE item SET title = title || ' '"),
        ("comment", "UPDATE comment SET resolved = 1"),
        (
            "item",
            "UPDATE item SET deletion_id = id WHERE deletion_id IS NULL",
        ),
        ("token", "UPDATE token SET last_used_at = 0"),
        ("change", "UPDATE change SET client = ''"),
        ("secret", "DELETE FROM secret"),
    ] {
        let earlier = prints(&world.store).await;
        world.place.meddle(meddling).await;
        let later = prints(&world.store).await;
        let differ: Vec<&str> = earlier
            .iter()
            .zip(&later)
            .filter(|(a, b)| a != b)
            .map(|(a, _)| a.name)
            .collect();
        assert_eq!(differ, [table], "{meddling}");
    }
    assert_ne!(before, prints(&world.store).await);
}

/// A copy reads in one long view of its source; that view must end with it, also when the copy fails.
async fn a_source_can_be_read_and_written_after_a_copy(world: World) {
    let full = World::at(world.place.another()).await;
    copy(&world.store, &full.store, |_, _| {}).await.unwrap_err();
    let empty = world.place.another();
    let (store, _) = empty.open().await.unwrap();
    copy(&world.store, &store, |_, _| {}).await.unwrap();
    let made = world.epic("after").await;
    // More readers than there are connections: each of these sees the present.
    let mut readers = Vec::new();
    for _ in 0..4 {
        readers.push(world.read().await);
    }
    for conn in &mut readers {
        let found = spexus_store::items::by_id(conn, made.id).await.unwrap();
        assert!(found.is_some(), "a reader still lives in the past");
    }
}

async fn opened(file: &Path) -> World {
    let place = Place::of(Location::File(file.to_owned()));
    let (store, fresh) = place.open().await.unwrap();
    assert!(!fresh);
    World::again(store, place).await
}

async fn a_backup_holds_what_there_was(world: World) {
    furnish_richly(&world).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let held = backup::backup(&world.store, &file).await.unwrap();
    assert_eq!(held.tables, prints(&world.store).await);
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["backup.db"], "one file and nothing beside it");
    let copy = opened(&file).await;
    copy.chain_is_whole().await;
    assert_eq!(copy.finds("войти").await, ["EP-001"]);
}

//= specs/spexus-store.md#copies
//= type=test
//# A backup MUST be whole while writes go on.
async fn a_backup_is_whole_while_writes_go_on(world: World) {
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (store, user, stop) = (world.store.clone(), world.user.clone(), stop.clone());
        let draft = world.draft(Kind::Epic, "and another");
        async move {
            let mut made = 0_i64;
            while !stop.load(Ordering::Relaxed) {
                create_in(&store, actor_of(&user), draft.clone()).await.unwrap();
                made += 1;
            }
            made
        }
    });
    let folder = tempfile::tempdir().unwrap();
    for at in 0..3 {
        let before = world.place.number("SELECT count(*) FROM item").await;
        let file = folder.path().join(format!("{at}.db"));
        backup::backup(&world.store, &file).await.unwrap();
        let copy = opened(&file).await;
        let verdict = chain::verify(&mut copy.read().await).await.unwrap();
        assert_eq!(verdict.fault, None);
        assert!(verdict.changes >= before, "what was there when it began is in it");
        assert_eq!(
            copy.finds("another").await.len().min(50),
            verdict.changes.min(50) as usize
        );
    }
    stop.store(true, Ordering::Relaxed);
    let made = writing.await.unwrap();
    assert_eq!(world.place.number("SELECT count(*) FROM item").await, made);
}

async fn a_backup_replaces_nothing(world: World) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    std::fs::write(&file, "precious").unwrap();
    assert_eq!(
        refused(backup::backup(&world.store, &file).await),
        Code::RuleViolated
    );
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    let nowhere = backup::backup(&world.store, Path::new("/nowhere/at/all.db")).await;
    assert_eq!(refused(nowhere), Code::InvalidParams);
}

//= specs/spexus-store.md#copies
//= type=test
//# A backup MUST be readable by its owner only.
//= specs/spexus-store.md#copies
//= type=test
//# A backup MUST be on the disk, under its name, when it is told to be done.
async fn a_backup_is_for_its_owner_only(world: World) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    backup::backup(&world.store, &file).await.unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "it holds password hashes and the key of the tokens"
    );
    let found: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(found.len(), 1, "one file, under its name");
}

async fn a_backup_into_a_folder_that_is_missing_is_told_so(world: World) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing").join("backup.db");
    let Err(Error::Refused(refusal)) = backup::backup(&world.store, &file).await else {
        panic!("it cannot be there");
    };
    assert_eq!(refusal.code, Code::InvalidParams);
    assert_eq!(refusal.faults[0].field, "file");
    assert!(refusal.message.contains("missing"), "{}", refusal.message);
}
