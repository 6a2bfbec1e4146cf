//! Two projects with the same numbers, by commands: nothing is guessed, and `--project` is never ignored.

use crate::world::World;
use serde_json::{Value, json};

/// The exit code of input that does not fit.
const USAGE: i32 = 1;

/// EP-001 in `default` and in `web`, EP-002 only in `web`.
fn twins(world: &World) {
    world.json(&["project", "create", "web"]);
    world.json(&["item", "create", "epic", "--title", "Default's"]);
    world.json(&["item", "create", "epic", "--title", "Web's", "--project", "web"]);
    world.json(&[
        "item",
        "create",
        "epic",
        "--title",
        "Web's second",
        "--project",
        "web",
    ]);
}

fn field(error: &Value) -> &Value {
    &error["fields"][0]["field"]
}

#[test]
fn a_reference_two_projects_have_is_never_guessed_by_a_command() {
    for world in World::both() {
        twins(&world);
        let kim = ["user", "create", "kim", "--password-stdin", "--json"];
        world.run_with_input(&kim, "long enough\n").expect(0);
        world.json(&["project", "member", "add", "web", "kim", "author"]);
        for command in [
            &["item", "get", "EP-1"][..],
            &["item", "update", "EP-1", "--title", "x"],
            &["item", "delete", "EP-1", "--force"],
            &["item", "history", "EP-1"],
            &["item", "comment", "EP-1", "x"],
            &["item", "create", "user_story", "--title", "x", "--parent", "EP-1"],
            &["report", "status", "--under", "EP-1"],
        ] {
            for who in ["admin", "kim"] {
                let error = world.refused(USAGE, &[command, &["--as", who]].concat());
                let allowed = &error["fields"][0]["allowed"];
                assert_eq!(allowed, "default/EP-001, web/EP-001", "{command:?}: {error}");
            }
        }
        assert_eq!(world.json(&["item", "get", "EP-2"])["project"], "web");
        assert_eq!(world.json(&["item", "get", "web/EP-1"])["title"], "Web's");
        assert_eq!(
            world.json(&["item", "get", "EP-1", "--project", "web"])["title"],
            "Web's"
        );
        let error = world.refused(USAGE, &["item", "get", "web/EP-1", "--project", "default"]);
        assert_eq!(field(&error), "project", "{error}");
        let uuid = world.json(&["item", "get", "web/EP-1"])["id"].clone();
        let error = world.refused(
            USAGE,
            &["item", "delete", uuid.as_str().unwrap(), "--project", "default"],
        );
        assert_eq!(field(&error), "project", "{error}");
    }
}

//= specs/spexus.md#answers
//= type=test
//# `--project` MUST be obeyed, or refused by commands that do not work in a project.
#[test]
fn a_project_that_is_given_is_never_ignored() {
    let world = World::new();
    twins(&world);
    for command in [
        &["user", "list"][..],
        &["token", "list"],
        &["project", "list"],
        &["audit", "verify"],
        &["config", "show"],
        &["doctor"],
        &["item", "unlink", "0191d5e5-0000-7000-8000-000000000000"],
    ] {
        let error = world.refused(USAGE, &[command, &["--project", "web"]].concat());
        assert_eq!(field(&error), "project", "{command:?}: {error}");
    }
    let batch = json!({"project": "web", "operations": [{"op": "create", "kind": "epic", "title": "x"}]});
    let file = world.file("batch.json", &batch.to_string());
    let error = world.refused(USAGE, &["batch", &file, "--project", "default"]);
    assert_eq!(field(&error), "project", "{error}");
    world.json(&["batch", &file, "--project", "web"]);
    assert_eq!(world.json(&["item", "get", "EP-3"])["project"], "web");
}
