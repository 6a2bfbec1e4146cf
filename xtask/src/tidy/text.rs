//! Committed text says nothing about the machine it was written on, or where that machine fetches packages.

use super::{Finding, quotes_rules};
use crate::tree::Tree;

const PATHS: &[&str] = &["/work/", "/root/"];

const HOSTS: &[&str] = &[
    "crates.io",
    "pypi.org",
    "pythonhosted.org",
    "npmjs.org",
    "npmjs.com",
    "deb.debian.org",
];

pub(super) fn no_word_of_this_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The lock file names the default registry by its nature; fixtures are other people's text.
    let exempt = |path: &str| {
        path == "Cargo.lock"
            || path.ends_with("/Cargo.lock")
            || path.contains("/fixtures/")
            || quotes_rules(path)
    };
    for (path, text) in tree.files().filter(|(path, _)| !exempt(path)) {
        for (line, text) in text.lines().enumerate() {
            if let Some(found) = PATHS.iter().find(|path| starts_a_path(text, path)) {
                let sentence =
                    format!("`{found}` is a path of one machine: name it relative to the repository");
                findings.push(Finding::new(path, line + 1, sentence));
            }
            if let Some(found) = HOSTS.iter().find(|host| text.contains(*host)) {
                let sentence = format!("`{found}` is a package registry's host: name packages, not hosts");
                findings.push(Finding::new(path, line + 1, sentence));
            }
        }
    }
    findings
}

/// Whether an absolute path begins with it, as opposed to a URL or a longer path that has it inside.
fn starts_a_path(text: &str, path: &str) -> bool {
    let inside = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "/._-}*~".contains(c));
    text.match_indices(path).any(|(at, _)| !inside(&text[..at]))
}
