//! The roots a client declares: asked for when they are first needed, kept until the client says that they changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::context::Context;
use crate::input::Ask;
use crate::tool::Stop;
use crate::uri::{self, Roots};
use crate::version::Era;

/// More folders than anyone works in; the rest is not looked at.
const MAX_DECLARED: usize = 100;

/// What a session knows of roots.
#[derive(Debug, Default)]
pub(crate) struct SessionRoots {
    /// How often they changed, and what the client last said.
    declared: Mutex<(u32, Option<Declared>)>,
    /// Whether the client asked for the server's roots and so wants to hear of changes.
    follows: AtomicBool,
}

/// `None` inside: the client named no folder, which limits nothing.
type Declared = Option<Arc<Roots>>;

impl SessionRoots {
    /// The client's roots changed; they are asked for again when they are needed.
    //= specs/mcp-runtime.md#roots
    //# After the client told that its roots changed, they MUST be asked for again before they are used.
    pub(crate) fn forget(&self) {
        let mut declared = self.lock();
        *declared = (declared.0.wrapping_add(1), None);
    }

    pub(crate) fn follow(&self) {
        self.follows.store(true, Ordering::Release);
    }

    pub(crate) fn is_following(&self) -> bool {
        self.follows.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, (u32, Option<Declared>)> {
        self.declared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// The folders the client works in; `None` when it declares none, which limits nothing.
    ///
    /// A client that declares roots is asked for them: once for each session, in the stateless era with each request.
    //= specs/mcp-runtime.md#roots
    //# A client that declares roots MUST be asked for them before a file is read for it.
    pub async fn client_roots(&self) -> Result<Option<Arc<Roots>>, Stop> {
        if !self.client().capabilities.has("roots") {
            return Ok(None);
        }
        let of_session = &self.0.session.roots;
        let keeps = self.0.terms.version.era() == Era::Handshake;
        let (generation, known) = of_session.lock().clone();
        if let (true, Some(known)) = (keeps, known) {
            return Ok(known);
        }
        let answer = self.ask("roots", Ask::roots()).await?;
        let declared = declared(&answer);
        let mut kept = of_session.lock();
        // What changed while the client was answering is asked for again.
        if keeps && kept.0 == generation {
            kept.1 = Some(declared.clone());
        }
        Ok(declared)
    }

    /// The same where no question can be asked: in the stateless era only reading can.
    pub(crate) async fn client_roots_of_session(&self) -> Result<Option<Arc<Roots>>, Stop> {
        match self.0.terms.version.era() {
            Era::Handshake => self.client_roots().await,
            Era::Stateless => Ok(None),
        }
    }
}

/// The folders in an answer to `roots/list`. What is no local folder holds no file of ours.
fn declared(answer: &Value) -> Declared {
    let named = answer.get("roots").and_then(Value::as_array)?;
    if named.is_empty() {
        return None;
    }
    let folder = |root: &Value| {
        let path = uri::path_of(&uri::canonical(root.get("uri")?.as_str()?).ok()?).ok()?;
        Some(path.canonicalize().unwrap_or(path))
    };
    let folders = named.iter().take(MAX_DECLARED).filter_map(folder);
    Some(Arc::new(Roots::of(folders.collect())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn a_client_that_names_no_folder_limits_nothing() {
        assert!(declared(&json!({ "roots": [] })).is_none());
        assert!(declared(&json!({})).is_none());
        let foreign = declared(&json!({ "roots": [{ "uri": "https://example.org/a" }, { "name": "x" }] }));
        assert!(foreign.unwrap().is_empty(), "it named folders, none of them ours");
        let gone = declared(&json!({ "roots": [{ "uri": "file:///never/there/" }] })).unwrap();
        assert!(gone.holds(Path::new("/never/there/a")) && !gone.holds(Path::new("/never/other")));
    }
}
