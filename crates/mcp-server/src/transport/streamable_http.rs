//! The streamable HTTP transport as a tower service, to be mounted at any path.
//!
//! A request is answered with plain JSON unless something has to be said before its answer; then the answer comes as
//! the last event of a stream. A client that loses a stream of the handshake era comes back with the id of the last
//! event it saw. In the stateless era nothing is kept, and closing the stream cancels the request.

mod get;
mod headers;
mod origin;
mod post;
mod response;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use http::{Method, Request, Response};
use refusal::{Code, Refusal};

pub use crate::session::{Account, SessionOwner};
pub use response::ResponseBody;

use crate::server::Server;
use crate::server::core::Core;
use mcp_protocol::RpcError;
use response::refuse;

/// What an HTTP mount accepts.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Hosts a request may be addressed to, without a port or with one; `None` allows all. Protects servers on a
    /// developer's machine from web pages that point a name at it.
    pub allowed_hosts: Option<Vec<String>>,
    /// Origins a browser's request may come from, beside the allowed hosts' own.
    pub allowed_origins: Vec<String>,
    /// Serve requests of the handshake era that come without a session, each for itself.
    pub sessionless: bool,
    /// How long a POST may take until there is an answer or a stream, from its first byte on; 0 means no limit. Whoever
    /// stands in front and has a limit of its own should have a longer one, for it cannot answer in JSON-RPC.
    pub answer_timeout_ms: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
        Self {
            allowed_hosts: Some(local),
            allowed_origins: Vec::new(),
            sessionless: false,
            answer_timeout_ms: 0,
        }
    }
}

/// The service. Clones serve the same server.
#[derive(Clone, Debug)]
pub struct McpService {
    mount: Arc<Mount>,
}

#[derive(Debug)]
struct Mount {
    core: Arc<Core>,
    settings: HttpSettings,
}

impl McpService {
    /// A service for a server.
    pub fn new(server: &Server, settings: HttpSettings) -> Self {
        Self {
            mount: Arc::new(Mount {
                core: server.0.clone(),
                settings,
            }),
        }
    }
}

impl<B> tower_service::Service<Request<B>> for McpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mount = self.mount.clone();
        Box::pin(async move { Ok(mount.serve(request).await) })
    }
}

impl Mount {
    async fn serve<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: std::fmt::Display,
    {
        let (parts, body) = request.into_parts();
        if let Err(refusal) = origin::check(&parts, &self.settings) {
            return refuse("null", &refusal.into());
        }
        match parts.method {
            Method::POST => post::serve(self, parts, body).await,
            Method::GET => get::stream(self, &parts).await,
            Method::DELETE => get::delete(self, &parts).await,
            ref other => not_allowed(other),
        }
    }
}

/// The answer of a layer in front of the service that refuses a request, such as for a missing token: the refusal's own
/// status, and a JSON-RPC error as the body.
pub fn refused(refusal: Refusal) -> Response<ResponseBody> {
    refuse("null", &refusal.into())
}

fn not_allowed(method: &Method) -> Response<ResponseBody> {
    let refusal = Refusal::new(Code::MethodNotAllowed, format!("{method} means nothing here"));
    let mut response = refuse("null", &RpcError::from(refusal));
    response.headers_mut().insert(
        http::header::ALLOW,
        http::HeaderValue::from_static("POST, GET, DELETE"),
    );
    response
}
