//! The MCP endpoint: behind the same authentication as REST, the MCP server for agents.

use crate::app::App;
use crate::auth::{Shown, StreamAuth, authenticate_token};
use crate::limits::{OwnerPermit, RateKey};
use crate::respond::add_headers;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use mcp_protocol::Method;
use mcp_server::Meter;
use mcp_server::streamable_http::{HttpSettings, McpService, ResponseBody, refused};
use spexus_domain::{Ruled, Uuid};
use spexus_mcp::{Mcp, Visit};
use std::convert::Infallible;
use std::num::NonZeroU32;
use tower::ServiceExt;

/// What speaks MCP over HTTP. Hosts and origins are looked at before, where the names of this server are known.
pub(crate) fn service(mcp: &Mcp, request_timeout_ms: u64) -> McpService {
    let settings = HttpSettings {
        allowed_hosts: None,
        // After the limit of the work itself, and before the door's own, which knows no JSON-RPC.
        answer_timeout_ms: request_timeout_ms / 100 * 95,
        ..HttpSettings::default()
    };
    McpService::new(mcp.server(), settings)
}

// Fulfils 003 R9.1, 003 R9.2, 003 R9.4
/// Messages by POST, streams by GET, the end of a session by DELETE; all as the owner of the token.
//= specs/spexus-mcp.md#endpoint
//# The endpoint MUST be served at `/api/v1/mcp` and at `/mcp`.
pub(crate) async fn endpoint(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match visit(&app, &parts).await {
        Ok((owner, key, visit)) => {
            visit.attach(&mut parts.extensions);
            parts.extensions.insert(meter(&app, key));
            let shown = Shown::of(&parts);
            //= specs/spexus-http.md#limits
            //# A stream beyond the number one user may have open, over REST and MCP together, MUST be refused with 429.
            let permit = app.streams.acquire(owner);
            if permit.is_none() && is_stream(&parts) {
                let refusal = app.streams.refusal("streams");
                return add_headers(&refusal, refused(refusal.clone()).map(Body::new));
            }
            if permit.is_none() {
                //= specs/spexus-mcp.md#endpoint
                //# A request that could be answered by a stream MUST be answered without one, where its user has as many open as
                //# allowed; nothing MUST be done for a request that is refused.
                let plain = HeaderValue::from_static("application/json");
                parts.headers.insert(header::ACCEPT, plain);
            }
            let answered = app.mcp_service.clone().oneshot(Request::from_parts(parts, body));
            let Ok(response) = answered.await;
            match (response.headers().get(header::CONTENT_TYPE), permit) {
                (Some(kind), Some(permit)) if kind == "text/event-stream" => {
                    response.map(|body| reauthenticated(body, shown.into_stream_auth(&app), permit))
                }
                _ => response.map(Body::new),
            }
        }
        //= specs/spexus-mcp.md#endpoint
        //# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
        Err(refusal) => add_headers(&refusal, refused(refusal.clone()).map(Body::new)),
    }
}

/// Whether a request is answered by nothing but a stream, which is open for as long as its client wants. The header is held
/// against the body before anything is done.
fn is_stream(parts: &Parts) -> bool {
    let listens = |method: &HeaderValue| method == Method::Listen.name();
    parts.method == axum::http::Method::GET || parts.headers.get("mcp-method").is_some_and(listens)
}

// Fulfils 003 R9.5
async fn visit(app: &App, parts: &Parts) -> Ruled<(Uuid, RateKey, Visit)> {
    //= specs/spexus-mcp.md#rights
    //# Every request MUST run as the owner of its token, with the rights as they are now.
    app.hosts.check(parts)?;
    let caller = authenticate_token(app, parts).await?;
    let (owner, key) = (caller.user_id, RateKey::of(&caller));
    let visit = Visit::asked(caller, app.mcp.options(), &parts.headers)?;
    Ok((owner, key, visit))
}

/// Counts what one request carries beyond its first message, at the same rate as requests.
//= specs/spexus-mcp.md#endpoint
//# Every message of an array, and every call of a batch, MUST count against the rate of the token like a request of its own.
fn meter(app: &App, key: RateKey) -> Meter {
    let limits = app.limits.clone();
    Meter::new(move |messages| match NonZeroU32::new(messages) {
        Some(messages) => limits.check_messages(key, messages),
        None => Ok(()),
    })
}

//= specs/spexus-mcp.md#rights
//# A stream MUST end when its token does.
/// A body that ends when its stream's token does.
fn reauthenticated(body: ResponseBody, auth: StreamAuth, permit: OwnerPermit<Uuid>) -> Body {
    let frames =
        futures_util::stream::unfold((body, auth, permit), |(mut body, mut auth, permit)| async move {
            let data = next_data(&mut body, &mut auth).await?;
            Some((Ok::<_, Infallible>(data), (body, auth, permit)))
        });
    Body::from_stream(frames)
}

async fn next_data(body: &mut ResponseBody, auth: &mut StreamAuth) -> Option<Bytes> {
    loop {
        tokio::select! {
            frame = body.frame() => match frame?.ok()?.into_data() {
                Ok(data) => return Some(data),
                Err(_) => continue,
            },
            changed = auth.changed() => {
                changed?;
                auth.authenticate().await.ok()?;
            }
        }
    }
}
