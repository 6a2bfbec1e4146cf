//! Responses: plain JSON, nothing, or a stream of events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};

use crate::server::core::Core;
use crate::session::Session;
use crate::session::in_flight::RunningRequest;
use crate::session::quota::OpenStream;
use crate::session::sink::MessageSink;
use crate::session::stream::{EventStream, LogPosition, Next};
use mcp_protocol::{RpcError, Version};

/// The body of every response.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// After how many milliseconds a client whose stream ended should come back.
const RETRY_MS: u64 = 1_000;

pub(super) fn json(status: u16, body: Bytes) -> Response<ResponseBody> {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response<ResponseBody> {
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = status;
    response
}

// Fulfils 003 R9.10
/// A refusal of the transport: its own status, and a JSON-RPC error as the body.
pub(super) fn refuse(id: &str, error: &RpcError) -> Response<ResponseBody> {
    let mut body = Vec::new();
    mcp_protocol::write_error(&mut body, id, error, Version::NEWEST_HANDSHAKE);
    json(
        error.http_status.unwrap_or(error.refusal.code.http_status()),
        body.into(),
    )
}

/// How a stream of events is read.
pub(super) struct Reading {
    pub(super) stream: Arc<EventStream>,
    /// The number that stands in event ids; `None` when the client cannot come back.
    pub(super) number: Option<u64>,
    /// The last event the client saw.
    pub(super) after: u64,
    /// Whether to open with an event that only carries an id.
    pub(super) primed: bool,
    pub(super) keep_alive: Duration,
    /// What ends when the client goes.
    pub(super) cancel_on_drop: Option<CancelOnDrop>,
    /// The place it takes among the streams of its account, where it is open for long.
    pub(super) open: Option<OpenStream>,
    /// Whose session the stream keeps alive, for messages nobody asked for.
    pub(super) session: Option<(Arc<Core>, Arc<Session>)>,
}

impl Reading {
    /// The mark that stands in the id of an event told here, where sessions outlive the process.
    fn mark(&self, position: LogPosition) -> Option<u64> {
        let (core, _) = self.session.as_ref()?;
        core.sessions.outlive().then_some(position.mark)
    }

    /// The mark before anything of this stream is read.
    fn first_mark(&self) -> Option<u64> {
        let (core, session) = self.session.as_ref()?;
        let now = session.mark(core.broker.mark());
        let first = self.stream.unread().first().map(|event| event.position);
        self.mark(first.unwrap_or(LogPosition {
            mark: now,
            replayable: false,
        }))
    }

    fn touch(&self) {
        if let Some((core, session)) = &self.session {
            session.touch(core.uptime_ms());
        }
    }
}

pub(super) fn events(reading: Reading) -> Response<ResponseBody> {
    let reader = Reader::new(reading);
    let frames = stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(text)), reader))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Reader {
    reading: Reading,
    epoch: u64,
    _hold: Hold,
}

impl Reader {
    fn new(mut reading: Reading) -> Self {
        let epoch = reading.stream.attach();
        let hold = Hold {
            stream: reading.stream.clone(),
            _cancel_on_drop: reading.cancel_on_drop.take(),
            _open: reading.open.take(),
        };
        Self {
            reading,
            epoch,
            _hold: hold,
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        let reading = &mut self.reading;
        if std::mem::take(&mut reading.primed)
            && let Some(number) = reading.number
        {
            let id = event_id(number, reading.after, reading.first_mark());
            return Some(format!("id: {id}\nretry: {RETRY_MS}\ndata: \n\n").into());
        }
        tokio::select! {
            next = reading.stream.next(reading.after, self.epoch) => match next {
                Next::Event(at, message) => {
                    reading.after = at;
                    let id = reading.number.map(|number| event_id(number, at, reading.mark(message.position)));
                    Some(event(id.as_deref(), &message.text))
                }
                Next::End => None,
            },
            () = tokio::time::sleep(reading.keep_alive) => {
                reading.touch();
                Some(Bytes::from_static(b":\n\n"))
            }
        }
    }
}

/// Lets the stream know when its reader goes.
struct Hold {
    stream: Arc<EventStream>,
    _cancel_on_drop: Option<CancelOnDrop>,
    _open: Option<OpenStream>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.stream.detach();
    }
}

/// A client of the stateless era for as long as its one request lasts: when it goes, what it asked for ends.
pub(super) struct CancelOnDrop {
    pub(super) core: Arc<Core>,
    pub(super) session: Arc<Session>,
}

impl Drop for CancelOnDrop {
    //= specs/mcp-server.md#http-transport
    //# In the stateless era a client that closes its stream MUST thereby cancel its request.
    fn drop(&mut self) {
        for call in self.session.in_flight.claim_all() {
            call.abandon();
        }
        self.core.broker.leave(&self.session);
    }
}

/// A client of the handshake era that waits for a plain answer. One that goes before it came cannot come back for it:
/// what only reads then ends, and what was not begun does not begin.
pub(super) struct Waiting<'a> {
    session: &'a Session,
    stream: &'a Arc<EventStream>,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(session: &'a Session, stream: &'a Arc<EventStream>) -> Self {
        Self { session, stream }
    }

    //= specs/mcp-server.md#http-transport
    //# What a request says before its client can read MUST NOT be lost; whoever says more than is kept MUST wait for the client.
    /// The answer is there, or there is a stream the client can come back to.
    pub(super) fn answered(self) {
        std::mem::forget(self);
    }
}

impl Drop for Waiting<'_> {
    //= specs/mcp-server.md#http-transport
    //# Work that only reads MUST be stopped when the client that waits for its plain answer has left; what writes MUST go on.
    fn drop(&mut self) {
        self.stream.expect_nobody();
        let left = |call: &(dyn RunningRequest + 'static)| {
            call.can_be_abandoned()
                && matches!(call.sink(), MessageSink::Stream(stream) if Arc::ptr_eq(stream, self.stream))
        };
        for call in self.session.in_flight.claim_those(left) {
            call.abandon();
        }
    }
}

fn event_id(number: u64, at: u64, mark: Option<u64>) -> String {
    match mark {
        Some(mark) => format!("{number}-{at}-{mark}"),
        None => format!("{number}-{at}"),
    }
}

fn event(id: Option<&str>, message: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(message.len() + 48);
    text.extend_from_slice(b"event: message\n");
    if let Some(id) = id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    // A message is one line: JSON escapes line ends.
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(message);
    text.extend_from_slice(b"\n\n");
    text.into()
}
