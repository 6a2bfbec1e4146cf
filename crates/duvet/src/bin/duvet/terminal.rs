//! What the command says while it works.

use duvet::memo::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether standard error is read by a person who sees colours.
pub(crate) fn colour() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// `    Wrote path 3ms`, in the manner of cargo.
pub(crate) fn done(verb: &str, what: impl std::fmt::Display, since: Instant) {
    let what = what.to_string();
    write_stderr(&format!(
        "{verb:>12} {} {:.1?}\n",
        printable(&what),
        since.elapsed()
    ));
}

/// What a stranger's text may show on a terminal.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    duvet::text::printable(text)
}

/// Writes to standard error. A reader that went away is no fault of ours and ends nothing.
pub(crate) fn write_stderr(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes to standard output what a program reads there. A reader that went away is no fault of ours; any other problem
/// is, since what was asked for is not there.
pub(crate) fn write_stdout(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(problem) if problem.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {problem}"))
        }
        _ => Ok(()),
    }
}

/// A value as JSON of several lines that a terminal may show too: what is harmful there is written by its number.
pub(crate) fn json(value: &serde_json::Value) -> String {
    let text = format!("{value:#}\n");
    duvet::text::escaped(&text).into_owned()
}

/// Writes a file that the person named.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = duvet::output::write(path, bytes);
    written
        .map(drop)
        .map_err(|e| format!("cannot write `{}`: {e}", path.display()))
}

/// The secret that seals this person's caches: made once, in her own cache folder. Without one nothing is cached.
pub(crate) fn secret() -> Option<[u8; 32]> {
    let folder = std::env::var_os("XDG_CACHE_HOME")
        .or_else(|| std::env::var_os("LOCALAPPDATA"))
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
        .filter(|folder| folder.is_absolute())?;
    let path = folder.join("duvet").join("secret");
    if let Some(known) = read_secret(&path) {
        return Some(known);
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).ok()?;
    std::fs::create_dir_all(path.parent()?).ok()?;
    duvet::output::write(&path, &secret).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).ok()?;
    }
    // Another run may have made one at the same moment; the one on disk counts.
    read_secret(&path)
}

fn read_secret(path: &Path) -> Option<[u8; 32]> {
    duvet::fence::read(path, 32).ok()?.try_into().ok()
}

/// Only runs longer than this get a bar.
const BAR_AFTER_MS: u64 = 400;

/// Draws a bar while `work` runs, when a person watches and it takes long.
pub(crate) fn with_bar<T>(progress: &Arc<Progress>, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| draw(progress, &is_done));
        let result = work();
        is_done.store(true, Ordering::Relaxed);
        result
    })
}

fn draw(progress: &Progress, is_done: &AtomicBool) {
    let tick = Duration::from_millis(20);
    for _ in 0..BAR_AFTER_MS / 20 {
        if is_done.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(tick);
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:>12} [{bar:30}] {pos}/{len} files") {
        bar.set_style(style);
    }
    bar.set_message("Reading");
    while !is_done.load(Ordering::Relaxed) {
        bar.set_length(progress.total.load(Ordering::Relaxed) as u64);
        bar.set_position(progress.done.load(Ordering::Relaxed) as u64);
        std::thread::sleep(tick);
    }
    bar.finish_and_clear();
}
