//! Server-sent events, cut from a body piece by piece; one event is held at a time.

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use memchr::memchr;

use crate::backend::{Fault, reason};

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// By which a reader that comes back says where it was.
    pub id: Option<String>,
    /// The message; empty when the event only carries an id.
    pub data: Vec<u8>,
}

// Fulfils 003 R15.7
/// The events of a response.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    cutter: Cutter,
}

impl Events {
    pub(crate) fn new(body: Incoming, max_event_bytes: usize) -> Self {
        Self {
            body,
            cutter: Cutter::new(max_event_bytes),
        }
    }

    /// The next event; `None` at the end.
    //= specs/spexus-bridge.md#messages-in-both-directions
    //# Streamed messages MUST be passed on one by one, so that a large answer is never held whole.
    pub async fn next(&mut self) -> Result<Option<Event>, Fault> {
        loop {
            if let Some(event) = self.cutter.next()? {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(Fault::Broken(reason(&error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.cutter.bytes.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

/// Cuts bytes into events.
#[derive(Debug)]
struct Cutter {
    bytes: BytesMut,
    /// How much of `bytes` is known to hold no line end.
    scanned: usize,
    building: Event,
    max_event_bytes: usize,
}

impl Cutter {
    fn new(max_event_bytes: usize) -> Self {
        Self {
            bytes: BytesMut::new(),
            scanned: 0,
            building: Event::default(),
            max_event_bytes,
        }
    }

    fn next(&mut self) -> Result<Option<Event>, Fault> {
        while let Some(at) = memchr(b'\n', &self.bytes[self.scanned..]) {
            let end = self.scanned + at;
            let line = self.bytes.split_to(end);
            self.bytes.advance(1);
            self.scanned = 0;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                let event = std::mem::take(&mut self.building);
                if event != Event::default() {
                    return Ok(Some(event));
                }
                continue;
            }
            self.take(line)?;
        }
        self.scanned = self.bytes.len();
        self.bounded(self.scanned + self.building.data.len())?;
        Ok(None)
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Fault> {
        let (name, value) = match memchr(b':', line) {
            Some(at) => (
                &line[..at],
                line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]),
            ),
            None => (line, &b""[..]),
        };
        match name {
            b"data" => {
                self.bounded(self.building.data.len() + value.len())?;
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

    fn bounded(&self, bytes: usize) -> Result<(), Fault> {
        if bytes <= self.max_event_bytes {
            return Ok(());
        }
        Err(Fault::Broken(format!(
            "an event is larger than {} bytes",
            self.max_event_bytes
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> Vec<(Option<String>, String)> {
        let mut cutter = Cutter::new(64);
        let mut found = Vec::new();
        for piece in pieces {
            cutter.bytes.extend_from_slice(piece.as_bytes());
            while let Some(event) = cutter.next().unwrap() {
                found.push((event.id, String::from_utf8(event.data).unwrap()));
            }
        }
        found
    }

    #[test]
    fn events_come_out_however_they_came_in() {
        let one = (Some("1-2".to_owned()), "{}".to_owned());
        assert_eq!(
            cut(&["event: message\nid: 1-2\ndata: {}\n\n"]),
            std::slice::from_ref(&one)
        );
        assert_eq!(cut(&["id:1-2\r\nda", "ta:{}\r", "\n\r\n", ":\n\n"]), [one]);
        assert_eq!(
            cut(&[":\n\n", "retry: 5\n\n", "data: a\ndata: b\n\n"]),
            [(None, "a\nb".to_owned())]
        );
        assert_eq!(cut(&["data: cut off\n"]), []);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let mut cutter = Cutter::new(64);
        cutter.bytes.extend_from_slice(&[b'x'; 65]);
        assert!(cutter.next().is_err());
        let mut cutter = Cutter::new(64);
        for _ in 0..3 {
            cutter
                .bytes
                .extend_from_slice(format!("data: {}\n", "x".repeat(30)).as_bytes());
        }
        assert!(cutter.next().is_err());
    }
}
