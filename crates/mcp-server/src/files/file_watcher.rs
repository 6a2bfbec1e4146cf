//! File watcher for subscribed files: only those somebody watches are looked at, each through its folder, because editors
//! put a new file in the place of the old one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};

use crate::changes::Change;
use crate::server::Server;
use crate::server::core::Core;

/// How long a file stays watched before it counts whether anyone does.
const MIN_WATCH_TIME: Duration = Duration::from_secs(60);

/// File watcher: the files somebody is subscribed to, and the system watch behind each.
#[derive(Debug)]
pub(super) struct FileWatcher {
    max_files: usize,
    watcher: Mutex<Option<RecommendedWatcher>>,
    seen: Arc<Mutex<Seen>>,
}

/// Each watched file with the addresses it is watched by.
#[derive(Debug, Default)]
struct Seen(HashMap<PathBuf, File>);

#[derive(Debug)]
struct File {
    uris: Vec<String>,
    /// When somebody last asked to watch it.
    asked: Instant,
    /// When it was last written and how long it was; `None` when it was not there.
    stamp: Option<(SystemTime, u64)>,
}

impl FileWatcher {
    pub(super) fn new(max_files: usize) -> Self {
        Self {
            max_files,
            watcher: Mutex::new(None),
            seen: Arc::default(),
        }
    }

    /// Watches a file for an address, until nobody does any more.
    //= specs/mcp-server.md#roots
    //# A watched file that is written, replaced or removed MUST be told to those who watch it.
    pub(super) fn add(&self, core: &Weak<Core>, uri: &str, path: &Path) -> Result<(), Refusal> {
        let mut watcher = lock(&self.watcher);
        self.clear(core, &mut watcher);
        let known = {
            let mut seen = lock(&self.seen);
            if seen.0.len() >= self.max_files && !seen.0.contains_key(path) {
                let problem = format!("{} files are watched already", self.max_files);
                return Err(
                    Refusal::new(Code::QuotaExceeded, problem).hint("Unsubscribe from other files first.")
                );
            }
            seen.add(uri, path)
        };
        if known {
            return Ok(());
        }
        let watched = match &mut *watcher {
            Some(watcher) => watch(watcher, path),
            empty => make(&self.seen, core.clone()).and_then(|fresh| watch(empty.insert(fresh), path)),
        };
        watched.map_err(|error| {
            lock(&self.seen).0.remove(path);
            tracing::warn!(%error, "a file cannot be watched");
            Refusal::new(Code::ResourceExhausted, format!("{uri:?} cannot be watched now"))
        })
    }

    /// Forgets files nobody watches any more.
    fn clear(&self, core: &Weak<Core>, watcher: &mut Option<RecommendedWatcher>) {
        let Some(core) = core.upgrade() else { return };
        let mut seen = lock(&self.seen);
        let before: Vec<PathBuf> = seen.folders();
        seen.0.retain(|_, file| {
            // A subscription that is being made is known here before it is known there.
            if file.asked.elapsed() > MIN_WATCH_TIME {
                file.uris.retain(|uri| core.broker.has_topic(uri));
            }
            !file.uris.is_empty()
        });
        let after = seen.folders();
        for folder in before.iter().filter(|folder| !after.contains(folder)) {
            if let Some(watcher) = watcher {
                // A folder that is gone is not watched any more anyway.
                let _ = watcher.unwatch(folder);
            }
        }
    }
}

impl Seen {
    /// Notes a file; true when it was watched before.
    fn add(&mut self, uri: &str, path: &Path) -> bool {
        let known = self.0.contains_key(path);
        let file = self.0.entry(path.to_owned()).or_insert_with(|| File {
            uris: Vec::new(),
            asked: Instant::now(),
            stamp: stamp(path),
        });
        file.asked = Instant::now();
        if !file.uris.iter().any(|own| own == uri) {
            file.uris.push(uri.to_owned());
        }
        known
    }

    /// The folders of all watched files, each once.
    fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self
            .0
            .keys()
            .filter_map(|path| path.parent())
            .map(Path::to_owned)
            .collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// What became of a file since it was last looked at.
    fn look(&mut self, path: &Path) -> Option<(Vec<String>, Change)> {
        let file = self.0.get_mut(path)?;
        let now = stamp(path);
        if now == file.stamp {
            return None;
        }
        file.stamp = now;
        let change = if now.is_some() {
            Change::Updated
        } else {
            Change::Deleted
        };
        Some((file.uris.clone(), change))
    }
}

fn make(seen: &Arc<Mutex<Seen>>, core: Weak<Core>) -> notify::Result<RecommendedWatcher> {
    let seen = Arc::downgrade(seen);
    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let (Ok(event), Some(seen), Some(core)) = (event, seen.upgrade(), core.upgrade()) else {
            return;
        };
        let server = Server(core);
        for path in &event.paths {
            // A folder that goes takes its files along.
            let concerned: Vec<PathBuf> = match event.need_rescan() {
                true => lock(&seen).0.keys().cloned().collect(),
                false => lock(&seen)
                    .0
                    .keys()
                    .filter(|file| file.starts_with(path))
                    .cloned()
                    .collect(),
            };
            for file in concerned {
                let changed = lock(&seen).look(&file);
                for (uri, change) in changed
                    .into_iter()
                    .flat_map(|(uris, change)| uris.into_iter().map(move |uri| (uri, change)))
                {
                    server.resource_changed(&uri, change);
                }
            }
        }
    })
}

fn watch(watcher: &mut RecommendedWatcher, path: &Path) -> notify::Result<()> {
    watcher.watch(path.parent().unwrap_or(path), RecursiveMode::NonRecursive)
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
