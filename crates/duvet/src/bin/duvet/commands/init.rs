//! `duvet init`

use crate::arguments::Init;
use crate::terminal;
use duvet::config::CONFIG_PATH;
use duvet::init::{IGNORED, LANGUAGES, detect, render};
use std::path::Path;

pub(crate) fn run(flags: &Init) -> Result<bool, String> {
    let named = flags.languages();
    let languages = match named.is_empty() {
        true => detect(Path::new(".")),
        false => LANGUAGES
            .iter()
            .filter(|language| named.contains(&language.name))
            .collect(),
    };
    create(Path::new(CONFIG_PATH), &render(&languages, &flags.specification))?;
    create(Path::new(".duvet/.gitignore"), IGNORED)?;
    Ok(true)
}

/// What is there already is never overwritten.
fn create(path: &Path, text: &str) -> Result<(), String> {
    if path.exists() {
        eprintln!("{:>12} {} - already exists", "Skipping", path.display());
        return Ok(());
    }
    terminal::write(path, text.as_bytes(), false)
}
