//! One way to write: `Service::change` and what stands beside it in `transaction.rs`, where the right, the project, the
//! actor and the transaction are. Whoever writes through the store directly stands in the list below, with the reason.

use super::{Finding, quotes_rules};
use crate::rust::Source;
use crate::tree::Tree;

/// How the store is written to.
const WRITES: [&str; 4] = [".write(", ".write_in(", ".write_long(", ".together("];

/// What the store is called by those who have it.
const STORES: [&str; 2] = ["store", "store()"];

/// Who writes without `Service::change`, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "crates/spexus-service/src/transaction.rs",
        "it is the way to write",
    ),
    (
        "crates/spexus-service/src/setup.rs",
        "there is no service before the first start is over",
    ),
    (
        "crates/spexus-service/src/audit/trail.rs",
        "the trail is written on its own, by a task that outlives every request",
    ),
    (
        "crates/spexus-service/src/transfer/large.rs",
        "what is staged is seen by nobody; the right was asked for when the import began",
    ),
    (
        "crates/test-support/src/held_writer.rs",
        "it holds the writer of a test's database and writes nothing",
    ),
];

/// Who writes without asking for a right, and why.
const WITHOUT_A_RIGHT: &[(&str, &str)] = &[
    (
        "crates/spexus-service/src/transaction.rs",
        "it asks for the right before",
    ),
    (
        "crates/spexus-service/src/account/lockout.rs",
        "failed logins are counted before anybody is known",
    ),
    (
        "crates/spexus-service/src/account/login.rs",
        "signing in and out needs no right but the password and the session",
    ),
    (
        "crates/spexus-service/src/account/token.rs",
        "when a token was last used is noted by the server",
    ),
    (
        "crates/spexus-service/src/audit.rs",
        "old events end by the server's own upkeep",
    ),
    (
        "crates/spexus-service/src/consent.rs",
        "an answer is used up whoever gave it; the deletion asks for its right",
    ),
    (
        "crates/spexus-service/src/mcp_session.rs",
        "sessions are kept by the server for their owner",
    ),
];

pub(super) fn writes_go_one_way(tree: &Tree) -> Vec<Finding> {
    let others = tree.sources().iter().filter(|source| !may_write(&source.path));
    let unasked = tree.sources().iter().filter(|source| {
        source.path.starts_with("crates/spexus-service/") && !is_listed(WITHOUT_A_RIGHT, &source.path)
    });
    others
        .flat_map(direct_writes)
        .chain(unasked.flat_map(writes_without_a_right))
        .collect()
}

fn writes_without_a_right(source: &Source) -> Vec<Finding> {
    let sentence =
        "a write without a right: use `Service::change`, or join the list in xtask/src/tidy/writes.rs";
    let is_one = |(line, code): &(usize, &String)| !source.is_test(*line) && code.contains(".write_as(");
    let found = source.code.iter().enumerate().filter(is_one);
    found
        .map(|(line, _)| Finding::new(&source.path, line + 1, sentence))
        .collect()
}

fn is_listed(list: &[(&str, &str)], path: &str) -> bool {
    list.iter().any(|(listed, _)| *listed == path)
}

fn may_write(path: &str) -> bool {
    path.starts_with("crates/spexus-store/") || quotes_rules(path) || is_listed(EXCEPTIONS, path)
}

fn direct_writes(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = "";
    for (line, code) in source.code.iter().enumerate() {
        let code = code.trim();
        if !source.is_test(line) && writes(before, code) {
            let sentence = "a write through the store: use `Service::change`, or join the list in xtask/src/tidy/writes.rs";
            findings.push(Finding::new(&source.path, line + 1, sentence));
        }
        before = code;
    }
    findings
}

/// Whether a line writes to a store that it names, or that the line before ends with.
fn writes(before: &str, code: &str) -> bool {
    WRITES.iter().any(|write| {
        code.match_indices(write).any(|(at, _)| {
            let owner = if at == 0 { before } else { &code[..at] };
            STORES.iter().any(|store| names(owner, store))
        })
    })
}

fn names(owner: &str, store: &str) -> bool {
    let rest = owner.strip_suffix(store);
    rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}
