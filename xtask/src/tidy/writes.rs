//! One way to write: `Service::change` and what stands beside it in `transaction.rs`, where the right, the project, the
//! actor and the transaction are. Whoever writes through the store directly stands in the list below, with the reason.

use super::{Finding, quotes_rules};
use crate::rust::Source;
use crate::tree::Tree;

/// How the store is written to.
const WRITES: [&str; 4] = [".write(", ".write_long(", ".together(", ".write_together("];

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
];

pub(super) fn writes_go_one_way(tree: &Tree) -> Vec<Finding> {
    let others = tree.sources().iter().filter(|source| !may_write(&source.path));
    others.flat_map(direct_writes).collect()
}

fn may_write(path: &str) -> bool {
    path.starts_with("crates/spexus-store/")
        || quotes_rules(path)
        || EXCEPTIONS.iter().any(|(exception, _)| *exception == path)
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
