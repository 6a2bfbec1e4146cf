//! The MCP endpoint: the same door as for REST, and behind it the server for agents.

use crate::app::App;
use crate::extract::{Secret, admit, origin, secret};
use crate::respond::dress;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use mcp_runtime::streamable_http::{HttpSettings, McpService, ResponseBody, refused};
use spexus_domain::Ruled;
use spexus_mcp::{Mcp, Visit};
use spexus_service::account::token;
use spexus_service::{Origin, Service};
use std::convert::Infallible;
use tokio::sync::watch;
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

// Fulfils 003 R9.1, 003 R9.2, 003 R9.4
/// Messages by POST, streams by GET, the end of a session by DELETE; all as the owner of the token.
//= specs/spexus-mcp.md#endpoint
//# The endpoint MUST be served at `/api/v1/mcp` and at `/mcp`.
pub(crate) async fn endpoint(State(app): State<App>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    match visit(&app, &parts).await {
        Ok(visit) => {
            visit.attach(&mut parts.extensions);
            let holder = Holder::of(&app, &parts);
            let Ok(response) = app.mcp_service.oneshot(Request::from_parts(parts, body)).await;
            match response.headers().get(header::CONTENT_TYPE) {
                Some(kind) if kind == "text/event-stream" => response.map(|body| holder.hold(body)),
                _ => response.map(Body::new),
            }
        }
        //= specs/spexus-mcp.md#endpoint
        //# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
        Err(refusal) => dress(&refusal, refused(refusal.clone()).map(Body::new)),
    }
}

// Fulfils 003 R9.5
async fn visit(app: &App, parts: &Parts) -> Ruled<Visit> {
    //= specs/spexus-mcp.md#rights
    //# Every request MUST run as the owner of its token, with the rights as they are now.
    let caller = admit(app, parts).await?;
    Visit::asked(caller, app.mcp.options(), &parts.headers)
}

/// Whoever a stream was opened for. A token that is revoked ends its streams.
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

    fn hold(self, body: ResponseBody) -> Body {
        let frames = futures_util::stream::unfold((self, body), |(mut holder, mut body)| async move {
            let frame = holder.next(&mut body).await?;
            Some((Ok::<_, Infallible>(frame), (holder, body)))
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
            }
        }
    }
}
