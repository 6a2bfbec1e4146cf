//! What every crate has: the workspace's lints, and an essay at its door.

use toml::{Table, Value};

use super::Finding;
use crate::tree::Tree;

const MIN_ESSAY_LINES: usize = 5;

pub(super) fn lints_are_the_workspaces(tree: &Tree) -> Vec<Finding> {
    let inherits = |text: &str| {
        let manifest: Table = text.parse().unwrap_or_default();
        manifest.get("lints").and_then(|lints| lints.get("workspace")) == Some(&Value::Boolean(true))
    };
    let bare = tree.manifests().filter(|(_, text)| !inherits(text));
    bare.map(|(path, _)| Finding::new(path, 1, "add `[lints] workspace = true`"))
        .collect()
}

pub(super) fn crates_open_with_an_essay(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (manifest, _) in tree.manifests() {
        let folder = manifest.trim_end_matches("Cargo.toml");
        let doors = ["src/lib.rs", "src/main.rs"].map(|door| format!("{folder}{door}"));
        let Some((path, text)) = doors.iter().find_map(|door| Some((door, tree.file(door)?))) else {
            continue;
        };
        let essay = text.lines().take_while(|line| line.starts_with("//!")).count();
        if essay < MIN_ESSAY_LINES {
            let sentence = format!(
                "say in {MIN_ESSAY_LINES} or more `//!` lines what this crate is for and what shaped it"
            );
            findings.push(Finding::new(path, 1, sentence));
        }
    }
    findings
}
