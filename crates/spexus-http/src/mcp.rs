//! The MCP endpoint: the same door as for REST, and behind it the server for agents.

use crate::app::App;
use crate::extract::{Secret, admit_token, origin, secret};
use crate::limits::Hold;
use crate::respond::dress;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use mcp_server::Meter;
use mcp_server::streamable_http::{HttpSettings, McpService, ResponseBody, refused};
use spexus_domain::account::Caller;
use spexus_domain::{Ruled, Uuid};
use spexus_mcp::{Mcp, Visit};
use spexus_service::account::token;
use spexus_service::{Origin, Service};
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::sync::watch;
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
        Ok((caller, visit)) => {
            let owner = caller.user_id;
            visit.attach(&mut parts.extensions);
            parts.extensions.insert(meter(&app, caller));
            let (holder, service) = (Holder::of(&app, &parts), app.mcp_service.clone());
            let Ok(response) = service.oneshot(Request::from_parts(parts, body)).await;
            match response.headers().get(header::CONTENT_TYPE) {
                Some(kind) if kind == "text/event-stream" => stream(&app, owner, holder, response),
                _ => response.map(Body::new),
            }
        }
        //= specs/spexus-mcp.md#endpoint
        //# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
        Err(refusal) => dress(&refusal, refused(refusal.clone()).map(Body::new)),
    }
}

/// A stream is open for as long as its client wants, so each user has so many.
//= specs/spexus-http.md#limits
//# A stream beyond the number one user may have open, over REST and MCP together, MUST be refused with 429.
fn stream(app: &App, owner: Uuid, holder: Holder, response: Response<ResponseBody>) -> Response {
    match app.streams.take(owner) {
        Some(place) => response.map(|body| holder.hold(body, place)),
        None => {
            let refusal = app.streams.refusal("streams");
            dress(&refusal, refused(refusal.clone()).map(Body::new))
        }
    }
}

// Fulfils 003 R9.5
async fn visit(app: &App, parts: &Parts) -> Ruled<(Caller, Visit)> {
    //= specs/spexus-mcp.md#rights
    //# Every request MUST run as the owner of its token, with the rights as they are now.
    app.hosts.check(parts)?;
    let caller = admit_token(app, parts).await?;
    let visit = Visit::asked(caller.clone(), app.mcp.options(), &parts.headers)?;
    Ok((caller, visit))
}

/// Counts what one request carries beyond its first message, at the same rate as requests.
//= specs/spexus-mcp.md#endpoint
//# Every message of an array, and every call of a batch, MUST count against the rate of the token like a request of its own.
fn meter(app: &App, caller: Caller) -> Meter {
    let limits = app.limits.clone();
    Meter::new(move |messages| match NonZeroU32::new(messages) {
        Some(messages) => limits.check_messages(&caller, messages),
        None => Ok(()),
    })
}

/// How often a stream looks whether its token has expired.
pub(crate) const EXPIRY_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// Whoever a stream was opened for. A token that is revoked or expires ends its streams.
struct Holder {
    service: Service,
    secret: String,
    origin: Origin,
    news: watch::Receiver<i64>,
}

impl Holder {
    fn of(app: &App, parts: &Parts) -> Self {
        let secret = match secret(&parts.headers) {
            Some(Secret::Header(secret) | Secret::Cookie(secret)) => secret.to_owned(),
            None => String::new(),
        };
        Self {
            secret,
            origin: origin(parts),
            news: app.service.follow(),
            service: app.service.clone(),
        }
    }

    fn hold(self, body: ResponseBody, place: Hold<Uuid>) -> Body {
        let frames =
            futures_util::stream::unfold((self, body, place), |(mut holder, mut body, place)| async move {
                let frame = holder.next(&mut body).await?;
                Some((Ok::<_, Infallible>(frame), (holder, body, place)))
            });
        Body::from_stream(frames)
    }

    //= specs/spexus-mcp.md#rights
    //# A stream MUST end when its token does.
    async fn next(&mut self, body: &mut ResponseBody) -> Option<Bytes> {
        loop {
            tokio::select! {
                frame = body.frame() => match frame?.ok()?.into_data() {
                    Ok(data) => return Some(data),
                    Err(_) => continue,
                },
                news = self.news.changed() => {
                    news.ok()?;
                    token::authenticate(&self.service, &self.secret, &self.origin).await.ok()?;
                }
                () = token::expired(&self.service, &self.secret, EXPIRY_LOOKED_AT_EVERY) => return None,
            }
        }
    }
}
