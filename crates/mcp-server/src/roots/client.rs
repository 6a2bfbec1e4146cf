//! The roots a client declares: asked for when they are first needed, kept until the client says that they changed.

use std::sync::Arc;

use serde_json::Value;

use crate::root_dirs::RootDirs;
use crate::server::context::Context;
use crate::server::tool::Stop;
use crate::session::roots::Declared;
use mcp_protocol::{Ask, uri};

/// More folders than anyone works in; the rest is not looked at.
const MAX_DECLARED: usize = 100;

impl Context {
    /// The folders the client works in; `None` when it declares none, which limits nothing.
    ///
    /// A client that declares roots is asked for them: once for each session, in the stateless era with each request.
    //= specs/mcp-server.md#roots
    //# A client that declares roots MUST be asked for them before a file is read for it.
    pub async fn client_roots(&self) -> Result<Option<Arc<RootDirs>>, Stop> {
        if !self.client().capabilities.has("roots") {
            return Ok(None);
        }
        let of_session = &self.0.session.roots;
        let keeps = self.0.terms.version.has_handshake();
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
    pub(crate) async fn client_roots_of_session(&self) -> Result<Option<Arc<RootDirs>>, Stop> {
        match self.0.terms.version.has_handshake() {
            true => self.client_roots().await,
            false => Ok(None),
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
    Some(Arc::new(RootDirs::of(folders.collect())))
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
