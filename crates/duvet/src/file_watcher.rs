//! What changed below a folder, known for certain.
//!
//! Events arrive a moment after the change, so "no event" is no proof that nothing changed. Before the queue is believed, a
//! cookie is written into the folder: events arrive in order, so when that of the cookie is here, everything before it is. Where that cannot be had (no watcher, a queue that ran over, a folder that cannot be
//! written), the answer is that everything may have changed.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecursiveMode, Watcher};
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Changes that come within this time are one.
const DEBOUNCE_MS: u64 = 40;
/// A cookie whose event does not arrive within this time is given up.
const COOKIE_TIMEOUT_MS: u64 = 1_000;
/// More changed files than this are reported as "everything".
const MAX_CHANGED_FILES: usize = 20_000;
/// Where cookies are put.
const COOKIE_FOLDER: &str = ".duvet";
const COOKIE_NAME: &str = ".cookie-";

/// A folder that is being watched, until it is dropped.
pub struct FileWatcher {
    watcher: Mutex<notify::RecommendedWatcher>,
    shared: Arc<Shared>,
    root: PathBuf,
    cookies: AtomicU64,
}

/// What may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Anything.
    pub all: bool,
    /// Files came or went, so patterns may mean others.
    pub tree: bool,
    /// These files and everything below these folders, relative to the root.
    pub paths: HashSet<PathBuf>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    changes: Changes,
    /// Folders that came: what was put into them before they were watched made no event.
    folders: Vec<PathBuf>,
    cookie: u64,
    generation: u64,
}

impl Changes {
    /// Nothing is known to be as it was.
    pub fn everything() -> Self {
        Self {
            all: true,
            tree: true,
            paths: HashSet::new(),
        }
    }

    /// Whether all is as it was.
    pub fn is_empty(&self) -> bool {
        !self.all && !self.tree && self.paths.is_empty()
    }

    /// Whether a file, named relative to the root, is surely as it was.
    pub fn spares(&self, path: &Path) -> bool {
        let is_below_root = !path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..");
        !self.all && is_below_root && !path.ancestors().any(|above| self.paths.contains(above))
    }

    /// Adds what changed besides.
    pub fn join(&mut self, other: Self) {
        self.all |= other.all;
        self.tree |= other.tree;
        self.paths.extend(other.paths);
    }
}

impl FileWatcher {
    /// Watches a folder and everything below it, version control and our own outputs aside.
    pub fn new(root: &Path) -> notify::Result<Self> {
        let root = root.canonicalize().map_err(notify::Error::io)?;
        let shared = Arc::new(Shared::default());
        let (receiver, top) = (Arc::clone(&shared), root.clone());
        let mut watcher = notify::recommended_watcher(move |event| receiver.record(&top, event))?;
        watcher.watch(&root, RecursiveMode::Recursive)?;
        Ok(Self {
            watcher: Mutex::new(watcher),
            shared,
            root,
            cookies: AtomicU64::new(0),
        })
    }

    //= specs/duvet.md#freshness
    //# A resident program MUST know of every change up to a cookie file that it wrote for the answer, and read
    //# everything again where it cannot.
    /// Everything that changed since the last call, up to this moment.
    pub fn drain(&self) -> Changes {
        let Some(cookie) = self.write_cookie() else {
            return Changes::everything();
        };
        let limit = Duration::from_millis(COOKIE_TIMEOUT_MS);
        let mut state = self.shared.lock();
        let is_behind = |state: &mut State| state.cookie < cookie && !state.changes.all;
        self.shared.changed.wait_while_for(&mut state, is_behind, limit);
        let is_drained = state.cookie >= cookie;
        let mut changes = std::mem::take(&mut state.changes);
        let folders = std::mem::take(&mut state.folders);
        drop(state);
        if !is_drained || !self.watch_all(&folders) {
            return Changes::everything();
        }
        changes
            .paths
            .extend(folders.iter().map(|folder| relative(&self.root, folder)));
        changes
    }

    /// Waits until something changed and then was quiet for a moment; `false` when nothing did in the given time.
    pub fn wait(&self, seen: &mut u64, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut state = self.shared.lock();
        while state.generation == *seen {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            self.shared.changed.wait_for(&mut state, left);
        }
        let quiet = Duration::from_millis(DEBOUNCE_MS);
        loop {
            *seen = state.generation;
            let is_quiet = |state: &mut State| state.generation == *seen;
            let settled = self.shared.changed.wait_while_for(&mut state, is_quiet, quiet);
            if settled.timed_out() {
                return true;
            }
        }
    }

    /// Writes a file into the folder and takes it away; its number, when that could be done.
    fn write_cookie(&self) -> Option<u64> {
        let folder = self.root.join(COOKIE_FOLDER);
        let is_plain = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_plain {
            return None;
        }
        let number = self.cookies.fetch_add(1, Ordering::Relaxed) + 1;
        let path = folder.join(format!("{COOKIE_NAME}{}-{number}", std::process::id()));
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .ok()?;
        std::fs::remove_file(path).ok()?;
        Some(number)
    }

    /// Watches folders that came. The watcher does so too, but later than it reports them, and what happens in between
    /// makes no event; what this gives back is watched when it returns.
    fn watch_all(&self, folders: &[PathBuf]) -> bool {
        let mut watcher = self.watcher.lock();
        folders.iter().all(|folder| {
            // A folder that is gone again was reported as well.
            watcher.watch(folder, RecursiveMode::Recursive).is_ok() || !folder.exists()
        })
    }
}

impl Shared {
    fn lock(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    fn record(&self, root: &Path, event: notify::Result<notify::Event>) {
        let mut state = self.lock();
        match event {
            Ok(event) if !event.need_rescan() => {
                if !state.apply(root, &event) {
                    return;
                }
            }
            // The queue ran over, or the watcher broke.
            _ => {
                state.changes = Changes::everything();
                state.generation += 1;
            }
        }
        self.changed.notify_all();
    }
}

impl State {
    /// Writes an event down; whether it matters to anyone.
    fn apply(&mut self, root: &Path, event: &notify::Event) -> bool {
        let is_tree = match event.kind {
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Data(_)) => false,
            EventKind::Modify(ModifyKind::Metadata(_)) => false,
            EventKind::Access(_) => return false,
            _ => true,
        };
        let mut matters = false;
        for path in &event.paths {
            let name = relative(root, path);
            if let Some(cookie) = own_cookie(&name) {
                self.cookie = self.cookie.max(cookie);
                matters = true;
                continue;
            }
            if !is_input(&name) {
                continue;
            }
            matters = true;
            self.generation += 1;
            let decides_tree = name
                .file_name()
                .is_some_and(|file| file == ".gitignore" || file == ".ignore" || file == "exclude");
            self.changes.tree |= is_tree || decides_tree;
            if is_tree && path.is_dir() {
                self.folders.push(path.clone());
            }
            self.changes.paths.insert(name);
        }
        if event.paths.is_empty() || self.changes.paths.len() > MAX_CHANGED_FILES {
            self.changes = Changes::everything();
            matters = true;
        }
        matters
    }
}

fn relative(root: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}

fn own_cookie(name: &Path) -> Option<u64> {
    let (folder, file) = (name.parent()?, name.file_name()?.to_str()?);
    let rest = file
        .strip_prefix(COOKIE_NAME)
        .filter(|_| folder == Path::new(COOKIE_FOLDER))?;
    let (process, number) = rest.split_once('-')?;
    (process == std::process::id().to_string()).then(|| number.parse().ok())?
}

/// Files of version control, of other processes' watches and what a report writes are no inputs.
fn is_input(name: &Path) -> bool {
    let parts: Vec<_> = name.components().map(|part| part.as_os_str()).collect();
    let is_ours = parts.windows(2).any(|pair| {
        let is_output = pair[1] == "cache" || pair[1] == "reports";
        pair[0] == COOKIE_FOLDER && (is_output || pair[1].to_string_lossy().starts_with(COOKIE_NAME))
    });
    let is_git = parts.iter().any(|part| *part == ".git") && !name.ends_with(".git/info/exclude");
    let is_half = name.file_name().is_some_and(|file| {
        let file = file.to_string_lossy();
        file.starts_with(".duvet-") && file.ends_with(".tmp")
    });
    !is_ours && !is_git && !is_half
}
