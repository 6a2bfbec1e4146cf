//! Imports of many rows beside people who go on working: what they see, how long they wait, and what is left when an import
//! dies. Several nodes in one process, and the real binary where a process has to be killed.

use crate::serving::Server;
use crate::world::World;
use serde_json::json;
use spexus_domain::account::Caller;
use spexus_domain::item::{Item, ItemPatch, NewItem};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::{Code, Kind, Ruled};
use spexus_service::account::login;
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;
use spexus_service::transfer::{Imported, lines, sheet};
use spexus_service::{Service, ServiceOptions, audit, changes, item, search, settings};
use spexus_store::staging::{self, CHUNK_CHANGES, StagedCounts};
use spexus_store::{Clock, Location};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// A story that is told on both engines.
macro_rules! both {
    ($($story:ident),* $(,)?) => {
        $(
            mod $story {
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    Box::pin(super::$story($crate::world::World::new())).await;
                }
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    if let Some(world) = $crate::world::World::postgres() {
                        Box::pin(super::$story(world)).await;
                    }
                }
            }
        )*
    };
}

both!(
    others_write_while_a_large_import_runs_and_see_all_of_it_or_nothing,
    of_two_imports_of_the_same_file_at_once_one_stands,
    two_sheets_at_once_number_their_items_one_behind_the_other,
    what_changes_under_an_import_refuses_it_with_the_line,
    a_large_sheet_that_says_nothing_new_changes_nothing,
    a_large_sheet_changes_what_is_there_and_search_follows,
);

/// One process that works on the database.
#[derive(Clone)]
struct Node {
    service: Service,
    admin: Caller,
}

impl Node {
    async fn on(world: &World) -> Self {
        let location = Location::parse(&world.database).unwrap();
        let clock: Clock = Arc::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            spexus_domain::Timestamp(i64::try_from(since.as_micros()).unwrap())
        });
        let (service, _) = Service::open(&location, ServiceOptions::for_testing(), clock)
            .await
            .unwrap();
        let admin = login::local(&service, None, "test").await.unwrap();
        Self { service, admin }
    }

    async fn import(&self, text: &str) -> Ruled<Imported> {
        let input = Box::new(std::io::Cursor::new(text.to_owned()));
        let quiet = Arc::new(|_| {});
        match text.starts_with('{') {
            true => {
                let reading = lines::ImportOptions {
                    dry_run: false,
                    history: false,
                };
                lines::import(&self.service, &self.admin, None, input, reading, quiet).await
            }
            false => sheet::import(&self.service, &self.admin, None, input, false, quiet).await,
        }
    }

    /// Imports on a thread of its own.
    fn begin_import(&self, text: String) -> JoinHandle<Ruled<Imported>> {
        let node = self.clone();
        let runtime = Handle::current();
        tokio::task::spawn_blocking(move || runtime.block_on(node.import(&text)))
    }

    async fn epic(&self, title: &str) -> Ruled<Item> {
        let input = NewItem {
            title: title.to_owned(),
            ..NewItem::default()
        };
        item::create(&self.service, &self.admin, Kind::Epic, input, None).await
    }

    async fn total(&self, kind: Kind) -> i64 {
        let page = item::list(&self.service, &self.admin, Some(kind), &ItemQuery::default()).await;
        json!(page.unwrap())["total_count"].as_i64().unwrap()
    }

    async fn found(&self, word: &str) -> i64 {
        let wanted = SearchQuery {
            query: word.to_owned(),
            kinds: None,
        };
        let filters: ItemQuery = serde_json::from_value(json!({"count": "exact"})).unwrap();
        let page = search::search(&self.service, &self.admin, &wanted, &filters).await;
        json!(page.unwrap())["total_count"].as_i64().unwrap()
    }

    async fn titles(&self, kind: Kind) -> Vec<(i64, String)> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = json!({"limit": 200, "order_by": "position", "cursor": cursor});
            let query: ItemQuery = serde_json::from_value(query).unwrap();
            let page = item::list(&self.service, &self.admin, Some(kind), &query)
                .await
                .unwrap();
            all.extend(
                page.data
                    .iter()
                    .map(|item| (item.reference_id.number(), item.title.clone())),
            );
            cursor = page.next_cursor;
            if cursor.is_none() {
                all.sort_unstable();
                return all;
            }
        }
    }

    async fn waiting(&self) -> StagedCounts {
        let mut conn = self.service.store().read().await.unwrap();
        staging::waiting(&mut conn).await.unwrap()
    }

    /// Waits until an import has staged something.
    async fn sees_an_import(&self) {
        while self.waiting().await.changes == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn is_whole(&self) {
        let verdict = audit::verify(&self.service, &self.admin, &[]).await.unwrap();
        assert_eq!(verdict.fault, None);
        assert_eq!(verdict.earlier.count, 0);
    }
}

/// Epics with stories in them, all of which say a word nothing else says.
fn sheet_of(epics: usize, stories: usize) -> String {
    let mut text = "reference_id,kind,title,description,parent\n".to_owned();
    for epic in 0..epics {
        text.push_str(&format!("e{epic},epic,Epic {epic},A zymurgical one.,\n"));
        for story in 0..stories {
            text.push_str(&format!(
                ",user_story,Story {epic}.{story},A zymurgical one.,e{epic}\n"
            ));
        }
    }
    text
}

//= specs/spexus.md#transfer
//= type=test
//# An import of more than 500 lines MUST let others write while it runs, and MUST show everything it brings at once.
//= specs/spexus-store.md#large-writes
//= type=test
//# A large write MUST be staged in steps of at most 500 rows, and others MUST have their turn between them.
//= specs/spexus-store.md#large-writes
//= type=test
//# What is staged MUST NOT be seen by anyone, be it by id, in a list, in a search, in a total or in the history.
//= specs/spexus-store.md#large-writes
//= type=test
//# Everything that was staged MUST be shown by one transaction, with its changes in their ledgers in their order.
async fn others_write_while_a_large_import_runs_and_see_all_of_it_or_nothing(world: World) {
    const EPICS: usize = 20;
    const STORIES: usize = 119;
    let (node, other) = (Node::on(&world).await, Node::on(&world).await);
    node.epic("There before").await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let (importing, done) = (node.begin_import(sheet_of(EPICS, STORIES)), over.clone());
    let import = tokio::spawn(async move {
        let imported = importing.await.unwrap();
        done.store(true, Ordering::Release);
        imported
    });
    // Somebody on the same node and somebody on another one go on making epics, and counts how many steps of the import
    // came before each of them.
    let (same, elsewhere) = (node.clone(), other.clone());
    let (here, there) = (over.clone(), over.clone());
    let at_home = tokio::spawn(async move {
        let (mut made, mut steps, mut meanwhile) = (0, 0, 0);
        while !here.load(Ordering::Acquire) {
            let before = same.waiting().await.changes;
            same.epic(&format!("Meanwhile {made}")).await.unwrap();
            let after = same.waiting().await.changes;
            made += 1;
            meanwhile += i64::from(before > 0);
            steps = steps.max((after - before) / CHUNK_CHANGES);
        }
        (made, steps, meanwhile)
    });
    let abroad = tokio::spawn(async move {
        let mut made = 0;
        while !there.load(Ordering::Acquire) {
            elsewhere.epic(&format!("Elsewhere {made}")).await.unwrap();
            made += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        made
    });
    let all = i64::try_from(EPICS * STORIES).unwrap();
    while !over.load(Ordering::Acquire) {
        let stories = other.total(Kind::UserStory).await;
        assert!(stories == 0 || stories == all, "{stories} stories are seen");
        let found = other.found("zymurgical").await;
        assert!(
            found == 0 || found == all + EPICS as i64,
            "{found} documents are found"
        );
    }
    let imported = import.await.unwrap().unwrap();
    let (made, steps, meanwhile) = at_home.await.unwrap();
    let made_elsewhere = abroad.await.unwrap();
    assert!(meanwhile > 0, "somebody wrote while rows were staged");
    assert!(steps <= 4, "a write waited for {steps} steps of the import");
    assert_eq!(imported.created, (EPICS * (STORIES + 1)) as u64);
    assert_eq!(node.total(Kind::UserStory).await, all);
    assert_eq!(node.found("zymurgical").await, all + EPICS as i64);
    // Every number was given out once, and the answer names the items by the numbers they came to have.
    let epics = node.titles(Kind::Epic).await;
    assert_eq!(epics.len(), 1 + made + made_elsewhere + EPICS);
    assert!((1..).zip(&epics).all(|(number, (found, _))| number == *found));
    let told = imported.rows.iter().filter(|row| row.title.starts_with("Epic "));
    let told: Vec<(i64, String)> = told
        .map(|row| (row.reference_id.number(), row.title.clone()))
        .collect();
    let there: Vec<(i64, String)> = epics
        .into_iter()
        .filter(|(_, title)| title.starts_with("Epic "))
        .collect();
    assert_eq!(told, there, "in the order of the file");
    // The history tells the same numbers, in the same order, and is whole.
    node.is_whole().await;
    let mut labels = Vec::new();
    let mut after = changes::START.to_owned();
    loop {
        let page = changes::since(&node.service, &node.admin, None, &after, Some(200))
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        after = changes::behind(last);
        let stories = page.into_iter().filter(|change| change.label.starts_with("US-"));
        for change in stories {
            let parent = change
                .fields
                .iter()
                .find(|field| field.field == "parent")
                .unwrap();
            labels.push((change.label, parent.after.clone().unwrap()));
        }
    }
    assert_eq!(labels.len(), EPICS * STORIES);
    for (at, (label, parent)) in labels.iter().enumerate() {
        assert_eq!(*label, format!("US-{:03}", at + 1));
        let (number, _) = &told[at / STORIES];
        assert_eq!(*parent, format!("EP-{number:03}"));
    }
    assert_eq!(
        node.waiting().await,
        StagedCounts {
            imports: 0,
            changes: 0
        }
    );
}

async fn of_two_imports_of_the_same_file_at_once_one_stands(world: World) {
    let source = World::new();
    source.json(&["demo", "--items", "700"]);
    let text = source.run(&["export", "--no-history"]).ok();
    let (one, two) = (Node::on(&world).await, Node::on(&world).await);
    let (first, second) = tokio::join!(one.begin_import(text.clone()), two.begin_import(text.clone()));
    let outcomes = [first.unwrap(), second.unwrap()];
    let stood = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(stood, 1, "{outcomes:?}");
    let refusal = outcomes.into_iter().find_map(Result::err).unwrap();
    assert!(
        matches!(
            refusal.code,
            Code::StaleRevision | Code::EntityDuplicate | Code::RuleViolated
        ),
        "{refusal:?}"
    );
    one.is_whole().await;
    assert!(
        world.run(&["export", "--no-history"]).ok() == text,
        "what stands is the file"
    );
    assert_eq!(
        one.waiting().await,
        StagedCounts {
            imports: 0,
            changes: 0
        }
    );
}

async fn two_sheets_at_once_number_their_items_one_behind_the_other(world: World) {
    let (one, two) = (Node::on(&world).await, Node::on(&world).await);
    let text = sheet_of(6, 99);
    let (first, second) = tokio::join!(one.begin_import(text.clone()), two.begin_import(text));
    let (first, second) = (first.unwrap().unwrap(), second.unwrap().unwrap());
    assert_eq!((first.created, second.created), (600, 600));
    let numbers =
        |titles: Vec<(i64, String)>| titles.into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!(
        numbers(one.titles(Kind::Epic).await),
        (1..=12).collect::<Vec<_>>()
    );
    assert_eq!(
        numbers(one.titles(Kind::UserStory).await),
        (1..=1188).collect::<Vec<_>>()
    );
    one.is_whole().await;
}

//= specs/spexus.md#transfer
//= type=test
//# An import that relies on something that was changed while it ran MUST be refused with the line, and MUST leave nothing.
async fn what_changes_under_an_import_refuses_it_with_the_line(world: World) {
    let (node, other) = (Node::on(&world).await, Node::on(&world).await);
    for number in 1..=3 {
        node.epic(&format!("Epic {number}")).await.unwrap();
    }
    // Line 2 changes EP-001, line 3 puts a story into EP-002, line 4 gives a name that is nobody's yet.
    let mut text =
        "reference_id,kind,title,parent\nEP-001,,Changed,\n,user_story,In it,EP-002\nEP-004,epic,New,\n"
            .to_owned();
    for row in 0..1_500 {
        text.push_str(&format!(",epic,Row {row},\n"));
    }
    // Each in turn: what somebody else does, and the line it is in the way of.
    for (meanwhile, line) in [
        ("setting", None),
        ("change", Some(2)),
        ("reference", Some(4)),
        ("deletion", Some(3)),
    ] {
        let import = node.begin_import(text.clone());
        other.sees_an_import().await;
        interfere(&other, meanwhile).await;
        let refusal = import.await.unwrap().unwrap_err();
        assert_eq!(refusal.code, Code::StaleRevision, "{meanwhile}: {refusal:?}");
        let begins = line.map_or(String::new(), |line| format!("line {line}: "));
        assert!(
            refusal.message.starts_with(&begins)
                && refusal.message.ends_with("by admin while the import ran"),
            "{meanwhile}: {}",
            refusal.message
        );
        assert_eq!(node.found("Row").await, 0, "{meanwhile}");
        assert_eq!(
            node.waiting().await,
            StagedCounts {
                imports: 0,
                changes: 0
            }
        );
        node.is_whole().await;
    }
}

async fn interfere(node: &Node, how: &str) {
    let Node { service, admin } = node;
    match how {
        "setting" => {
            let wanted = RequirementType {
                name: "Legal".to_owned(),
                description: String::new(),
            };
            settings::put_requirement_type(service, admin, wanted)
                .await
                .unwrap();
        }
        "change" => {
            let patch = ItemPatch {
                title: Some("Changed by another".to_owned()),
                ..ItemPatch::default()
            };
            item::update(service, admin, None, None, "EP-001", patch)
                .await
                .unwrap();
        }
        "reference" => {
            let made = node.epic("The fourth").await.unwrap();
            assert_eq!(made.reference_id.to_string(), "EP-004");
        }
        _ => drop(
            item::delete(service, admin, None, None, "EP-002", true, None)
                .await
                .unwrap(),
        ),
    }
}

async fn a_large_sheet_that_says_nothing_new_changes_nothing(world: World) {
    world.json(&["demo", "--items", "700"]);
    let file = world.path("all.csv").display().to_string();
    world.json(&["export", &file]);
    let before = world.json(&["audit", "verify"]);
    assert_eq!(world.json(&["import", &file, "--dry-run"])["unchanged"], 700);
    assert_eq!(world.json(&["import", &file])["unchanged"], 700);
    assert_eq!(world.json(&["audit", "verify"]), before);
    // A revision that is behind is told with the line, the field and who changed it.
    world.json(&["item", "update", "EP-1", "--title", "Meanwhile"]);
    let refusal = world.refused(1, &["import", &file]);
    assert_eq!(refusal["name"], "STALE_REVISION");
    let fault = &refusal["fields"][0];
    assert!(fault["field"].as_str().unwrap().ends_with(", title"), "{fault}");
    assert!(fault["problem"].as_str().unwrap().contains("by admin"), "{fault}");
}

async fn a_large_sheet_changes_what_is_there_and_search_follows(world: World) {
    let node = Node::on(&world).await;
    node.import(&sheet_of(6, 99)).await.unwrap();
    let quote = [
        "item",
        "comment",
        "US-1",
        "About this",
        "--quote",
        "zymurgical",
        "--start",
        "2",
    ];
    world.json(&quote);
    let columns = [
        "export",
        "--format",
        "csv",
        "--columns",
        "reference_id,title,description",
    ];
    let sheet = world.run(&columns).ok();
    let edited = sheet
        .replace("Story", "Tale")
        .replace("A zymurgical", "Truly a zymurgical");
    let imported = node.import(&edited).await.unwrap();
    assert_eq!((imported.created, imported.updated), (0, 600));
    assert_eq!((node.found("tale").await, node.found("story").await), (594, 0));
    assert_eq!(node.found("truly").await, 600);
    assert_eq!(node.total(Kind::UserStory).await, 594);
    let text = world.run(&["export", "--format", "jsonl", "--no-history"]).ok();
    let comment = text.lines().find(|line| line.contains("About this")).unwrap();
    let comment: serde_json::Value = serde_json::from_str(comment).unwrap();
    assert_eq!(comment["anchor"]["start"], 8, "the quote is followed: {comment}");
    node.is_whole().await;
}

//= specs/spexus-store.md#large-writes
//= type=test
//# What an import left behind MUST be swept: at once when it is over, and by any other process when it died.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_killed_at_any_moment_leaves_nothing_that_is_seen_and_nothing_that_stays() {
    let text = sheet_of(20, 119);
    let all = 2_400;
    for world in World::both() {
        let node = Node::on(&world).await;
        let file = world.file("large.csv", &text);
        let before = world.json(&["audit", "verify"]);
        // As soon as something is staged, in the middle, and shortly before the end.
        for staged in [1, all / 2, all - 2 * CHUNK_CHANGES] {
            let mut command = world.command(&["import", &file]);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            while node.waiting().await.changes < staged {
                assert_eq!(child.try_wait().unwrap(), None, "it has not ended by itself");
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(node.waiting().await.changes > 0, "something is left");
            assert_eq!(
                node.total(Kind::Epic).await + node.total(Kind::UserStory).await,
                0
            );
            assert_eq!(node.found("zymurgical").await, 0);
            assert_eq!(world.json(&["audit", "verify"]), before);
            // What is left is not in the way of whoever writes, and is swept by the next server that starts.
            let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
            command.env("SPEXUS_STORE_MAX_IMPORT_SILENCE_MS", "100");
            let server = Server::start(command);
            while node.waiting().await.imports > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            drop(server);
        }
        assert_eq!(
            node.waiting().await,
            StagedCounts {
                imports: 0,
                changes: 0
            }
        );
        assert_eq!(world.json(&["import", &file])["created"], all);
        assert_eq!(node.found("zymurgical").await, all);
        node.is_whole().await;
    }
}
