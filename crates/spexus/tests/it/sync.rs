//! `spexus sync` on real folders.

use crate::world::{World, read};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use test_support::corpora;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => fs::write(target, fs::read(&path).unwrap()).unwrap(),
        }
    }
}

/// Every file of a folder with what it holds, the map apart.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(content(&path)),
            false if path.ends_with(".spexus-sync.json") => {}
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn real_folders_go_in_and_come_out_without_a_difference() {
    //= specs/exchange.md#folders
    //= type=test
    //# A folder and a project that say the same MUST both be left as they are.
    let Some(root) = corpora() else { return };
    let root = root.join("spec-folders");
    let world = World::new();
    for name in ["kiro-oneco", "openspec-agent-bridge", "openspec-openspec"] {
        let folder = world.path(name);
        copy(&root.join(name), &folder);
        let before = content(&folder);
        world.json(&["project", "create", name]);
        let path = folder.display().to_string();
        let checked = world.run(&["sync", &path, "--check", "--project", name]);
        assert_eq!(checked.code, 1, "{checked:?}");
        assert!(!folder.join(".spexus-sync.json").exists());
        let made = world.json(&["sync", &path, "--project", name]);
        assert!(
            made["imported"]["created"].as_u64().unwrap() > 100,
            "{}",
            made["imported"]["created"]
        );
        let again = world.json(&["sync", &path, "--check"]);
        assert_eq!(
            (&again["imported"]["updated"], &again["files"]),
            (&0.into(), &json!([])),
            "{name}"
        );
        assert!(content(&folder) == before, "{name} changed");
    }
}

const SPEC: &str = "# Pumps\r\n\r\n## Purpose\r\nPumps.\r\n\r\n";

/// A requirement of the made-up folder.
fn requirement(number: usize, text: &str) -> String {
    format!(
        "### Requirement: R{number}\r\n{text}\r\n\r\n#### Scenario: s\r\n- **WHEN** a\r\n- **THEN** b\r\n\r\n"
    )
}

#[test]
fn edits_on_both_sides_of_two_hundred_requirements_merge_or_clash() {
    //= specs/exchange.md#folders
    //= type=test
    //# A text that changed on one side since both last agreed MUST be taken over by the other side.
    //= specs/exchange.md#folders
    //= type=test
    //# A text that changed on both sides MUST be shown with both texts and MUST be left as it is on both.
    //= specs/exchange.md#folders
    //= type=test
    //# `spexus sync --check` MUST change nothing and MUST end with exit code 1 when the sides differ; a clash MUST too.
    let world = World::new();
    let folder = world.path("repo");
    let file = folder.join("openspec/specs/pumps/spec.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let written = |text: &dyn Fn(usize) -> String| {
        let body: String = (0..200)
            .map(|number| requirement(number, &text(number)))
            .collect();
        format!("{SPEC}{body}## Notes\r\nKept.\r\n")
    };
    fs::write(&file, written(&|n| format!("The pump SHALL do {n}."))).unwrap();
    let path = folder.display().to_string();
    world.json(&["sync", &path]);

    // Four ways: untouched, changed in the file, changed in the project, changed on both sides.
    fs::write(
        &file,
        written(&|n| match n % 4 {
            1 | 3 => format!("The pump SHALL do {n} by file."),
            _ => format!("The pump SHALL do {n}."),
        }),
    )
    .unwrap();
    let operations: Vec<_> = (0..200)
        .filter(|n| n % 4 >= 2)
        .map(|n| json!({"op": "update", "id": format!("REQ-{:03}", n + 1), "description": format!("The pump SHALL do {n} by project.")}))
        .collect();
    let batch = world.file("batch.json", &json!({"operations": operations}).to_string());
    world.json(&["batch", &batch]);

    let before = read(file.display().to_string());
    assert_eq!(world.run(&["sync", &path, "--check"]).code, 1);
    assert_eq!(read(file.display().to_string()), before);
    let answer = world.run(&["sync", &path, "--json"]);
    assert_eq!(answer.code, 1);
    let synced = answer.json();
    assert_eq!(synced["imported"]["updated"], 50);
    let clashes = synced["clashes"].as_array().unwrap();
    assert_eq!(clashes.len(), 50);
    assert_eq!(clashes[0]["in_project"], "The pump SHALL do 3 by project.");
    assert!(
        clashes[0]["in_file"]
            .as_str()
            .unwrap()
            .starts_with("The pump SHALL do 3 by file.")
    );

    let scenario = "\r\n\r\n#### Scenario: s\r\n- **WHEN** a\r\n- **THEN** b";
    let expect: String = (0..200)
        .map(|n| match n % 4 {
            2 => requirement(n, &format!("The pump SHALL do {n} by project.")).replace(scenario, ""),
            1 | 3 => requirement(n, &format!("The pump SHALL do {n} by file.")),
            _ => requirement(n, &format!("The pump SHALL do {n}.")),
        })
        .collect();
    assert_eq!(
        read(file.display().to_string()),
        format!("{SPEC}{expect}## Notes\r\nKept.\r\n")
    );
    let item = |id: &str| {
        world.json(&["item", "get", id])["description"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(item("REQ-002").starts_with("The pump SHALL do 1 by file."));
    assert_eq!(item("REQ-003"), "The pump SHALL do 2 by project.");
    assert_eq!(item("REQ-004"), "The pump SHALL do 3 by project.");
}
