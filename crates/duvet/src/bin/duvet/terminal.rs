//! What the command says while it works.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Instant;

/// Whether standard error is read by a person who sees colours.
pub(crate) fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// `    Wrote path 3ms`, in the manner of cargo.
pub(crate) fn done(verb: &str, what: impl std::fmt::Display, since: Instant) {
    eprintln!("{verb:>12} {what} {:.1?}", since.elapsed());
}

/// Writes a file, making its folder; says so unless quiet.
pub(crate) fn write(path: &Path, bytes: &[u8], quiet: bool) -> Result<(), String> {
    let start = Instant::now();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|e| format!("cannot make `{}`: {e}", folder.display()))?;
    }
    std::fs::write(path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))?;
    if !quiet {
        done("Wrote", path.display(), start);
    }
    Ok(())
}
