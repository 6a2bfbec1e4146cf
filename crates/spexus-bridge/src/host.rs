//! The host's side: lines in, lines out, and what is answered without asking anybody.

mod request;

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcp_protocol::envelope::{self, Frame, Malformed, Message, Notification};
use mcp_protocol::{RpcError, Version};
use mcp_server::lines::{Ended, Line, LineBuffer, Outbox, id_of_cut};
use mcp_server::{Breaker, BreakerSettings};
use refusal::{Code, Refusal};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::task::AbortHandle;

use crate::backend::{Backend, Fault};
use crate::call::Errand;
use crate::catalogue::Catalogue;
use crate::flights::{Flight, Flights, Gather, Sink};
use crate::link::Link;
use crate::settings::Settings;
use crate::text::{Glance, one_line};
use crate::vitals::{self, Vitals};
use crate::{ear, listen};

const READ_BYTES: usize = 64 * 1024;
/// How long the backend may take to hear that a session ended.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

/// A running bridge.
pub(crate) struct Bridge {
    pub(crate) settings: Settings,
    pub(crate) backend: Backend,
    pub(crate) breaker: Breaker,
    pub(crate) link: Link,
    pub(crate) catalogue: Catalogue,
    pub(crate) flights: Flights,
    pub(crate) vitals: Vitals,
    outbox: Outbox,
    /// Who the bridge says it is, as text.
    introduction: String,
    /// Whether the host was greeted without the backend.
    alone: AtomicBool,
    /// Makes the keys of this process unlike those of any other.
    key_base: u128,
    keys: AtomicU64,
    ear: Mutex<Option<AbortHandle>>,
}

/// Serves a host until it leaves or `stop` is done. All that was accepted is answered before this returns.
pub async fn serve<R, W>(
    settings: Settings,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> io::Result<Ended>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let bridge = Arc::new(Bridge::new(settings)?);
    let reporting = tokio::spawn(vitals::report(bridge.clone()));
    let (written, ended) = tokio::join!(bridge.write(writer), async {
        let ended = bridge.read(reader, stop).await;
        bridge.drain().await;
        bridge.outbox.close();
        ended
    });
    reporting.abort();
    vitals::log(&bridge);
    if let Some(ear) = bridge.lock_ear().take() {
        ear.abort();
    }
    // Best effort: an abandoned session ends by itself.
    let _ = tokio::time::timeout(GOODBYE_TIMEOUT, bridge.link.close(&bridge.backend)).await;
    if let Err(error) = &written {
        tracing::error!(%error, "the host cannot be written to any more");
    }
    Ok(if written.is_err() { Ended::Broken } else { ended })
}

impl Bridge {
    fn new(settings: Settings) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let breaker = BreakerSettings {
            pause_ms: settings.limits.breaker_pause_ms,
            ..BreakerSettings::default()
        };
        Ok(Self {
            backend: Backend::new(&settings)?,
            breaker: Breaker::new("the requirements server", breaker),
            link: Link::default(),
            catalogue: Catalogue::default(),
            flights: Flights::default(),
            vitals: Vitals::default(),
            outbox: Outbox::new(settings.limits.max_outbox_bytes),
            introduction: settings.introduction().to_string(),
            alone: AtomicBool::new(false),
            key_base: u128::from_ne_bytes(random),
            keys: AtomicU64::new(0),
            ear: Mutex::default(),
            settings,
        })
    }

    /// Writes a message to the host.
    pub(crate) async fn say(&self, message: &[u8]) {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.outbox.room().await;
        self.outbox.push(&line);
    }

    /// Passes on what the backend said, if it is a message.
    //= specs/spexus-bridge.md#standard-output
    //# Nothing but JSON-RPC messages, one on a line, MUST be written to standard output.
    pub(crate) async fn relay(&self, data: &[u8]) {
        let text = std::str::from_utf8(data).unwrap_or_default();
        match envelope::message(text) {
            Ok(Message::Notification(heard)) => {
                if heard.method == "notifications/tools/list_changed" {
                    self.catalogue.forget();
                }
                self.say(&one_line(data)).await;
            }
            Ok(Message::Request(_)) => self.say(&one_line(data)).await,
            // An answer nobody waits for, the empty event that opens a stream, or noise.
            Ok(Message::Response(_)) | Err(_) => {}
        }
    }

    /// Answers a request that was claimed.
    async fn deliver(&self, sink: &Sink, answer: Option<&[u8]>) {
        match sink {
            Sink::Line => {
                if let Some(answer) = answer {
                    self.say(answer).await;
                }
            }
            Sink::Batch(gather) => {
                if let Some(all) = gather.put(answer, self.version()) {
                    self.say(&all).await;
                }
            }
        }
    }

    /// The same without waiting for a host that perhaps reads nothing any more.
    fn deliver_at_once(&self, sink: &Sink, answer: &[u8]) {
        let text = match sink {
            Sink::Line => Some(answer.to_vec()),
            Sink::Batch(gather) => gather.put(Some(answer), self.version()),
        };
        if let Some(mut line) = text {
            line.push(b'\n');
            self.outbox.push(&line);
        }
    }

    /// A refusal as the answer to a request.
    pub(crate) fn refused(&self, errand: &Errand, refusal: Refusal) -> Vec<u8> {
        let version = match errand.headers {
            Some(_) => Version::V2026_07_28,
            None => self.version(),
        };
        RpcError::from(refusal).answer(&errand.id, version)
    }

    /// The version the host agreed on, or the newest while there is none.
    fn version(&self) -> Version {
        self.link.version().unwrap_or(Version::NEWEST_HANDSHAKE)
    }

    pub(crate) fn greeted_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// A key no other call has.
    fn next_key(&self) -> String {
        let number = self.keys.fetch_add(1, Ordering::Relaxed);
        format!("bridge-{:032x}-{number}", self.key_base)
    }

    fn lock_ear(&self) -> std::sync::MutexGuard<'_, Option<AbortHandle>> {
        self.ear.lock().unwrap_or_else(PoisonError::into_inner)
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
                    self.say(&RpcError::numbered(-32700, refusal).answer("null", self.version()))
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
                self.say(&RpcError::from(refusal).answer(id, self.version()))
                    .await;
                return None;
            }
        };
        if text.trim_ascii().is_empty() {
            return None;
        }
        match envelope::frame(text) {
            Ok(Frame::Single(text)) => self.receive(text, Sink::Line).await,
            Ok(Frame::Batch(texts)) => {
                self.receive_batch(&texts).await;
                None
            }
            Err(malformed) => {
                self.say(&self.malformed(malformed)).await;
                None
            }
        }
    }

    async fn receive_batch(self: &Arc<Self>, texts: &[&serde_json::value::RawValue]) {
        if let Err(error) = self.check_batch(texts.len()) {
            self.say(&error.answer("null", self.version())).await;
            return;
        }
        let gather = Arc::new(Gather::new(texts.len(), self.settings.limits.max_answer_bytes));
        for text in texts {
            self.receive(text.get(), Sink::Batch(gather.clone())).await;
        }
    }

    //= specs/spexus-bridge.md#limits
    //# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
    fn check_batch(&self, messages: usize) -> Result<(), RpcError> {
        if let Some(version) = self.link.version().filter(|version| !version.has_batches()) {
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

    async fn receive(self: &Arc<Self>, text: &str, sink: Sink) -> Option<Ended> {
        match envelope::message(text) {
            Ok(Message::Request(request)) => self.request(text, &request, sink).await,
            Ok(Message::Notification(heard)) => {
                self.hear(text, &heard).await;
                self.deliver(&sink, None).await;
                None
            }
            Ok(Message::Response(_)) => {
                self.tell(text);
                self.deliver(&sink, None).await;
                None
            }
            Err(malformed) => {
                let answer = self.malformed(malformed);
                self.deliver(&sink, Some(&answer)).await;
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
    async fn hear(self: &Arc<Self>, text: &str, heard: &Notification<'_>) {
        match heard.method.as_ref() {
            "notifications/initialized" | "initialized" => {
                let mut ear = self.lock_ear();
                if self.link.version().is_some() && ear.is_none() {
                    *ear = Some(tokio::spawn(ear::listen(self.clone())).abort_handle());
                }
            }
            "notifications/cancelled" => {
                let wanted = Glance::at(heard.params).request_id.map(|id| id.get());
                //= specs/spexus-bridge.md#messages-in-both-directions
                //# A cancelled request MUST be cancelled at the backend and MUST NOT be answered.
                if let Some(flight) = wanted.and_then(|id| self.flights.claim(id)) {
                    flight.cancel();
                    self.deliver(&flight.sink, None).await;
                    self.flights.leave(&flight);
                    if flight.in_session {
                        self.tell(text);
                    }
                }
            }
            _ => self.tell(text),
        }
    }

    /// Passes on what needs no answer, without making the host wait for it.
    fn tell(self: &Arc<Self>, text: &str) {
        let (bridge, body) = (self.clone(), bytes::Bytes::copy_from_slice(text.as_bytes()));
        tokio::spawn(async move {
            for tries in 0..=bridge.settings.max_retries {
                let Ok(live) = bridge.link.ensure(&bridge.backend).await else {
                    return;
                };
                match bridge.backend.post(body.clone(), &live.headers).await {
                    Err(Fault::NotSent(_)) => tokio::time::sleep(bridge.pause(tries)).await,
                    Err(Fault::Broken(_)) | Ok(_) => return,
                }
            }
        });
    }

    // Fulfils 003 R1.8
    //= specs/spexus-bridge.md#lifecycle
    //# When input ends, every request that was read MUST be answered before the process exits.
    async fn drain(&self) {
        for flight in self.flights.claim_all(|flight| flight.listens) {
            flight.cancel();
            self.deliver_at_once(&flight.sink, &listen::ended(&flight.id));
            self.flights.leave(&flight);
        }
        let limit = Duration::from_millis(self.settings.limits.drain_timeout_ms);
        let drained = tokio::select! {
            drained = tokio::time::timeout(limit, self.flights.below(1)) => drained.is_ok(),
            () = self.outbox.closed() => false,
        };
        if drained {
            return;
        }
        for flight in self.flights.claim_all(|_| true) {
            flight.cancel();
            let refusal = Refusal::new(
                Code::ServerShuttingDown,
                "the server stopped before the request was done",
            );
            let answer = RpcError::from(refusal).answer(&flight.id, self.version());
            self.deliver_at_once(&flight.sink, &answer);
            self.flights.leave(&flight);
        }
    }

    /// Ends the work on a flight with its answer, unless somebody else claimed it.
    async fn land(&self, flight: &Arc<Flight>, answer: Option<&[u8]>) {
        if self.flights.finish(flight) {
            self.deliver(&flight.sink, answer).await;
            self.flights.leave(flight);
        }
    }
}
