//! GET: a stream of messages nobody asked for, or the rest of one that broke. DELETE: the end of a session.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Response, StatusCode};
use refusal::{Code, Refusal};

use super::response::{Reading, ResponseBody, empty, events, refuse};
use super::{Mount, SessionOwner, headers, not_allowed};
use crate::session::Session;
use crate::version::{Era, Version};

pub(super) async fn stream(mount: &Mount, parts: &Parts) -> Response<ResponseBody> {
    let found = match session(mount, parts).await {
        Ok(Some(session)) => open(mount, parts, &session),
        Ok(None) => return not_allowed(&parts.method),
        Err(refusal) => Err(refusal),
    };
    found.unwrap_or_else(|refusal| refuse("null", &refusal.into()))
}

pub(super) async fn delete(mount: &Mount, parts: &Parts) -> Response<ResponseBody> {
    match session(mount, parts).await {
        Ok(Some(session)) => {
            mount.core.sessions.close(&mount.core, &session).await;
            empty(StatusCode::NO_CONTENT)
        }
        Ok(None) => not_allowed(&parts.method),
        Err(refusal) => refuse("null", &refusal.into()),
    }
}

/// The session a request names; `None` when its era has no sessions.
async fn session(mount: &Mount, parts: &Parts) -> Result<Option<Arc<Session>>, Refusal> {
    let version = headers::text(&parts.headers, headers::VERSION)?;
    if version
        .and_then(Version::parse)
        .is_some_and(|v| v.era() == Era::Stateless)
    {
        return Ok(None);
    }
    let id = headers::text(&parts.headers, headers::SESSION)?;
    let id =
        id.ok_or_else(|| Refusal::new(Code::InvalidSessionId, "the header mcp-session-id is missing"))?;
    let owner = parts
        .extensions
        .get::<SessionOwner>()
        .map(|owner| owner.0.as_str());
    mount.core.sessions.find(&mount.core, id, owner).await.map(Some)
}

//= specs/mcp-runtime.md#http-transport
//# A client that comes back with the id of the last event it saw MUST get the events after it, as far as they are kept.
fn open(mount: &Mount, parts: &Parts, session: &Arc<Session>) -> Result<Response<ResponseBody>, Refusal> {
    let limits = &mount.core.settings.limits;
    let (number, stream, after) = match headers::text(&parts.headers, headers::LAST_EVENT)? {
        None => {
            let (number, stream) = session.unasked_stream(limits);
            (number, stream, 0)
        }
        Some(last) => {
            let (number, after) = event_id(last)?;
            let stream = session.stream(number);
            let gone = || {
                Refusal::new(
                    Code::InvalidHeader,
                    format!("the events after {last:?} are not kept any more"),
                )
            };
            (number, stream.ok_or_else(gone)?, after)
        }
    };
    Ok(events(Reading {
        stream,
        number: Some(number),
        after,
        primed: session.version() >= Version::V2025_11_25,
        keep_alive: Duration::from_millis(limits.keep_alive_ms),
        visit: None,
    }))
}

fn event_id(text: &str) -> Result<(u64, u64), Refusal> {
    let parsed = text
        .split_once('-')
        .and_then(|(number, at)| Some((number.parse().ok()?, at.parse().ok()?)));
    parsed.ok_or_else(|| {
        Refusal::new(
            Code::InvalidHeader,
            format!("{text:?} is no event id of this server"),
        )
    })
}
