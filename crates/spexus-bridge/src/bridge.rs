//! The bridge at the host's end: lines in, lines out, one answer to each request.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mcp_client::{Retries, SendError};
use mcp_protocol::envelope::{self, Frame, Malformed, Message, Notification};
use mcp_protocol::{RpcCode, RpcError, Version};
use mcp_server::lines::{Ended, Line, LineBuffer, Outbox, id_of_cut};
use mcp_server::{Breaker, BreakerSettings};
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::AbortHandle;

use crate::backend::Backend;
use crate::forward::RetryableRequest;
use crate::in_flight::{AnswerSink, BatchAnswer, InFlightRequest, InFlightTable};
use crate::message::{Params, one_line};
use crate::session::BackendSession;
use crate::settings::BridgeSettings;
use crate::stats::{self, Stats};
use crate::tool_cache::ToolCache;
use crate::{listener, subscription};

const READ_BYTES: usize = 64 * 1024;
/// How long the backend may take to hear that a session ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running bridge.
pub(crate) struct Bridge {
    pub(crate) settings: BridgeSettings,
    pub(crate) backend: Backend,
    pub(crate) breaker: Breaker,
    pub(crate) session: BackendSession,
    pub(crate) tools: ToolCache,
    pub(crate) in_flight: InFlightTable,
    pub(crate) stats: Stats,
    outbox: Outbox,
    /// Who the bridge says it is, as text.
    pub(crate) server_info: String,
    /// Whether `initialize` was answered without the backend.
    initialized_alone: AtomicBool,
    /// Makes the keys of this process unlike those of any other.
    key_base: u128,
    keys: AtomicU64,
    listener: Mutex<Option<AbortHandle>>,
}

/// Serves a host until it leaves or `stop` is done. All that was accepted is answered before this returns.
pub async fn serve<R, W>(
    settings: BridgeSettings,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> io::Result<Ended>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let bridge = Arc::new(Bridge::new(settings)?);
    let reporting = tokio::spawn(stats::report(bridge.clone()));
    let (written, ended) = tokio::join!(bridge.write(writer), async {
        let ended = bridge.read(reader, stop).await;
        bridge.drain().await;
        bridge.outbox.close();
        ended
    });
    reporting.abort();
    stats::log(&bridge);
    if let Some(listener) = bridge.lock_listener().take() {
        listener.abort();
    }
    // Best effort: an abandoned session ends by itself.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, bridge.session.close(&bridge.backend.endpoint)).await;
    if let Err(error) = &written {
        tracing::error!(%error, "the host cannot be written to any more");
    }
    Ok(if written.is_err() { Ended::Broken } else { ended })
}

impl Bridge {
    fn new(settings: BridgeSettings) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let breaker = BreakerSettings {
            pause_ms: settings.limits.breaker_open_ms,
            ..BreakerSettings::default()
        };
        Ok(Self {
            backend: Backend::new(&settings)?,
            breaker: Breaker::new("the requirements server", breaker),
            session: BackendSession::default(),
            tools: ToolCache::default(),
            in_flight: InFlightTable::default(),
            stats: Stats::default(),
            outbox: Outbox::new(settings.limits.max_outbox_bytes),
            server_info: settings.introduction().to_string(),
            initialized_alone: AtomicBool::new(false),
            key_base: u128::from_ne_bytes(random),
            keys: AtomicU64::new(0),
            listener: Mutex::default(),
            settings,
        })
    }

    /// Writes a message to the host.
    pub(crate) async fn send(&self, mut message: Vec<u8>) {
        message.push(b'\n');
        self.outbox.room().await;
        self.outbox.push(&message);
    }

    /// Passes on what the backend said, if it is a message.
    //= specs/spexus-bridge.md#standard-output
    //# Nothing but JSON-RPC messages, one on a line, MUST be written to standard output.
    pub(crate) async fn relay(&self, data: &[u8]) {
        let text = std::str::from_utf8(data).unwrap_or_default();
        match envelope::message(text) {
            Ok(Message::Notification(notification)) => {
                if notification.method == "notifications/tools/list_changed" {
                    self.tools.clear();
                }
                self.send(one_line(data).into_owned()).await;
            }
            Ok(Message::Request(_)) => self.send(one_line(data).into_owned()).await,
            // An answer nobody waits for, the empty event that opens a stream, or noise.
            Ok(Message::Response(_)) | Err(_) => {}
        }
    }

    /// Answers a request that was claimed.
    pub(crate) async fn deliver(&self, sink: &AnswerSink, answer: Option<Vec<u8>>) {
        if let Some(message) = self.gather(sink, answer) {
            self.send(message).await;
        }
    }

    /// The same without waiting for a host that perhaps reads nothing any more.
    fn deliver_at_once(&self, sink: &AnswerSink, answer: Vec<u8>) {
        if let Some(mut message) = self.gather(sink, Some(answer)) {
            message.push(b'\n');
            self.outbox.push(&message);
        }
    }

    /// What is to be written now that a message is dealt with: its answer, or the whole batch with the last of them.
    fn gather(&self, sink: &AnswerSink, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match sink {
            AnswerSink::Line => answer,
            AnswerSink::Batch(batch) => batch.put(answer.as_deref(), self.version()),
        }
    }

    /// A refusal as the answer to a request.
    pub(crate) fn refused(&self, request: &RetryableRequest<'_>, refusal: Refusal) -> Vec<u8> {
        let version = match request.headers {
            Some(_) => Version::V2026_07_28,
            None => self.version(),
        };
        RpcError::from(refusal).answer(request.id, version)
    }

    /// The version the host agreed on, or the newest while there is none.
    pub(crate) fn version(&self) -> Version {
        self.session.version().unwrap_or(Version::NEWEST_HANDSHAKE)
    }

    pub(crate) fn was_initialized_alone(&self) -> bool {
        self.initialized_alone.load(Ordering::Relaxed)
    }

    pub(crate) fn initialized_alone(&self) {
        self.initialized_alone.store(true, Ordering::Relaxed);
    }

    /// A key no other call has.
    pub(crate) fn next_key(&self) -> String {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        format!("bridge-{:032x}-{number}", self.key_base)
    }

    fn lock_listener(&self) -> parking_lot::MutexGuard<'_, Option<AbortHandle>> {
        self.listener.lock()
    }

    // Fulfils 003 R13.9
    async fn write<W: AsyncWrite + Unpin>(&self, writer: W) -> io::Result<()> {
        let limit = Duration::from_millis(self.settings.limits.flush_timeout_ms);
        tokio::select! {
            written = self.outbox.write_to(writer) => written,
            () = async {
                self.outbox.closed().await;
                tokio::time::sleep(limit).await;
            } => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn read<R: AsyncRead + Unpin>(
        self: &Arc<Self>,
        mut reader: R,
        stop: impl Future<Output = ()>,
    ) -> Ended {
        let mut buffer = LineBuffer::new(self.settings.limits.max_message_bytes);
        let mut stop = pin!(stop);
        loop {
            loop {
                //= specs/spexus-bridge.md#limits
                //# A host that does not read MUST NOT be read from once as much as the outbox may hold waits for it.
                tokio::select! {
                    () = self.outbox.room() => {}
                    () = &mut stop => return Ended::InPeace,
                }
                let Some(line) = buffer.next() else { break };
                if let Some(ended) = self.take(line).await {
                    return ended;
                }
            }
            let read = tokio::select! {
                read = reader.read_buf(buffer.space(READ_BYTES)) => read,
                () = &mut stop => Ok(0),
                () = self.outbox.closed() => Ok(0),
            };
            match read {
                Ok(0) => {
                    // A last line without an end is a line.
                    let last = match buffer.rest() {
                        Some(line) => self.take(line).await,
                        None => None,
                    };
                    return last.unwrap_or(Ended::InPeace);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, "the host cannot be read from any more");
                    return Ended::Broken;
                }
            }
        }
    }

    async fn take(self: &Arc<Self>, line: Line<'_>) -> Option<Ended> {
        let text = match line {
            Line::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => {
                    let refusal = Refusal::new(Code::UnsupportedEncoding, "the message is not UTF-8");
                    self.send(
                        RpcError::numbered(RpcCode::ParseError, refusal).answer("null", self.version()),
                    )
                    .await;
                    return None;
                }
            },
            //= specs/spexus-bridge.md#limits
            //# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
            Line::TooLong(start) => {
                let max = self.settings.limits.max_message_bytes;
                let refusal = Refusal::new(
                    Code::MessageTooLarge,
                    format!("the message is larger than {max} bytes"),
                );
                let id = id_of_cut(start).unwrap_or("null");
                self.send(RpcError::from(refusal).answer(id, self.version()))
                    .await;
                return None;
            }
        };
        if text.trim_ascii().is_empty() {
            return None;
        }
        match envelope::frame(text) {
            Ok(Frame::Single(text)) => self.receive(text, AnswerSink::Line).await,
            Ok(Frame::Batch(texts)) => {
                self.receive_batch(&texts).await;
                None
            }
            Err(malformed) => {
                self.send(self.malformed(malformed)).await;
                None
            }
        }
    }

    async fn receive_batch(self: &Arc<Self>, texts: &[&serde_json::value::RawValue]) {
        if let Err(error) = self.check_batch(texts.len()) {
            self.send(error.answer("null", self.version())).await;
            return;
        }
        let batch = Arc::new(BatchAnswer::new(
            texts.len(),
            self.settings.limits.max_answer_bytes,
        ));
        for text in texts {
            self.receive(text.get(), AnswerSink::Batch(batch.clone())).await;
        }
    }

    //= specs/spexus-bridge.md#limits
    //# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
    fn check_batch(&self, messages: usize) -> Result<(), RpcError> {
        if let Some(version) = self.session.version().filter(|version| !version.has_batches()) {
            let problem = format!("version {version} has no arrays of messages");
            return Err(RpcError::invalid(&problem));
        }
        let max = self.settings.limits.max_batch_messages;
        match messages {
            0 => Err(RpcError::invalid("the batch is empty")),
            count if count > max => {
                let problem = format!("the batch has {count} messages, more than {max}");
                Err(Refusal::new(Code::QueueCapExceeded, problem).into())
            }
            _ => Ok(()),
        }
    }

    async fn receive(self: &Arc<Self>, text: &str, sink: AnswerSink) -> Option<Ended> {
        match envelope::message(text) {
            Ok(Message::Request(request)) => self.request(text, &request, sink).await,
            Ok(Message::Notification(notification)) => {
                self.handle_notification(text, &notification).await;
                self.deliver(&sink, None).await;
                None
            }
            Ok(Message::Response(_)) => {
                self.forward_unanswered(text);
                self.deliver(&sink, None).await;
                None
            }
            Err(malformed) => {
                let answer = self.malformed(malformed);
                self.deliver(&sink, Some(answer)).await;
                None
            }
        }
    }

    // Fulfils 003 R11.1, 003 R11.2, 003 R11.9
    fn malformed(&self, malformed: Malformed<'_>) -> Vec<u8> {
        match malformed {
            Malformed::Syntax(problem) => RpcError::unreadable(&problem).answer("null", self.version()),
            Malformed::Shape { id, problem } => {
                RpcError::invalid(problem).answer(id.unwrap_or("null"), self.version())
            }
        }
    }

    // Fulfils 003 R1.7, 003 R11.3
    async fn handle_notification(self: &Arc<Self>, text: &str, notification: &Notification<'_>) {
        match notification.method.as_ref() {
            "notifications/initialized" | "initialized" => {
                let mut listener = self.lock_listener();
                if self.session.version().is_some() && listener.is_none() {
                    *listener = Some(tokio::spawn(listener::run(self.clone())).abort_handle());
                }
            }
            "notifications/cancelled" => {
                let id = Params::read(notification.params).request_id;
                //= specs/spexus-bridge.md#messages-in-both-directions
                //# A cancelled request MUST be cancelled at the backend and MUST NOT be answered.
                if let Some(request) = id.and_then(|id| self.in_flight.claim(id.get())) {
                    request.cancel();
                    self.deliver(&request.sink, None).await;
                    self.in_flight.leave(&request);
                    if request.in_session {
                        self.forward_unanswered(text);
                    }
                }
            }
            _ => self.forward_unanswered(text),
        }
    }

    /// Forwards what needs no answer, without making the host wait for it.
    fn forward_unanswered(self: &Arc<Self>, text: &str) {
        let (bridge, body) = (self.clone(), bytes::Bytes::copy_from_slice(text.as_bytes()));
        tokio::spawn(async move {
            let backend = &bridge.backend.endpoint;
            let mut retries = Retries::new(bridge.settings.limits.backoff(), bridge.settings.max_retries);
            loop {
                let Ok(session) = bridge.session.ensure(backend).await else {
                    return;
                };
                let sent = backend.post(body.clone(), &session.headers).await;
                if !matches!(sent, Err(SendError::NotSent(_))) || !retries.wait().await {
                    return;
                }
            }
        });
    }

    // Fulfils 003 R1.8
    //= specs/spexus-bridge.md#lifecycle
    //# When input ends, every request that was read MUST be answered before the process exits.
    async fn drain(&self) {
        for request in self.in_flight.claim_all(|request| request.listens) {
            request.cancel();
            self.deliver_at_once(&request.sink, subscription::ended(&request.id));
            self.in_flight.leave(&request);
        }
        let limit = Duration::from_millis(self.settings.limits.drain_timeout_ms);
        let drained = tokio::select! {
            drained = tokio::time::timeout(limit, self.in_flight.below(1)) => drained.is_ok(),
            () = self.outbox.closed() => false,
        };
        if drained {
            return;
        }
        for request in self.in_flight.claim_all(|_| true) {
            request.cancel();
            let refusal = Refusal::new(
                Code::ServerShuttingDown,
                "the server stopped before the request was done",
            );
            let answer = RpcError::from(refusal).answer(&request.id, self.version());
            self.deliver_at_once(&request.sink, answer);
            self.in_flight.leave(&request);
        }
    }

    /// Ends the work on a request with its answer, unless somebody else claimed it.
    pub(crate) async fn finish(&self, request: &Arc<InFlightRequest>, answer: Option<Vec<u8>>) {
        if self.in_flight.finish(request) {
            self.deliver(&request.sink, answer).await;
            self.in_flight.leave(request);
        }
    }
}
