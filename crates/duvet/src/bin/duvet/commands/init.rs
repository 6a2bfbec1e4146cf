//! `duvet init`

use crate::arguments::Init;
use crate::terminal;
use duvet::config::CONFIG_PATH;
use duvet::init::{HOOK, IGNORED, LANGUAGES, detect, render};
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(flags: &Init) -> Result<bool, String> {
    let named = flags.languages();
    let languages = match named.is_empty() {
        true => detect(Path::new(".")),
        false => LANGUAGES
            .iter()
            .filter(|language| named.contains(&language.name))
            .collect(),
    };
    if languages.is_empty() && !Path::new(CONFIG_PATH).exists() {
        let line = "warning: no language is known by the files here (`Cargo.toml`, `pyproject.toml`, …)";
        let help =
            format!("  = help: name your sources in `{CONFIG_PATH}`, or remove it and name the language:");
        terminal::write_stderr(&format!("{line}\n{help} `duvet init --lang-python`\n"));
    }
    create(Path::new(CONFIG_PATH), &render(&languages, &flags.specification))?;
    create(Path::new(".duvet/.gitignore"), IGNORED)?;
    if flags.hook {
        hook()?;
    }
    Ok(true)
}

//= specs/duvet.md#hook
//# A hook MUST stop a commit whose citations do not hold, and MUST NOT replace one that is there.
//= specs/duvet.md#hook
//# A commit that is stopped MUST be told why.
/// A hook of git that asks for the report before each commit.
fn hook() -> Result<(), String> {
    let folder = Path::new(".git/hooks");
    if !Path::new(".git").is_dir() {
        return Err("there is no `.git` folder here to put a hook into".to_owned());
    }
    let path = folder.join("pre-commit");
    let is_new = !path.exists();
    create(&path, HOOK)?;
    #[cfg(unix)]
    if is_new {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .map_err(|error| format!("cannot make `{}` executable: {error}", path.display()))?;
    }
    Ok(())
}

/// What is there already is never overwritten.
fn create(path: &Path, text: &str) -> Result<(), String> {
    if path.exists() {
        terminal::write_stderr(&format!(
            "{:>12} {} - already exists\n",
            "Skipping",
            path.display()
        ));
        return Ok(());
    }
    let start = Instant::now();
    terminal::write(path, text.as_bytes())?;
    terminal::done("Wrote", path.display(), start);
    Ok(())
}
