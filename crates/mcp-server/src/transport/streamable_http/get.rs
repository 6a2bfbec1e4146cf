//! GET: a stream of messages nobody asked for, or the rest of one that broke. DELETE: the end of a session.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{Response, StatusCode};
use refusal::{Code, Refusal};

use super::response::{Reading, ResponseBody, empty, events, refuse};
use super::{Mount, headers, not_allowed};
use crate::session::Session;
use crate::session::quota::Owner;
use mcp_protocol::Version;

pub(super) async fn stream(mount: &Mount, parts: &Parts) -> Response<ResponseBody> {
    let found = match session(mount, parts).await {
        Ok(Some(session)) => open(mount, parts, &session).await,
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
        .is_some_and(|v| !v.has_handshake())
    {
        return Ok(None);
    }
    let id = headers::text(&parts.headers, headers::SESSION)?;
    let id =
        id.ok_or_else(|| Refusal::new(Code::InvalidSessionId, "the header mcp-session-id is missing"))?;
    let owner = Owner::of(&parts.extensions);
    let session = mount.core.sessions.find(&mount.core, id, owner).await?;
    headers::check_agreed(&parts.headers, &session)?;
    Ok(Some(session))
}

//= specs/mcp-server.md#http-transport
//# A client that comes back with the id of the last event it saw MUST get the events after it, as far as they are kept.
async fn open(
    mount: &Mount,
    parts: &Parts,
    session: &Arc<Session>,
) -> Result<Response<ResponseBody>, Refusal> {
    let limits = &mount.core.settings.limits;
    let (number, stream, after) = match headers::text(&parts.headers, headers::LAST_EVENT)? {
        None => {
            let (number, stream) = session.unsolicited_stream(limits);
            (number, stream, 0)
        }
        Some(last) => {
            let EventId { number, at, mark } = EventId::read(last)?;
            match (session.stream(number), mark) {
                (Some(stream), _) => (number, stream, at),
                // The stream was another node's, or of this one before it was started again.
                (None, Some(mark)) => {
                    mount.core.sessions.resume(&mount.core, session, mark).await?;
                    let (number, stream) = session.unsolicited_stream(limits);
                    (number, stream, 0)
                }
                (None, None) => {
                    return Err(Refusal::new(
                        Code::InvalidHeader,
                        format!("the events after {last:?} are not kept any more"),
                    ));
                }
            }
        }
    };
    let open = session.quota.open_stream(limits)?;
    // What the client is about to read need not be kept for it.
    session.mark_dirty();
    Ok(events(Reading {
        stream,
        number: Some(number),
        after,
        primed: session.version().primes_streams(),
        keep_alive: Duration::from_millis(limits.keep_alive_ms),
        cancel_on_drop: None,
        open: Some(open),
        session: Some((mount.core.clone(), session.clone())),
    }))
}

/// The id of an event: its stream, its place there and, where sessions outlive the process, the mark it was told at.
struct EventId {
    number: u64,
    at: u64,
    mark: Option<u64>,
}

impl EventId {
    fn read(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.split('-').map(|part| part.parse::<u64>().ok());
        let id = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(number)), Some(Some(at)), mark, None) if mark != Some(None) => Some(Self {
                number,
                at,
                mark: mark.flatten(),
            }),
            _ => None,
        };
        id.ok_or_else(|| {
            Refusal::new(
                Code::InvalidHeader,
                format!("{text:?} is no event id of this server"),
            )
        })
    }
}
