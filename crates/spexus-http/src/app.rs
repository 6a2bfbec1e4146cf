//! What every handler can reach.

use crate::HttpOptions;
use crate::limits::Limits;
use mcp_runtime::streamable_http::McpService;
use spexus_domain::Kind;
use spexus_mcp::Mcp;
use spexus_service::Service;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::watch;

/// The state of the surface. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) service: Service,
    pub(crate) options: Arc<HttpOptions>,
    pub(crate) limits: Arc<Limits>,
    /// The same system for agents.
    pub(crate) mcp: Mcp,
    /// What speaks MCP over HTTP.
    pub(crate) mcp_service: McpService,
    /// Requests under way.
    pub(crate) running: Arc<AtomicUsize>,
    /// Turns true when the server stops; streams end then.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// The same for routes that exist once for each kind of item.
#[derive(Clone)]
pub(crate) struct OfKind {
    pub(crate) app: App,
    pub(crate) kind: Kind,
}

impl axum::extract::FromRef<OfKind> for App {
    fn from_ref(of_kind: &OfKind) -> Self {
        of_kind.app.clone()
    }
}

impl axum::extract::FromRef<OfKind> for Kind {
    fn from_ref(of_kind: &OfKind) -> Self {
        of_kind.kind
    }
}
