//! Messages as lines over any pair of byte streams: pipes, sockets, memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixListener;

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
    let (written, ended) = tokio::join!(line.write(writer), async {
        let ended = line.read(reader).await;
        line.drain().await;
        outbox.close();
        ended
    });
    core.broker.leave(&session);
    if written.is_err() { Ended::Broken } else { ended }
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

impl Connection<'_> {
    /// Writes until all is said. A client that stops reading after the end is not waited for without end: a server
    /// whose host forgot it must not live on.
    async fn write<W: AsyncWrite + Unpin>(&self, writer: W) -> io::Result<()> {
        let limit = Duration::from_millis(self.core.settings.limits.flush_timeout_ms);
        tokio::select! {
            written = self.outbox.write_to(writer) => written,
            () = async {
                self.outbox.closed().await;
                tokio::time::sleep(limit).await;
            } => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn read<R: AsyncRead + Unpin>(&self, mut reader: R) -> Ended {
        let mut buffer = LineBuffer::new(self.core.settings.limits.max_message_bytes);
        let mut out = Vec::new();
        loop {
            if let Some(ended) = self.take_lines(&mut buffer, &mut out).await {
                return ended;
            }
            self.flush(&mut out).await;
            match self.fill(&mut reader, &mut buffer).await {
                Ok(0) => return self.take_rest(&mut buffer, &mut out).await,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the connection could not be read any more");
                    return Ended::Broken;
                }
            }
        }
    }

    /// Reads more. Being told to stop counts as the end of input, and so does a client that reads no answers.
    async fn fill<R: AsyncRead + Unpin>(&self, reader: &mut R, buffer: &mut LineBuffer) -> io::Result<usize> {
        let space = buffer.space(READ_BYTES);
        tokio::select! {
            read = reader.read_buf(space) => read,
            () = self.core.stopping.cancelled() => Ok(0),
            () = self.outbox.closed() => Ok(0),
        }
    }

    async fn take_lines(&self, buffer: &mut LineBuffer, out: &mut Vec<u8>) -> Option<Ended> {
        while let Some(line) = buffer.next() {
            if let Some(ended) = self.take(line, out).await {
                self.flush(out).await;
                return Some(ended);
            }
            if out.len() >= FLUSH_BYTES {
                self.flush(out).await;
            }
        }
        None
    }

    /// A last line without an end is a line.
    async fn take_rest(&self, buffer: &mut LineBuffer, out: &mut Vec<u8>) -> Ended {
        let ended = match buffer.rest() {
            Some(line) => self.take(line, out).await,
            None => None,
        };
        self.flush(out).await;
        ended.unwrap_or(Ended::InPeace)
    }

    async fn take(&self, line: Line<'_>, out: &mut Vec<u8>) -> Option<Ended> {
        let text = match line {
            Line::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => {
                    self.refuse("null", unsupported_encoding(), out);
                    return None;
                }
            },
            //= specs/mcp-server.md#line-transport
            //# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
            Line::TooLong(start) => {
                self.refuse(id_of_cut(start).unwrap_or("null"), self.too_large(), out);
                return None;
            }
        };
        if text.trim_ascii().is_empty() {
            return None;
        }
        let mut before = out.len();
        let mut disposition = dispatch::receive(&self.incoming(true), text, out);
        if disposition == Disposition::Busy {
            self.flush(out).await;
            before = 0;
            self.wait_for_room().await;
            disposition = dispatch::receive(&self.incoming(false), text, out);
        } else {
            self.saturated.store(false, Ordering::Relaxed);
        }
        if out.len() > before {
            out.push(b'\n');
        }
        match disposition {
            Disposition::Ended(Ending::Shutdown) => Some(Ended::InPeace),
            Disposition::Ended(Ending::VersionRefused) => Some(Ended::VersionRefused),
            _ => None,
        }
    }

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

    //= specs/mcp-server.md#line-transport
    //# When input ends, every request that was read MUST be answered before the connection is closed.
    async fn drain(&self) {
        self.core.broker.end_listeners_of(self.session);
        let limit = Duration::from_millis(self.core.settings.limits.drain_timeout_ms);
        tokio::select! {
            done = tokio::time::timeout(limit, self.session.in_flight.below(1)) => {
                if done.is_err() {
                    self.core.give_up(self.session);
                }
            }
            () = self.outbox.closed() => {
                for call in self.session.in_flight.claim_all() {
                    call.abandon();
                }
            }
        }
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

    async fn flush(&self, out: &mut Vec<u8>) {
        if !out.is_empty() {
            self.outbox.room().await;
            self.outbox.push(out);
            out.clear();
        }
    }

    fn refuse(&self, id: &str, error: RpcError, out: &mut Vec<u8>) {
        self.core.render_into(out, id, Err(error), self.session.version());
        out.push(b'\n');
    }

    fn too_large(&self) -> RpcError {
        let max = self.core.settings.limits.max_message_bytes;
        Refusal::new(
            Code::MessageTooLarge,
            format!("the message is larger than {max} bytes"),
        )
        .into()
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
