//! Committed text says nothing about the machine it was written on, or where that machine fetches packages; and the map names files that
//! are there.

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

/// Every file that ARCHITECTURE.md names as `crate/file.rs` exists.
pub(super) fn the_map_leads_somewhere(tree: &Tree) -> Vec<Finding> {
    const MAP: &str = "ARCHITECTURE.md";
    let text = tree.file(MAP).unwrap_or_default();
    let mut findings = Vec::new();
    for (line, text) in text.lines().enumerate() {
        // What stands between backticks is every second piece.
        for named in text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|named| named.ends_with(".rs"))
        {
            let exists = match named.split_once('/') {
                Some(("xtask" | "crates", _)) => tree.file(named).is_some(),
                Some((name, rest)) => tree.file(&format!("crates/{name}/src/{rest}")).is_some(),
                None => false,
            };
            if !exists {
                let sentence =
                    format!("there is no `{named}`: name the file as `crate/file.rs`, where it is now");
                findings.push(Finding::new(MAP, line + 1, sentence));
            }
        }
    }
    findings
}

/// Every file and every test that docs/security.md names exists: a finding is closed where the row says, or it is not known to
/// be closed.
pub(super) fn findings_are_closed_somewhere(tree: &Tree) -> Vec<Finding> {
    const FINDINGS: &str = "docs/security.md";
    let text = tree.file(FINDINGS).unwrap_or_default();
    let mut findings = Vec::new();
    let is_of_a_name = |c: char| c.is_alphanumeric() || "_-./:".contains(c);
    for (line, text) in text.lines().enumerate() {
        let mut named = String::new();
        for word in text.split(|c| !is_of_a_name(c)) {
            let (file, test) = word.split_once("::").unwrap_or((word, ""));
            let is_file = file.ends_with(".rs");
            let beside = format!("/{file}");
            if is_file && !tree.files().any(|(path, _)| path.ends_with(&beside)) {
                let sentence = format!("there is no file `{file}`: name the one that closes the finding now");
                findings.push(Finding::new(FINDINGS, line + 1, sentence));
            }
            let is_test = !test.is_empty() && (is_file || file.is_empty());
            let declared = format!("fn {test}(");
            // `::name` alone goes on in the file that was named before it.
            if is_file && !test.is_empty() {
                named = beside;
            }
            let mut places = tree.files().filter(|(path, _)| path.ends_with(&named));
            if is_test && !places.any(|(_, text)| text.contains(&declared)) {
                let sentence = format!(
                    "there is no test `{test}` in `{}`: name the one that proves the finding closed",
                    named.trim_start_matches('/')
                );
                findings.push(Finding::new(FINDINGS, line + 1, sentence));
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
