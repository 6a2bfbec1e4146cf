//! Messages as lines over any pair of byte streams: pipes, sockets, memory.
//!
//! [`run`] is the loop of every line connection: it reads, cuts, refuses what is no text or too long, hands the rest to
//! a [`LineEnd`], and writes. The server is one ([`serve`]), a proxy may be another; both keep their requests in an
//! [`InFlight`] table and gather arrays in a [`Batch`].

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixListener;

pub use crate::session::batch::Batch;
pub use crate::session::in_flight::{Identified, InFlight};
pub use crate::session::outbox::Outbox;
pub use mcp_protocol::{Line, LineBuffer};

use crate::dispatch::{self, Disposition, Ending, Incoming};
use crate::server::Server;
use crate::server::core::Core;
use crate::session::Session;
use crate::session::sink::MessageSink;
use mcp_protocol::{RpcCode, RpcError, envelope};
use refusal::{Code, Refusal};

/// How many bytes of answers gather before they are handed to the writer.
const FLUSH_BYTES: usize = 64 * 1024;
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed its side, asked for `shutdown`, or the server was stopped.
    InPeace,
    /// The client asked for a version nobody speaks, and the server is set to refuse that.
    VersionRefused,
    /// The client is gone in the middle.
    Broken,
}

/// One end of a line connection: what becomes of the texts that [`run`] reads.
pub trait LineEnd {
    /// What the client has yet to read.
    fn outbox(&self) -> &Outbox;

    /// Bytes of one line.
    fn max_message_bytes(&self) -> usize;

    /// How long the client may take to read the last answers.
    fn flush_timeout(&self) -> Duration;

    /// Waits until another line may be taken.
    fn ready(&self) -> impl Future<Output = ()>;

    /// Takes a message or an array of them. What is ready is added to `out`; the rest goes through the outbox later.
    fn take(&self, text: &str, out: &mut Vec<u8>) -> impl Future<Output = Option<Ended>>;

    /// Adds an error to `out`.
    fn refuse(&self, id: &str, error: RpcError, out: &mut Vec<u8>);

    /// Input has ended: answers all that was accepted.
    fn drain(&self) -> impl Future<Output = ()>;
}

/// Runs a line connection until its client leaves or `stop` is done. All that was accepted is answered before this returns.
pub async fn run<R, W>(
    end: &impl LineEnd,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> io::Result<Ended>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (written, ended) = tokio::join!(write(end, writer), async {
        let ended = read(end, reader, pin!(stop)).await;
        end.drain().await;
        end.outbox().close();
        ended
    });
    written.map(|()| ended)
}

// Fulfils 003 R13.9
/// Writes until all is said. A client that stops reading after the end is not waited for without end: a server whose
/// host forgot it must not live on.
async fn write<W: AsyncWrite + Unpin>(end: &impl LineEnd, writer: W) -> io::Result<()> {
    let outbox = end.outbox();
    tokio::select! {
        written = outbox.write_to(writer) => written,
        () = async {
            outbox.closed().await;
            tokio::time::sleep(end.flush_timeout()).await;
        } => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn read<R: AsyncRead + Unpin>(
    end: &impl LineEnd,
    mut reader: R,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Ended {
    let mut buffer = LineBuffer::new(end.max_message_bytes());
    let (outbox, mut out) = (end.outbox(), Vec::new());
    loop {
        loop {
            tokio::select! {
                biased;
                () = end.ready() => {}
                () = &mut stop => return Ended::InPeace,
            }
            let Some(line) = buffer.next() else { break };
            let ended = take(end, line, &mut out).await;
            if ended.is_some() || out.len() >= FLUSH_BYTES {
                outbox.flush(&mut out).await;
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
        outbox.flush(&mut out).await;
        // Being told to stop counts as the end of input, and so does a client that reads no answers.
        let read = tokio::select! {
            read = reader.read_buf(buffer.space(READ_BYTES)) => read,
            () = &mut stop => Ok(0),
            () = outbox.closed() => Ok(0),
        };
        match read {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "the connection could not be read any more");
                return Ended::Broken;
            }
        }
    }
    // A last line without an end is a line.
    let ended = match buffer.rest() {
        Some(line) => take(end, line, &mut out).await,
        None => None,
    };
    outbox.flush(&mut out).await;
    ended.unwrap_or(Ended::InPeace)
}

async fn take(end: &impl LineEnd, line: Line<'_>, out: &mut Vec<u8>) -> Option<Ended> {
    let ended = match line {
        Line::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if text.trim_ascii().is_empty() => return None,
            Ok(text) => end.take(text, out).await,
            Err(_) => {
                end.refuse("null", unsupported_encoding(), out);
                None
            }
        },
        //= specs/mcp-server.md#line-transport
        //# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
        //= specs/spexus-bridge.md#limits
        //# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
        Line::TooLong(start) => {
            let id = id_of_cut(start).unwrap_or("null");
            end.refuse(id, too_large(end.max_message_bytes()), out);
            None
        }
    };
    if out.last().is_some_and(|last| *last != b'\n') {
        out.push(b'\n');
    }
    ended
}

// Fulfils 002 Req-Perf-003
/// Serves one connection until it ends. All that was accepted is answered before this returns.
pub async fn serve<R, W>(server: &Server, reader: R, writer: W, extensions: http::Extensions) -> Ended
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let core = &server.0;
    let outbox = Arc::new(Outbox::new(core.settings.limits.max_outbox_bytes));
    let extensions = Arc::new(extensions);
    let session = Arc::new(Session::on_line(outbox.clone(), &core.settings.limits));
    core.broker.enter(&session);
    let line = Connection {
        core,
        session: &session,
        outbox: &outbox,
        sink: MessageSink::Line(outbox.clone()),
        extensions,
        saturated: AtomicBool::new(false),
    };
    let ended = run(&line, reader, writer, core.stopping.cancelled()).await;
    core.broker.leave(&session);
    ended.unwrap_or(Ended::Broken)
}

/// Serves every client of a unix socket until the server is told to stop. Each gets a session of its own.
pub async fn serve_unix(server: &Server, listener: UnixListener) -> io::Result<()> {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted?,
            () = server.0.stopping.cancelled() => return Ok(()),
        };
        let (reader, writer) = accepted.0.into_split();
        let server = server.clone();
        tokio::spawn(async move { serve(&server, reader, writer, http::Extensions::new()).await });
    }
}

struct Connection<'a> {
    core: &'a Arc<Core>,
    session: &'a Arc<Session>,
    outbox: &'a Arc<Outbox>,
    sink: MessageSink,
    extensions: Arc<http::Extensions>,
    /// The session was at its limit, and waiting did not help.
    saturated: AtomicBool,
}

impl LineEnd for Connection<'_> {
    fn outbox(&self) -> &Outbox {
        self.outbox
    }

    fn max_message_bytes(&self) -> usize {
        self.core.settings.limits.max_message_bytes
    }

    fn flush_timeout(&self) -> Duration {
        Duration::from_millis(self.core.settings.limits.flush_timeout_ms)
    }

    /// Answers wait for their reader by themselves, so that cancels behind them are read.
    async fn ready(&self) {}

    async fn take(&self, text: &str, out: &mut Vec<u8>) -> Option<Ended> {
        let parsed = envelope::receive(text);
        let mut disposition = dispatch::receive(&self.incoming(true), &parsed, out);
        if disposition == Disposition::Busy {
            self.outbox.flush(out).await;
            self.wait_for_room().await;
            disposition = dispatch::receive(&self.incoming(false), &parsed, out);
        } else {
            self.saturated.store(false, Ordering::Relaxed);
        }
        match disposition {
            Disposition::Ended(Ending::Shutdown) => Some(Ended::InPeace),
            Disposition::Ended(Ending::VersionRefused) => Some(Ended::VersionRefused),
            _ => None,
        }
    }

    fn refuse(&self, id: &str, error: RpcError, out: &mut Vec<u8>) {
        self.core.render_into(out, id, Err(error), self.session.version());
    }

    //= specs/mcp-server.md#line-transport
    //# When input ends, every request that was read MUST be answered before the connection is closed.
    async fn drain(&self) {
        self.core.broker.end_listeners_of(self.session);
        let limit = Duration::from_millis(self.core.settings.limits.drain_timeout_ms);
        if self.session.in_flight.drained(self.outbox, limit).await {
            return;
        }
        if self.outbox.is_closed() {
            for call in self.session.in_flight.claim_all() {
                call.abandon();
            }
        } else {
            self.core.give_up(self.session);
        }
    }
}

impl Connection<'_> {
    /// A session at its limit makes its connection wait a little; if that does not help, requests are refused at once
    /// until there is room again, so that cancels behind them are read.
    async fn wait_for_room(&self) {
        if self.saturated.load(Ordering::Relaxed) {
            return;
        }
        let limits = &self.core.settings.limits;
        let room = self.session.in_flight.below(limits.max_in_flight_per_session);
        let waited = tokio::time::timeout(Duration::from_millis(limits.admission_wait_ms), room).await;
        self.saturated.store(waited.is_err(), Ordering::Relaxed);
    }

    fn incoming(&self, patient: bool) -> Incoming<'_> {
        Incoming {
            core: self.core,
            session: self.session,
            extensions: &self.extensions,
            sink: &self.sink,
            batch: None,
            terms: None,
            patient,
            alone: false,
        }
    }
}

/// The id of a message that was cut, from the part that was kept; a character cut at the end is left out.
pub fn id_of_cut(start: &[u8]) -> Option<&str> {
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).ok()?,
    };
    envelope::id_in_prefix(valid)
}

fn unsupported_encoding() -> RpcError {
    RpcError::numbered(
        RpcCode::ParseError,
        Refusal::new(Code::UnsupportedEncoding, "the message is not UTF-8"),
    )
}

fn too_large(max: usize) -> RpcError {
    let message = format!("the message is larger than {max} bytes");
    Refusal::new(Code::MessageTooLarge, message).into()
}
