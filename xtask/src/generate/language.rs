//! `docs/language/rules.md`: the rules of language, for whoever writes requirements.

use std::fmt::Write as _;

use anyhow::Result;
use spexus_lint::{RULES, Tier};

use crate::tree::Tree;

const HEAD: &str = "# Rules of language

What `spexus lint` says about requirement texts. A number never changes its meaning. *Errors* cannot be built as they stand,
*warnings* nearly always harm, *information* is worth a look; only errors and warnings end with exit code 1. A rule is silenced
with `--silent L101`, a word is defended by a glossary (`--glossary`). Generated from the rule table of `spexus-lint` by
`cargo xtask gen`.
";

pub(super) fn make(_: &Tree) -> Result<String> {
    let mut text = HEAD.to_owned();
    for (tier, title) in [
        (Tier::Error, "Errors"),
        (Tier::Warning, "Warnings"),
        (Tier::Information, "Information"),
    ] {
        writeln!(text, "\n## {title}")?;
        for rule in RULES.iter().filter(|rule| rule.tier == tier) {
            let (number, name, reason) = (rule.number, rule.name, rule.reason);
            writeln!(text, "\n### {number} {name}\n\n{reason}\n")?;
            writeln!(text, "- good: {}\n- bad: {}", rule.good, rule.bad)?;
        }
    }
    Ok(text)
}
