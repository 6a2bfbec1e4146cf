//! `spexus lint` as scripts meet it.

use crate::world::World;

const SPEC: &str = "# Pump\n\nThe pump is red.\n\n- The pump shall be able to stop quickly.\n- The pump shall stop within 2 s.\n- The pump shall stop within 3 s.\n";

#[test]
fn files_and_standard_input_need_no_database() {
    //= specs/spexus-lint.md#files
    //= type=test
    //# Files and standard input MUST be judged without a database.
    //= specs/spexus-lint.md#files
    //= type=test
    //# In a document only the passages that demand something MUST be judged; where none does, all of them.
    let world = World::empty();
    let file = world.file("pump.md", SPEC);
    let answer = world.run(&["lint", &file]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(
        answer
            .out
            .contains("pump.md:5:34: warning L101 vague-term: \"quickly\""),
        "{}",
        answer.out
    );
    assert!(
        answer.out.contains("error L303 contradicting-numbers"),
        "{}",
        answer.out
    );
    assert!(!answer.out.contains("no-obligation"), "{}", answer.out);

    let read = world.run_with_input(&["lint", "-"], "The pump is red.");
    assert!(
        read.out.contains("-:1:1: information L212 no-obligation"),
        "{}",
        read.out
    );
    assert_eq!(read.code, 0);
    assert!(!world.path("test.db").exists());
}

#[test]
fn the_exit_code_tells_whether_enough_was_found() {
    //= specs/spexus-lint.md#exit-code
    //= type=test
    //# `spexus lint` MUST end with exit code 1 when a finding of the level of `--fail-on` or above is left, else with 0.
    let world = World::empty();
    let code = |arguments: &[&str], text: &str| {
        world
            .run_with_input(&[&["lint", "-"], arguments].concat(), text)
            .code
    };
    let vague = "The pump shall stop quickly.";
    assert_eq!(code(&[], vague), 1);
    assert_eq!(code(&["--fail-on", "error"], vague), 0);
    assert_eq!(
        code(&["--fail-on", "error"], "The pump shall stop within TBD s."),
        1
    );
    assert_eq!(
        code(&["--fail-on", "never"], "The pump shall stop within TBD s."),
        0
    );
    assert_eq!(code(&["--silent", "L101"], vague), 0);
    assert_eq!(code(&["--silent", "L999"], vague), 1);
}

#[test]
fn json_and_sarif_name_rule_place_and_fix() {
    let world = World::empty();
    let file = world.file("pump.md", SPEC);
    let json = world.run(&["lint", &file, "--json"]).json();
    let findings = json["files"][0]["findings"].as_array().unwrap();
    let able = findings
        .iter()
        .find(|finding| finding["name"] == "able-to")
        .unwrap();
    assert_eq!(able["start"], serde_json::json!({"line": 5, "column": 18}));
    assert_eq!(able["fix"]["replacement"], "");

    let sarif = world.run(&["lint", &file, "--format", "sarif"]).json();
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
    }
}

#[test]
fn a_fix_is_written_and_a_baseline_hides_the_rest() {
    let world = World::empty();
    let file = world.file("pump.md", SPEC);
    world.run(&["lint", &file, "--fix"]);
    let fixed = std::fs::read_to_string(&file).unwrap();
    assert_eq!(fixed, SPEC.replace("be able to ", ""));

    let known = world.path("known").display().to_string();
    world
        .run(&["lint", &file, "--baseline", &known, "--update-baseline"])
        .ok();
    assert_eq!(world.run(&["lint", &file, "--baseline", &known]).code, 0);
    world.file("pump.md", &format!("{fixed}- The lid shall open TBD.\n"));
    let answer = world.run(&["lint", &file, "--baseline", &known]);
    assert_eq!(answer.code, 1);
    assert!(answer.out.contains("errors: 1, warnings: 0"), "{}", answer.out);
}

#[test]
fn a_project_is_judged_by_its_items() {
    //= specs/spexus-lint.md#projects
    //= type=test
    //# A project MUST be judged with the rights of whoever asks: what the caller may not see is not judged and not named.
    for world in World::both() {
        let epic = world.json(&["item", "create", "epic", "--title", "Pump"]);
        let epic = epic["reference_id"].as_str().unwrap().to_owned();
        let story = world.json(&[
            "item",
            "create",
            "user_story",
            "--title",
            "Stop",
            "--parent",
            &epic,
        ]);
        let story = story["reference_id"].as_str().unwrap().to_owned();
        for (title, text) in [
            ("Stop", "The pump shall stop within 2 s."),
            ("Stop again", "The pump shall stop within 3 s."),
            ("The pump shall stop quickly.", ""),
        ] {
            world.json(&[
                "item",
                "create",
                "requirement",
                "--title",
                title,
                "--parent",
                &story,
                "--description",
                text,
            ]);
        }
        let answer = world.run(&["lint", "--project", "default"]);
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.out.contains("REQ-002:1:1: error L303"), "{}", answer.out);
        assert!(
            answer.out.contains("REQ-003:1:21: warning L101"),
            "{}",
            answer.out
        );
        assert_eq!(world.run(&["lint", "--project", "nowhere"]).code, 4);
        world
            .run_with_input(
                &["user", "create", "guest", "--password-stdin"],
                "correct horse battery\n",
            )
            .ok();
        world.json(&["project", "create", "secret", "--default-role", "none"]);
        let hidden = world.run(&["lint", "--project", "secret", "--as", "guest"]);
        assert_eq!(hidden.code, 4, "{hidden:?}");
    }
}
