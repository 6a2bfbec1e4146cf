//! Users, tokens, projects, prompts, settings, audit, backup, migration and the doctor.

use crate::world::{World, redacted};
use serde_json::json;

#[test]
fn users_are_made_changed_and_disabled() {
    //= specs/spexus.md#secrets
    //= type=test
    //# A password MUST be read from standard input or a prompt, never from an argument.
    let world = World::new();
    let make = [
        "user",
        "create",
        "kim",
        "--role",
        "commenter",
        "--email",
        "kim@host",
        "--password-stdin",
        "--json",
    ];
    let made = world.run_with_input(&make, "a long password\n").expect(0).json();
    assert_eq!(made["role"], "Commenter");
    assert_eq!(world.run(&["user", "create", "lee"]).expect(1).out, "");
    assert!(
        world
            .run(&["user", "create", "lee", "--password", "x"])
            .expect(2)
            .err
            .contains("--password")
    );
    assert_eq!(
        world.refused(3, &["item", "create", "epic", "--title", "x", "--as", "kim"])["name"],
        "AUTHZ_FORBIDDEN"
    );
    world.json(&["user", "update", "kim", "--role", "User"]);
    world.json(&["item", "create", "epic", "--title", "x", "--as", "kim"]);
    assert_eq!(world.json(&["user", "show", "kim"])["email"], "kim@host");
    assert_eq!(world.json(&["user", "list"])["total_count"], 2);
    world
        .run_with_input(
            &["user", "password", "kim", "--password-stdin"],
            "another password\n",
        )
        .ok();
    assert_eq!(world.json(&["user", "disable", "kim"])["active"], false);
    assert_eq!(
        world.refused(4, &["item", "list", "--as", "kim"])["fields"][0]["field"],
        "user"
    );
    assert_eq!(
        world.refused(1, &["user", "disable", "admin"])["name"],
        "RULE_VIOLATED"
    );
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let world = World::new();
    world.json(&["project", "create", "web"]);
    let made = world.json(&[
        "token",
        "create",
        "--user",
        "admin",
        "--name",
        "ci",
        "--scope",
        "read,comment",
        "--expires",
        "90d",
        "--project",
        "web",
    ]);
    assert!(made["token"].as_str().unwrap().starts_with("mcp_pat_"), "{made}");
    insta::assert_json_snapshot!("token_create", redacted(made));
    let plain = world.run(&["token", "create", "--name", "other"]).ok();
    assert_eq!(plain.trim().len(), "mcp_pat_".len() + 43);
    assert_eq!(world.json(&["token", "list"])["total_count"], 2);
    assert!(!world.run(&["token", "list"]).ok().contains("mcp_pat_"));
    world.json(&["token", "revoke", "ci"]);
    assert_eq!(
        world.refused(4, &["token", "revoke", "ci"])["name"],
        "RESOURCE_NOT_FOUND"
    );
    assert_eq!(
        world.refused(1, &["token", "create", "--name", "x", "--expires", "never"])["fields"][0]["field"],
        "expires"
    );
}

#[test]
fn projects_types_workflows_and_prompts() {
    let world = World::new();
    let rules = world.file("rules.json", r#"[{"name": "points", "type": "number"}]"#);
    world.json(&[
        "project",
        "create",
        "web",
        "--name",
        "Web",
        "--attributes",
        &rules,
    ]);
    world.json(&["project", "update", "web", "--description", "The site."]);
    assert_eq!(
        world.json(&["project", "show", "web"])["attributes"][0]["name"],
        "points"
    );
    assert_eq!(world.json(&["project", "list"])["total_count"], 2);
    let refused = world.refused(
        1,
        &[
            "item",
            "create",
            "epic",
            "--title",
            "x",
            "--project",
            "web",
            "--attribute",
            "size=3",
        ],
    );
    assert_eq!(refused["fields"][0]["field"], "attributes.size");
    assert_eq!(
        world.json(&["type", "list"])["requirement_types"][0]["name"],
        "Functional"
    );
    let workflow = world.run(&["workflow", "show", "requirement"]).ok();
    insta::assert_snapshot!(workflow, @r"
    requirement
      Draft     start  → Active, Obsolete
      Active           → Obsolete
      Obsolete  end    → Active
    ");
    assert_eq!(
        world.refused(4, &["workflow", "show", "ac"])["name"],
        "RESOURCE_NOT_FOUND"
    );
    world.json(&[
        "prompt",
        "create",
        "review",
        "--text",
        "Look at {{item}}.",
        "--argument",
        "!item=What to look at",
    ]);
    assert_eq!(world.json(&["prompt", "activate", "review"])["active"], true);
    let active: Vec<bool> = world.json(&["prompt", "list"])["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["active"] == true)
        .collect();
    assert_eq!(active, [false, true]);
    assert_eq!(
        world.json(&["prompt", "show", "review"])["arguments"][0]["required"],
        true
    );
}

#[test]
fn a_tampered_row_is_found() {
    //= specs/spexus.md#exit-codes
    //= type=test
    //# `audit verify` MUST end with 1 when the history was tampered with.
    let world = World::new();
    world.json(&["item", "create", "epic", "--title", "Zebra crossing"]);
    assert!(
        world
            .run(&["audit", "verify"])
            .ok()
            .starts_with("The history is whole: ")
    );
    let path = world.path("test.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"Zebra crossing";
    let places: Vec<usize> = (0..bytes.len() - needle.len())
        .filter(|at| bytes[*at..].starts_with(needle))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at] = b'C';
    }
    std::fs::write(&path, bytes).unwrap();
    let verdict = world.run(&["audit", "verify", "--json"]).expect(1).json();
    assert!(
        verdict["fault"]["problem"].as_str().unwrap().contains("hash"),
        "{verdict}"
    );
    assert!(
        world
            .run(&["doctor"])
            .expect(1)
            .out
            .contains("FAIL  history: tampered with at change")
    );
}

#[test]
fn the_door_has_a_log() {
    let world = World::new();
    assert_eq!(world.json(&["audit", "log"])["total_count"], 0);
}

#[test]
fn a_backup_is_whole_and_never_overwrites() {
    for mut world in World::both() {
        world.json(&["item", "create", "epic", "--title", "Kept"]);
        let file = world.path("backup.db").display().to_string();
        let copied = world.json(&["backup", &file]);
        assert!(
            copied["tables"]
                .as_array()
                .unwrap()
                .iter()
                .any(|table| table["name"] == "item" && table["rows"] == 1)
        );
        assert_eq!(world.refused(1, &["backup", &file])["fields"][0]["field"], "file");
        world.database = format!("sqlite:{file}");
        assert_eq!(world.json(&["item", "get", "EP-1"])["title"], "Kept");
        assert_eq!(world.json(&["audit", "verify"])["fault"], json!(null));
    }
}

#[test]
fn everything_moves_between_engines_and_back() {
    let Some(server) = test_support::fresh_database() else {
        return;
    };
    let world = World::new();
    world.json(&["demo", "--items", "60"]);
    let there = world
        .run(&["migrate", "--from", &world.database, "--to", &server])
        .ok();
    assert!(there.contains("Copied and verified: postgres"), "{there}");
    let back = format!("sqlite:{}", world.path("back.db").display());
    world.json(&["migrate", "--from", &server, "--to", &back]);
    let export = |database: &str| World::at(database).run(&["export"]).ok();
    assert_eq!(export(&world.database), export(&server));
    assert_eq!(export(&world.database), export(&back));
    assert_eq!(
        world.refused(1, &["migrate", "--from", &back, "--to", &server])["fields"][0]["field"],
        "to"
    );
}

#[test]
fn the_doctor_says_what_to_do() {
    for world in World::both() {
        let report = world.json(&["doctor"]);
        assert_eq!(report["healthy"], true, "{report}");
    }
    let world = World::empty();
    let report = world.run(&["doctor"]).expect(1).out;
    assert!(
        report.contains("FAIL  database: database: there is no database"),
        "{report}"
    );
    assert!(report.contains("spexus init"), "{report}");
    let world = World::new();
    let mut misspelt = world.command(&["doctor"]);
    let answer = misspelt.env("SPEXUS_LISEN", "x").output().unwrap();
    assert!(
        String::from_utf8_lossy(&answer.stdout)
            .contains("warn  configuration: no setting has the variable SPEXUS_LISEN")
    );
}

#[test]
fn completions_and_help() {
    let world = World::empty();
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.run(&["completions", shell]).ok().contains("spexus"));
    }
    let help = world.run(&["--help"]).ok();
    assert!(help.contains("78  the configuration is wrong"), "{help}");
    assert_eq!(world.run(&["--version"]).ok().trim(), "spexus 1.0.0");
    assert_eq!(world.run(&["frobnicate"]).expect(2).out, "");
    assert_eq!(
        world.run(&["frobnicate", "--json"]).expect(2).json()["error"]["name"],
        "INVALID_PARAMS"
    );
}

#[test]
fn the_reference_of_the_command_line_is_current() {
    let made = World::empty().run(&["help-markdown"]).ok();
    let kept = crate::world::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md"));
    assert!(
        made == kept,
        "docs/cli.md is out of date: cargo run -- help-markdown > docs/cli.md"
    );
}
