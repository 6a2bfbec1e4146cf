//! What agents work with, by the commands that do the same.

use crate::world::World;
use serde_json::json;

const PLAN: &str =
    "# Gates\n## Open by key\n- WHEN the key fits THEN the gate SHALL open\n- The gate MUST log it\n";

#[test]
fn what_agents_do_by_tools_people_do_by_commands() {
    let world = World::new();
    let file = world.file("plan.md", PLAN);
    let file = file.as_str();
    let trial = world.json(&["plan", file, "--dry-run"]);
    assert_eq!(trial["items"][3]["id"], "REQ-001");
    assert_eq!(world.json(&["item", "list"])["total_count"], 0);
    let made = world.json(&["plan", file, "--intent", "First plan"]);
    assert_eq!(made["items"], trial["items"]);
    let who = world.json(&["whoami"]);
    assert_eq!(
        (&who["user"], &who["project"]),
        (&json!("admin"), &json!("default"))
    );
    let context = world.json(&[
        "item",
        "context",
        "REQ-1",
        "--purpose",
        "test",
        "--max-tokens",
        "600",
    ]);
    assert_eq!(
        context["criteria"][0]["text"],
        "WHEN the key fits THEN the gate SHALL open"
    );
    let hash = context["hash"].as_str().unwrap();
    let again = world.json(&[
        "item",
        "context",
        "REQ-1",
        "--purpose",
        "test",
        "--if-changed",
        hash,
    ]);
    assert_eq!(again["unchanged"], true);
    let text = world.run(&["item", "context", "REQ-1"]).ok();
    assert!(
        text.contains("## Acceptance criteria\n- AC-001\n  > WHEN the key fits"),
        "{text}"
    );
    let next = world.json(&["work", "next"]);
    assert_eq!(next["ready"][0]["id"], "REQ-001");
    let claim = world.json(&["work", "claim", "REQ-1", "--minutes", "5", "--intent", "Log it"]);
    assert_eq!(claim["lease"]["holder"], "admin");
    assert_eq!(world.json(&["work", "leases"])["total_count"], 1);
    world.json(&[
        "item",
        "update",
        "REQ-1",
        "--priority",
        "P1",
        "--intent",
        "It is urgent",
    ]);
    let history = world.json(&["item", "history", "REQ-1"]);
    assert_eq!(history["data"][0]["intent"], "It is urgent");
    world.json(&["work", "release", "REQ-1"]);
    assert_eq!(world.json(&["work", "leases"])["total_count"], 0);
}
