//! `docs/refusals.md`: the table of refusals for people who meet one.

use std::fmt::Write as _;

use anyhow::Result;
use refusal::Code;

use super::cell;
use crate::tree::Tree;

const HEAD: &str = "# Refusals

Every \"no\" the product says comes from this table, over REST, MCP and the command line alike. Numbers and names never
change; branch on them. The column `error.code` is the JSON-RPC number: the standard one where JSON-RPC or MCP names the
case, else the refusal itself. Generated from the crate `refusal` by `cargo xtask gen`.

| code | name | class | HTTP | `error.code` | what to do |
|---|---|---|---|---|---|
";

pub(super) fn make(_: &Tree) -> Result<String> {
    let mut text = HEAD.to_owned();
    for code in Code::ALL {
        let class = format!("{:?}", code.class()).to_lowercase();
        let (number, name, http, rpc) = (code.number(), code.name(), code.http_status(), code.json_rpc());
        writeln!(
            text,
            "| {number} | `{name}` | {class} | {http} | {rpc} | {} |",
            cell(code.hint())
        )?;
    }
    Ok(text)
}
