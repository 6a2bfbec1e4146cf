//! A project that moves with its history: from installation to installation, from engine to engine, and what is no history.

use crate::client::uuid;
use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_domain::account::Caller;
use spexus_service::audit;
use spexus_service::evidence::{self, PushBody};
use spexus_service::transfer::lines::{self, ImportOptions};
use spexus_service::transfer::{Imported, Input};
use spexus_store::chain::Verdict;
use std::io::Cursor;
use std::sync::Arc;

both![
    a_project_moves_with_its_history_whole,
    a_ledger_that_is_none_is_refused_with_its_place,
    without_its_history_a_project_begins_a_new_one,
    what_is_here_is_not_brought_a_second_time,
    evidence_moves_with_its_project,
];

/// Evidence of everything: marks, results, coverage, an agent's word, what a person said, and a text that was edited since.
async fn evidence_of_everything(world: &World) {
    let admin = &world.admin;
    let mark = |role: &str, path: &str, names: Value| json!({"id": "REQ-001", "role": role, "path": path, "line": 1, "end_line": 9, "names": names, "hash": "h", "by": "citation"});
    let marks = json!([
        mark("code", "src/a.rs", json!([])),
        mark("test", "tests/a.rs", json!(["pkg::adds"])),
        {"id": "EP-001", "role": "sentence", "path": "spec.md", "line": 3, "end_line": 3, "hash": "s", "quote": "Вход", "by": "citation"},
    ]);
    let run = "<testsuite name=\"pkg\"><testcase classname=\"pkg\" name=\"adds\"/><testcase classname=\"pkg\" name=\"more\"><properties><property name=\"requirement\" value=\"REQ-001\"/></properties></testcase></testsuite>";
    let covered = "SF:src/a.rs\nDA:2,1\nend_of_record\n";
    let reports = json!([
        {"format": "junit", "text": run},
        {"format": "lcov", "test": "adds", "text": covered},
    ]);
    for body in [
        json!({"commit": "abcdef1", "committed_at": "2026-01-01", "marks": marks, "reports": reports}),
        json!({"commit": "abcdef1", "dirty": true, "reports": reports}),
    ] {
        let body: PushBody = serde_json::from_value(body).unwrap();
        evidence::push(&world.service, &admin.caller, body.into_push().unwrap())
            .await
            .unwrap();
    }
    for (kind, expires) in [("confirmed", None), ("waived", Some("2999-01-01"))] {
        let said = json!({"kind": kind, "why": "I read both.", "expires": expires});
        let input = serde_json::from_value(said).unwrap();
        evidence::review(&world.service, &admin.caller, "REQ-001", input)
            .await
            .unwrap();
    }
    admin
        .update("REQ-001", json!({"description": "And more."}))
        .await
        .unwrap();
}

//= specs/spexus-service.md#carrying
//= type=test
//# Evidence MUST come with the history of its project, and a push that is not what its digest says MUST be refused.
async fn evidence_moves_with_its_project(world: &World) {
    world.seed().await;
    evidence_of_everything(world).await;
    let trace = async |world: &World, id: &str| {
        let read = evidence::trace(&world.service, &world.admin.caller, None, None, id).await;
        json!(read.unwrap())
    };
    let before = [trace(world, "REQ-001").await, trace(world, "EP-001").await];
    let whole = export(world, &world.admin.caller, true).await.unwrap();
    for there in elsewhere().await {
        let forged = whole.replace("\\\"n\\\":\\\"more\\\"", "\\\"n\\\":\\\"less\\\"");
        assert_ne!(forged, whole);
        let refusal = import(&there, &forged, None, WHOLE).await.refused(1021);
        assert!(refusal.message.contains("push 1"), "{}", refusal.message);
        import(&there, &whole, None, WHOLE).await.unwrap();
        assert_eq!(export(&there, &there.admin.caller, true).await.unwrap(), whole);
        assert_eq!(
            [trace(&there, "REQ-001").await, trace(&there, "EP-001").await],
            before
        );
        verify(&there).await;
        // The next push goes on from there.
        let run = "<testsuite name=\"pkg\"><testcase classname=\"pkg\" name=\"adds\"><failure/></testcase></testsuite>";
        let body = json!({"commit": "abcdef1", "reports": [{"format": "junit", "text": run}]});
        let body: PushBody = serde_json::from_value(body).unwrap();
        let client = &there.admin;
        evidence::push(&client.service, &client.caller, body.into_push().unwrap())
            .await
            .unwrap();
        assert!(
            trace(&there, "REQ-001").await["flags"]
                .to_string()
                .contains("failed")
        );
        there.end().await;
    }
}

pub(crate) const WHOLE: ImportOptions = ImportOptions {
    dry_run: false,
    history: true,
};

pub(crate) async fn export(world: &World, caller: &Caller, history: bool) -> Ruled<String> {
    let mut out = Vec::new();
    let quiet = Arc::new(|_| ()) as spexus_service::transfer::Progress;
    lines::export(&world.service, caller, None, history, &mut out, &quiet).await?;
    Ok(String::from_utf8(out).unwrap())
}

pub(crate) async fn import(
    world: &World,
    text: &str,
    key: Option<&str>,
    reading: ImportOptions,
) -> Ruled<Imported> {
    let input: Input = Box::new(Cursor::new(text.to_owned().into_bytes()));
    let caller = &world.admin.caller;
    lines::import(&world.service, caller, key, input, reading, Arc::new(|_| ())).await
}

pub(crate) async fn verify(world: &World) -> Verdict {
    let (service, caller) = (&world.service, &world.admin.caller);
    let verdict = audit::verify(service, caller, &[]).await.unwrap();
    assert!(verdict.is_whole(), "{verdict:?}");
    assert!(verdict.state.is_some());
    verdict
}

/// Empty installations of every engine there is.
pub(crate) async fn elsewhere() -> Vec<World> {
    let mut worlds = vec![World::on_sqlite().await];
    worlds.extend(World::on_postgres().await);
    worlds
}

/// A project with everything a history may tell of.
pub(crate) async fn furnish(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    world.user("kim", "User").await;
    admin.update("REQ-001", json!({"assignee": "kim"})).await.unwrap();
    admin
        .update_user("kim", json!({"username": "kimberly"}))
        .await
        .unwrap();
    let rules = json!({"attributes": [{"name": "points", "type": "number"}]});
    admin.update_project("default", rules).await.unwrap();
    admin
        .update("EP-001", json!({"title": "Вход", "attributes": {"points": 0.1}}))
        .await
        .unwrap();
    admin.baseline("first").await.unwrap();
    for title in ["To be deleted", "Stays"] {
        let epic = json!({"title": title, "priority": 2});
        admin.create("epic", epic).await.unwrap();
    }
    let link = admin.link("REQ-001", "relates_to", "EP-003").await.unwrap();
    admin.unlink(uuid(&link["id"])).await.unwrap();
    admin.link("REQ-001", "relates_to", "EP-003").await.unwrap();
    admin.link("EP-002", "relates_to", "EP-003").await.unwrap();
    let said = admin
        .comment("EP-002", json!({"content": "On what goes"}))
        .await
        .unwrap();
    admin
        .comment(
            "EP-002",
            json!({"content": "So it does", "parent_id": said["id"]}),
        )
        .await
        .unwrap();
    let gone = admin
        .comment("EP-001", json!({"content": "Taken back"}))
        .await
        .unwrap();
    admin.delete_comment(uuid(&gone["id"])).await.unwrap();
    admin
        .comment("EP-001", json!({"content": "Stands"}))
        .await
        .unwrap();
    admin.delete("EP-002", true).await.unwrap();
    // A link into a project that stays behind.
    admin.create_project(json!({"key": "other"})).await.unwrap();
    let there = json!({"title": "Elsewhere", "priority": 2, "project": "other"});
    admin.create("epic", there).await.unwrap();
    admin
        .link("default/EP-001", "relates_to", "other/EP-001")
        .await
        .unwrap();
    admin.baseline("second").await.unwrap();
    let asked = json!({"title": "Before it goes", "items": ["REQ-001", "EP-001"], "reviewers": ["kimberly"]});
    world
        .admin
        .naming("default")
        .put_member("kimberly", "reviewer")
        .await
        .unwrap();
    admin.ask_review(asked).await.unwrap();
}

fn told(history: &Value) -> Vec<(Value, Value, Value, Value)> {
    let rows = history["data"].as_array().unwrap();
    let told = rows.iter().map(|row| {
        (
            row["number"].clone(),
            row["hash"].clone(),
            row["user"].clone(),
            row["fields"].clone(),
        )
    });
    told.collect()
}

//= specs/spexus-service.md#reviews
//= type=test
//# An export with history MUST hold the reviews of the project, and an import of it MUST keep them as they were.
//= specs/spexus-service.md#carrying
//= type=test
//# A project that comes with its history MUST keep its id, the ids and references of its items, and its ledger with every number and
//# hash, and the ledger MUST go on and verify where it came.
//= specs/spexus-service.md#carrying
//= type=test
//# An export with history MUST hold every change of the project's ledger with all that its hash covers, what the ledger begins
//# with, and every item, comment and link of the project, also those that were deleted.
// People have other ids there: without a seal every item would be of another creator than its ledger says.
//= specs/spexus-store.md#history
//= type=test
//# What the ledger of a project that comes from elsewhere cannot tell of its rows MUST be sealed as it stood when it came.
//= specs/spexus-store.md#history
//= type=test
//# Verification MUST say which ledgers began at another installation, and how many of their changes came from there.
async fn a_project_moves_with_its_history_whole(world: &World) {
    furnish(world).await;
    let admin = &world.admin.naming("default");
    let text = export(world, &admin.caller, true).await.unwrap();
    let project = admin.get_project("default").await.unwrap();
    let item = admin.get("EP-001").await.unwrap();
    let history = admin.history("EP-001").await.unwrap();
    for there in elsewhere().await {
        let imported = import(&there, &text, None, WHOLE).await.unwrap();
        assert_eq!(
            (imported.created, imported.links, imported.comments),
            (5, 1, 3),
            "what lives"
        );
        let verdict = verify(&there).await;
        let came: Vec<_> = verdict
            .ledgers
            .iter()
            .filter_map(|ledger| ledger.origin.as_ref())
            .collect();
        assert_eq!(came.len(), 1, "{verdict:?}");
        assert_eq!(came[0].changes.unsigned_abs(), imported.changes);
        assert_eq!(verdict.earlier.count, 0, "what came was made by other clocks");
        assert_eq!(
            there.admin.get_project("default").await.unwrap()["id"],
            project["id"]
        );
        assert_eq!(there.admin.get("EP-001").await.unwrap()["id"], item["id"]);
        let moved = there.admin.history("EP-001").await.unwrap();
        assert_eq!(told(&moved), told(&history));
        assert_eq!(
            there.admin.search("Вход", json!({})).await.unwrap()["data"][0]["reference_id"],
            "EP-001"
        );
        assert_eq!(
            there.admin.search("\"to be deleted\"", json!({})).await.unwrap()["total_count"],
            0
        );
        assert!(
            export(&there, &there.admin.caller, true).await.unwrap() == text,
            "byte for byte"
        );
        // Onwards to the engine it began at.
        let back = match world.is_sqlite() {
            true => Some(World::on_sqlite().await),
            false => World::on_postgres().await,
        };
        if let Some(back) = back {
            import(&back, &text, None, WHOLE).await.unwrap();
            assert!(export(&back, &back.admin.caller, true).await.unwrap() == text);
            back.end().await;
        }
        let difference = there
            .admin
            .difference(json!({"from": "first", "to": "second"}))
            .await
            .unwrap();
        let here = admin
            .difference(json!({"from": "first", "to": "second", "project": "default"}))
            .await
            .unwrap();
        assert_eq!(difference["data"], here["data"]);
        // Life goes on, and what was deleted can come back.
        there.admin.restore("EP-002").await.unwrap();
        let comments = there.admin.comments("EP-002", None).await.unwrap();
        assert_eq!(comments["total_count"], 2);
        let next = there
            .admin
            .create("epic", json!({"title": "Next", "priority": 2}))
            .await
            .unwrap();
        assert_eq!(next["reference_id"], "EP-004");
        let born = there.admin.history("EP-004").await.unwrap();
        assert!(born["data"][0]["number"].as_u64().unwrap() > imported.changes);
        verify(&there).await;
        there.end().await;
    }
}

/// The text without, or with another, line.
fn edited(text: &str, edit: impl Fn(usize, &str) -> Option<String>) -> String {
    let lines = text.lines().enumerate();
    let mut edited = String::new();
    for line in lines.filter_map(|(at, line)| edit(at, line)) {
        edited += &line;
        edited.push('\n');
    }
    edited
}

//= specs/spexus-service.md#carrying
//= type=test
//# A ledger with a hole, an altered change, a change of another ledger or another end than it says MUST be refused with the line
//# and the number of the change, and nothing MUST be written.
//= specs/spexus-service.md#carrying
//= type=test
//# A file whose items, comments and links are not what its ledger made of them, or whose ledger ends before them, MUST be
//# refused with the line.
async fn a_ledger_that_is_none_is_refused_with_its_place(world: &World) {
    let source = World::on_sqlite().await;
    furnish(&source).await;
    let text = export(&source, &source.admin.caller, true).await.unwrap();
    let stranger = World::on_sqlite().await;
    furnish(&stranger).await;
    let foreign = export(&stranger, &stranger.admin.caller, true).await.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let foreign: Vec<&str> = foreign.lines().collect();
    let is_change = |line: &str| line.starts_with(r#"{"record":"change""#);
    let first = lines.iter().position(|line| is_change(line)).unwrap();
    let last = lines.iter().rposition(|line| is_change(line)).unwrap();
    let (third, item) = (first + 2, last + 1);
    let number = |at: usize| at - first + 1;
    let without = |gone: usize| edited(&text, |at, line| (at != gone).then(|| line.to_owned()));
    let replaced = |which: usize, from: &str, to: &str| {
        assert!(lines[which].contains(from), "{}", lines[which]);
        edited(&text, |at, line| {
            Some(if at == which {
                line.replacen(from, to, 1)
            } else {
                line.to_owned()
            })
        })
    };
    // All of it but what happened from the deletion of an epic on; that of its link goes with it.
    let is_deletion = |line: &&str| line.contains(r#""label":"EP-002","action":"deleted""#);
    let cut = lines.iter().position(is_deletion).unwrap() - 1;
    let head: Value = serde_json::from_str(lines[cut - 1]).unwrap();
    let shorter = edited(&text, |at, line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        match record["record"].as_str().unwrap() {
            "ledger" => record["end"] = json!({"changes": number(cut) - 1, "hash": head["hash"]}),
            "end" => {
                record["changes"] = json!(number(cut) - 1);
                record["baselines"] = json!(1);
            }
            "baseline" if record["name"] == "second" => return None,
            _ if (cut..=last).contains(&at) => return None,
            _ => return Some(line.to_owned()),
        }
        Some(record.to_string())
    });
    let title = lines
        .iter()
        .position(|line| line.contains(r#""record":"item""#) && line.contains("Stays"))
        .unwrap();
    let epic = lines
        .iter()
        .position(|line| line.contains(r#""record":"item""#) && line.contains("EP-002"))
        .unwrap();
    let said = lines
        .iter()
        .position(|line| line.contains(r#""record":"comment""#) && line.contains("Stands"))
        .unwrap();
    let alien = edited(&text, |at, line| {
        Some(if at == third {
            foreign[third].to_owned()
        } else {
            line.to_owned()
        })
    });
    let cases = [
        (
            "a hole",
            without(third),
            format!("line {}: number: is change 4 where change 3 belongs", third + 1),
        ),
        (
            "an altered word",
            replaced(first, "Sign in", "Sign up"),
            format!("line {}: number: change 1 was altered", first + 1),
        ),
        (
            "an altered time",
            replaced(third, r#""rev":"#, r#""rev":1"#),
            format!("line {}: number: change 3 was altered", third + 1),
        ),
        (
            "a change of another ledger",
            alien,
            format!(
                "line {}: number: change 3 was altered, or is of another ledger",
                third + 1
            ),
        ),
        (
            "no last change",
            without(last),
            format!(
                "line {}: record: the ledger ends with change {}",
                last + 1,
                number(last) - 1
            ),
        ),
        (
            "a state ahead of its ledger",
            shorter,
            format!("line {}: ledger: EP-002: its deletion", epic - (last - cut)),
        ),
        (
            "another title",
            replaced(title, "Stays", "Stayed"),
            format!(
                "line {}: ledger: EP-003: not as the history has it: title",
                title + 1
            ),
        ),
        (
            "another comment",
            replaced(said, "Stands", "Stood"),
            format!("line {}: ledger: ", said + 1),
        ),
        ("a missing item", without(item), String::new()),
    ];
    let before = world.chain_head().await;
    for (what, file, told) in cases {
        let refusal = import(world, &file, None, WHOLE).await.expect_err(what);
        assert!(refusal.message.starts_with(&told), "{what}: {}", refusal.message);
        assert_eq!(world.chain_head().await, before, "{what}");
    }
    assert_eq!(
        world.admin.list("epic", json!({})).await.unwrap()["total_count"],
        0
    );
    verify(world).await;
    // The same file as it was exported is taken.
    import(world, &text, None, WHOLE).await.unwrap();
    verify(world).await;
    for other in [source, stranger] {
        other.end().await;
    }
}

//= specs/spexus-service.md#carrying
//= type=test
//# A file with history from which the history is not taken MUST be imported as one without, as a project with a history that begins
//# there.
//= specs/spexus-service.md#carrying
//= type=test
//# A history tells what its readers may not all see; who may not audit the installation MUST be refused an export of it.
async fn without_its_history_a_project_begins_a_new_one(world: &World) {
    let source = World::on_sqlite().await;
    furnish(&source).await;
    let text = export(&source, &source.admin.caller, true).await.unwrap();
    let plain = export(&source, &source.admin.caller, false).await.unwrap();
    assert!(!plain.contains("deleted_at") && !plain.contains(r#""record":"change""#));
    let reading = ImportOptions {
        history: false,
        ..WHOLE
    };
    let imported = import(world, &text, None, reading).await.unwrap();
    assert_eq!(
        (
            imported.created,
            imported.links,
            imported.comments,
            imported.changes
        ),
        (5, 1, 1, 0)
    );
    assert!(export(world, &world.admin.caller, false).await.unwrap() == plain);
    let verdict = verify(world).await;
    assert!(verdict.ledgers.iter().all(|ledger| ledger.origin.is_none()));
    let late = format!("\n{text}");
    let refusal = import(world, &late, Some("late"), WHOLE)
        .await
        .expect_err("it is not the first line");
    assert!(
        refusal
            .message
            .starts_with("line 2: record: is not on the first line"),
        "{}",
        refusal.message
    );
    let mixed = plain.replacen(
        r#""priority":"#,
        r#""deleted_at":"2026-01-01T00:00:00Z","priority":"#,
        1,
    );
    let refusal = import(world, &mixed, Some("mixed"), WHOLE)
        .await
        .expect_err("it is no history");
    assert!(
        refusal.message.contains("belongs to a file with history"),
        "{}",
        refusal.message
    );
    let secret = source.user("sam", "User").await;
    let sam = source.client(&secret).await.unwrap();
    let refusal = export(&source, &sam.caller, true).await.refused(1014);
    assert!(refusal.hint.contains("--no-history"), "{refusal:?}");
    source.end().await;
}

//= specs/spexus-service.md#carrying
//= type=test
//# A project whose history is here already MUST be refused.
async fn what_is_here_is_not_brought_a_second_time(world: &World) {
    let source = World::on_sqlite().await;
    furnish(&source).await;
    let text = export(&source, &source.admin.caller, true).await.unwrap();
    let tried = ImportOptions {
        dry_run: true,
        ..WHOLE
    };
    let before = world.chain_head().await;
    assert_eq!(
        import(world, &text, Some("moved"), tried).await.unwrap().created,
        5
    );
    assert_eq!(world.chain_head().await, before);
    import(world, &text, Some("moved"), WHOLE).await.unwrap();
    for key in [None, Some("moved"), Some("another")] {
        import(world, &text, key, WHOLE).await.expect_err("it is here");
    }
    verify(world).await;
    source.end().await;
}
