//! `spexus trace`, as a person and as CI call it.

use crate::world::World;
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A requirement in the project `web`, and a tree that cites it and has a test for it.
fn project(world: &World) {
    world.json(&["project", "create", "web"]);
    let create = |kind: &str, more: &[&str]| {
        world.json(
            &[
                &[
                    "item",
                    "create",
                    kind,
                    "--project",
                    "web",
                    "--title",
                    "Sums MUST add up",
                ],
                more,
            ]
            .concat(),
        )
    };
    create("epic", &[]);
    create("user_story", &["--parent", "EP-001"]);
    create("requirement", &["--parent", "US-001"]);
    std::fs::create_dir_all(world.path("tree/src")).unwrap();
    world.file("tree/Cargo.toml", "[package]\nname = \"adder\"\n");
    world.file(
        "tree/src/lib.rs",
        "//= spexus:REQ-001\n//# Sums MUST add up\npub fn add() {\n    up();\n}\n\nmod tests {\n    // verifies REQ-001\n    #[test]\n    fn adds() {}\n}\n",
    );
}

fn report(world: &World, name: &str, inside: &str) -> String {
    world.file(
        name,
        &format!("<testsuites><testsuite name=\"adder\">\n<testcase classname=\"adder\" name=\"tests::adds\">{inside}</testcase>\n</testsuite></testsuites>"),
    )
}

fn push(world: &World, commit: &str, more: &[&str]) -> Value {
    world.json(&[&["trace", "push", "--project", "web", "--commit", commit], more].concat())
}

#[test]
fn a_push_a_check_and_what_is_shown_agree() {
    for world in World::both() {
        project(&world);
        let check = ["trace", "check", "--level", "passed", "--project", "web"];
        let gaps = world.run(&[&check[..], &["--json"]].concat()).expect(1).json();
        assert_eq!(
            (&gaps["holds"], &gaps["gaps"][0]["state"]),
            (&json!(false), &json!("none"))
        );
        let junit = report(&world, "junit.xml", "");
        let pushed = push(&world, COMMIT, &["--scan", "tree", "--junit", &junit]);
        assert_eq!(
            (&pushed["marks"], &pushed["states"]["passed"]),
            (&json!(2), &json!(1)),
            "{pushed}"
        );
        let whole = world.run(&[&check[..], &["--json"]].concat()).expect(0).json();
        assert_eq!((&whole["holds"], &whole["gaps"]), (&json!(true), &json!([])));
        let shown = world.json(&["trace", "show", "REQ-001", "--project", "web"]);
        assert_eq!(shown["state"], "passed");
        assert_eq!(shown["tests"][0]["name"], "adder::tests::adds");
        assert_eq!(shown["spans"][0]["end_line"], 5);
        assert_eq!((&shown["flags"], &shown["sentences"]), (&json!([]), &json!([])));
        assert!(
            shown["weakest"].as_str().unwrap().contains("--lcov TEST=FILE"),
            "{shown}"
        );
        let again = push(&world, COMMIT, &["--scan", "tree", "--junit", &junit]);
        assert_eq!(
            (&again["already_known"], &again["id"]),
            (&json!(true), &pushed["id"])
        );
        let lcov = world.file("adds.info", "SF:/elsewhere/src/lib.rs\nDA:4,1\nend_of_record\n");
        let bound = format!("tests::adds={lcov}");
        assert_eq!(push(&world, COMMIT, &["--lcov", &bound])["states"]["executed"], 1);
        world.run(&["audit", "verify"]).expect(0);
        assert_eq!(
            world.json(&["changes", "--project", "web"])["data"]
                .as_array()
                .unwrap()
                .len(),
            7,
            "the project and its owner, three items, two pushes"
        );
    }
}

#[test]
fn what_fails_is_told_in_every_form() {
    let world = World::new();
    project(&world);
    let junit = report(&world, "junit.xml", "<failure message=\"1 is not 2\"/>");
    push(&world, COMMIT, &["--scan", "tree", "--junit", &junit]);
    let form = |form: &str| {
        world
            .run(&["trace", "check", "--project", "web", "--format", form])
            .expect(1)
            .out
    };
    assert!(
        form("text").contains("REQ-001 Sums MUST add up (ran, failed)"),
        "{}",
        form("text")
    );
    assert!(form("text").contains("The test adder::tests::adds failed at 0123456789ab."));
    let sarif: Value = serde_json::from_str(&form("sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "trace/ran");
    assert!(form("junit").contains("tests=\"1\" failures=\"1\""));
    assert!(form("markdown").contains("| REQ-001 Sums MUST add up | ran, failed |"));
    assert!(form("badge").contains("requirements passed: 0%"));
    // What it writes, it reads: the requirements as a report of their own.
    let own = world.file("requirements.xml", &form("junit"));
    let pushed = push(&world, COMMIT, &["--junit", &own]);
    assert_eq!(pushed["sources"][0]["failed"], 1);
}

#[test]
fn a_push_that_cannot_be_is_refused_and_keeps_nothing() {
    let world = World::new();
    project(&world);
    let good = report(&world, "good.xml", "");
    let bomb = world.file(
        "bomb.xml",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE x [<!ENTITY a \"b\">]>\n<testsuite/>",
    );
    let refused = |arguments: &[&str]| {
        world.refused(
            1,
            &[
                &["trace", "push", "--project", "web", "--commit", COMMIT],
                arguments,
            ]
            .concat(),
        )
    };
    let error = refused(&["--junit", &good, "--junit", &bomb]);
    assert!(
        error["message"].as_str().unwrap().contains("bomb.xml, line 2"),
        "{error}"
    );
    assert!(
        refused(&["--junit", "missing.xml"])["message"]
            .as_str()
            .unwrap()
            .contains("missing.xml cannot be read")
    );
    assert!(
        refused(&["--junit", "tree"])["message"]
            .as_str()
            .unwrap()
            .contains("is a folder")
    );
    assert!(
        refused(&["--scan", "nowhere"])["message"]
            .as_str()
            .unwrap()
            .contains("is no folder")
    );
    assert!(
        refused(&[])["message"]
            .as_str()
            .unwrap()
            .contains("nothing to push")
    );
    let shown = world.json(&["trace", "show", "REQ-001", "--project", "web"]);
    assert_eq!(shown["state"], "none");
}

#[test]
fn people_confirm_affirm_and_waive() {
    let world = World::new();
    project(&world);
    let said = |verb: &str, more: &[&str]| {
        world.json(
            &[
                &[
                    "trace",
                    verb,
                    "REQ-001",
                    "--project",
                    "web",
                    "--why",
                    "I read it.",
                ],
                more,
            ]
            .concat(),
        )
    };
    assert_eq!(said("waive", &["--expires", "30d"])["flags"], json!(["waived"]));
    world.run(&["trace", "check", "--project", "web"]).expect(0);
    let junit = report(&world, "junit.xml", "");
    push(&world, COMMIT, &["--scan", "tree", "--junit", &junit]);
    assert_eq!(said("affirm", &[])["state"], "affirmed");
    world.json(&[
        "item",
        "update",
        "REQ-001",
        "--project",
        "web",
        "--description",
        "And more.",
    ]);
    let edited = world.json(&["trace", "show", "REQ-001", "--project", "web"]);
    assert_eq!(
        (&edited["state"], &edited["flags"]),
        (&json!("claimed"), &json!(["stale", "suspect", "waived"]))
    );
    assert_eq!(said("confirm", &[])["state"], "passed");
}

fn git(world: &World, date: &str, arguments: &[&str]) {
    let person = ["Kim", "kim@example.org", date];
    let named = |who: &str| ["NAME", "EMAIL", "DATE"].map(|what| format!("GIT_{who}_{what}"));
    let done = std::process::Command::new("git")
        .env_clear()
        .env("HOME", world.path("."))
        .envs(named("AUTHOR").into_iter().zip(person))
        .envs(named("COMMITTER").into_iter().zip(person))
        .current_dir(world.path("tree"))
        .args(arguments)
        .output()
        .expect("git");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A check in the tree, where git is.
fn checked(world: &World, more: &[&str]) -> (Option<i32>, String) {
    let done = world
        .command(&[&["trace", "check", "--project", "web"], more].concat())
        .current_dir(world.path("tree"))
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8_lossy(&said).into_owned())
}

//= specs/spexus.md#evidence
//= type=test
//# `spexus trace check --changed-since` MUST look at the files that differ from that commit as git tells, new and deleted ones among them.
#[test]
fn a_check_looks_only_at_what_changed_since_a_commit() {
    let world = World::new();
    project(&world);
    for title in ["Second MUST add up", "Third MUST add up"] {
        world.json(&[
            "item",
            "create",
            "requirement",
            "--project",
            "web",
            "--parent",
            "US-001",
            "--title",
            title,
        ]);
    }
    world.file(
        "tree/src/gone.rs",
        "//= spexus:REQ-002\n//# Second MUST add up\npub fn two() {}\n",
    );
    let (past, future) = ("2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z");
    git(&world, past, &["init", "-q", "-b", "main"]);
    git(&world, past, &["add", "."]);
    git(&world, past, &["commit", "-q", "-m", "one"]);
    push(&world, COMMIT, &["--scan", "tree"]);
    let since = |more: &[&str]| checked(&world, &[&["--changed-since", "main"], more].concat());
    // Every text was written after that commit.
    let (code, said) = since(&[]);
    assert!(
        code == Some(1) && said.contains("Only what changes since main"),
        "{said}"
    );
    assert!(said.contains("REQ-001") && said.contains("REQ-003"), "{said}");

    git(&world, future, &["commit", "-q", "--allow-empty", "-m", "two"]);
    assert_eq!(since(&[]).0, Some(0), "nothing changed since");
    std::fs::remove_file(world.path("tree/src/gone.rs")).unwrap();
    let (code, said) = since(&[]);
    assert!(
        code == Some(1) && said.contains("REQ-002") && !said.contains("REQ-001"),
        "{said}"
    );
    let (_, markdown) = since(&["--format", "markdown"]);
    assert!(
        markdown.contains("0 of 1 are passed or better") && markdown.contains("since main"),
        "{markdown}"
    );
    for wrong in ["nowhere", "--output=x"] {
        let (code, said) = checked(&world, &[&format!("--changed-since={wrong}")]);
        assert!(code == Some(1) && said.contains("git knows no commit"), "{said}");
    }
}

#[test]
fn a_check_against_a_baseline_tells_new_gaps() {
    let world = World::new();
    project(&world);
    world.json(&["baseline", "create", "one", "--project", "web"]);
    let (code, said) = checked_at_home(&world, &["--baseline", "one"]);
    assert!(code == 0 && said.contains("No gap is new."), "{said}");
    world.json(&[
        "item",
        "create",
        "requirement",
        "--project",
        "web",
        "--parent",
        "US-001",
        "--title",
        "New MUST add up",
    ]);
    let (code, said) = checked_at_home(&world, &["--baseline", "one"]);
    assert!(
        code == 1 && said.contains("REQ-002") && !said.contains("REQ-001"),
        "{said}"
    );
    let (_, said) = checked_at_home(&world, &["--baseline", "one", "--format", "markdown"]);
    assert!(
        said.contains("0 of 2") && said.contains("not told again: 1"),
        "{said}"
    );
    let (_, said) = checked_at_home(&world, &["--baseline", "one", "--format", "junit"]);
    assert!(
        said.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "an old gap did not pass: {said}"
    );
    let (code, said) = checked_at_home(&world, &["--baseline", "two"]);
    assert!(code == 1 && said.contains("baseline"), "{said}");
}

fn checked_at_home(world: &World, more: &[&str]) -> (i32, String) {
    let done = world.run(&[&["trace", "check", "--project", "web"], more].concat());
    (done.code, done.out + &done.err)
}
