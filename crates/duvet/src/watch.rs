//! A bell that rings when something below a folder changes.
//!
//! The bell says *that* something happened, not what: the engine looks at the world itself. So a missed or doubled
//! event can make an answer late, never wrong.

use notify::{RecursiveMode, Watcher};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Changes that come within this time are one.
const SETTLE_MS: u64 = 40;

/// A folder that is being watched, until it is dropped.
pub struct Watch {
    _watcher: notify::RecommendedWatcher,
    events: Receiver<()>,
}

impl Watch {
    /// Watches a folder and everything below it, version control and our own outputs aside.
    pub fn new(root: &Path) -> notify::Result<Self> {
        let (bell, events) = channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event
                .is_ok_and(|event| !event.kind.is_access() && event.paths.iter().any(|path| is_input(path)))
            {
                // The receiver is gone when nobody waits any more; then there is nobody to tell.
                let _ = bell.send(());
            }
        })?;
        watcher.watch(root, RecursiveMode::Recursive)?;
        Ok(Self {
            _watcher: watcher,
            events,
        })
    }

    /// Waits until something changed and then was quiet for a moment; `false` when nothing did in the given time.
    pub fn wait(&self, limit: Duration) -> bool {
        if self.events.recv_timeout(limit).is_err() {
            return false;
        }
        let quiet = Duration::from_millis(SETTLE_MS);
        while self.events.recv_timeout(quiet).is_ok() {}
        true
    }
}

fn is_input(path: &Path) -> bool {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str()).collect();
    let ours = parts
        .windows(2)
        .any(|pair| pair[0] == ".duvet" && (pair[1] == "cache" || pair[1] == "reports"));
    !ours && !parts.iter().any(|part| *part == ".git")
}
