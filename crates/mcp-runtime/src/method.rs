//! Every method the runtime serves, by name. Names that mean the same reach the same code.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::context::Context;
use crate::tool::Stop;
use crate::version::Era;

/// A method of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Discover,
    Ping,
    Shutdown,
    Cancel,
    ToolsList,
    ToolsCall,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    Subscribe,
    Unsubscribe,
    Listen,
    PromptsList,
    PromptsGet,
    PromptsCreate,
    Complete,
    SetLevel,
    TasksGet,
    TasksResult,
    TasksList,
    TasksCancel,
    TasksUpdate,
}

impl Method {
    pub(crate) fn named(name: &str) -> Option<Method> {
        Some(match name {
            "tools/call" => Method::ToolsCall,
            "ping" => Method::Ping,
            "tools/list" => Method::ToolsList,
            "resources/read" | "resources/get" => Method::ResourcesRead,
            "resources/list" => Method::ResourcesList,
            "resources/templates/list" => Method::TemplatesList,
            "resources/subscribe" => Method::Subscribe,
            "resources/unsubscribe" => Method::Unsubscribe,
            "prompts/list" => Method::PromptsList,
            "prompts/get" => Method::PromptsGet,
            "prompts/create" => Method::PromptsCreate,
            "completion/complete" => Method::Complete,
            "logging/setLevel" => Method::SetLevel,
            "initialize" => Method::Initialize,
            "server/discover" => Method::Discover,
            "subscriptions/listen" => Method::Listen,
            "requests/cancel" | "cancellation/cancel_request" => Method::Cancel,
            "tasks/get" => Method::TasksGet,
            "tasks/result" => Method::TasksResult,
            "tasks/list" => Method::TasksList,
            "tasks/cancel" => Method::TasksCancel,
            "tasks/update" => Method::TasksUpdate,
            "shutdown" => Method::Shutdown,
            _ => return None,
        })
    }

    /// Whether a message of this era may call it.
    pub(crate) fn exists_in(self, era: Era) -> bool {
        match self {
            Method::Initialize
            | Method::Ping
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::SetLevel
            | Method::TasksResult
            | Method::TasksList => era == Era::Handshake,
            Method::Discover | Method::Listen | Method::TasksUpdate => era == Era::Stateless,
            _ => true,
        }
    }

    /// Whether it may be called before the handshake.
    pub(crate) fn needs_no_handshake(self) -> bool {
        matches!(self, Method::Initialize | Method::Ping)
    }
}

type Run = dyn Fn(Context, Value) -> BoxFuture<'static, Result<Value, Stop>> + Send + Sync;

/// A method a server adds to those of the protocol.
#[derive(Clone)]
pub struct CustomMethod {
    pub(crate) name: String,
    pub(crate) run: Arc<Run>,
}

impl CustomMethod {
    /// A method that takes its parameters as a value and answers with an object.
    pub fn new<F, Fut, E>(name: impl Into<String>, run: F) -> Self
    where
        F: Fn(Context, Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, E>> + Send + 'static,
        E: Into<Stop>,
    {
        let run = move |cx, params| run(cx, params).map(|r| r.map_err(Into::into)).boxed();
        Self {
            name: name.into(),
            run: Arc::new(run),
        }
    }
}

impl fmt::Debug for CustomMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomMethod")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
