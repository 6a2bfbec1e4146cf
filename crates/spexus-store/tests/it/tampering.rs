//! An auditor's exam: whatever is done by SQL to any row of any table is found with a checkpoint that was kept elsewhere, or the
//! table is no evidence, for a reason that is written down.

use crate::world::{World, actor_of, both, furnish, project, push_evidence, review_of, user};
use serde_json::json;
use spexus_domain::audit::AuditEvent;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::checkpoint::Checkpoint;
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::item::Item;
use spexus_domain::link::LinkType;
use spexus_domain::member::{Group, ProjectRole};
use spexus_domain::prompt::{self, Prompt};
use spexus_domain::{Reference, Uuid, told};
use spexus_store::chain::Verdict;
use spexus_store::evidence::{EVIDENCE, Evidence};
use spexus_store::verification::Effort;
use spexus_store::{
    Tx, accounts, apps, audit, audit_days, baselines, checkpoints, comments, groups, items, links, members,
    prompts, reviews, roots, segments, settings, tokens, verification,
};
use std::sync::Arc;

both![
    every_column_of_every_row_is_evidence,
    what_retention_left_is_evidence_column_by_column,
    every_row_that_is_removed_or_added_is_found,
    what_was_met_altered_is_found_although_it_was_changed_rightly_afterwards,
    siblings_that_are_numbered_anew_are_told,
];

/// A small generator, so that every run tries the same.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::try_from(bound.max(1)).unwrap()) as i64
    }
}

/// A database with something in every table, all of it in the history, and a checkpoint of it.
struct Exam {
    world: World,
    kept: Checkpoint,
}

impl Exam {
    async fn begin(empty: &World) -> Self {
        Self::begin_with(empty, false).await
    }

    /// The same where the first part of the history was dropped by retention.
    async fn begin_behind_what_was_dropped(empty: &World) -> Self {
        Self::begin_with(empty, true).await
    }

    async fn begin_with(empty: &World, is_dropped: bool) -> Self {
        let place = empty.place.another();
        let (store, _) = place.open().await.unwrap();
        let (kim, home) = (user("kim"), project("default"));
        let world = World {
            store,
            user: kim,
            project: home,
            place,
        };
        install(&world).await;
        let (story, requirement) = work(&world).await;
        if is_dropped {
            drop_segment(&world).await;
            world.edit(&story, |item| item.title = "Known again".into()).await;
            world
                .edit(&requirement, |item| {
                    item.description = "Longer than what is kept as it is. ".repeat(4)
                })
                .await;
        }
        people(&world, requirement.id).await;
        let job = world.store.write(world.actor(), |tx| {
            Box::pin(async move {
                audit_days::seal_finished(tx).await?;
                checkpoints::take(tx, "a key").await
            })
        });
        let kept = job.await.unwrap();
        let exam = Self { world, kept };
        assert_eq!(exam.faults().await, Vec::<String>::new());
        exam.world.place.drop_triggers().await;
        exam
    }

    async fn verified(&self, effort: Effort) -> Verdict {
        let (store, owner, nobody) = (&self.world.store, self.world.user.id, Arc::new(|_| {}));
        verification::verify_with(store, owner, vec![self.kept.clone()], nobody, effort)
            .await
            .unwrap()
    }

    /// What verification says against everything, the same in one part as in many.
    //= specs/spexus-store.md#history
    //= type=test
    //# Verification in several parts at once MUST find the same as in one.
    async fn faults(&self) -> Vec<String> {
        let verdict = self.verified(Effort::SEQUENTIAL).await;
        let at_once = Effort {
            connections: 2,
            piece_changes: 4,
            ranges: 3,
        };
        let in_parts = self.verified(at_once).await;
        assert_eq!(
            serde_json::to_string(&in_parts).unwrap(),
            serde_json::to_string(&verdict).unwrap(),
            "in parts as in one"
        );
        let mut faults: Vec<String> = verdict.fault.iter().map(|fault| format!("{fault:?}")).collect();
        let state = verdict.state.as_ref().unwrap();
        faults.extend(state.differences.iter().map(|fault| format!("{fault:?}")));
        faults.extend(
            verdict
                .trail
                .as_ref()
                .unwrap()
                .faults
                .iter()
                .map(|fault| format!("{fault:?}")),
        );
        assert_eq!(faults.is_empty(), verdict.is_whole());
        faults
    }

    /// Keeps a table aside, so that it can be put back.
    async fn keep(&self, table: &str) {
        let sql = format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}");
        self.world.place.meddle(&sql).await;
    }

    async fn put_back(&self, table: &str) {
        let sql = format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM kept_{table}");
        self.meddle(&sql).await.unwrap();
    }

    /// Does something with whatever guards the tables out of the way.
    async fn meddle(&self, sql: &str) -> Result<(), String> {
        let unguarded = match self.world.is_sqlite() {
            true => format!("PRAGMA foreign_keys = OFF; {sql}"),
            false => format!("SET session_replication_role = replica; {sql}"),
        };
        self.world.place.try_to_meddle(&unguarded).await
    }

    /// The columns of a table with their types.
    async fn columns(&self, table: &str) -> Vec<(String, String)> {
        let sql = match self.world.is_sqlite() {
            true => format!("SELECT name || ' ' || type FROM pragma_table_info('{table}')"),
            false => format!(
                "SELECT CAST(column_name || ' ' || data_type AS text) FROM information_schema.columns \
                 WHERE table_schema = current_schema() AND table_name = '{table}'"
            ),
        };
        let texts = self.world.place.texts(&sql).await;
        let parts = texts.iter().map(|text| text.split_once(' ').unwrap());
        parts
            .map(|(name, of)| (name.to_owned(), of.to_lowercase()))
            .collect()
    }

    /// The condition that names one row.
    async fn row(&self, table: &str, at: i64) -> String {
        if !self.world.is_sqlite() {
            return format!("ctid = (SELECT ctid FROM {table} ORDER BY ctid LIMIT 1 OFFSET {at})");
        }
        let key = format!("SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk");
        let key = self.world.place.texts(&key).await.join(", ");
        format!("({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {at})")
    }

    async fn count(&self, table: &str) -> i64 {
        self.world
            .place
            .number(&format!("SELECT count(*) FROM {table}"))
            .await
    }
}

fn tables() -> impl Iterator<Item = (&'static str, Evidence)> {
    EVIDENCE
        .iter()
        .copied()
        .filter(|(_, evidence)| !matches!(evidence, Evidence::Not(_)))
}

/// Another value than the one there is, of the same type.
fn altered(table: &str, column: &str, of: &str) -> String {
    match of {
        // A number that is skipped is no harm; one given out twice would be.
        "integer" | "bigint" if table == "counter" => format!("{column} - 1"),
        "integer" | "bigint" => format!("coalesce({column}, 0) + 1"),
        "text" => format!("coalesce({column}, '') || 'x'"),
        "blob" => format!(
            "CAST(substr(coalesce({column}, x'00112233445566778899aabbccddeeff'), 1, length(coalesce({column}, \
                           x'00112233445566778899aabbccddeeff')) - 1) || CASE substr({column}, -1) WHEN x'5A' THEN 'Y' ELSE 'Z' END AS BLOB)"
        ),
        "uuid" => format!(
            "CAST(translate(CAST(coalesce({column}, '00112233-4455-6677-8899-aabbccddeeff') AS text), \
                           '0123456789abcdef', '123456789abcdef0') AS uuid)"
        ),
        "bytea" => format!("set_byte({column}, 3, (get_byte({column}, 3) + 1) % 256)"),
        other => panic!("a column of the type {other}"),
    }
}

/// What is no evidence within a table that is.
fn is_no_evidence(exam: &Exam, table: &str, column: &str) -> bool {
    match (table, column) {
        // The order of arrival over all ledgers; what is evidence is the number in the ledger.
        ("change", "seq") => true,
        // How PostgreSQL numbers documents and knows their words: see `evidence`.
        ("search_doc", "doc" | "text") => !exam.world.is_sqlite(),
        _ => tables().any(|(name, evidence)| {
            name == table && matches!(evidence, Evidence::Sealed(left_out) if left_out.contains(&column))
        }),
    }
}

//= specs/spexus-store.md#history
//= type=test
//# Verification MUST find a row of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root
//# or an app that is not what the history made of it, also where it was changed rightly afterwards.
//= specs/spexus-store.md#history
//= type=test
//# Verification MUST find an item, a comment or a link that is not what the history made of it, in any of its columns.
//= specs/spexus-store.md#history
//= type=test
//# Verification MUST compute totals, numbers given out and the documents of search again, and find those that differ.
//= specs/spexus-store.md#history
//= type=test
//# Verification MUST compute the digest of every push of evidence again from what it brought.
async fn every_column_of_every_row_is_evidence(world: World) {
    let exam = Exam::begin(&world).await;
    alter_every_column(&exam, &["former_history", "ledger_origin", "dropped_segment"]).await;
}

//= specs/spexus-store.md#retention
//= type=test
//# Where a part of a ledger was dropped by retention, verification MUST still find all it would have found of what is left.
async fn what_retention_left_is_evidence_column_by_column(world: World) {
    let exam = Exam::begin_behind_what_was_dropped(&world).await;
    alter_every_column(&exam, &["former_history", "ledger_origin"]).await;
    let verdict = exam.verified(Effort::SEQUENTIAL).await;
    let dropped: Vec<i64> = verdict
        .ledgers
        .iter()
        .filter_map(|ledger| ledger.dropped)
        .collect();
    assert!(matches!(dropped[..], [number] if number > 5), "{dropped:?}");
}

async fn alter_every_column(exam: &Exam, empty: &[&str]) {
    let mut chance = Chance(0x5eed_5eed_5eed);
    let (mut found, mut refused) = (0, 0);
    for (table, _) in tables() {
        let rows = exam.count(table).await;
        if rows == 0 {
            assert!(empty.contains(&table), "nothing is in {table}");
            continue;
        }
        exam.keep(table).await;
        for (column, of) in exam.columns(table).await {
            if is_no_evidence(exam, table, &column) {
                continue;
            }
            let row = exam.row(table, chance.below(rows)).await;
            let sql = format!(
                "UPDATE {table} SET {column} = {} WHERE {row}",
                altered(table, &column, &of)
            );
            if exam.meddle(&sql).await.is_err() {
                refused += 1;
                continue;
            }
            assert!(!exam.faults().await.is_empty(), "nobody noticed: {sql}");
            found += 1;
            exam.put_back(table).await;
        }
        assert_eq!(exam.faults().await, Vec::<String>::new(), "{table} as it was");
    }
    assert!(
        found > 150 && refused < found / 5,
        "{found} found, {refused} refused"
    );
}

async fn every_row_that_is_removed_or_added_is_found(world: World) {
    let exam = Exam::begin(&world).await;
    let mut chance = Chance(0xfee1_600d);
    for (table, _) in tables() {
        let rows = exam.count(table).await;
        if rows == 0 {
            continue;
        }
        exam.keep(table).await;
        for _ in 0..2 {
            let row = exam.row(table, chance.below(rows)).await;
            exam.meddle(&format!("DELETE FROM {table} WHERE {row}"))
                .await
                .unwrap();
            assert!(!exam.faults().await.is_empty(), "nobody missed it: {table} {row}");
            exam.put_back(table).await;
        }
        // The tail, in whatever order.
        let last = exam.row(table, rows - 1).await;
        exam.meddle(&format!("DELETE FROM {table} WHERE {last}"))
            .await
            .unwrap();
        assert!(
            !exam.faults().await.is_empty(),
            "nobody missed the last of {table}"
        );
        exam.put_back(table).await;
        exam.meddle(&format!("DELETE FROM {table}")).await.unwrap();
        assert!(!exam.faults().await.is_empty(), "nobody missed {table}");
        exam.put_back(table).await;
    }
    for sql in [
        "INSERT INTO requirement_type (name, description, ordinal) VALUES ('Forged', '', 9)",
        "INSERT INTO workflow (kind, definition, rev) VALUES ('forged', '{}', 1)",
        "INSERT INTO root (uri, name, description, added_by, added_at) SELECT 'file:///', '', '', id, 7 FROM account LIMIT 1",
        "INSERT INTO group_user (group_id, user_id) SELECT group_id, id FROM account, group_user \
         WHERE id NOT IN (SELECT user_id FROM group_user) LIMIT 1",
        "INSERT INTO counter (project_id, prefix, last) SELECT project_id, 'X', 1 FROM counter LIMIT 1; DELETE FROM counter WHERE prefix <> 'X'",
    ] {
        exam.meddle(sql).await.unwrap();
    }
    assert!(exam.faults().await.len() >= 5, "{:?}", exam.faults().await);
}

/// Whoever alters a row and waits until somebody changes it rightly is found as well.
//= specs/spexus-store.md#history
//= type=test
//# A change of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root or an app MUST carry
//# digests of its rows as they were and as they became.
async fn what_was_met_altered_is_found_although_it_was_changed_rightly_afterwards(world: World) {
    let exam = Exam::begin(&world).await;
    exam.meddle("UPDATE account SET password_hash = 'forged' WHERE username = 'kim'")
        .await
        .unwrap();
    assert_eq!(exam.faults().await.len(), 1);
    let mut kim = exam.world.user.clone();
    kim.email = Some("new@example.org".into());
    kim.rev += 1;
    let job = exam.world.store.write(exam.world.actor(), move |tx| {
        Box::pin(async move {
            accounts::update(tx, &kim).await?;
            tx.record(NewChange::new(
                Entity::User,
                kim.id,
                "kim",
                Action::Updated,
                kim.rev,
            ))
            .await
        })
    });
    job.await.unwrap();
    let faults = exam.faults().await;
    assert!(
        faults.len() == 1 && faults[0].contains("met it other than"),
        "{faults:?}"
    );
}

//= specs/spexus-store.md#history
//= type=test
//# Siblings that are numbered anew MUST be told in the ledger with their places.
async fn siblings_that_are_numbered_anew_are_told(world: World) {
    let exam = Exam::begin(&world).await;
    let place = &exam.world;
    let (first, second) = (place.epic("first").await, place.epic("second").await);
    let mut last = place.epic("last").await;
    // Every one between the first two halves the room, until there is none.
    for _ in 0..25 {
        let (sibling, moved) = (first.clone(), last.clone());
        let job = place.store.write(place.actor(), move |tx| {
            Box::pin(async move {
                let mut after = moved.clone();
                after.position = items::position_beside(tx, &sibling, true).await?;
                after.rev += 1;
                after.updated_at = tx.now();
                items::update(tx, &moved, &after).await?;
                tx.record(crate::world::of_item(&after, Action::Updated)).await?;
                Ok(after)
            })
        });
        let moved = job.await.unwrap();
        last = place.epic("one more").await;
        assert!(moved.position < i64::MAX);
    }
    let told = "SELECT count(*) FROM change WHERE label = 'order of siblings'";
    assert!(place.place.number(told).await >= 1);
    assert_eq!(exam.faults().await, Vec::<String>::new());
    let sql = format!(
        "UPDATE item SET position = position + 1 WHERE title = '{}'",
        second.title
    );
    exam.meddle(&sql).await.unwrap();
    assert_eq!(exam.faults().await.len(), 1);
}

fn setting(label: &str) -> NewChange {
    NewChange::new(Entity::Setting, Uuid::nil(), label, Action::Created, 1)
}

/// What an installation begins with.
async fn install(world: &World) {
    let (kim, home) = (world.user.clone(), world.project.clone());
    let job = world.store.write(actor_of(&world.user), move |tx| {
        Box::pin(async move {
            furnish(tx, &kim, &home).await?;
            settings::put_secret(tx, "token_key", [7; 32]).await?;
            let number = items::next_number(&mut tx.conn, Uuid::nil(), PROMPT_PREFIX).await?;
            let shipped = prompt::shipped();
            let prompt = Prompt {
                id: tx.new_id(),
                reference_id: Reference::of_prompt(number),
                title: shipped.name.clone(),
                name: shipped.name,
                description: shipped.description,
                messages: shipped.messages,
                arguments: shipped.arguments,
                active: true,
                rev: 1,
                creator: kim.username.clone(),
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            prompts::insert(tx, &prompt).await?;
            tx.record(setting("shipped")).await
        })
    });
    job.await.unwrap();
}

/// Items, comments and links, some of which are gone.
async fn work(world: &World) -> (Item, Item) {
    let epic = world.epic("Login").await;
    let story = world.story(&epic, "Passkeys").await;
    let criterion = world.criterion(&story, "It works.").await;
    let requirement = world.requirement(&story, "Keys").await;
    let gone = world.epic("Gone").await;
    world.delete(&[&gone]).await;
    let (served, by) = (criterion.clone(), requirement.clone());
    world
        .edit(&by, move |item| {
            item.acceptance_criterion = Some(crate::world::pointer(&served))
        })
        .await;
    let kim = world.user.clone();
    let first = say(world, &epic, None).await;
    say(world, &epic, Some(first)).await;
    let person = spexus_domain::item::Person {
        id: kim.id,
        username: kim.username,
    };
    world.edit(&story, |item| item.assignee = Some(person)).await;
    let link_type = LinkType::shipped().remove(0);
    let (left, requirement) = ((story, requirement.clone()), requirement);
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            let id = tx.new_id();
            let (source, target) = (requirement, epic);
            links::insert(tx, id, &link_type, &source, &target).await?;
            let fields = json!({"type": link_type.name});
            let change = NewChange::new(Entity::Link, id, "REQ-001 to EP-001", Action::Created, 1)
                .in_project(source.project_id)
                .on_item(source.id, Some(target.id))
                .fields(None, fields.as_object().unwrap().clone())
                .telling(told::HASHES, vec![source.content_hash, target.content_hash]);
            tx.record(change).await
        })
    });
    job.await.unwrap();
    left
}

/// Drops the history of the project up to a checkpoint of now.
async fn drop_segment(world: &World) {
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move { checkpoints::take(tx, "a key").await })
    });
    job.await.unwrap();
    let (mut conn, later) = (
        world.store.read().await.unwrap(),
        world.store.now().plus_seconds(60),
    );
    let segment = segments::droppable(&mut conn, world.project.id, later).await;
    let segment = segment.unwrap().unwrap();
    let changes = segments::summary(&mut conn, &segment).await.unwrap();
    drop(conn);
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            for change in changes {
                tx.record(change).await?;
            }
            assert!(segments::drop(tx, &segment).await?);
            segments::sweep(tx, 5).await
        })
    });
    assert_eq!(job.await.unwrap(), 5);
    let (store, nobody) = (&world.store, Arc::new(|_| {}));
    let verdict = verification::verify(store, world.user.id, vec![], nobody)
        .await
        .unwrap();
    assert!(verdict.is_whole(), "half swept: {verdict:?}");
    let job = store.write(world.actor(), |tx| Box::pin(segments::sweep(tx, 1_000)));
    assert!(job.await.unwrap() > 5);
}

async fn say(world: &World, item: &Item, parent: Option<Uuid>) -> Uuid {
    let (item, author) = (item.clone(), world.user.clone());
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            let comment = spexus_domain::comment::Comment {
                id: tx.new_id(),
                item_id: item.id,
                item: item.reference_id.clone(),
                parent_id: parent,
                depth: usize::from(parent.is_some()),
                author: author.username.clone(),
                author_id: author.id,
                content: "Why?".into(),
                resolved: false,
                anchor: None,
                rev: 1,
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            comments::insert(tx, item.project_id, &comment).await?;
            let fields = json!({"content": "Why?", "resolved": false});
            let mut change = NewChange::new(Entity::Comment, comment.id, "comment", Action::Created, 1)
                .in_project(item.project_id)
                .on_item(item.id, None)
                .fields(None, fields.as_object().unwrap().clone());
            if let Some(parent) = parent {
                change = change.telling(told::PARENT, parent.to_string());
            }
            tx.record(change).await?;
            Ok(comment.id)
        })
    });
    job.await.unwrap()
}

/// Whoever and whatever may do something, and what happened at the door.
async fn people(world: &World, item_id: Uuid) {
    let (kim, home) = (world.user.clone(), world.project.id);
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            let sam = user("sam");
            accounts::insert(tx, &sam, "no password").await?;
            members::put(tx, home, sam.id, ProjectRole::Author).await?;
            let group = Group {
                id: tx.new_id(),
                name: "team".into(),
                users: vec![],
                rev: 1,
                created_at: tx.now(),
            };
            groups::insert(tx, &group).await?;
            groups::add(tx, group.id, sam.id).await?;
            members::put_group(tx, home, group.id, ProjectRole::Reviewer).await?;
            let token = spexus_domain::account::Token {
                id: tx.new_id(),
                user: kim.username.clone(),
                name: "ci".into(),
                scopes: vec![],
                project: None,
                project_id: None,
                agent: false,
                expires_at: None,
                last_used_at: None,
                created_at: tx.now(),
            };
            tokens::insert(tx, &token, kim.id, None, [9; 32]).await?;
            let root = spexus_domain::root::AddedRoot {
                uri: "file:///srv".into(),
                name: "srv".into(),
                description: String::new(),
            };
            roots::put(tx, &root, kim.id).await?;
            let app = spexus_domain::app::InstalledApp {
                name: "files".into(),
                installation: "1".into(),
                version: "1.0.0".into(),
                source: "here".into(),
                installed_at: tx.now(),
            };
            apps::put(tx, &app, kim.id).await?;
            let id = tx.new_id();
            baselines::insert(tx, id, home, "release", "").await?;
            note(tx, 3).await?;
            reviews::put(tx, home, &review_of(item_id, kim.id), true).await?;
            tx.record(setting("people")).await?;
            push_evidence(tx, home, id).await
        })
    });
    job.await.unwrap();
}

async fn note(tx: &mut Tx, count: usize) -> spexus_store::Result<()> {
    let mut events = Vec::new();
    for _ in 0..count {
        events.push(AuditEvent {
            id: tx.new_id(),
            at: tx.now(),
            event: "login".into(),
            username: "kim".into(),
            token_id: None,
            address: "10.0.0.1".into(),
            client: "test".into(),
            detail: String::new(),
            target_id: None,
            target: String::new(),
            times: 1,
        });
    }
    audit::insert(tx, &events).await
}
