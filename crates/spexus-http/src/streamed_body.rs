//! A body as a reader on another thread takes it, piece by piece: nothing of it is kept, so that it may be as large as its limit says.

use crate::app::App;
use crate::extract::{cut_off, too_large};
use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use spexus_domain::{Code, Refusal, Ruled};
use std::io::{self, BufRead, Read};
use std::time::Duration;
use tokio::sync::mpsc;

/// Pieces on their way to the reader.
const PIECES_AHEAD: usize = 8;

/// What comes in one after the other; an empty piece is the end.
pub(crate) struct StreamedBody {
    pieces: mpsc::Receiver<Bytes>,
    current: Bytes,
    is_at_end: bool,
}

/// The body as it is read, and what has to run meanwhile. The reader of a body that is cut off or too large hears of an error, never of
/// an end.
pub(crate) fn stream(app: &App, body: Body) -> (StreamedBody, impl Future<Output = Ruled<()>>) {
    let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
    let (most, silence) = (
        app.options.max_push_bytes,
        Duration::from_millis(app.options.read_timeout_ms),
    );
    let body = StreamedBodyParts {
        body,
        sender,
        most,
        silence,
    };
    let reader = StreamedBody {
        pieces,
        current: Bytes::new(),
        is_at_end: false,
    };
    (reader, body.pump())
}

struct StreamedBodyParts {
    body: Body,
    sender: mpsc::Sender<Bytes>,
    most: usize,
    silence: Duration,
}

impl StreamedBodyParts {
    async fn pump(mut self) -> Ruled<()> {
        let mut seen = 0_usize;
        loop {
            let next = tokio::time::timeout(self.silence, self.body.frame()).await;
            let Some(frame) = next.map_err(|_| silent(self.silence))? else {
                // Whoever reads no more needs no end.
                let _ = self.sender.send(Bytes::new()).await;
                return Ok(());
            };
            let Ok(piece) = frame.map_err(|_| cut_off())?.into_data() else {
                continue;
            };
            seen = seen.saturating_add(piece.len());
            if seen > self.most {
                return Err(too_large("max_push_bytes", self.most));
            }
            if !piece.is_empty() && self.sender.send(piece).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn silent(silence: Duration) -> Refusal {
    let message = format!("nothing of the body arrived for {} ms", silence.as_millis());
    Refusal::new(Code::ProtocolError, message).hint("Send the whole body without pauses.")
}

impl Read for StreamedBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let taken = there.len().min(buffer.len());
        buffer[..taken].copy_from_slice(&there[..taken]);
        self.consume(taken);
        Ok(taken)
    }
}

impl BufRead for StreamedBody {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.current.is_empty() && !self.is_at_end {
            let piece = self.pieces.blocking_recv();
            self.current = piece.ok_or(io::ErrorKind::UnexpectedEof)?;
            self.is_at_end = self.current.is_empty();
        }
        Ok(&self.current)
    }

    fn consume(&mut self, taken: usize) {
        self.current.advance(taken);
    }
}
