//! The analysis kept in memory: every answer is fresh, and only what changed is read again.
//!
//! A resident program (an MCP server, a watcher) asks for a [`Snapshot`] at each call. The engine then looks at the
//! world: the configuration, the files its patterns mean *now*, the specifications they cite. When nothing moved, the
//! last snapshot is handed out again; otherwise a new one is built from what is still true and what is read anew. There
//! is no way to get an answer without this look, so no answer is stale.

use crate::analysis::{Analysis, Project, Requirement, analyse_surveyed};
use crate::config::{self, CONFIG_PATH};
use crate::diagnostic::Diagnostic;
use crate::identity::{requirement_id, text_hash};
use crate::source::Stamp;
use crate::status::Status;
use crate::store::{Store, Survey};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Answers the names of variables in link templates.
pub type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// A project that is looked at again and again.
pub struct Engine {
    project: Project,
    configuration: Option<Configuration>,
    clock: fn() -> SystemTime,
    store: Store,
    last: Option<Arc<Snapshot>>,
}

/// A configuration file that is read again when it changes.
struct Configuration {
    /// What findings call it.
    name: String,
    path: PathBuf,
    variables: Box<Variables>,
    stamp: Option<Stamp>,
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
    by_id: HashMap<String, usize>,
    by_text: BTreeMap<String, Vec<usize>>,
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
            store: Store::default(),
            last: None,
        }
    }

    /// An engine over a folder with a configuration file, which may come, change and go.
    pub fn of_folder(root: PathBuf, variables: Box<Variables>, clock: fn() -> SystemTime) -> Self {
        let path = root.join(CONFIG_PATH);
        let configuration = Configuration {
            name: CONFIG_PATH.to_owned(),
            path,
            variables,
            stamp: None,
            diagnostics: Vec::new(),
        };
        let project = Project {
            root,
            config: config::Config::legacy(),
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
            configuration.name = path.display().to_string();
            configuration.path = self.project.root.join(path);
        }
        self
    }

    /// The project as it is set up now.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The state of the project at this moment.
    //= specs/duvet.md#freshness
    //# Every answer MUST come from a snapshot whose inputs were checked for that answer, files that did not exist
    //# before included.
    pub fn look(&mut self) -> Arc<Snapshot> {
        let start = (self.clock)();
        let is_reconfigured = self.reconfigure();
        let survey = Survey::of(&self.project);
        if !is_reconfigured
            && let Some(last) = &self.last
            && self.store.is_current(&self.project, &survey)
        {
            return Arc::clone(last);
        }
        let mut analysis = analyse_surveyed(&self.project, &mut self.store, survey);
        let configuration = self
            .configuration
            .iter()
            .flat_map(|c| c.diagnostics.iter().cloned());
        analysis.diagnostics.extend(configuration);
        let id = self.store.fingerprint(&self.project);
        let built_at = (self.clock)();
        let build_time = built_at.duration_since(start).unwrap_or_default();
        let snapshot = Arc::new(Snapshot::new(
            id,
            built_at,
            build_time,
            self.store.files_read,
            analysis,
        ));
        self.last = Some(Arc::clone(&snapshot));
        snapshot
    }

    fn reconfigure(&mut self) -> bool {
        let Some(configuration) = &mut self.configuration else {
            return false;
        };
        let stamp = Stamp::of(&configuration.path);
        if stamp == configuration.stamp && self.last.is_some() {
            return false;
        }
        configuration.stamp = stamp;
        // What was read under other settings may mean something else now.
        self.store = Store::default();
        configuration.diagnostics.clear();
        self.project.config = match std::fs::read(&configuration.path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                let (config, diagnostics) =
                    config::parse(&configuration.name, &text, &configuration.variables);
                configuration.diagnostics = diagnostics;
                config
            }
            Err(_) => config::Config::legacy(),
        };
        true
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
        let mut by_id = HashMap::with_capacity(requirement_ids.len());
        let mut by_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, requirement) in requirements.iter().enumerate() {
            by_id.entry(requirement_ids[index].clone()).or_insert(index);
            let hash = text_hash(&analysis.annotation(requirement.annotation).quote);
            by_text.entry(hash).or_default().push(index);
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
        }
    }

    /// The requirement that an id, a text hash or the beginning of either means.
    //= specs/duvet.md#identity
    //# The hash of the text alone is an alias which MAY mean several requirements, and a unique prefix of either is
    //# accepted.
    pub fn find(&self, id: &str) -> Lookup {
        let id = id.trim().to_ascii_lowercase();
        if let Some(&index) = self.by_id.get(&id) {
            return Lookup::One(index);
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
    pub fn by_priority(&self) -> Vec<usize> {
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
        let mut order: Vec<usize> = (0..requirements.len()).collect();
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
