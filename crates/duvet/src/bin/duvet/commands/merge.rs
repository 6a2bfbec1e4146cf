//! `duvet merge`

use crate::arguments::Merge;
use crate::terminal;

pub(crate) fn run(flags: &Merge) -> Result<bool, String> {
    let mut texts = Vec::new();
    for path in &flags.input {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("cannot read `{}`: {e}", path.display()))?;
        texts.push((path.display().to_string(), text));
    }
    let inputs: Vec<_> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let merged = duvet::merge::merge(&inputs)?;
    for warning in &merged.warnings {
        eprintln!("warning: {warning}");
    }
    terminal::write(&flags.output, &merged.report, true)?;
    Ok(true)
}
