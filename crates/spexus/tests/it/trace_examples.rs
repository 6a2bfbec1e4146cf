//! The examples of `examples/trace` do what docs/evidence.md says of them: scanned and pushed with the report that lies beside them, both
//! requirements are passed and the code of both is found.

use crate::world::{World, read};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Each folder, how its report is pushed, and what it is.
const EXAMPLES: [(&str, &str, &str); 6] = [
    ("rust", "--junit", "report.xml"),
    ("python", "--junit", "report.xml"),
    ("typescript", "--junit", "report.xml"),
    ("java", "--junit", "report.xml"),
    ("go", "--junit", "report.xml"),
    ("c", "--tap", "report.tap"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn project(world: &World, key: &str) {
    world.json(&["project", "create", key]);
    let create = |kind: &str, title: &str, more: &[&str]| {
        world.json(
            &[
                &["item", "create", kind, "--project", key, "--title", title],
                more,
            ]
            .concat(),
        )
    };
    create("epic", "Sums", &[]);
    create("user_story", "Adding", &["--parent", "EP-001"]);
    create("requirement", "Sums MUST add up.", &["--parent", "US-001"]);
    create(
        "requirement",
        "A sum that does not fit MUST be refused.",
        &["--parent", "US-001"],
    );
}

#[test]
fn every_example_passes_as_the_documentation_says() {
    let world = World::new();
    let documentation = read(root().join("docs/evidence.md"));
    for (language, option, report) in EXAMPLES {
        project(&world, language);
        let folder = root().join("examples/trace").join(language);
        let (folder, report) = (
            folder.display().to_string(),
            folder.join(report).display().to_string(),
        );
        let push = [
            "trace",
            "push",
            "--project",
            language,
            "--commit",
            COMMIT,
            "--scan",
            &folder,
            option,
            &report,
        ];
        let pushed = world.json(&push);
        assert_eq!(pushed["unknown_ids"], json!([]), "{language}: {pushed}");
        for id in ["REQ-001", "REQ-002"] {
            let shown = world.json(&["trace", "show", id, "--project", language]);
            let counts = |field: &str| shown[field].as_array().map(Vec::len);
            assert_eq!(shown["state"], "passed", "{language}: {shown}");
            assert_eq!(
                (counts("tests"), counts("spans")),
                (Some(1), Some(1)),
                "{language}: {shown}"
            );
            assert_eq!(
                shown["spans"][0]["quote_found"],
                json!(true),
                "{language}: {shown}"
            );
        }
        world.run(&["trace", "check", "--project", language]).expect(0);
        assert!(
            documentation.contains(&format!("examples/trace/{language}")),
            "{language} is not in docs/evidence.md"
        );
    }
}

/// A report without its first test leaves its requirement behind: the examples pass because of their marks, not in spite of them.
#[test]
fn an_example_whose_test_did_not_run_does_not_pass() {
    let world = World::new();
    project(&world, "python");
    let folder = root().join("examples/trace/python");
    let whole = read(folder.join("report.xml"));
    let (before, rest) = whole.split_once("<testcase").unwrap();
    let (_, rest) = rest.split_once("/>").unwrap();
    let report = world.file("report.xml", &format!("{before}{rest}"));
    let scan = folder.display().to_string();
    world.json(&[
        "trace",
        "push",
        "--project",
        "python",
        "--commit",
        COMMIT,
        "--scan",
        &scan,
        "--junit",
        &report,
    ]);
    let state =
        |id: &str| -> Value { world.json(&["trace", "show", id, "--project", "python"])["state"].clone() };
    assert_eq!(
        (state("REQ-001"), state("REQ-002")),
        (json!("claimed"), json!("passed"))
    );
}
