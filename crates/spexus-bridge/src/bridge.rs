//! The bridge at the host's end: lines in, lines out, one answer to each request.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderMap;
use mcp_client::{Retries, SendError};
use mcp_protocol::envelope::{self, Frame, Malformed, Message, Notification};
use mcp_protocol::{RpcError, Version};
use mcp_server::lines::{self, Batch, Ended, Identified as _, InFlight, LineEnd, Outbox, id_of_cut};
use mcp_server::{Breaker, BreakerSettings};
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use crate::backend::Backend;
use crate::forward::RetryableRequest;
use crate::in_flight::InFlightRequest;
use crate::message::{Params, one_line};
use crate::session::BackendSession;
use crate::settings::BridgeSettings;
use crate::stats::{self, Stats};
use crate::tool_cache::ToolCache;
use crate::{listener, subscription};

/// How long the backend may take to hear that a session ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running bridge.
pub(crate) struct Bridge {
    pub(crate) settings: BridgeSettings,
    pub(crate) backend: Backend,
    pub(crate) breaker: Breaker,
    pub(crate) session: BackendSession,
    pub(crate) tools: ToolCache,
    pub(crate) in_flight: InFlight<InFlightRequest>,
    pub(crate) stats: Stats,
    pub(crate) outbox: Arc<Outbox>,
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
    let ended = lines::run(&HostEnd(bridge.clone()), reader, writer, stop).await;
    reporting.abort();
    stats::log(&bridge);
    if let Some(listener) = bridge.listener.lock().take() {
        listener.abort();
    }
    // Best effort: an abandoned session ends by itself.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, bridge.session.close()).await;
    match &ended {
        Ok(Ended::Broken) => tracing::error!("the host cannot be read from any more"),
        Err(error) => tracing::error!(%error, "the host cannot be written to any more"),
        Ok(_) => {}
    }
    Ok(ended.unwrap_or(Ended::Broken))
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
            in_flight: InFlight::default(),
            stats: Stats::default(),
            outbox: Arc::new(Outbox::new(settings.limits.max_outbox_bytes)),
            server_info: settings.introduction().to_string(),
            initialized_alone: AtomicBool::new(false),
            key_base: u128::from_ne_bytes(random),
            keys: AtomicU64::new(0),
            listener: Mutex::default(),
            settings,
        })
    }

    /// Writes a message to the host.
    pub(crate) async fn send(&self, message: &[u8]) {
        self.outbox.room().await;
        self.outbox.push_line(message);
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
                self.send(&one_line(data)).await;
            }
            Ok(Message::Request(_)) => self.send(&one_line(data)).await,
            // An answer nobody waits for, the empty event that opens a stream, or noise.
            Ok(Message::Response(_)) | Err(_) => {}
        }
    }

    /// Ends the work on a request with its answer, unless somebody else claimed it.
    pub(crate) async fn finish(&self, request: &Arc<InFlightRequest>, answer: Vec<u8>) {
        if self.in_flight.claim_this(request) {
            self.outbox.room().await;
            self.hand_over(request, &answer);
        }
    }

    /// Answers a request that was claimed, without waiting for a host that perhaps reads nothing any more.
    fn hand_over(&self, request: &InFlightRequest, answer: &[u8]) {
        match &request.batch {
            Some(batch) => batch.add(answer, |error| error.answer(request.id(), self.version())),
            None => self.outbox.push_line(answer),
        }
        self.in_flight.leave(request.weight());
    }

    /// A refusal as the answer to a request.
    pub(crate) fn refused(&self, request: &RetryableRequest<'_>, refusal: Refusal) -> Vec<u8> {
        let version = match request.headers {
            Some(_) => Version::STATELESS,
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
                let sent = session.endpoint.post(body.clone(), &HeaderMap::new()).await;
                if !matches!(sent, Err(SendError::NotSent(_))) || !retries.wait().await {
                    return;
                }
            }
        });
    }
}

/// The bridge as one end of the line to its host.
pub(crate) struct HostEnd(pub(crate) Arc<Bridge>);

impl LineEnd for HostEnd {
    fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }

    fn max_message_bytes(&self) -> usize {
        self.0.settings.limits.max_message_bytes
    }

    fn flush_timeout(&self) -> Duration {
        Duration::from_millis(self.0.settings.limits.flush_timeout_ms)
    }

    //= specs/spexus-bridge.md#limits
    //# A host that does not read MUST NOT be read from once as much as the outbox may hold waits for it.
    async fn ready(&self) {
        self.0.outbox.room().await;
    }

    async fn take(&self, text: &str, out: &mut Vec<u8>) -> Option<Ended> {
        match envelope::frame(text) {
            Ok(Frame::Single(text)) => return self.receive(text, None, out).await,
            Ok(Frame::Batch(texts)) => self.receive_batch(&texts, out).await,
            Err(malformed) => self.refuse_malformed(&malformed, out),
        }
        None
    }

    fn refuse(&self, id: &str, error: RpcError, out: &mut Vec<u8>) {
        out.extend(error.answer(id, self.0.version()));
    }

    // Fulfils 003 R1.8
    //= specs/spexus-bridge.md#lifecycle
    //# When input ends, every request that was read MUST be answered before the process exits.
    async fn drain(&self) {
        let bridge = &self.0;
        for request in bridge.in_flight.claim_those(|request| request.listens) {
            request.cancel();
            bridge.hand_over(&request, &subscription::ended(request.id()));
        }
        let limit = Duration::from_millis(bridge.settings.limits.drain_timeout_ms);
        if bridge.in_flight.drained(&bridge.outbox, limit).await {
            return;
        }
        for request in bridge.in_flight.claim_all() {
            request.cancel();
            let refusal = Refusal::new(
                Code::ServerShuttingDown,
                "the server stopped before the request was done",
            );
            let answer = RpcError::from(refusal).answer(request.id(), bridge.version());
            bridge.hand_over(&request, &answer);
        }
    }
}

impl HostEnd {
    //= specs/spexus-bridge.md#limits
    //# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
    async fn receive_batch(&self, texts: &[&RawValue], out: &mut Vec<u8>) {
        let (bridge, limits) = (&self.0, &self.0.settings.limits);
        let agreed = bridge.session.version();
        if let Err(error) = Batch::check(agreed, texts.len(), limits.max_batch_messages) {
            return self.refuse("null", error, out);
        }
        let batch = Arc::new(Batch::on_line(bridge.outbox.clone(), limits.max_answer_bytes));
        let mut answer = Vec::new();
        for text in texts {
            answer.clear();
            self.receive(text.get(), Some(&batch), &mut answer).await;
            if !answer.is_empty() {
                let id = id_of_cut(&answer).unwrap_or("null");
                batch.add_ready(&answer, |error| error.answer(id, bridge.version()));
            }
        }
        batch.skip();
    }

    async fn receive(&self, text: &str, batch: Option<&Arc<Batch>>, out: &mut Vec<u8>) -> Option<Ended> {
        match envelope::message(text) {
            Ok(Message::Request(request)) => return self.request(text, &request, batch, out).await,
            Ok(Message::Notification(notification)) => self.handle_notification(text, &notification),
            Ok(Message::Response(_)) => self.0.forward_unanswered(text),
            Err(malformed) => self.refuse_malformed(&malformed, out),
        }
        None
    }

    // Fulfils 003 R11.1, 003 R11.2, 003 R11.9
    fn refuse_malformed(&self, malformed: &Malformed<'_>, out: &mut Vec<u8>) {
        let (id, error) = RpcError::malformed(malformed);
        self.refuse(id, error, out);
    }

    // Fulfils 003 R1.7, 003 R11.3
    fn handle_notification(&self, text: &str, notification: &Notification<'_>) {
        let bridge = &self.0;
        match notification.method.as_ref() {
            "notifications/initialized" | "initialized" => {
                let mut listener = bridge.listener.lock();
                if bridge.session.version().is_some() && listener.is_none() {
                    *listener = Some(tokio::spawn(listener::run(bridge.clone())).abort_handle());
                }
            }
            "notifications/cancelled" => {
                let id = Params::read(notification.params).request_id;
                //= specs/spexus-bridge.md#messages-in-both-directions
                //# A cancelled request MUST be cancelled at the backend and MUST NOT be answered.
                if let Some(request) = id.and_then(|id| bridge.in_flight.claim(id.get())) {
                    request.cancel();
                    request.batch.iter().for_each(|batch| batch.skip());
                    bridge.in_flight.leave(request.weight());
                    if request.in_session {
                        bridge.forward_unanswered(text);
                    }
                }
            }
            _ => bridge.forward_unanswered(text),
        }
    }
}
