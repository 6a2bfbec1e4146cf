//! Items, links, comments, history, search and batches, by commands.

use crate::world::{World, redacted};
use serde_json::json;

fn story(world: &World) {
    world.json(&["item", "create", "epic", "--title", "Login", "--priority", "high"]);
    world.json(&[
        "item",
        "create",
        "user_story",
        "--title",
        "Log in",
        "--parent",
        "EP-1",
    ]);
    let criterion = [
        "item",
        "create",
        "ac",
        "--description",
        "A wrong password is refused.",
        "--parent",
        "US-1",
    ];
    world.json(&criterion);
    let requirement = [
        "item",
        "create",
        "requirement",
        "--title",
        "Hash passwords",
        "--parent",
        "US-1",
        "--criterion",
        "AC-1",
    ];
    world.json(&requirement);
    world.json(&[
        "item",
        "create",
        "requirement",
        "--title",
        "Slow down guesses",
        "--parent",
        "US-1",
        "--attribute",
        "points=3",
    ]);
}

#[test]
fn an_item_is_made_read_changed_moved_deleted_and_restored_on_both_engines() {
    for world in World::both() {
        story(&world);
        insta::allow_duplicates! {
            insta::assert_json_snapshot!("item_get", redacted(world.json(&["item", "get", "req-1"])));
        }
        let changed = world.json(&[
            "item",
            "update",
            "REQ-1",
            "--title",
            "Hash all passwords",
            "--status",
            "Active",
            "--criterion",
            "",
            "--expect-rev",
            "1",
        ]);
        assert_eq!(
            (&changed["rev"], &changed["status"]),
            (&json!(2), &json!("Active"))
        );
        assert_eq!(changed.get("acceptance_criterion"), None);
        let moved = world.json(&["item", "move", "REQ-1", "--after", "REQ-2"]);
        assert_eq!(moved["rev"], 3);
        let tree = world.json(&["item", "tree", "EP-1"]);
        assert_eq!(tree["total_count"], 5);
        let preview = world.json(&["item", "delete", "US-1", "--preview"]);
        assert_eq!(preview["can_delete"], false);
        assert_eq!(
            world.refused(1, &["item", "delete", "US-1"])["name"],
            "DELETION_BLOCKED"
        );
        world.json(&["item", "delete", "US-1", "--force"]);
        assert_eq!(world.json(&["item", "list"])["total_count"], 1);
        assert_eq!(world.json(&["item", "list", "--deleted"])["total_count"], 4);
        world.json(&["item", "restore", "US-1"]);
        assert_eq!(
            world.json(&["item", "list", "requirement", "--order-by", "-title"])["data"][0]["reference_id"],
            "REQ-002"
        );
        let history = world.json(&["item", "history", "REQ-1"]);
        assert_eq!(history["total_count"], 5);
        assert_eq!(world.json(&["audit", "verify"])["fault"], json!(null));
    }
}

#[test]
fn text_is_short_and_readable() {
    let world = World::new();
    story(&world);
    assert_eq!(
        world.run(&["item", "create", "epic", "--title", "Two"]).ok(),
        "EP-002  Two  [Backlog]  revision 1\n"
    );
    insta::assert_snapshot!(world.run(&["item", "list", "--under", "EP-1"]).ok(), @r"
    US-001   Backlog  P3  Log in
    AC-001                A wrong password is refused.
    REQ-001  Draft    P3  Hash passwords
    REQ-002  Draft    P3  Slow down guesses
    4 in all
    ");
}

#[test]
fn links_and_comments() {
    let world = World::new();
    story(&world);
    let link = world.json(&["item", "link", "REQ-1", "depends_on", "REQ-2"]);
    let id = link["id"].as_str().unwrap();
    let cycle = world.refused(1, &["item", "link", "REQ-2", "depends_on", "REQ-1"]);
    assert_eq!(cycle["name"], "RULE_VIOLATED");
    assert_eq!(
        world.json(&["item", "links", "REQ-2", "--type", "is_required_by"])["total_count"],
        1
    );
    world.json(&["item", "update", "REQ-2", "--title", "Slow down all guesses"]);
    assert_eq!(
        world.json(&["item", "links", "REQ-1"])["data"][0]["suspect"],
        true
    );
    assert_eq!(world.json(&["item", "confirm", id])["suspect"], false);
    assert_eq!(world.json(&["item", "unlink", id])["id"], id);
    let first = world.json(&[
        "item",
        "comment",
        "AC-1",
        "Which password?",
        "--quote",
        "wrong password",
    ]);
    let reply = world.json(&[
        "item",
        "comment",
        "AC-1",
        "Any.",
        "--reply-to",
        first["id"].as_str().unwrap(),
    ]);
    assert_eq!(
        (&reply["depth"], &first["anchor"]["start"]),
        (&json!(1), &json!(2))
    );
    world.json(&["item", "resolve", first["id"].as_str().unwrap()]);
    assert_eq!(
        world.json(&["item", "comments", "AC-1", "--resolved", "false"])["total_count"],
        1
    );
    let text = world.run(&["item", "comments", "AC-1"]).ok();
    assert!(
        text.contains("> wrong password") && text.contains("  Any."),
        "{text}"
    );
}

#[test]
fn refusals_tell_field_hint_and_exit_code() {
    //= specs/spexus.md#answers
    //= type=test
    //# With `--json` a refusal MUST be the error envelope of REST.
    let world = World::new();
    insta::assert_json_snapshot!(world.refused(4, &["item", "get", "EP-7"]), @r#"
    {
      "code": 1046,
      "hint": "Check the id; search for it if you are unsure.",
      "message": "there is no item EP-007",
      "name": "RESOURCE_NOT_FOUND"
    }
    "#);
    insta::assert_json_snapshot!(world.refused(1, &["item", "create", "epic", "--title", "x", "--status", "Dnoe"]), @r#"
    {
      "code": 1021,
      "fields": [
        {
          "allowed": "one of: Backlog, Draft, In Progress, Done, Cancelled",
          "field": "status",
          "problem": "\"Dnoe\" is not known"
        }
      ],
      "hint": "Did you mean \"Done\"?",
      "message": "status: \"Dnoe\" is not known",
      "name": "INVALID_PARAMS"
    }
    "#);
    let told = world.run(&["item", "create", "story", "--title", ""]).expect(1);
    assert!(
        told.out.is_empty() && told.err.starts_with("error: kind: "),
        "{told:?}"
    );
    world.json(&["item", "create", "epic", "--title", "x"]);
    world.json(&["item", "update", "EP-1", "--title", "y"]);
    let stale = world.refused(
        1,
        &["item", "update", "EP-1", "--title", "z", "--expect-rev", "1"],
    );
    assert_eq!(
        (&stale["name"], &stale["facts"]["current_rev"]),
        (&json!("STALE_REVISION"), &json!("2"))
    );
}

//= specs/spexus-service.md#reports
//= type=test
//# A report of status and of gaps MUST be the same to agents, by REST and on the command line.
#[test]
fn reports_count_and_name_gaps() {
    let world = World::new();
    story(&world);
    world.json(&["item", "create", "epic", "--title", "Empty"]);
    let counted = world.json(&["report", "status"]);
    assert_eq!(counted["kinds"]["epic"]["by_status"]["Backlog"], 2, "{counted}");
    let below = world.json(&["report", "status", "--under", "US-001"]);
    assert!(
        below["total_count"].as_i64() < counted["total_count"].as_i64(),
        "{below}"
    );
    let gaps = world.json(&["report", "gaps"]);
    let empty = json!({ "data": ["EP-002"], "total_count": 1 });
    assert_eq!(gaps["sections"]["epics_without_stories"], empty, "{gaps}");
    let shown = world.run(&["report", "gaps"]).ok();
    assert!(
        shown.contains("epics without stories") && shown.contains("EP-002"),
        "{shown}"
    );
    assert!(world.run(&["report", "status"]).ok().contains("by assignee"));
    let missing = world.refused(4, &["report", "gaps", "--under", "EP-999"]);
    assert_eq!(missing["name"], "RESOURCE_NOT_FOUND", "{missing}");
}

#[test]
fn search_batch_changes_and_baselines() {
    let world = World::new();
    story(&world);
    assert_eq!(
        world.json(&["search", "passwrod"])["data"][0]["kind"],
        "requirement"
    );
    assert_eq!(
        world.json(&["search", "REQ-2", "--kinds", "requirement"])["data"][0]["reference_id"],
        "REQ-002"
    );
    world.json(&["baseline", "create", "v1", "--description", "the first"]);
    let operations = json!([
        {"op": "create", "ref": "e", "kind": "epic", "title": "Reports"},
        {"op": "create", "kind": "user_story", "parent": "@e", "title": "Export"},
    ]);
    let file = world.file("batch.json", &operations.to_string());
    assert_eq!(world.json(&["batch", &file, "--dry-run"])["dry_run"], true);
    assert_eq!(
        world.json(&["batch", &file, "--idempotency-key", "k"])["results"][1]["label"],
        "US-002"
    );
    assert_eq!(
        world.json(&["batch", &file, "--idempotency-key", "k"])["results"][1]["label"],
        "US-002"
    );
    let bad = world
        .run_with_input(&["batch", "-", "--json"], "[{\"op\": \"craete\"}]")
        .expect(1);
    assert_eq!(bad.json()["error"]["fields"][0]["field"], "operations[0].op");
    let diff = world.json(&["baseline", "diff", "v1"]);
    assert_eq!(diff["total_count"], 2);
    assert_eq!(world.json(&["baseline", "list"])["total_count"], 1);
    let changes = world.json(&["changes", "--limit", "3"]);
    let next = changes["next_since"].as_str().unwrap().to_owned();
    let rest = world.json(&["changes", "--since", &next]);
    assert_eq!(rest["data"].as_array().unwrap().len(), 5);
}

#[test]
fn a_follower_hears_of_what_other_processes_do() {
    use std::io::BufRead as _;
    let world = World::new();
    let mut command = world.command(&["changes", "--follow", "--json"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    world.json(&["item", "create", "epic", "--title", "News"]);
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let heard = lines.map_while(Result::ok).find(|line| line.contains("EP-001"));
    child.kill().unwrap();
    child.wait().unwrap();
    let change: serde_json::Value = serde_json::from_str(&heard.expect("the change")).unwrap();
    assert_eq!(change["action"], "created");
}
