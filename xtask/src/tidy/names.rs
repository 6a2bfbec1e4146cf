//! Names: the field's words for machinery, one name for one public type, and docs that say what a thing is.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, quotes_rules};
use crate::rust::Source;
use crate::tree::Tree;

/// Words that stood for many things here, and what to look for instead: ARCHITECTURE.md, "Words".
const WORN: &[(&str, &str)] = &[
    (
        "Catalogue",
        "say what is listed: `AppListing`, `ToolCache`, `RequirementIndex`",
    ),
    ("Desk", "say what it does: `WriteQueue`, `SnapshotHolder`"),
    ("Door", "`Listener`, `Acceptor`"),
    ("Ear", "`NotificationListener`"),
    ("Errand", "`RetryableRequest`"),
    (
        "GRACE",
        "say what is waited for, with its unit: `DRAIN_TIMEOUT_MS`",
    ),
    ("Guests", "`AppTools`"),
    ("Held", "say what is held: `Permit`, `Lease`"),
    ("House", "`AppHost`"),
    ("Hub", "`Broker`"),
    ("Inside", "`NestedTransaction`"),
    ("Kept", "say what is kept: `…Cache`, `…Record`"),
    ("Loan", "`PooledConnection`"),
    ("Lost", "`UnknownReference`"),
    ("Outlet", "`Outbound`"),
    ("Patience", "`Deadline`"),
    ("Place", "`Position`, `Permit`, `Location`, `Origin`"),
    ("Places", "`Positions`, `Permits`, `Locations`"),
    ("Pulse", "`ChangeBroadcast`"),
    ("SETTLE", "`DEBOUNCE_MS`"),
    ("Shelf", "`ConnectionPool`, `InstallDir`"),
    ("Taken", "say what was taken"),
    ("Told", "say what was sent, and to whom"),
    ("Unsaved", "`DirtySet`"),
    ("Wanted", "say what is asked for: `…Request`"),
    ("Watch", "`FileWatcher`, `AuditEntry`, `Subscription`"),
    ("Watching", "`FileWatcher`, `Subscription`"),
    ("Wish", "`Command`"),
    ("Wishes", "`Commands`"),
    ("Work", "`Task`, `Job`, `Invocation`"),
    ("aside", "`run_blocking`"),
    ("bury", "`soft_delete`"),
    ("dress", "`add_headers`"),
    ("hear", "`handle_notification`"),
    ("lend", "say what for: `checkout`, `nested`"),
    ("raise", "`undelete`, `notify`, `cancel`"),
    (
        "told",
        "say what it makes: `to_json`, `render`, `to_refusal`, `summary`",
    ),
];

/// Crates whose names stand apart from the rest, with the reason.
const APART: &[(&str, &str)] = &[
    (
        "duvet",
        "a tool of its own; its types never meet those of the product",
    ),
    ("test-support", "for tests only"),
];

/// Names that several crates give to public types, with the reason.
const SHARED: &[(&str, &str)] = &[
    (
        "Change",
        "MCP: what happened to a resource; the domain: a row of the change log",
    ),
    (
        "Message",
        "JSON-RPC: an envelope; the domain: what a stored prompt says",
    ),
    (
        "NewReview",
        "evidence: what a person says of it; the domain: what is asked of people about items",
    ),
    ("NewPrompt", "MCP's prompts/create and the use case behind it"),
    (
        "Outcome",
        "JSON-RPC: a result before it is written; the domain: what became of one operation of a batch",
    ),
    ("Prompt", "MCP's prompt is made from the stored one"),
    ("Role", "MCP: who speaks; the domain: what a user may do"),
    (
        "Verdict",
        "the store: what a look at the history came to; the domain: what a reviewer says",
    ),
];

/// Definitions that are looked at.
const DEFINITIONS: [&str; 7] = ["struct", "enum", "trait", "type", "fn", "const", "static"];

pub(super) fn names_are_the_fields(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let chores = tree.sources().iter().filter(|source| is_chore(&source.path));
    for source in product(tree).chain(chores) {
        for (line, code) in lines(source) {
            let Some(name) = defined(code, &DEFINITIONS) else {
                continue;
            };
            let Some((_, instead)) = WORN.iter().find(|(worn, _)| *worn == name) else {
                continue;
            };
            let sentence = format!("`{name}` means too much; use the field's word: {instead}");
            findings.push(Finding::new(&source.path, line + 1, sentence));
        }
    }
    findings
}

pub(super) fn public_types_have_names_of_their_own(tree: &Tree) -> Vec<Finding> {
    let mut known: BTreeMap<&str, BTreeMap<&str, (&Source, usize)>> = BTreeMap::new();
    for source in product(tree) {
        let name = crate_of(&source.path);
        if APART.iter().any(|(apart, _)| *apart == name) {
            continue;
        }
        for (line, code) in lines(source) {
            let Some(public) = code.trim_start().strip_prefix("pub ") else {
                continue;
            };
            if let Some(defined) = defined(public, &["struct", "enum", "trait", "type"]) {
                known
                    .entry(defined)
                    .or_default()
                    .entry(name)
                    .or_insert((source, line));
            }
        }
    }
    let shared = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let several = known
        .into_iter()
        .filter(|(name, crates)| crates.len() > 1 && !shared(name));
    let findings = several.filter_map(|(name, crates)| {
        let all: BTreeSet<&str> = crates.keys().copied().collect();
        let all = all.into_iter().collect::<Vec<_>>().join(" and ");
        let (source, line) = crates.values().last()?;
        let sentence = format!(
            "{all} both have a public type `{name}`: rename one, or write the reason into xtask/src/tidy/names.rs"
        );
        Some(Finding::new(&source.path, line + 1, sentence))
    });
    findings.collect()
}

pub(super) fn docs_say_what_it_is(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in product(tree) {
        for (line, comment) in source.comments.iter().enumerate() {
            let text = comment.trim_start().strip_prefix("/// ").unwrap_or_default();
            if text.starts_with("See the module") {
                let sentence = "say what it is, the field's noun first, instead of \"See the module\"";
                findings.push(Finding::new(&source.path, line + 1, sentence));
            }
        }
    }
    findings
}

fn product(tree: &Tree) -> impl Iterator<Item = &Source> {
    let ours = |path: &str| path.starts_with("crates/") && path.contains("/src/") && !quotes_rules(path);
    tree.sources().iter().filter(move |source| ours(&source.path))
}

/// Chores speak the same language.
fn is_chore(path: &str) -> bool {
    path.starts_with("xtask/src/") && !quotes_rules(path)
}

fn lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let code = source.code.iter().enumerate();
    code.filter(|(line, _)| !source.is_test(*line))
        .map(|(line, code)| (line, code.as_str()))
}

/// The name a line of code defines, by one of these words.
fn defined<'a>(code: &'a str, by: &[&str]) -> Option<&'a str> {
    let mut words = code.split_whitespace().skip_while(|word| !by.contains(word));
    words.next()?;
    let rest = words.next()?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or(path)
}
