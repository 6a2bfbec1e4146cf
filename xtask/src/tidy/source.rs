//! Rules about what Rust code says.

use super::{Finding, quotes_rules};
use crate::rust::Source;
use crate::tree::Tree;

/// What only the rim may do: words in code, and what to do instead.
const RIM: &[(&str, &str)] = &[
    ("std::env", READ_SETTINGS),
    ("env::var", READ_SETTINGS),
    ("env::args", READ_SETTINGS),
    ("println!", PRINT),
    ("print!", PRINT),
    ("eprintln!", PRINT),
    ("eprint!", PRINT),
    ("process::exit", "return an error; only binaries end the process"),
];
const READ_SETTINGS: &str = "take it as a setting; only binaries read the environment";
const PRINT: &str = "return it or use tracing; only binaries print";

/// Where the rim is: the binary, programs, chores, tests and what serves them.
const RIM_FOLDERS: &[&str] = &["crates/spexus/", "crates/test-support/", "xtask/", "fuzz/"];

/// What a published revision of MCP is told apart by.
const REVISIONS: &[(&str, &str)] = &[("Version::V20", ASK_REVISION), ("Era::", ASK_REVISION)];
const ASK_REVISION: &str = "ask the version by a method named after what differs";

/// Where revisions of MCP are told apart.
const REVISION_FILES: &[&str] = &[
    "crates/mcp-protocol/src/version.rs",
    "crates/mcp-protocol/src/method.rs",
];

/// What nothing may say in code.
const UNFINISHED: &[(&str, &str)] = &[
    ("todo!", "finish it"),
    ("unimplemented!", "finish it"),
    ("allow(dead_code", "remove what nobody calls"),
    ("#[ignore", "mend the test or remove it"),
];

/// Marks of unfinished work in comments.
const UNFINISHED_COMMENTS: [&str; 2] = ["TODO", "FIXME"];

pub(super) fn the_world_stays_at_the_rim(tree: &Tree) -> Vec<Finding> {
    let inner = tree.sources().iter().filter(|source| !is_rim(&source.path));
    inner
        .flat_map(|source| words(source, RIM, |line| !source.is_test(line)))
        .collect()
}

pub(super) fn revisions_differ_in_two_files(tree: &Tree) -> Vec<Finding> {
    let product = |source: &&Source| {
        source.path.starts_with("crates/") && !REVISION_FILES.contains(&source.path.as_str())
    };
    let sources = tree.sources().iter().filter(product);
    sources
        .flat_map(|source| words(source, REVISIONS, |line| !source.is_test(line)))
        .collect()
}

pub(super) fn nothing_is_unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources().iter().filter(|source| !quotes_rules(&source.path)) {
        findings.extend(words(source, UNFINISHED, |_| true));
        for (line, comment) in source.comments.iter().enumerate() {
            if let Some(mark) = UNFINISHED_COMMENTS.iter().find(|mark| is_marked(comment, mark)) {
                let sentence = format!("`{mark}`: do it or file an issue");
                findings.push(Finding::new(&source.path, line + 1, sentence));
            }
        }
    }
    findings
}

fn is_rim(path: &str) -> bool {
    RIM_FOLDERS.iter().any(|folder| path.starts_with(folder))
        || path.ends_with("/src/main.rs")
        || path.ends_with("/build.rs")
        || path.contains("/src/bin/")
        || path.contains("/examples/")
}

/// At most one finding for each line, for the first word of the table found on it.
fn words(source: &Source, table: &[(&str, &str)], counts: impl Fn(usize) -> bool) -> Vec<Finding> {
    let lines = source.code.iter().enumerate().filter(|(line, _)| counts(*line));
    let found = lines.filter_map(|(line, code)| {
        let (word, instead) = table.iter().find(|(word, _)| says(code, word))?;
        Some(Finding::new(
            &source.path,
            line + 1,
            format!("`{word}`: {instead}"),
        ))
    });
    found.collect()
}

/// Whether code says a word, not a longer one that ends in it.
fn says(code: &str, word: &str) -> bool {
    let ends_word = |before: &str| !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    code.match_indices(word)
        .any(|(at, _)| word.starts_with('#') || ends_word(&code[..at]))
}

/// A comment that opens with the mark, or has it with a colon or an owner. Our subject includes annotations of that
/// name, so a comment may speak of them.
fn is_marked(comment: &str, mark: &str) -> bool {
    let text = comment.trim_start().trim_start_matches(['/', '!', '*', ' ']);
    let opens = text
        .strip_prefix(mark)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
    opens || comment.contains(&format!("{mark}:")) || comment.contains(&format!("{mark}("))
}
