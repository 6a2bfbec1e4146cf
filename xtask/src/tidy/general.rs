//! Who may know what: general crates know no word of the product, and commands ask the service, not the store.

use super::Finding;
use crate::tree::Tree;

/// What somebody else could build on.
const GENERAL: &[&str] = &[
    "refusal",
    "mcp-protocol",
    "mcp-server",
    "mcp-client",
    "mcp-apps",
    "test-reports",
];

/// The product's name, in any case. Sentences of `specs/` are cited by their file.
const PRODUCT: &str = "spexus";

pub(super) fn general_crates_know_no_product(tree: &Tree) -> Vec<Finding> {
    let is_general = |path: &str| {
        let mut parts = path.split('/');
        parts.next() == Some("crates")
            && parts.next().is_some_and(|name| GENERAL.contains(&name))
            && parts.next() == Some("src")
    };
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_general(path)) {
        for (line, text) in text.lines().enumerate() {
            let text = text.to_lowercase().replace("specs/spexus", "");
            if text.contains(PRODUCT) {
                let sentence = "this crate serves any product: let the product give the word as an option, or add it when it renders";
                findings.push(Finding::new(path, line + 1, sentence));
            }
        }
    }
    findings
}

const COMMANDS: &str = "crates/spexus/src/commands/";

/// Commands about the database itself.
const OF_THE_DATABASE: &[&str] = &["audit", "backup", "doctor", "serve"];

pub(super) fn commands_ask_the_service(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources() {
        let Some(rest) = source.path.strip_prefix(COMMANDS) else {
            continue;
        };
        let name = rest.split(['/', '.']).next().unwrap_or(rest);
        if OF_THE_DATABASE.contains(&name) {
            continue;
        }
        let uses = source
            .code
            .iter()
            .enumerate()
            .filter(|(_, code)| code.contains("spexus_store"));
        findings.extend(uses.map(|(line, _)| {
            Finding::new(
                &source.path,
                line + 1,
                "call a use case of spexus-service instead of the store",
            )
        }));
    }
    findings
}
