//! `docs/refusals.md`: the table of refusals for people who meet one.

use std::fmt::Write as _;

use anyhow::Result;
use refusal::Code;

use super::cell;
use crate::tree::Tree;

const HEAD: &str = "# Refusals

Every \"no\" the product says comes from this table, over REST, MCP and the command line alike. Numbers and names never
change; branch on them. The column `error.code` is the JSON-RPC number: the standard one where JSON-RPC or MCP names the
case, else the refusal itself. Reserved numbers are not used by this version; they stay, so that nobody gives them another
meaning. Generated from the crate `refusal` and its uses by `cargo xtask gen`.

| code | name | class | HTTP | `error.code` | what to do |
|---|---|---|---|---|---|
";

pub(super) fn make(tree: &Tree) -> Result<String> {
    let mut text = HEAD.to_owned();
    for code in Code::ALL {
        let class = format!("{:?}", code.class()).to_lowercase();
        let (number, name, http, rpc) = (code.number(), code.name(), code.http_status(), code.json_rpc());
        let hint = match is_said(tree, *code) {
            true => cell(code.hint()),
            false => "Reserved: not used by this version.".to_owned(),
        };
        writeln!(
            text,
            "| {number} | `{name}` | {class} | {http} | {rpc} | {hint} |"
        )?;
    }
    Ok(text)
}

/// Whether the code of any crate but the table's own says it.
fn is_said(tree: &Tree, code: Code) -> bool {
    let name = format!("Code::{code:?}");
    let says = |line: &String| {
        let mut found = line.match_indices(&name);
        found.any(|(at, _)| !line[at + name.len()..].starts_with(|c: char| c.is_alphanumeric()))
    };
    let is_product = |path: &str| path.starts_with("crates/") && !path.starts_with("crates/refusal/");
    let mut sources = tree.sources().iter().filter(|source| is_product(&source.path));
    sources.any(|source| {
        let mut lines = source.code.iter().enumerate();
        lines.any(|(at, line)| says(line) && !source.is_test(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_nothing_says_is_reserved() {
        let tree = Tree::from([
            ("crates/refusal/src/table.rs", "Code::BufferOverflow"),
            ("crates/a/src/lib.rs", "Refusal::new(Code::Timeout, m)"),
            ("crates/a/tests/it/main.rs", "Code::InternalError"),
        ]);
        let text = make(&tree).unwrap();
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
        assert!(
            row("`TIMEOUT`").ends_with(" time limit. |"),
            "{}",
            row("`TIMEOUT`")
        );
        for name in ["`BUFFER_OVERFLOW`", "`INTERNAL_ERROR`"] {
            assert!(row(name).ends_with("| Reserved: not used by this version. |"));
        }
    }
}
