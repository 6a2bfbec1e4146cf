//! The analysis kept in memory: every answer is fresh, and only what changed is read again.
//!
//! A resident program (an MCP server, a watcher) asks for a [`Snapshot`] at each call. The engine then asks its
//! [`FileWatcher`] what changed up to this moment. When nothing did, the last snapshot is handed out again; otherwise a new
//! one is built from what surely is as it was and what is read anew. Without a watcher everything is read and compared by
//! its bytes. There is no way to get an answer without this, so no answer is stale.

use crate::analysis::{Analysis, Project, Requirement};
use crate::config::{self, CONFIG_PATH, Config};
use crate::diagnostic::Diagnostic;
use crate::fence::{self, Fence, MAX_SETTINGS_BYTES, Refused};
use crate::file_watcher::{self, Changes, FileWatcher};
#[cfg(feature = "mcp")]
use crate::fix::Fixed;
use crate::identity::{requirement_id, text_hash};
use crate::lockfile::LOCK_PATH;
use crate::memo::Memo;
use crate::mounts;
use crate::pipeline::{self, Pass};
use crate::source::{Discovered, discover};
use crate::status::Status;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Answers the names of variables in link templates.
pub type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A project that is looked at again and again.
pub struct Engine {
    project: Project,
    configuration: Option<Configuration>,
    clock: fn() -> SystemTime,
    memo: Memo,
    found: Option<Discovered>,
    watcher: Option<Arc<FileWatcher>>,
    /// What changed since the last snapshot was built.
    changes: Changes,
    /// What is not watched: the configuration and the lock, wherever links lead, and ignore files above the root.
    beyond: [u8; 32],
    /// Whether the last snapshot was made of files of which the watcher cannot know everything.
    has_unseen: bool,
    last: Option<Arc<Snapshot>>,
}

/// Lays what the person said over what a configuration file says.
pub type Overlay = dyn Fn(&mut Config) + Send + Sync;

/// A configuration file that is read again when it changes.
struct Configuration {
    /// The file that the person named; otherwise it is the usual one.
    named: Option<PathBuf>,
    /// Whether there may be none.
    is_optional: bool,
    variables: Box<Variables>,
    overlay: Box<Overlay>,
    /// Hash of what was read; `None` before the first snapshot.
    hash: Option<[u8; 32]>,
    diagnostics: Vec<Diagnostic>,
}

/// One state of the project. Cheap to share, never changes.
#[derive(Debug)]
pub struct Snapshot {
    /// Names the state: equal inputs give the equal id.
    pub id: String,
    /// When it was built.
    pub built_at: SystemTime,
    /// How long building it took.
    pub build_time: Duration,
    /// How many files were read for it; the others were still known.
    pub files_read: usize,
    /// What the files say.
    pub analysis: Analysis,
    /// Requirement ids, in the order of [`Analysis::requirements`].
    pub requirement_ids: Vec<String>,
    by_id: HashMap<String, Vec<usize>>,
    by_text: BTreeMap<String, Vec<usize>>,
    priority: OnceLock<Vec<usize>>,
    folded: OnceLock<Vec<Folded>>,
    vocabulary: OnceLock<BTreeSet<String>>,
    #[cfg(feature = "mcp")]
    fixes: OnceLock<Vec<Fixed>>,
}

/// A requirement as a search sees it.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    /// Its index.
    pub(crate) index: usize,
    /// Its words.
    pub(crate) text: String,
    /// The title of its section.
    pub(crate) title: String,
}

/// What an id or the beginning of one means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Nothing.
    Unknown,
    /// One requirement: its index.
    One(usize),
    /// Several: equal sentences, or a prefix that is too short.
    Several(Vec<usize>),
}

impl Engine {
    /// An engine over settings that do not change.
    pub fn new(project: Project, clock: fn() -> SystemTime) -> Self {
        Self {
            project,
            configuration: None,
            clock,
            memo: Memo::default(),
            found: None,
            watcher: None,
            changes: Changes::everything(),
            beyond: [0; 32],
            has_unseen: false,
            last: None,
        }
    }

    /// An engine over a folder with a configuration file, which may come, change and go.
    pub fn of_folder(root: PathBuf, variables: Box<Variables>, clock: fn() -> SystemTime) -> Self {
        let configuration = Configuration {
            named: None,
            is_optional: false,
            variables,
            overlay: Box::new(|_| {}),
            hash: None,
            diagnostics: Vec::new(),
        };
        let project = Project {
            root,
            config: Config::legacy(),
            strict: false,
        };
        Self {
            configuration: Some(configuration),
            ..Self::new(project, clock)
        }
    }

    /// Takes the settings from another configuration file than the usual one.
    #[must_use]
    pub fn configured_by(mut self, path: PathBuf) -> Self {
        if let Some(configuration) = &mut self.configuration {
            configuration.named = Some(path);
        }
        self
    }

    //= specs/duvet.md#configuration
    //# What the person says on the command line MUST hold for a resident program too, whenever the file changes.
    /// Lays more settings over those of the file each time it is read. Those that describe a whole project need no file.
    #[must_use]
    pub fn overlaid_by(mut self, overlay: Box<Overlay>, is_whole_project: bool) -> Self {
        if let Some(configuration) = &mut self.configuration {
            configuration.overlay = overlay;
            configuration.is_optional = is_whole_project;
        }
        self
    }

    //= specs/duvet.md#freshness
    //# A project on a file system that others may change without this machine's kernel MUST be read anew for each answer.
    /// Watches the project's folder, so that only what changed is read again. Where it cannot be watched, everything is.
    #[must_use]
    pub fn watching(self) -> Self {
        let is_heard = mounts::tell_of_changes(&self.project.root);
        let watcher = is_heard.then(|| FileWatcher::new(&self.project.root).ok());
        self.watched_by(watcher.flatten())
    }

    /// The same with a watcher that somebody else vouches for, or with none.
    #[must_use]
    pub fn watched_by(mut self, watcher: Option<FileWatcher>) -> Self {
        self.watcher = watcher.map(Arc::new);
        self
    }

    /// Waits until the next snapshot may say something else, or until it is time to look. A snapshot took this long.
    pub fn wait(&self, seen: &mut u64, took: Duration) {
        let watcher = self.watcher.as_deref();
        let is_blind = self.has_unseen || !self.project.config.allowed.is_empty();
        file_watcher::rest(watcher, is_blind, seen, took);
    }

    /// The file watcher, for whoever wants to wait for changes.
    pub fn watcher(&self) -> Option<Arc<FileWatcher>> {
        self.watcher.clone()
    }

    /// The project as it is set up now.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The state of the project at this moment.
    //= specs/duvet.md#freshness
    //# Every answer MUST come from a snapshot whose inputs were checked for that answer, files that did not exist
    //# before included.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        let start = (self.clock)();
        self.collect_changes();
        if self.changes.is_empty()
            && !self.has_unseen
            && let Some(last) = &self.last
        {
            return Arc::clone(last);
        }
        let is_reconfigured = self.reconfigure();
        let found = match self.found.take() {
            Some(found) if !self.changes.tree && !is_reconfigured => found,
            _ => discover(&self.project.root, &self.project.config),
        };
        let (project, changes) = (&self.project, &self.changes);
        let root = &project.root;
        let is_unchanged = |path: &Path| changes.spares(path.strip_prefix(root).unwrap_or(path));
        let pass = Pass::new(project, &is_unchanged);
        let inputs = pass.read(&mut self.memo, &found);
        let mut loaded = pass.load(&mut self.memo, inputs);
        if let Some(configuration) = &self.configuration {
            loaded
                .diagnostics
                .extend(configuration.diagnostics.iter().cloned());
        }
        let id = self.memo.fingerprint(project, &loaded.diagnostics, &loaded.lock);
        let snapshot = match self.last.take().filter(|last| last.id == id) {
            Some(last) => last,
            None => {
                let analysis = pipeline::conclude(project, &mut self.memo, loaded);
                let built_at = (self.clock)();
                let build_time = built_at.duration_since(start).unwrap_or_default();
                Arc::new(Snapshot::new(
                    id,
                    built_at,
                    build_time,
                    self.memo.files_read,
                    analysis,
                ))
            }
        };
        self.last = Some(Arc::clone(&snapshot));
        self.found = Some(found);
        self.has_unseen = self.memo.has_unseen(&self.project.root);
        // Only now: a snapshot that was broken off leaves them for the next one.
        self.changes = Changes::default();
        snapshot
    }

    /// Adds what changed since the last snapshot.
    fn collect_changes(&mut self) {
        let since = self
            .watcher
            .as_ref()
            .map_or_else(Changes::everything, |watcher| watcher.drain());
        self.changes.join(since);
        // The folders outside the project are not watched.
        if !self.project.config.allowed.is_empty() {
            self.changes.join(Changes::everything());
        }
        let beyond = self.hash_beyond();
        if std::mem::replace(&mut self.beyond, beyond) != beyond {
            self.changes.tree = true;
        }
    }

    //= specs/duvet.md#freshness
    //# A file of which a watcher cannot see every change MUST be read for each answer.
    /// What decides over the project and may lie beyond the watched folder.
    fn hash_beyond(&self) -> [u8; 32] {
        let root = &self.project.root;
        let mut hasher = blake3::Hasher::new();
        if let Some(configuration) = &self.configuration {
            hasher.update(&configuration.read(root).1);
        }
        let lock = Fence::new(root, &self.project.config.allowed).read_settings(&root.join(LOCK_PATH));
        hasher.update(blake3::hash(format!("{lock:?}").as_bytes()).as_bytes());
        hash_ignore_above(root, &mut hasher);
        *hasher.finalize().as_bytes()
    }

    fn reconfigure(&mut self) -> bool {
        let Some(configuration) = &mut self.configuration else {
            return false;
        };
        let (read, hash) = configuration.read(&self.project.root);
        if configuration.hash == Some(hash) {
            return false;
        }
        configuration.hash = Some(hash);
        // What was read under other settings may mean something else now.
        self.memo = Memo::default();
        let name = configuration.name();
        let (mut config, diagnostics) = match read {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let (config, found) = config::parse(&name, &text, &configuration.variables);
                (config.beside(Path::new(&name)), found)
            }
            Err(Refused::System(problem))
                if configuration.is_optional && problem.kind() == std::io::ErrorKind::NotFound =>
            {
                (Config::legacy(), Vec::new())
            }
            Err(problem) => (Config::legacy(), vec![config::unreadable(&name, &problem)]),
        };
        (configuration.overlay)(&mut config);
        configuration.diagnostics = diagnostics;
        self.project.config = config;
        true
    }
}

impl Configuration {
    /// What findings call it.
    fn name(&self) -> String {
        self.named
            .as_ref()
            .map_or_else(|| CONFIG_PATH.to_owned(), |path| path.display().to_string())
    }

    /// Its bytes, and a hash of them or of what kept them from being read.
    fn read(&self, root: &Path) -> (Result<Vec<u8>, Refused>, [u8; 32]) {
        let read = config::read(root, self.named.as_deref());
        let hash = match &read {
            Ok(bytes) => blake3::hash(bytes),
            Err(problem) => blake3::hash(format!("cannot be read: {problem}").as_bytes()),
        };
        (read, *hash.as_bytes())
    }
}

/// The ignore files of the folders above one, and whether those are under version control, without which ignore files
/// mean nothing.
fn hash_ignore_above(root: &Path, hasher: &mut blake3::Hasher) {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    for folder in root.ancestors().skip(1) {
        for name in [".gitignore", ".ignore", ".git/info/exclude"] {
            if let Ok(bytes) = fence::read(&folder.join(name), MAX_SETTINGS_BYTES) {
                hasher
                    .update(folder.as_os_str().as_encoded_bytes())
                    .update(blake3::hash(&bytes).as_bytes());
            }
            hasher.update(&[0]);
        }
        for name in [".git", ".jj"] {
            hasher.update(&[folder.join(name).exists().into()]);
        }
    }
}

impl Snapshot {
    fn new(
        id: String,
        built_at: SystemTime,
        build_time: Duration,
        files_read: usize,
        analysis: Analysis,
    ) -> Self {
        let requirements = &analysis.requirements;
        let requirement_ids: Vec<String> = requirements
            .iter()
            .map(|r| requirement_id(&analysis, r))
            .collect();
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::with_capacity(requirement_ids.len());
        let mut by_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, requirement) in requirements.iter().enumerate() {
            by_id
                .entry(requirement_ids[index].clone())
                .or_default()
                .push(index);
            let hash = text_hash(&analysis.annotation(requirement.annotation).quote);
            by_text.entry(hash).or_default().push(index);
        }
        // The strongest statement stands for all of them.
        for statements in by_id.values_mut() {
            statements.sort_by_key(|index| std::cmp::Reverse(requirements[*index].level));
        }
        Self {
            id,
            built_at,
            build_time,
            files_read,
            analysis,
            requirement_ids,
            by_id,
            by_text,
            priority: OnceLock::new(),
            folded: OnceLock::new(),
            vocabulary: OnceLock::new(),
            #[cfg(feature = "mcp")]
            fixes: OnceLock::new(),
        }
    }

    /// What searches go through, made by the first of them.
    pub(crate) fn folded(&self, make: impl FnOnce() -> Vec<Folded>) -> &[Folded] {
        self.folded.get_or_init(make)
    }

    /// Every word of what searches go through.
    pub(crate) fn vocabulary(&self) -> &BTreeSet<String> {
        self.vocabulary.get_or_init(|| {
            let rows = self.folded.get().into_iter().flatten();
            let texts = rows.flat_map(|row| [&row.text, &row.title]);
            texts
                .flat_map(|text| text.split(' '))
                .map(str::to_owned)
                .collect()
        })
    }

    /// What `duvet fix` would write, worked out by the first who asks; `None` when a file is no longer the one that was
    /// analysed.
    #[cfg(feature = "mcp")]
    pub(crate) fn fixes(&self, root: &Path) -> Option<&[Fixed]> {
        if let Some(known) = self.fixes.get() {
            return Some(known);
        }
        let (fixes, is_current) = crate::fix::fix_current(root, &self.analysis);
        is_current.then(|| self.fixes.get_or_init(|| fixes).as_slice())
    }

    //= specs/duvet.md#identity
    //# A requirement that is stated in several places MUST be one row with all of them.
    /// Every statement of the requirement that one of them is of: the same words in the same section.
    pub fn statements(&self, index: usize) -> &[usize] {
        self.by_id
            .get(&self.requirement_ids[index])
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a statement is the first of its requirement, which stands for all of them in lists.
    pub fn is_first(&self, index: usize) -> bool {
        self.statements(index).first() == Some(&index)
    }

    /// The requirements, each once.
    pub fn distinct(&self) -> impl Iterator<Item = usize> {
        (0..self.requirement_ids.len()).filter(|index| self.is_first(*index))
    }

    /// The requirement that an id, a text hash or the beginning of either means.
    //= specs/duvet.md#identity
    //# The hash of the text alone is an alias which MAY mean several requirements, and a unique prefix of either is
    //# accepted.
    pub fn find(&self, id: &str) -> Lookup {
        let id = id.trim().to_ascii_lowercase();
        if let Some(first) = self.by_id.get(&id).and_then(|indices| indices.first()) {
            return Lookup::One(*first);
        }
        if id.is_empty() {
            return Lookup::Unknown;
        }
        let by_prefix = self
            .requirement_ids
            .iter()
            .enumerate()
            .filter(|(_, known)| known.starts_with(&id));
        let mut found: Vec<usize> = by_prefix.map(|(index, _)| index).collect();
        let hashes = self
            .by_text
            .range(id.clone()..)
            .take_while(|(hash, _)| hash.starts_with(&id));
        found.extend(hashes.flat_map(|(_, indices)| indices));
        found.retain(|index| self.is_first(*index));
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [] => Lookup::Unknown,
            [one] => Lookup::One(*one),
            _ => Lookup::Several(found),
        }
    }

    /// Requirements in the order of work: level, status, todos, then specification, section, position.
    //= specs/duvet.md#priority
    //# The order of priority MUST be total and stable: level, status, number of todos, specification, section, position.
    pub fn by_priority(&self) -> &[usize] {
        self.priority.get_or_init(|| self.sorted_by_priority())
    }

    fn sorted_by_priority(&self) -> Vec<usize> {
        let requirements = &self.analysis.requirements;
        let key = |index: &usize| {
            let requirement: &Requirement = &requirements[*index];
            let position = self
                .analysis
                .matched(requirement.annotation)
                .pieces
                .first()
                .map_or(0, |p| p.start);
            (
                std::cmp::Reverse(requirement.level),
                requirement.coverage.status(),
                std::cmp::Reverse(self.todos(requirement)),
                requirement.specification,
                requirement.section,
                position,
                requirement.annotation,
            )
        };
        let mut order: Vec<usize> = self.distinct().collect();
        order.sort_by_cached_key(key);
        order
    }

    /// How many todos touch a requirement.
    pub fn todos(&self, requirement: &Requirement) -> usize {
        let related = requirement.coverage.related.iter();
        related
            .filter(|id| self.analysis.annotation(**id).kind == crate::citation::Kind::Todo)
            .count()
    }

    /// Ids of requirements whose status differs from an earlier snapshot, appeared or vanished.
    pub fn changed_since(&self, earlier: &Snapshot) -> Vec<String> {
        let statuses = |snapshot: &Snapshot| -> BTreeMap<String, Status> {
            let ids = snapshot.requirement_ids.iter().cloned();
            ids.zip(snapshot.analysis.requirements.iter().map(|r| r.coverage.status()))
                .collect()
        };
        let (old, new) = (statuses(earlier), statuses(self));
        let mut changed: Vec<String> = new
            .iter()
            .filter(|(id, s)| old.get(*id) != Some(s))
            .map(|(id, _)| id.clone())
            .collect();
        changed.extend(old.keys().filter(|id| !new.contains_key(*id)).cloned());
        changed.sort_unstable();
        changed
    }
}

#[cfg(all(test, feature = "mcp"))]
mod tests {
    use super::*;

    //= specs/duvet.md#freshness
    //= type=test
    //# Lines of a file MUST be shown only from the bytes that the snapshot was made of.
    #[test]
    fn fixes_and_lines_of_a_file_that_changed_meanwhile_are_not_given_nor_kept() {
        use crate::requirement_index::{Denied, RequirementIndex, get_citation_context};
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let config = "[[source]]\npattern = \"*.rs\"\n[[specification]]\nsource = \"x.md\"\n";
        let drifted = "//= x.md#a\n//# The server has to do the thing at once.\n";
        write(CONFIG_PATH, config);
        write("x.md", "# X\n\n## A\n\nThe server MUST do the thing at once.\n");
        write("a.rs", drifted);
        let mut engine = Engine::of_folder(root.path().to_owned(), Box::new(|_| None), SystemTime::now);
        let snapshot = engine.snapshot();
        let context = |snapshot: &Snapshot| {
            let index = RequirementIndex::new(snapshot);
            get_citation_context(&index, root.path(), "a.rs:1", 0).map(|found| found.comment_text)
        };
        write("a.rs", &format!("// a line above\n{drifted}"));
        assert!(snapshot.fixes(root.path()).is_none());
        assert_eq!(context(&snapshot), Err(Denied::Changed));
        write("a.rs", drifted);
        assert_eq!(snapshot.fixes(root.path()).map(<[Fixed]>::len), Some(1));
        assert!(context(&snapshot).is_ok());
    }
}
