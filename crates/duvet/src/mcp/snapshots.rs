//! The engine behind a lock: one fresh snapshot for each request, shared by those that wait for it together.

use crate::diagnostic::{Code as Finding, Diagnostic};
use crate::engine::{Engine, Snapshot};
use crate::file_watcher::{self, FileWatcher};
use crate::requirement_index::{Denied, RequirementIndex, RequirementStatus};
use mcp_server::RootDirs;
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// An engine that several calls share.
pub struct SnapshotHolder {
    engine: Mutex<EngineState>,
    /// How many snapshots were begun.
    begun: AtomicU64,
    first: OnceLock<Arc<Snapshot>>,
    root: PathBuf,
    watcher: Option<Arc<FileWatcher>>,
}

/// The engine and its last snapshot.
struct EngineState {
    engine: Engine,
    /// Which one it was, and what was seen.
    last: Option<(u64, Arc<Snapshot>)>,
}

/// At most this many missing inputs are named in one answer.
const MAX_REASONS: usize = 5;

/// A question whose files changed while it was answered is asked again so often.
const MAX_TRIES: usize = 3;

/// What an answer needs to have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependsOn {
    /// The file it is about, which it reads itself; that a thing is not there depends on everything all the same.
    Nothing,
    /// The configuration, the sources, and the texts of all specifications it is not narrowed away from.
    Everything,
}

/// What one question is answered from.
pub(super) struct View<'a> {
    pub(super) requirement_index: RequirementIndex<'a>,
    pub(super) root: &'a std::path::Path,
    /// The folders the client works in, when it says so.
    client: Option<&'a RootDirs>,
    /// Whether the question is about specifications whose texts are here, or about none.
    is_narrowed: Cell<bool>,
    /// Whether a file turned out to be another than the snapshot was made of.
    is_outdated: Cell<bool>,
}

impl SnapshotHolder {
    /// A holder over an engine.
    pub fn new(engine: Engine) -> Self {
        let root = engine.project().root.clone();
        let watcher = engine.watcher();
        Self {
            engine: Mutex::new(EngineState { engine, last: None }),
            begun: AtomicU64::new(0),
            first: OnceLock::new(),
            root,
            watcher,
        }
    }

    /// Waits until the next snapshot may say something else, or until it is time to look. A snapshot took this long.
    pub(super) fn wait(&self, seen: &mut u64, took: Duration) {
        file_watcher::rest(self.watcher.as_deref(), false, seen, took);
    }

    /// The state of the project at this moment. Reads files: not for tasks that must not wait.
    //= specs/duvet.md#mcp-server
    //# Calls that wait for a snapshot MUST share the next one.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let begun = self.begun.load(Ordering::SeqCst);
        // A panic on the way leaves no half-built snapshot behind: it is put in place last.
        let mut state = self.engine.lock();
        // One that was begun after this call came is as fresh as one of its own: a hundred calls at once take two.
        if let Some((number, snapshot)) = &state.last
            && *number > begun
        {
            return Arc::clone(snapshot);
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let snapshot = state.engine.snapshot();
        state.last = Some((number, Arc::clone(&snapshot)));
        drop(state);
        self.first.get_or_init(|| Arc::clone(&snapshot));
        snapshot
    }

    /// The oldest state that anyone may have been given.
    pub(super) fn first(&self) -> Arc<Snapshot> {
        if let Some(first) = self.first.get() {
            return Arc::clone(first);
        }
        // Another call may have taken the first one while this one waited.
        let snapshot = self.snapshot();
        Arc::clone(self.first.get_or_init(|| snapshot))
    }

    /// Where the project is.
    pub(super) fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// Answers one question from the state of this moment, on a thread that may wait for files.
    pub(super) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl Fn(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.ask_inside(None, question).await
    }

    /// The same for a client that works in these folders.
    pub(super) async fn ask_inside<T: Send + 'static>(
        self: &Arc<Self>,
        client: Option<Arc<RootDirs>>,
        question: impl Fn(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let holder = Arc::clone(self);
        let answer = move || {
            let mut tries = 0;
            loop {
                tries += 1;
                let snapshot = holder.snapshot();
                let view = View {
                    requirement_index: RequirementIndex::new(&snapshot),
                    root: &holder.root,
                    client: client.as_deref(),
                    is_narrowed: Cell::new(false),
                    is_outdated: Cell::new(false),
                };
                let answer = question(&view);
                if !view.is_outdated.get() || tries == MAX_TRIES {
                    return answer;
                }
            }
        };
        tokio::task::spawn_blocking(answer)
            .await
            .map_err(|_| Refusal::new(Code::InternalError, "the question could not be answered"))
    }
}

impl View<'_> {
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.requirement_index.snapshot
    }

    /// Says that the answer is about one specification only.
    pub(super) fn narrow_to(&self, specification: usize) {
        let cited = self.snapshot().analysis.specifications.get(specification);
        self.is_narrowed
            .set(cited.is_some_and(|cited| cited.specification().is_some()));
    }

    /// Says that the answer is about these requirements only.
    pub(super) fn narrow_to_requirements(&self, requirements: &[RequirementStatus]) {
        let is_here = |one: &RequirementStatus| {
            let path = one.full_path.strip_prefix("/specifications/");
            let id = path.and_then(|path| path.split('/').next());
            let specification = id.and_then(|id| self.requirement_index.find_specification(id));
            specification.is_some_and(|index| {
                let cited = &self.snapshot().analysis.specifications[index];
                cited.specification().is_some()
            })
        };
        self.is_narrowed
            .set(!requirements.is_empty() && requirements.iter().all(is_here));
    }

    /// Says that a file is another than the snapshot was made of: the question is asked again.
    pub(super) fn is_outdated(&self) {
        self.is_outdated.set(true);
    }

    /// Why a citation's lines are not shown.
    pub(super) fn denied(&self, denied: &Denied, id: &str) -> Refusal {
        if *denied == Denied::Changed {
            self.is_outdated();
        }
        super::tree::refused(denied, id)
    }

    /// Says that the answer is the same whatever the texts say.
    pub(super) fn needs_no_text(&self) {
        self.is_narrowed.set(true);
    }

    /// Refuses what would be read as "there is nothing" when something was not read.
    pub(super) fn whole(&self) -> Result<(), Refusal> {
        match self.lacking(DependsOn::Everything) {
            Some(reason) => Err(Refusal::new(Code::DependencyUnavailable, reason)
                .hint("Mend the project's inputs, then ask again; `list_invalid_citations` shows them with their places.")),
            None => Ok(()),
        }
    }

    //= specs/duvet.md#mcp-server
    //# An answer that lacks something because an input is missing MUST be an error and say which.
    /// Why an answer is not whole; `None` when everything it depends on was read.
    pub(super) fn lacking(&self, depends_on: DependsOn) -> Option<String> {
        let is_text = |code| {
            matches!(
                code,
                Finding::SpecificationMissing | Finding::SpecificationOutside
            )
        };
        let counts = |found: &&Diagnostic| match depends_on {
            DependsOn::Nothing => false,
            DependsOn::Everything => !is_text(found.code) || !self.is_narrowed.get(),
        };
        let missing: Vec<&Diagnostic> = self.snapshot().analysis.missing_inputs().filter(counts).collect();
        let one = |found: &&Diagnostic| {
            let help = found
                .help
                .as_deref()
                .map(|help| format!("; {help}"))
                .unwrap_or_default();
            format!("{} ({}:{}){help}", found.message, found.file, found.start.line)
        };
        let shown: Vec<String> = missing.iter().take(MAX_REASONS).map(one).collect();
        let rest = missing.len() - shown.len();
        let more = if rest > 0 {
            format!(" And {rest} more.")
        } else {
            String::new()
        };
        (!missing.is_empty()).then(|| {
            format!(
                "This answer is not complete, because inputs of the project are missing: {}.{more}",
                shown.join(". ")
            )
        })
    }

    /// Refuses to show lines of a file the client does not work in.
    //= specs/duvet.md#mcp-server
    //# Lines of a file outside the roots the client declares MUST be refused with 1039.
    pub(super) fn check_file(&self, citation: &str) -> Result<(), Refusal> {
        let Some(client) = self.client else { return Ok(()) };
        let file = citation.rsplit_once(':').map_or(citation, |(file, _)| file);
        let real = self.root.join(file).canonicalize();
        if real.is_ok_and(|real| !client.holds(&real)) {
            let problem = format!("{citation:?} is outside the roots the client declared");
            return Err(Refusal::new(Code::UriOutOfBounds, problem));
        }
        Ok(())
    }

    /// Which state an answer is about, and how long building it took.
    pub(super) fn stamp(&self) -> Value {
        let snapshot = self.snapshot();
        let built_at = jiff::Timestamp::try_from(snapshot.built_at).map(|time| time.to_string());
        json!({
            "id": snapshot.id,
            "built_at": built_at.unwrap_or_default(),
            "build_time_ms": snapshot.build_time.as_secs_f64() * 1000.0,
        })
    }
}

/// The name under which an answer's `_meta` names the snapshot.
pub(super) const STAMP: &str = "duvet/snapshot";
