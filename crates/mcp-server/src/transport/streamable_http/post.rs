//! POST: one message or a batch, in either era.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt;
use memchr::memmem;
use refusal::{Code, Refusal};
use tokio::time::Instant;

use super::response::{CancelOnDrop, Reading, ResponseBody, Waiting, empty, events, json, refuse};
use super::{Mount, headers};
use crate::dispatch::{self, Disposition, Incoming, Parsed};
use crate::server::overrun::LateOutcome;
use crate::session::batch::no_batches;
use crate::session::quota::Owner;
use crate::session::sink::MessageSink;
use crate::session::stream::{EventStream, First, Next};
use crate::session::{Phase, Session};
use mcp_protocol::{
    Client, META_VERSION, Method, RpcCode, RpcError, Terms, Version,
    envelope::{self, Malformed, Message, Received, Request},
    unsupported_version,
};

/// How much of a body that is too large is read in search of its id.
const PEEK_BYTES: usize = 8 * 1024;

pub(super) async fn serve<B>(mount: &Mount, parts: Parts, body: B) -> Response<ResponseBody>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    if let Err(refusal) = check_type(&parts) {
        return refuse("null", &refusal.into());
    }
    let deadline = Deadline::new(mount.settings.answer_timeout_ms);
    let bytes = match deadline.within(read(mount, &parts, body)).await {
        Some(Ok(bytes)) => bytes,
        Some(Err(response)) => return response,
        None => return refuse("null", &deadline.overrun(LateOutcome::NothingDone)),
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let refusal = Refusal::new(Code::UnsupportedEncoding, "the message is not UTF-8");
        return refuse(
            "null",
            &RpcError::numbered(RpcCode::ParseError, refusal).with_status(400),
        );
    };
    let post = Post {
        mount,
        parts: &parts,
        parsed: envelope::receive(text),
        extensions: Arc::new(parts.extensions.clone()),
    };
    let served = match deadline.within(post.serve()).await {
        Some(served) => served,
        // What writes goes on, whoever waits for it.
        None => Err(deadline.overrun(LateOutcome::Unknown)),
    };
    served.unwrap_or_else(|error| refuse(post.id(), &error))
}

/// Until when a POST must be answered.
struct Deadline {
    limit_ms: u64,
    at: Instant,
}

impl Deadline {
    fn new(limit_ms: u64) -> Self {
        let at = Instant::now() + Duration::from_millis(limit_ms);
        Self { limit_ms, at }
    }

    /// What comes in time.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.limit_ms {
            0 => Some(work.await),
            _ => tokio::time::timeout_at(self.at, work).await.ok(),
        }
    }

    //= specs/mcp-server.md#http-transport
    //# A request that is not answered within the limit of its mount MUST be answered with status 504 and a JSON-RPC error 1069 that carries its id.
    fn overrun(&self, outcome: LateOutcome) -> RpcError {
        outcome.refusal(Duration::from_millis(self.limit_ms)).into()
    }
}

struct Post<'a> {
    mount: &'a Mount,
    parts: &'a Parts,
    /// The body, taken apart once.
    parsed: Parsed<'a>,
    extensions: Arc<http::Extensions>,
}

impl<'a> Post<'a> {
    // Fulfils 003 R9.11
    async fn serve(&self) -> Result<Response<ResponseBody>, RpcError> {
        let header = headers::text(&self.parts.headers, headers::VERSION)?;
        let offered = &self.mount.core.settings.versions;
        let version = header.map(|name| offered.find(name).ok_or(name)).transpose();
        let stateless = matches!(version, Ok(Some(v)) if !v.has_handshake());
        if stateless || self.names_version() {
            return self.serve_stateless(header).await;
        }
        match version {
            Ok(version) => self.serve_session(version).await,
            Err(name) => Err(unsupported_version(name, offered)),
        }
    }

    /// A message that introduces itself.
    async fn serve_stateless(&self, header: Option<&str>) -> Result<Response<ResponseBody>, RpcError> {
        let Some(request) = self.request() else {
            return self.serve_other();
        };
        let named = named_version(request);
        let version = named.as_deref().or(header).unwrap_or_default();
        headers::compare(&self.mount.core, &self.parts.headers, request, version)?;
        let terms = Terms::of_meta(request, &self.mount.core.settings.versions)?;
        let core = &self.mount.core;
        let session = Session::on_http("".into(), self.owner(), &core.quotas, &core.settings.limits);
        let session = Arc::new(session);
        let stream = Arc::new(EventStream::for_replay(&core.settings.limits));
        // From here on a client that goes away cancels what it asked for.
        let cancel_on_drop = CancelOnDrop {
            core: core.clone(),
            session: session.clone(),
        };
        let (mut out, sink) = (Vec::new(), MessageSink::Stream(stream.clone()));
        let incoming = self.incoming(&session, &sink, Some(&terms));
        let disposition = dispatch::receive(&incoming, &self.parsed, &mut out);
        match disposition {
            Disposition::Answered(status) => Ok(json(status.unwrap_or(200), out.into())),
            Disposition::Nothing | Disposition::Busy => Ok(empty(StatusCode::ACCEPTED)),
            Disposition::Ended(_) => Ok(json(200, out.into())),
            Disposition::Running => {
                core.broker.enter(&session);
                Ok(match stream.first().await {
                    First::Answer(answer, status) => json(status.unwrap_or(200), answer),
                    First::Nothing => empty(StatusCode::NO_CONTENT),
                    First::Stream if !self.takes_events() && request.method != Method::Listen.name() => {
                        json(200, last_event(&stream).await)
                    }
                    First::Stream => self.events(stream, None, false, Some(cancel_on_drop)),
                })
            }
        }
    }

    /// Notifications and answers need none; anything else is refused as what it is.
    fn serve_other(&self) -> Result<Response<ResponseBody>, RpcError> {
        match &self.parsed {
            Ok(Received::Batch(_)) => Err(no_batches(Version::STATELESS)),
            Ok(Received::Message(_)) => Ok(empty(StatusCode::ACCEPTED)),
            Err(malformed) => Err(RpcError::malformed(malformed).1),
        }
    }

    /// A message within a session, or the one that opens it.
    //= specs/mcp-server.md#http-transport
    //# A session that is gone MUST be answered with status 404, one that is missing with 400.
    async fn serve_session(&self, header: Option<Version>) -> Result<Response<ResponseBody>, RpcError> {
        let core = &self.mount.core;
        if self.opens_session() {
            return self.open_session().await;
        }
        match headers::text(&self.parts.headers, headers::SESSION)? {
            Some(id) => {
                let session = core.sessions.find(core, id, self.owner()).await.map_err(|r| {
                    let status = r.code.http_status();
                    RpcError::from(r).with_status(status)
                })?;
                headers::check_agreed(&self.parts.headers, &session)?;
                Ok(self.dispatch(&session).await)
            }
            None if self.mount.settings.sessionless => {
                let session = Session::on_http("".into(), self.owner(), &core.quotas, &core.settings.limits);
                session.greet(header.unwrap_or(Version::UNNAMED), Arc::new(Client::default()));
                session.confirm();
                Ok(self.dispatch(&Arc::new(session)).await)
            }
            None => {
                // What is no message is told so, whoever sends it.
                if let Err(malformed) = &self.parsed {
                    return Err(RpcError::malformed(malformed).1);
                }
                let refusal = Refusal::new(Code::ServerUninitialized, "the header mcp-session-id is missing");
                Err(RpcError::from(refusal).with_status(400))
            }
        }
    }

    async fn open_session(&self) -> Result<Response<ResponseBody>, RpcError> {
        let core = &self.mount.core;
        let opened = core.sessions.open(core, self.owner()).await;
        let session = opened.map_err(|r| {
            let status = r.code.http_status();
            RpcError::from(r).with_status(status)
        })?;
        let mut response = self.dispatch(&session).await;
        if session.phase() == Phase::New {
            core.sessions.close(core, &session).await;
            return Ok(response);
        }
        core.sessions.add(core, &session).await?;
        if let Ok(id) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(headers::SESSION, id);
        }
        Ok(response)
    }

    //= specs/mcp-server.md#http-transport
    //# A request MUST be answered with plain JSON unless something was said before its answer.
    async fn dispatch(&self, session: &Arc<Session>) -> Response<ResponseBody> {
        let limits = &self.mount.core.settings.limits;
        let stream = Arc::new(EventStream::for_replay(limits));
        let (mut out, sink) = (Vec::new(), MessageSink::Stream(stream.clone()));
        match dispatch::receive(&self.incoming(session, &sink, None), &self.parsed, &mut out) {
            Disposition::Answered(status) => json(handshake_status(status), out.into()),
            Disposition::Nothing | Disposition::Busy => empty(StatusCode::ACCEPTED),
            Disposition::Ended(_) => json(200, out.into()),
            Disposition::Running => {
                let waiting = Waiting::new(session, &stream);
                let response = match stream.first().await {
                    First::Answer(answer, status) => json(handshake_status(status), answer),
                    First::Nothing => empty(StatusCode::ACCEPTED),
                    First::Stream if !self.takes_events() => json(200, last_event(&stream).await),
                    First::Stream => {
                        let number = session.keep_stream(&stream, limits);
                        let primed = session.version().primes_streams();
                        self.events(stream.clone(), Some(number), primed, None)
                    }
                };
                waiting.answered();
                response
            }
        }
    }

    fn incoming<'b>(
        &'b self,
        session: &'b Arc<Session>,
        sink: &'b MessageSink,
        terms: Option<&'b Terms>,
    ) -> Incoming<'b> {
        Incoming {
            core: &self.mount.core,
            session,
            extensions: &self.extensions,
            sink,
            batch: None,
            terms,
            patient: false,
            alone: true,
        }
    }

    fn events(
        &self,
        stream: Arc<EventStream>,
        number: Option<u64>,
        primed: bool,
        cancel_on_drop: Option<CancelOnDrop>,
    ) -> Response<ResponseBody> {
        let keep_alive = Duration::from_millis(self.mount.core.settings.limits.keep_alive_ms);
        events(Reading {
            stream,
            number,
            after: 0,
            primed,
            keep_alive,
            cancel_on_drop,
            open: None,
            session: None,
        })
    }

    fn owner(&self) -> Owner<'_> {
        Owner::of(&self.extensions)
    }

    fn names_version(&self) -> bool {
        self.request().is_some_and(|request| {
            // A cheap look for the name saves taking apart the parameters of every message.
            let has_name = |params: &str| memmem::find(params.as_bytes(), META_VERSION.as_bytes()).is_some();
            request.params.is_some_and(has_name) && named_version(request).is_some()
        })
    }

    fn opens_session(&self) -> bool {
        self.request()
            .is_some_and(|request| request.method == "initialize")
    }

    /// The id to answer to when the transport itself refuses.
    fn id(&self) -> &str {
        match &self.parsed {
            Ok(Received::Message(Message::Request(request))) => request.id,
            Err(Malformed::Shape { id: Some(id), .. }) => id,
            _ => "null",
        }
    }

    /// The request, where the body is one.
    fn request(&self) -> Option<&Request<'a>> {
        match &self.parsed {
            Ok(Received::Message(Message::Request(request))) => Some(request),
            _ => None,
        }
    }

    fn takes_events(&self) -> bool {
        let accept = self
            .parts
            .headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok());
        accept.is_none_or(|accept| accept.contains("text/event-stream") || accept.contains("*/*"))
    }
}

fn check_type(parts: &Parts) -> Result<(), Refusal> {
    let kind = headers::text(&parts.headers, "content-type")?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(
            Code::InvalidContentType,
            format!("the content type {kind:?} is not JSON"),
        ));
    }
    match headers::text(&parts.headers, "content-encoding")? {
        None | Some("identity") => Ok(()),
        Some(other) => Err(Refusal::new(
            Code::UnsupportedEncoding,
            format!("the encoding {other:?} is not read"),
        )),
    }
}

/// Reads the body up to the limit. What is larger is refused without being read whole.
//= specs/mcp-server.md#http-transport
//# A body above the size limit MUST be refused with status 413 and a JSON-RPC error 1068.
async fn read<B>(mount: &Mount, parts: &Parts, body: B) -> Result<Bytes, Response<ResponseBody>>
where
    B: http_body::Body + Send,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    let max = mount.core.settings.limits.max_message_bytes;
    let announced = headers::text(&parts.headers, "content-length")
        .ok()
        .flatten()
        .and_then(|n| n.parse::<usize>().ok());
    let too_large = announced.is_some_and(|length| length > max);
    let wanted = if too_large { PEEK_BYTES.min(max) } else { max };
    let bytes = collect(body, wanted).await.map_err(|problem| {
        let refusal = Refusal::new(
            Code::TransportError,
            format!("the body cannot be read: {problem}"),
        );
        refuse("null", &refusal.into())
    })?;
    if too_large || bytes.len() > max {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(wanted)]);
        let refusal = Refusal::new(
            Code::MessageTooLarge,
            format!("the message is larger than {max} bytes"),
        );
        return Err(refuse(
            envelope::id_in_prefix(&start).unwrap_or("null"),
            &refusal.into(),
        ));
    }
    Ok(bytes.into())
}

/// The body's bytes; a little more than wanted when there is more, and then no further.
async fn collect<B>(body: B, wanted: usize) -> Result<Vec<u8>, B::Error>
where
    B: http_body::Body,
{
    let (mut bytes, mut body) = (Vec::new(), pin!(body));
    while bytes.len() <= wanted
        && let Some(frame) = body.frame().await
    {
        let Ok(mut data) = frame?.into_data() else {
            continue;
        };
        while data.has_remaining() && bytes.len() <= wanted {
            let chunk = data.chunk();
            let length = chunk.len();
            bytes.extend_from_slice(chunk);
            data.advance(length);
        }
    }
    Ok(bytes)
}

/// The version a request names in its `_meta`.
fn named_version<'a>(request: &Request<'a>) -> Option<Cow<'a, str>> {
    request.meta().ok()??.text(META_VERSION).ok()?
}

/// Errors of the handshake era travel with status 200, except for texts that are no messages and for missing rights.
fn handshake_status(status: Option<u16>) -> u16 {
    status.filter(|status| matches!(status, 400 | 403)).unwrap_or(200)
}

async fn last_event(stream: &EventStream) -> Bytes {
    let (mut at, mut last) = (0, Bytes::new());
    while let Next::Event(number, event) = stream.next(at, 0).await {
        (at, last) = (number, event.text);
    }
    last
}
