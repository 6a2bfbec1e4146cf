//! `duvet merge`

use crate::arguments::Merge;
use crate::terminal;
use duvet::fence::{self, MAX_REPORT_BYTES};

pub(crate) fn run(flags: &Merge) -> Result<bool, String> {
    let mut texts = Vec::new();
    for path in &flags.input {
        let problem = |e: &dyn std::fmt::Display| format!("cannot read `{}`: {e}", path.display());
        let bytes = fence::read(path, MAX_REPORT_BYTES).map_err(|e| problem(&e))?;
        let text = String::from_utf8(bytes).map_err(|e| problem(&e))?;
        texts.push((path.display().to_string(), text));
    }
    let inputs: Vec<_> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let merged = duvet::merge::merge(&inputs)?;
    for warning in &merged.warnings {
        terminal::write_stderr(&format!("warning: {}\n", terminal::printable(warning)));
    }
    terminal::write(&flags.output, &merged.report)?;
    Ok(true)
}
