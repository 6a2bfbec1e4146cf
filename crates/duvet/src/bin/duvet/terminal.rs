//! What the command says while it works.

use duvet::store::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
