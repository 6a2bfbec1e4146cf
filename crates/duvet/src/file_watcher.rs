//! What changed below a folder, known for certain.
//!
//! Events arrive a moment after the change, so "no event" is no proof that nothing changed. Before the queue is believed, a
//! cookie is written into the folder: events arrive in order, so when that of the cookie is here, everything before it is.
//! Where that cannot be had (no watcher, a queue that ran over, a folder that cannot be written), the answer is that
//! everything may have changed.
//!
//! What got lost may have been the arrival of a folder, in which nobody watches then. So after a loss the watches are made
//! anew, and until that is done every answer is "everything".

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{RecursiveMode, Watcher};
use parking_lot::{Condvar, Mutex};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// What nobody tells of (a change the watcher missed, an ignore file above the project) is found after this time.
const RESCAN_EVERY_MS: u64 = 20_000;
/// The same where there is no watcher, or one that does not see every file; a project that takes long to read is looked at
/// less often.
const POLL_EVERY_MS: u64 = 2_000;
/// Looking without being asked takes about this part of the time.
const IDLE_SHARE: u32 = 50;

/// A folder that is being watched, until it is dropped.
pub struct FileWatcher {
    /// Held while the queue is drained, so that one cookie is awaited at a time.
    watcher: Mutex<notify::RecommendedWatcher>,
    shared: Arc<Shared>,
    root: PathBuf,
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
    /// Whether events got lost or a folder is not watched: nothing is known until there are new watches.
    is_blind: bool,
    /// Which watcher is believed: what an older one still says comes too late.
    watch: u64,
    /// The cookie whose event is awaited.
    cookie: Option<String>,
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
        !self.all
            && is_below_root
            && is_input(path)
            && !path.ancestors().any(|above| self.paths.contains(above))
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
        Ok(Self {
            watcher: Mutex::new(Shared::watch(&shared, &root, 0)?),
            shared,
            root,
        })
    }

    //= specs/duvet.md#freshness
    //# A resident program MUST know of every change up to a cookie file that it wrote for the answer, and read
    //# everything again where it cannot.
    /// Everything that changed since the last call, up to this moment.
    pub fn drain(&self) -> Changes {
        let mut watcher = self.watcher.lock();
        if self.shared.lock().is_blind {
            self.rebuild(&mut watcher);
            return Changes::everything();
        }
        let Some(cookie) = self.write_cookie() else {
            return Changes::everything();
        };
        let limit = Duration::from_millis(COOKIE_TIMEOUT_MS);
        let mut state = self.shared.lock();
        let is_behind = |state: &mut State| state.cookie.as_ref() == Some(&cookie) && !state.is_blind;
        self.shared.changed.wait_while_for(&mut state, is_behind, limit);
        let is_drained = state.cookie.take().is_none();
        if state.is_blind {
            drop(state);
            self.rebuild(&mut watcher);
            return Changes::everything();
        }
        let mut changes = std::mem::take(&mut state.changes);
        let folders = std::mem::take(&mut state.folders);
        drop(state);
        if !watch_all(&mut watcher, &folders) {
            self.shared.lock().is_blind = true;
            return Changes::everything();
        }
        if !is_drained {
            return Changes::everything();
        }
        changes
            .paths
            .extend(folders.iter().map(|folder| relative(&self.root, folder)));
        changes
    }

    //= specs/duvet.md#freshness
    //# After events were lost or a folder could not be watched, the watches MUST be made anew, and everything read at each
    //# answer until that was done.
    /// Puts a new watcher in place of one that missed something. Where that cannot be had, the next call tries again.
    fn rebuild(&self, watcher: &mut notify::RecommendedWatcher) {
        let watch = {
            let mut state = self.shared.lock();
            state.watch += 1;
            // What the old one knew is part of "everything", which is about to be answered.
            state.changes = Changes::default();
            state.folders.clear();
            state.is_blind = false;
            state.watch
        };
        match Shared::watch(&self.shared, &self.root, watch) {
            Ok(new) => *watcher = new,
            Err(_) => self.shared.lock().is_blind = true,
        }
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

    /// Writes a file into the folder and takes it away; its name, when that could be done.
    fn write_cookie(&self) -> Option<String> {
        let folder = self.root.join(COOKIE_FOLDER);
        let is_plain = folder.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_plain {
            return None;
        }
        // By chance, so that nobody else has written a file of this name before.
        let number = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), &self.root);
        let name = format!("{COOKIE_NAME}{}-{number:016x}", std::process::id());
        let path = folder.join(&name);
        self.shared.lock().cookie = Some(name.clone());
        let written = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|_| std::fs::remove_file(&path));
        if written.is_err() {
            self.shared.lock().cookie = None;
        }
        written.is_ok().then_some(name)
    }
}

/// Waits until something changed, as far as a watcher knows, or until it is time to look again. The last look took this
/// long, and a watcher may be blind for some of the files.
pub(crate) fn rest(watcher: Option<&FileWatcher>, is_blind: bool, seen: &mut u64, took: Duration) {
    let longest = Duration::from_millis(RESCAN_EVERY_MS);
    let polled = (took * IDLE_SHARE).clamp(Duration::from_millis(POLL_EVERY_MS), longest);
    match watcher {
        Some(watcher) => drop(watcher.wait(seen, if is_blind { polled } else { longest })),
        None => std::thread::sleep(polled),
    }
}

/// Watches folders that came. The watcher does so too, but later than it reports them, and what happens in between
/// makes no event; what this gives back is watched when it returns.
fn watch_all(watcher: &mut notify::RecommendedWatcher, folders: &[PathBuf]) -> bool {
    let mut is_watched = true;
    for folder in folders {
        let result = watcher.watch(folder, RecursiveMode::Recursive);
        // A folder that is gone again was reported as well.
        is_watched &= result.is_ok() || is_gone(folder);
    }
    is_watched
}

fn is_gone(folder: &Path) -> bool {
    let problem = folder.symlink_metadata().err();
    problem.is_some_and(|problem| problem.kind() == std::io::ErrorKind::NotFound)
}

impl Shared {
    fn lock(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A watcher of the root that reports here under a number.
    fn watch(shared: &Arc<Self>, root: &Path, watch: u64) -> notify::Result<notify::RecommendedWatcher> {
        let (receiver, top) = (Arc::clone(shared), root.to_owned());
        let mut watcher = notify::recommended_watcher(move |event| receiver.record(watch, &top, event))?;
        watcher.watch(root, RecursiveMode::Recursive)?;
        Ok(watcher)
    }

    fn record(&self, watch: u64, root: &Path, event: notify::Result<notify::Event>) {
        let mut state = self.lock();
        if state.watch != watch {
            return;
        }
        match event {
            Ok(event) if !event.need_rescan() => {
                if !state.apply(root, &event) {
                    return;
                }
            }
            // The queue ran over, or the watcher broke.
            _ => {
                state.is_blind = true;
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
            // A folder may have been opened or closed to us.
            EventKind::Modify(ModifyKind::Metadata(_)) => event.paths.iter().any(|path| path.is_dir()),
            EventKind::Access(_) => return false,
            _ => true,
        };
        let mut matters = false;
        for path in &event.paths {
            let name = relative(root, path);
            if self
                .cookie
                .as_deref()
                .is_some_and(|cookie| is_cookie(&name, cookie))
            {
                self.cookie = None;
                matters = true;
                continue;
            }
            if !is_input(&name) && !is_version_control(&name) {
                continue;
            }
            matters = true;
            self.generation += 1;
            let is_ignore_file = |file| file == ".gitignore" || file == ".ignore" || file == "exclude";
            self.changes.tree |= is_tree || name.file_name().is_some_and(is_ignore_file);
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

fn is_cookie(name: &Path, cookie: &str) -> bool {
    name.parent() == Some(Path::new(COOKIE_FOLDER)) && name.file_name().is_some_and(|file| file == cookie)
}

/// Where version control begins or ends; ignore files mean something only below it.
fn is_version_control(name: &Path) -> bool {
    name.file_name()
        .is_some_and(|file| file == ".git" || file == ".jj")
}

/// Files of version control, of other processes' watches and what a report writes are no inputs.
pub(crate) fn is_input(name: &Path) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> (tempfile::TempDir, FileWatcher) {
        let root = tempfile::tempdir().unwrap();
        for folder in [COOKIE_FOLDER, "src/deep"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let watcher = FileWatcher::new(root.path()).unwrap();
        assert!(watcher.drain().is_empty());
        (root, watcher)
    }

    /// A folder that came while events got lost is one that nobody watches.
    fn lose(watcher: &FileWatcher, folder: &str) {
        let lost = watcher.root.join(folder);
        watcher.watcher.lock().unwatch(&lost).unwrap();
    }

    fn rescan() -> notify::Event {
        notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan)
    }

    fn edit(watcher: &FileWatcher) -> Changes {
        std::fs::write(watcher.root.join("src/deep/a.rs"), "x").unwrap();
        watcher.drain()
    }

    //= specs/duvet.md#freshness
    //= type=test
    //# After events were lost or a folder could not be watched, the watches MUST be made anew, and everything read at each
    //# answer until that was done.
    #[test]
    fn after_events_were_lost_the_watches_are_made_anew() {
        for event in [
            Ok(rescan()),
            Err(notify::Error::new(notify::ErrorKind::MaxFilesWatch)),
        ] {
            let (_root, watcher) = watched();
            lose(&watcher, "src/deep");
            assert!(edit(&watcher).is_empty(), "so the test sees a loss at all");
            watcher.shared.record(0, &watcher.root, event);
            assert!(watcher.drain().all);
            assert!(!watcher.drain().all, "one scan is enough");
            assert!(!edit(&watcher).spares(Path::new("src/deep/a.rs")));
        }
    }

    #[test]
    fn nothing_is_believed_until_there_are_watches_again() {
        let (root, watcher) = watched();
        let away = root.path().with_extension("away");
        watcher.shared.record(0, &watcher.root, Ok(rescan()));
        std::fs::rename(root.path(), &away).unwrap();
        for _ in 0..3 {
            assert!(watcher.drain().all, "there is nothing to watch");
        }
        std::fs::rename(&away, root.path()).unwrap();
        assert!(
            watcher.drain().all,
            "what happened before the new watches is not known"
        );
        assert!(watcher.drain().is_empty());
        assert!(!edit(&watcher).spares(Path::new("src/deep/a.rs")));
    }

    /// A path over the system's limit is a folder that nobody can watch.
    #[test]
    fn a_folder_that_cannot_be_watched_makes_blind_and_not_only_once() {
        let (_root, watcher) = watched();
        lose(&watcher, "src/deep");
        watcher
            .shared
            .lock()
            .folders
            .push(watcher.root.join("x".repeat(5_000)));
        assert!(watcher.drain().all);
        assert!(
            watcher.drain().all,
            "watches are made anew, then everything is read"
        );
        assert!(!edit(&watcher).spares(Path::new("src/deep/a.rs")));
    }

    #[test]
    fn a_folder_that_was_opened_or_closed_may_mean_other_files() {
        let (root, _watcher) = watched();
        let kind = EventKind::Modify(ModifyKind::Metadata(notify::event::MetadataKind::Any));
        let mut state = State::default();
        let event = notify::Event::new(kind).add_path(root.path().join("src"));
        assert!(state.apply(root.path(), &event) && state.changes.tree);
        let mut state = State::default();
        let event = notify::Event::new(kind).add_path(root.path().join("src/a.rs"));
        assert!(state.apply(root.path(), &event) && !state.changes.tree);
    }

    /// A cookie of a process with our number, or with a higher number than ours, was taken for the one just written.
    #[test]
    fn a_cookie_that_somebody_else_wrote_is_not_ours() {
        let (root, _watcher) = watched();
        let mut state = State {
            cookie: Some(format!("{COOKIE_NAME}7-0000000000000001")),
            ..State::default()
        };
        let created = |name: &str| {
            let path = root.path().join(COOKIE_FOLDER).join(name);
            notify::Event::new(EventKind::Create(notify::event::CreateKind::File)).add_path(path)
        };
        let foreign = format!("{COOKIE_NAME}{}-999999999", std::process::id());
        for name in [foreign.as_str(), ".cookie-7-0000000000000002"] {
            state.apply(root.path(), &created(name));
            assert!(state.cookie.is_some(), "{name}");
        }
        state.apply(root.path(), &created(".cookie-7-0000000000000001"));
        assert!(state.cookie.is_none());
        assert!(state.changes.is_empty(), "cookies are no change");
    }
}
