//! Projects in and out.

use crate::world::{World, read};
use serde_json::json;
use std::io::Write as _;
use std::process::Stdio;

/// A project with everything an export must carry.
fn furnished(world: &World) {
    world.json(&["demo", "--items", "120", "--seed", "5"]);
    let rules = world.file("rules.json", r#"[{"name": "risk", "type": "choice", "options": ["low", "high"]}, {"name": "points", "type": "number"}]"#);
    world.json(&[
        "project",
        "update",
        "default",
        "--attributes",
        &rules,
        "--description",
        "Проект\nна двух языках",
    ]);
    world.json(&[
        "item",
        "update",
        "EP-1",
        "--attribute",
        "risk=high",
        "--attribute",
        "points=0.1",
        "--description",
        "Quote me \u{1F980} \"twice\"\n\n# twice",
    ]);
    world.json(&[
        "item",
        "comment",
        "EP-1",
        "About this",
        "--quote",
        "twice",
        "--start",
        "12",
    ]);
    world.json(&["item", "update", "EP-1", "--description", "All new, twice"]);
    world.json(&["item", "create", "epic", "--title", "To be deleted"]);
    let last = world.json(&[
        "item",
        "list",
        "epic",
        "--order-by",
        "-created_at",
        "--limit",
        "1",
    ]);
    world.json(&[
        "item",
        "delete",
        last["data"][0]["reference_id"].as_str().unwrap(),
    ]);
    world.json(&["item", "link", "REQ-1", "depends_on", "REQ-9"]);
    world.json(&["item", "update", "REQ-9", "--title", "Now the link is suspect"]);
    world.json(&["prompt", "create", "review", "--text", "Look at it."]);
    world.json(&["prompt", "activate", "review"]);
}

#[test]
fn json_lines_lose_nothing_on_both_engines() {
    //= specs/spexus.md#transfer
    //= type=test
    //# A project exported as JSON lines, imported into an empty database and exported again MUST be the same, byte for byte, on
    //# both engines.
    let source = World::new();
    furnished(&source);
    let file = source.path("a.jsonl").display().to_string();
    let exported = source.json(&["export", &file]);
    assert_eq!(exported["items"], 120);
    let original = read(&file);
    assert!(
        original.contains("source_hash") || original.contains("target_hash"),
        "a suspect link stays suspect"
    );
    for target in World::both() {
        let imported = target.json(&["import", &file]);
        assert_eq!(
            (&imported["created"], imported["links"].as_i64() > Some(5)),
            (&json!(120), true)
        );
        //= specs/spexus.md#transfer
        //= type=test
        //# A user an import speaks of and nobody here has MUST become a disabled account.
        assert_eq!(target.json(&["user", "show", "anna"])["active"], false);
        let again = target.run(&["export"]).ok();
        assert!(original == again, "the second export differs from the first");
        assert!(
            target
                .run(&["audit", "verify"])
                .ok()
                .contains("began at another installation")
        );
        let next = target.json(&["item", "create", "epic", "--title", "Next"]);
        let number = |text: &str| text.trim_start_matches("EP-").parse::<i64>().unwrap();
        let deleted = source.json(&["item", "list", "epic", "--deleted"])["data"][0]["reference_id"].clone();
        assert_eq!(
            number(next["reference_id"].as_str().unwrap()),
            number(deleted.as_str().unwrap()) + 1,
            "no number is given out twice"
        );
        let found = target.json(&["search", "\"all new\""]);
        assert_eq!(found["data"][0]["reference_id"], "EP-001");
    }
    let lines: Vec<&str> = original.lines().collect();
    let torn = source.file("torn.jsonl", &[&lines[..40], &lines[41..]].concat().join("\n"));
    let target = World::new();
    let told = target.refused(1, &["import", &torn]);
    assert!(
        told["message"].as_str().unwrap().starts_with("line 41: number: "),
        "{told}"
    );
    for sheet in [
        ["export", "a.csv", "--no-history"],
        ["import", "a.csv", "--no-history"],
    ] {
        assert_eq!(source.refused(1, &sheet)["fields"][0]["field"], "no-history");
    }
    assert_eq!(
        source.refused(1, &["import", &file])["fields"][0]["problem"],
        "the project \"default\" is not empty"
    );
    assert_eq!(
        source.refused(1, &["import", &file, "--project", "copy"])["name"],
        "ENTITY_DUPLICATE"
    );
}

#[test]
fn a_file_that_is_not_whole_is_refused_with_the_line() {
    //= specs/spexus.md#transfer
    //= type=test
    //# A refusal of an import MUST name the line.
    let source = World::new();
    source.json(&["demo", "--items", "12"]);
    let whole = source.run(&["export", "--no-history"]).ok();
    let target = World::new();
    let refused = |text: &str| {
        let file = target.file("x.jsonl", text);
        let refusal = target.refused(1, &["import", &file]);
        assert_eq!(target.json(&["item", "list"])["total_count"], 0);
        refusal["message"].as_str().unwrap().to_owned()
    };
    let lines: Vec<&str> = whole.lines().collect();
    let cut = lines[..lines.len() - 1].join("\n");
    assert!(
        refused(&cut).contains("is cut off after line"),
        "{}",
        refused(&cut)
    );
    assert_eq!(
        refused(&whole.replace("\"version\":1", "\"version\":9")),
        "line 1: version: is 9, this program reads 1 and 2"
    );
    assert!(refused(&lines[1..].join("\n")).starts_with("line 1: record: is not a header"));
    let broken = whole.replacen("\"priority\":", "\"prio\":", 1);
    assert!(
        refused(&broken).contains("unknown field `prio`"),
        "{}",
        refused(&broken)
    );
    let orphan = whole.replacen("\"parent\":\"EP-001\"", "\"parent\":\"EP-777\"", 1);
    assert!(refused(&orphan).contains("parent: EP-777 does not stand above this line"));
    assert!(refused("{\"record\":\n").starts_with("line 1: record: cannot be read"));
    let dry = target.file("dry.jsonl", &whole);
    assert_eq!(target.json(&["import", &dry, "--dry-run"])["created"], 12);
    assert_eq!(target.json(&["item", "list"])["total_count"], 0);
    let commenter = ["user", "create", "kim", "--role", "User", "--password-stdin"];
    target.run_with_input(&commenter, "a long password").ok();
    assert_eq!(
        target.refused(3, &["import", &dry, "--as", "kim"])["name"],
        "AUTHZ_FORBIDDEN"
    );
}

#[cfg(unix)]
#[test]
fn an_import_killed_in_the_middle_leaves_nothing_half_done() {
    //= specs/spexus.md#transfer
    //= type=test
    //# An import MUST be all or nothing, also when the process is killed.
    let source = World::new();
    source.json(&["demo", "--items", "400"]);
    let whole = source.run(&["export"]).ok();
    for target in World::both() {
        let before = target.json(&["audit", "verify"]);
        let pipe = target.path("pipe.jsonl");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let mut command = target.command(&["import", pipe.to_str().unwrap()]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // When this much is written, all but the pipe's own 64 KiB and a buffer have been imported.
        let mut into = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        into.write_all(&whole.as_bytes()[..whole.len() - 2_000]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        drop(into);
        assert_eq!(target.json(&["item", "list"])["total_count"], 0);
        assert_eq!(target.json(&["audit", "verify"]), before);
        let imported = target
            .run_with_input(&["import", "-", "--format", "jsonl", "--json"], &whole)
            .expect(0)
            .json();
        assert_eq!(imported["created"], 400);
    }
}

#[test]
fn a_sheet_makes_and_changes_items() {
    for world in World::both() {
        let sheet = "reference_id,kind,title,description,status,priority,parent,assignee\n\
                     e,epic,Login,\"Two\nlines\",In Progress,1,,admin\n\
                     s,user_story,Log in,,,,e,\n\
                     AC-9,,,It is fast.,,,s,\n";
        let file = world.file("a.csv", sheet);
        let trial = world.run(&["import", &file, "--dry-run"]).ok();
        assert!(
            trial.contains("line 2  create  EP-001  Login") && trial.contains("nothing was kept"),
            "{trial}"
        );
        assert_eq!(world.json(&["import", &file])["created"], 3);
        let epic = world.json(&["item", "get", "EP-1"]);
        assert_eq!(
            (&epic["status"], &epic["description"], &epic["rev"]),
            (&json!("In Progress"), &json!("Two\nlines"), &json!(2))
        );
        let out = world.path("out.csv").display().to_string();
        world.json(&["export", &out]);
        assert_eq!(world.json(&["import", &out])["unchanged"], 3);
        let edited = read(&out)
            .replace("Log in", "Log in quickly")
            .replace(",admin,", ",,");
        world.file("out.csv", &edited);
        assert_eq!(world.json(&["import", &out])["updated"], 2);
        assert_eq!(world.json(&["item", "get", "EP-1"]).get("assignee"), None);
        assert_eq!(world.refused(1, &["import", &out])["name"], "STALE_REVISION");
        let chosen = world
            .run(&["export", "--format", "csv", "--columns", "reference_id,title"])
            .ok();
        assert_eq!(chosen.lines().nth(2), Some("US-001,Log in quickly"));
        let bad = world.file(
            "bad.csv",
            "kind,title,status\nepic,Fine,\nepic,,\nepic,x,Dnoe\nstory,y,\n",
        );
        let refusal = world.refused(1, &["import", &bad]);
        let fields: Vec<&str> = refusal["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["field"].as_str().unwrap())
            .collect();
        assert_eq!(fields, ["line 3, title", "line 4, status", "line 5, kind"]);
        assert_eq!(world.json(&["item", "list"])["total_count"], 3);
    }
}

#[test]
fn a_document_comes_back_with_its_titles_and_texts() {
    let source = World::new();
    source.json(&["demo", "--items", "80", "--seed", "3"]);
    source.json(&[
        "item",
        "update",
        "EP-1",
        "--description",
        "# Not a heading\n\\# nor this\n\n- a list\n  - inside",
    ]);
    source.json(&[
        "item",
        "update",
        "REQ-1",
        "--description",
        "- first\n- second\n\n# deep",
        "--title",
        "With **bold** inside",
    ]);
    let file = source.path("a.md").display().to_string();
    source.json(&["export", &file]);
    assert_eq!(source.json(&["import", &file])["unchanged"], 80);
    let target = World::new();
    for name in ["anna", "boris", "chen", "dmitri", "elena", "farid"] {
        target
            .run_with_input(&["user", "create", name, "--password-stdin"], "a long password")
            .ok();
    }
    assert_eq!(target.json(&["import", &file])["created"], 80);
    let columns = [
        "export",
        "--format",
        "csv",
        "--columns",
        "kind,title,description,status,priority,type,assignee",
    ];
    let sorted = |world: &World| {
        let mut lines: Vec<String> = world.run(&columns).ok().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&source), sorted(&target));
    let one = source
        .run(&["export", "--format", "markdown", "--epic", "EP-1"])
        .ok();
    assert!(
        one.starts_with("# EP-001 ") && !one.contains("\n# EP-002"),
        "{one}"
    );
}

#[test]
fn the_same_seed_writes_the_same_project() {
    //= specs/spexus.md#transfer
    //= type=test
    //# `spexus demo` with the same seed SHOULD write the same project.
    let write = |seed: &str| {
        let world = World::new();
        let made = world.json(&["demo", "--items", "150", "--seed", seed]);
        assert_eq!(made["filled"]["items"], 150);
        assert_eq!(world.json(&["audit", "verify"])["fault"], json!(null));
        world.run(&["export", "--format", "csv"]).ok()
    };
    assert_eq!(write("1"), write("1"));
    assert_ne!(write("1"), write("2"));
}
