//! Server-sent events, cut from a body piece by piece; one event is held at a time.

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memchr::memchr;

use crate::http::{SendError, innermost};

/// One server-sent event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The id by which a reader that comes back says where it was (`Last-Event-ID`).
    pub id: Option<String>,
    /// The data; empty when the event only carries an id.
    pub data: Vec<u8>,
}

/// Reader of the server-sent events of a response.
#[derive(Debug)]
pub struct SseReader {
    body: Incoming,
    decoder: SseDecoder,
}

impl SseReader {
    /// Reads events of at most this many bytes.
    pub fn new(body: Incoming, max_event_bytes: usize) -> Self {
        Self {
            body,
            decoder: SseDecoder::new(max_event_bytes),
        }
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, SendError> {
        loop {
            if let Some(event) = self.decoder.next()? {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(SendError::Broken(innermost(&error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.decoder.feed(&data);
                    }
                }
            }
        }
    }
}

/// Decoder of server-sent events: bytes in, events out.
#[derive(Debug)]
struct SseDecoder {
    bytes: BytesMut,
    /// How much of `bytes` is known to hold no line end.
    scanned: usize,
    building: SseEvent,
    max_event_bytes: usize,
}

impl SseDecoder {
    fn new(max_event_bytes: usize) -> Self {
        Self {
            bytes: BytesMut::new(),
            scanned: 0,
            building: SseEvent::default(),
            max_event_bytes,
        }
    }

    fn feed(&mut self, data: &Bytes) {
        self.bytes.extend_from_slice(data);
    }

    fn next(&mut self) -> Result<Option<SseEvent>, SendError> {
        while let Some(at) = memchr(b'\n', &self.bytes[self.scanned..]) {
            let end = self.scanned + at;
            let line = self.bytes.split_to(end);
            self.bytes.advance(1);
            self.scanned = 0;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                let event = std::mem::take(&mut self.building);
                if event != SseEvent::default() {
                    return Ok(Some(event));
                }
                continue;
            }
            self.take_line(line)?;
        }
        self.scanned = self.bytes.len();
        self.check_size(self.scanned + self.building.data.len())?;
        Ok(None)
    }

    fn take_line(&mut self, line: &[u8]) -> Result<(), SendError> {
        let (name, value) = match memchr(b':', line) {
            Some(at) => (
                &line[..at],
                line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]),
            ),
            None => (line, &b""[..]),
        };
        match name {
            b"data" => {
                self.check_size(self.building.data.len() + value.len())?;
                if !self.building.data.is_empty() {
                    self.building.data.push(b'\n');
                }
                self.building.data.extend_from_slice(value);
            }
            b"id" => self.building.id = String::from_utf8(value.to_vec()).ok(),
            _ => {}
        }
        Ok(())
    }

    fn check_size(&self, bytes: usize) -> Result<(), SendError> {
        if bytes <= self.max_event_bytes {
            return Ok(());
        }
        Err(SendError::Broken(format!(
            "an event is larger than {} bytes",
            self.max_event_bytes
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&str]) -> Vec<(Option<String>, String)> {
        let mut decoder = SseDecoder::new(64);
        let mut found = Vec::new();
        for piece in pieces {
            decoder.bytes.extend_from_slice(piece.as_bytes());
            while let Some(event) = decoder.next().unwrap() {
                found.push((event.id, String::from_utf8(event.data).unwrap()));
            }
        }
        found
    }

    #[test]
    fn events_come_out_however_they_came_in() {
        let one = (Some("1-2".to_owned()), "{}".to_owned());
        assert_eq!(
            decode(&["event: message\nid: 1-2\ndata: {}\n\n"]),
            std::slice::from_ref(&one)
        );
        assert_eq!(decode(&["id:1-2\r\nda", "ta:{}\r", "\n\r\n", ":\n\n"]), [one]);
        assert_eq!(
            decode(&[":\n\n", "retry: 5\n\n", "data: a\ndata: b\n\n"]),
            [(None, "a\nb".to_owned())]
        );
        assert_eq!(decode(&["data: cut off\n"]), []);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut decoder = SseDecoder::new(64);
        decoder.bytes.extend_from_slice(&[b'x'; 65]);
        assert!(decoder.next().is_err());
        let mut decoder = SseDecoder::new(64);
        for _ in 0..3 {
            decoder
                .bytes
                .extend_from_slice(format!("data: {}\n", "x".repeat(30)).as_bytes());
        }
        assert!(decoder.next().is_err());
    }
}
