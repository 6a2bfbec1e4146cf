//! Where questions are answered: the engine behind a lock, and a fresh catalogue for each question.

use crate::catalogue::Catalogue;
use crate::engine::{Engine, Snapshot};
use mcp_runtime::uri::Roots;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// An engine that several calls share.
pub struct Desk {
    engine: Mutex<Engine>,
    first: OnceLock<Arc<Snapshot>>,
    root: PathBuf,
}

/// What one question is answered from.
pub(super) struct View<'a> {
    pub(super) catalogue: Catalogue<'a>,
    pub(super) root: &'a std::path::Path,
    /// The folders the client works in, when it says so.
    client: Option<&'a Roots>,
}

impl Desk {
    /// A desk over an engine.
    pub fn new(engine: Engine) -> Self {
        let root = engine.project().root.clone();
        Self {
            engine: Mutex::new(engine),
            first: OnceLock::new(),
            root,
        }
    }

    /// The state of the project at this moment. Reads files: not for tasks that must not wait.
    pub fn look(&self) -> Arc<Snapshot> {
        // A panic in one look leaves no half-built snapshot behind: it is put in place last.
        let snapshot = self.engine.lock().unwrap_or_else(PoisonError::into_inner).look();
        self.first.get_or_init(|| Arc::clone(&snapshot));
        snapshot
    }

    /// The oldest state that anyone may have been told of.
    pub(super) fn first(&self) -> Arc<Snapshot> {
        if let Some(first) = self.first.get() {
            return Arc::clone(first);
        }
        // Another look may have been the first one while this one waited.
        let snapshot = self.look();
        Arc::clone(self.first.get_or_init(|| snapshot))
    }

    /// Where the project is.
    pub(super) fn root(&self) -> &std::path::Path {
        &self.root
    }

    /// Answers one question from the state of this moment, on a thread that may wait for files.
    pub(super) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        question: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.ask_inside(None, question).await
    }

    /// The same for a client that works in these folders.
    pub(super) async fn ask_inside<T: Send + 'static>(
        self: &Arc<Self>,
        client: Option<Arc<Roots>>,
        question: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let desk = Arc::clone(self);
        let answer = move || {
            let snapshot = desk.look();
            question(&View {
                catalogue: Catalogue::new(&snapshot),
                root: &desk.root,
                client: client.as_deref(),
            })
        };
        tokio::task::spawn_blocking(answer)
            .await
            .map_err(|_| Refusal::new(Code::InternalError, "the question could not be answered"))
    }
}

impl View<'_> {
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.catalogue.snapshot
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

/// The name under which an answer's `_meta` tells the snapshot.
pub(super) const STAMP: &str = "duvet/snapshot";
