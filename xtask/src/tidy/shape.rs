//! Rules about files: what they are called and how long they are.

use super::Finding;
use crate::rust::is_test_path;
use crate::tree::Tree;

/// Names that say nothing about what is inside.
const NAMELESS: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "misc", "manager", "managers",
];

const MAX_LINES: usize = 700;
const MAX_TEST_LINES: usize = 1200;

pub(super) fn rooms_have_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources() {
        let mut parts = source.path.split('/').map(|part| part.trim_end_matches(".rs"));
        if let Some(name) = parts.find(|part| NAMELESS.contains(part)) {
            let sentence = format!("`{name}` says nothing: name the file after what is in it");
            findings.push(Finding::new(&source.path, 1, sentence));
        }
    }
    findings
}

pub(super) fn files_are_short(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources() {
        let lines = source.code.len();
        let most = if is_test_path(&source.path) {
            MAX_TEST_LINES
        } else {
            MAX_LINES
        };
        if lines > most {
            let sentence = format!("{lines} lines, {most} at most: cut the file along its sense");
            findings.push(Finding::new(&source.path, most + 1, sentence));
        }
    }
    findings
}
