//! What every handler can reach.

use crate::HttpOptions;
use crate::health::Readiness;
use crate::hosts::OwnHosts;
use crate::limits::{OwnerSemaphore, RateLimits};
use mcp_server::streamable_http::McpService;
use spexus_domain::{Kind, Uuid};
use spexus_mcp::Mcp;
use spexus_service::Service;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::watch;

/// The state of the surface. One shared handle: the router clones it several times for each request.
#[derive(Clone)]
pub struct App(Arc<Surface>);

/// What the handle leads to; nothing of it is for others.
pub struct Surface {
    pub(crate) service: Service,
    pub(crate) options: Arc<HttpOptions>,
    pub(crate) limits: Arc<RateLimits>,
    /// Streams each user has open.
    pub(crate) streams: OwnerSemaphore<Uuid>,
    /// Names this server is reached by.
    pub(crate) hosts: OwnHosts,
    /// Whether the database answered lately.
    pub(crate) readiness: Readiness,
    /// The same system for agents.
    pub(crate) mcp: Mcp,
    /// What speaks MCP over HTTP.
    pub(crate) mcp_service: McpService,
    /// Requests under way.
    pub(crate) running: Arc<AtomicUsize>,
    /// Turns true when the server stops; streams end then.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl App {
    pub(crate) fn new(surface: Surface) -> Self {
        Self(Arc::new(surface))
    }

    /// The use cases behind the surface.
    pub fn service(&self) -> &Service {
        &self.0.service
    }
}

impl std::ops::Deref for App {
    type Target = Surface;

    fn deref(&self) -> &Surface {
        &self.0
    }
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
