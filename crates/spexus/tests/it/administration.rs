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

//= specs/spexus-service.md#members
//= type=test
//# Whoever makes a project MUST be its owner, and nobody else MUST be a member of it unless its default role says so.
#[test]
fn members_groups_and_service_accounts_are_managed() {
    let world = World::new();
    world
        .run_with_input(&["user", "create", "kim", "--password-stdin"], "long enough\n")
        .ok();
    world.json(&["project", "create", "web"]);
    let list = ["item", "list", "--project", "web", "--as", "kim"];
    assert_eq!(world.refused(4, &list)["name"], "RESOURCE_NOT_FOUND");
    let keys = world.json(&["project", "list", "--as", "kim"]);
    assert_eq!(keys["total_count"], 1, "the default project is open: {keys}");
    let made = world.json(&["project", "member", "add", "web", "kim", "reader"]);
    assert_eq!(
        (&made["member"], &made["role"]),
        (&json!("kim"), &json!("reader"))
    );
    world.json(&list);
    let create = [
        "item",
        "create",
        "epic",
        "--title",
        "x",
        "--project",
        "web",
        "--as",
    ];
    let create = |who| [&create[..], &[who]].concat();
    world.refused(3, &create("kim"));
    world.json(&["group", "create", "backend"]);
    world.json(&["group", "add", "backend", "kim"]);
    world.json(&["project", "member", "add", "web", "group:backend", "author"]);
    world.json(&create("kim"));
    assert_eq!(world.json(&["group", "list"])["data"][0]["users"], json!(["kim"]));
    let members = world.json(&["project", "member", "list", "web"]);
    assert_eq!(members["total_count"], 3, "{members}");
    let robot = world.json(&["user", "create", "ci", "--service", "--owner", "kim"]);
    assert_eq!(robot["owner"], "kim");
    world.refused(4, &create("ci"));
    world.json(&["project", "member", "add", "web", "ci", "author"]);
    world.json(&create("ci"));
    let token = world.json(&["token", "create", "--user", "ci", "--name", "pipeline"]);
    assert_eq!(token["agent"], true);
    world.json(&["group", "remove", "backend", "kim"]);
    world.refused(3, &create("ci"));
    world.json(&["project", "member", "remove", "web", "kim"]);
    assert_eq!(world.refused(4, &list)["name"], "RESOURCE_NOT_FOUND");
    world.run(&["user", "create", "x", "--service"]).expect(2);
    world.run(&["user", "create", "x", "--owner", "kim"]).expect(2);
    world.json(&["group", "delete", "backend"]);
    // What is not said is said by a setting.
    let open = ["project", "create", "open", "--default-role", "reader"];
    assert_eq!(world.json(&open)["default_role"], "reader");
    world.json(&["item", "list", "--project", "open", "--as", "kim"]);
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
    //= specs/spexus.md#secrets
    //= type=test
    //# `token create` MUST say what the new token may be used for and when it stops working, beside its secret.
    let plain = world.run(&["token", "create", "--name", "other"]);
    assert!(plain.err.contains("read, expires 20"), "{plain:?}");
    assert_eq!(plain.ok().trim().len(), "mcp_pat_".len() + 43);
    assert_eq!(world.json(&["token", "list"])["total_count"], 2);
    assert!(!world.run(&["token", "list"]).ok().contains("mcp_pat_"));
    world.json(&["token", "revoke", "ci"]);
    assert_eq!(
        world.refused(4, &["token", "revoke", "ci"])["name"],
        "RESOURCE_NOT_FOUND"
    );
    assert_eq!(
        world.refused(1, &["token", "create", "--name", "x", "--expires", "someday"])["fields"][0]["field"],
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

#[test]
fn a_backup_into_a_folder_that_is_missing_is_refused_by_its_path() {
    let world = World::new();
    let refused = world.refused(1, &["backup", "/nonexistent/x.db"]);
    assert_eq!(refused["fields"][0]["field"], "file", "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("/nonexistent/x.db"),
        "{refused}"
    );
}

/// The same server, with another part of the URL wrong each time.
//= specs/spexus-store.md#errors
//= type=test
//# A PostgreSQL server that does not let the program in MUST be told apart by reason: not reachable, password, user, database,
//# rights, encryption.
#[test]
fn a_server_that_does_not_let_us_in_is_told_plainly() {
    let Some(good) = World::postgres() else { return };
    let url = good.database;
    let (before, database) = url.rsplit_once('/').unwrap();
    let (_, host) = before
        .rsplit_once('@')
        .unwrap_or(before.rsplit_once("//").unwrap());
    let cases = [
        (
            format!("postgres://nobody-here@{host}/{database}"),
            78,
            "nobody-here",
        ),
        (
            format!("postgres://spexus:wrong@{host}/{database}"),
            78,
            "password of user",
        ),
        (format!("{before}/no-such-database"), 78, "no-such-database"),
        (
            format!(
                "{url}{}sslmode=require",
                if url.contains('?') { '&' } else { '?' }
            ),
            78,
            "encryption",
        ),
        (
            "postgres://kim@127.0.0.1:1/none".to_owned(),
            69,
            "refused the connection",
        ),
    ];
    for (database, code, word) in cases {
        let world = World::at(&database);
        let answer = world.run(&["item", "list"]).expect(code);
        assert!(answer.err.contains(word), "{database}: {}", answer.err);
        assert!(!answer.err.contains("internal"), "{}", answer.err);
        let report = world.run(&["doctor"]).expect(1).out;
        assert!(
            report.contains("FAIL  database") && report.contains(word),
            "{report}"
        );
    }
}

//= specs/spexus.md#answers
//= type=test
//# Only `init`, `serve`, `migrate` in its target and `mcp --database` MUST make a database; every other command MUST
//# refuse one that is empty or not there, leave it as it is, and say how to make it.
#[test]
fn a_command_that_is_not_to_make_tables_leaves_an_empty_server_empty() {
    let Some(empty) = test_support::fresh_database() else {
        return;
    };
    let world = World::at(&empty);
    for command in [
        &["item", "list"][..],
        &["export"],
        &["audit", "verify"],
        &["doctor"],
        &["demo"],
        &["import", "a.csv"],
        &["user", "create", "kim", "--password-stdin"],
        &["token", "create", "--name", "t"],
        &["project", "create", "web", "--name", "Web"],
    ] {
        world.file("a.csv", "kind,title\nepic,x\n");
        let answer = world.run_with_input(command, "a long password");
        assert_ne!(answer.code, 0, "{command:?}");
        let told = format!("{}{}", answer.out, answer.err);
        assert!(told.contains("spexus init"), "{command:?}: {told}");
    }
    let made = world.json(&["init"]);
    assert_eq!(made["created"], true, "nothing was there before: {made}");
    assert_eq!(world.json(&["item", "list"])["total_count"], 0);
}

//= specs/spexus.md#answers
//= type=test
//# `doctor` MUST tell what an acknowledged write survives as the database itself says it.
/// The server of the tests flushes nothing, because it is thrown away; that must not be called safe.
#[test]
fn the_doctor_tells_the_truth_about_a_server_that_does_not_flush() {
    let Some(world) = World::postgres() else { return };
    let report = world.json(&["doctor"]);
    let check = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap().clone()
    };
    let durability = check("durability");
    assert_eq!(durability["state"], "warn", "{durability}");
    assert!(
        durability["message"].as_str().unwrap().contains("fsync = off"),
        "{durability}"
    );
    assert_eq!(
        check("encryption")["state"],
        "ok",
        "it does not leave the machine"
    );
    let world = World::new();
    let report = world.json(&["doctor"]);
    let named = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "durability");
    assert_eq!(named.unwrap()["state"], "ok", "{report}");
}

#[test]
fn the_audit_trail_is_searched_and_pruned() {
    for world in World::both() {
        world
            .run_with_input(&["user", "create", "kim", "--password-stdin"], "a long password")
            .ok();
        let about = |arguments: &[&str]| {
            let found = world.json(&[&["audit", "log"], arguments].concat());
            found["total_count"].as_u64().unwrap()
        };
        assert_eq!(about(&["--event", "account_created", "--user", "kim"]), 1);
        assert_eq!(about(&["--event", "account_created", "--user", "ann"]), 0);
        assert_eq!(about(&["--event", "account_created", "--since", "1h"]), 1);
        assert_eq!(about(&["--event", "account_created", "--until", "1h"]), 0);
        assert_eq!(
            world.refused(1, &["audit", "log", "--since", "soon"])["fields"][0]["field"],
            "since"
        );
        assert_eq!(world.json(&["audit", "prune", "--before", "1h"])["removed"], 0);
        assert_eq!(about(&["--event", "trail_pruned"]), 1);
        let far = "2999-01-01";
        assert_eq!(
            world.json(&["audit", "prune", "--before", far])["removed"],
            0,
            "only days that are over go, and as a whole"
        );
        assert_eq!(about(&["--event", "trail_pruned"]), 2);
    }
}
