//! The MCP endpoint: the same door as for REST, and behind it the server for agents.

use crate::app::App;
use crate::extract::admit;
use crate::respond::dress;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use mcp_runtime::streamable_http::{HttpSettings, McpService, refused};
use spexus_domain::Ruled;
use spexus_mcp::{Mcp, Visit};
use tower::ServiceExt;

/// What speaks MCP over HTTP. Whoever calls it has shown a token, so a foreign page that points a name at this server
/// gains nothing; hosts are not looked at.
pub(crate) fn service(mcp: &Mcp) -> McpService {
    let settings = HttpSettings {
        allowed_hosts: None,
        ..HttpSettings::default()
    };
    McpService::new(mcp.server(), settings)
}

/// Messages by POST, streams by GET, the end of a session by DELETE; all as the owner of the token.
//= specs/spexus-mcp.md#endpoint
//# The endpoint MUST be served at `/api/v1/mcp` and at `/mcp`.
pub(crate) async fn endpoint(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match visit(&app, &parts).await {
        Ok(visit) => {
            visit.attach(&mut parts.extensions);
            let Ok(response) = app.mcp_service.oneshot(Request::from_parts(parts, body)).await;
            response.map(Body::new)
        }
        //= specs/spexus-mcp.md#endpoint
        //# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
        Err(refusal) => dress(&refusal, refused(refusal.clone()).map(Body::new)),
    }
}

async fn visit(app: &App, parts: &Parts) -> Ruled<Visit> {
    //= specs/spexus-mcp.md#rights
    //# Every request MUST run as the owner of its token, with the rights as they are now.
    let caller = admit(app, parts).await?;
    Visit::asked(caller, app.mcp.options(), &parts.headers)
}
