//! What changed below a folder, known for certain.
//!
//! The system tells of changes a moment after they happen, so "nothing was told" is no proof that nothing changed. Before
//! the watch is believed, a cookie is written into the folder: the system tells in order, so when the cookie is told,
//! everything before it was. Where that cannot be had (no watch, a queue that ran over, a folder that cannot be
//! written), the answer is that everything may have changed.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecursiveMode, Watcher};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Changes that come within this time are one.
const SETTLE_MS: u64 = 40;
/// A cookie that is not told within this time is given up.
const COOKIE_TIMEOUT_MS: u64 = 1_000;
/// More changed files than this are told as "everything".
const MAX_CHANGED_FILES: usize = 20_000;
/// Where cookies are put.
const COOKIE_FOLDER: &str = ".duvet";
const COOKIE_NAME: &str = ".cookie-";

/// A folder that is being watched, until it is dropped.
pub struct Watch {
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
    bell: Condvar,
}

#[derive(Default)]
struct State {
    changes: Changes,
    /// Folders that came: what was put into them before they were watched was not told.
    folders: Vec<PathBuf>,
    cookie: u64,
    rings: u64,
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

impl Watch {
    /// Watches a folder and everything below it, version control and our own outputs aside.
    pub fn new(root: &Path) -> notify::Result<Self> {
        let root = root.canonicalize().map_err(notify::Error::io)?;
        let shared = Arc::new(Shared::default());
        let (told, top) = (Arc::clone(&shared), root.clone());
        let mut watcher = notify::recommended_watcher(move |event| told.hear(&top, event))?;
        watcher.watch(&root, RecursiveMode::Recursive)?;
        Ok(Self {
            watcher: Mutex::new(watcher),
            shared,
            root,
            cookies: AtomicU64::new(0),
        })
    }

    //= specs/duvet.md#freshness
    //# A resident program MUST hear of every change up to a cookie file that it wrote for the answer, and read
    //# everything again where it cannot.
    /// Everything that changed since the last call, up to this moment.
    pub fn drain(&self) -> Changes {
        let Some(cookie) = self.write_cookie() else {
            return Changes::everything();
        };
        let limit = Duration::from_millis(COOKIE_TIMEOUT_MS);
        let state = self.shared.lock();
        let waited = self
            .shared
            .bell
            .wait_timeout_while(state, limit, |state| state.cookie < cookie && !state.changes.all);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_told = state.cookie >= cookie;
        let mut changes = std::mem::take(&mut state.changes);
        let folders = std::mem::take(&mut state.folders);
        drop(state);
        if !is_told || !self.watch_all(&folders) {
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
        while state.rings == *seen {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            let waited = self.shared.bell.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let quiet = Duration::from_millis(SETTLE_MS);
        loop {
            *seen = state.rings;
            let waited = self
                .shared
                .bell
                .wait_timeout_while(state, quiet, |state| state.rings == *seen);
            let (next, settled) = waited.unwrap_or_else(PoisonError::into_inner);
            if settled.timed_out() {
                return true;
            }
            state = next;
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

    /// Watches folders that came. The watcher does so too, but later than it tells of them, and what happens in between
    /// is not told; what this gives back is watched when it returns.
    fn watch_all(&self, folders: &[PathBuf]) -> bool {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        folders.iter().all(|folder| {
            // A folder that is gone again was told of as well.
            watcher.watch(folder, RecursiveMode::Recursive).is_ok() || !folder.exists()
        })
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, root: &Path, event: notify::Result<notify::Event>) {
        let mut state = self.lock();
        match event {
            Ok(event) if !event.need_rescan() => {
                if !state.note(root, &event) {
                    return;
                }
            }
            // The queue ran over, or the watch broke.
            _ => {
                state.changes = Changes::everything();
                state.rings += 1;
            }
        }
        self.bell.notify_all();
    }
}

impl State {
    /// Writes an event down; whether it matters to anyone.
    fn note(&mut self, root: &Path, event: &notify::Event) -> bool {
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
            self.rings += 1;
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
