//! Cuts a stream of bytes into lines, and never holds more than one line's limit.

use bytes::{Buf, BytesMut};
use memchr::memchr;

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A whole line.
    Text(&'a [u8]),
    /// The start of a line that is longer than the limit; the rest of it is dropped.
    TooLong(&'a [u8]),
}

/// Splits what was read into lines and cuts those above the limit.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: BytesMut,
    /// Bytes at the front that belong to the line given out last.
    used: usize,
    /// Bytes after `used` that are known to hold no line end.
    scanned: usize,
    skipping: bool,
    max_line_bytes: usize,
}

impl LineBuffer {
    /// A buffer for lines of at most this many bytes.
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            bytes: BytesMut::new(),
            used: 0,
            scanned: 0,
            skipping: false,
            max_line_bytes,
        }
    }

    /// Room to read into.
    pub fn space(&mut self, bytes: usize) -> &mut BytesMut {
        self.drop_used();
        self.bytes.reserve(bytes);
        &mut self.bytes
    }

    // Fulfils 002 Req-Proto-004
    /// The next line, when it is there.
    #[allow(clippy::should_implement_trait)] // it lends from the buffer, which an iterator cannot
    pub fn next(&mut self) -> Option<Line<'_>> {
        loop {
            self.drop_used();
            match memchr(b'\n', &self.bytes[self.scanned..]) {
                Some(at) => {
                    let end = self.scanned + at;
                    self.used = end + 1;
                    self.scanned = 0;
                    if std::mem::take(&mut self.skipping) {
                        continue;
                    }
                    return Some(self.line(end));
                }
                None => {
                    self.scanned = self.bytes.len();
                    return self.unfinished();
                }
            }
        }
    }

    /// What stands after the last line end when no more will come.
    pub fn rest(&mut self) -> Option<Line<'_>> {
        self.drop_used();
        let end = self.bytes.len();
        self.used = end;
        self.scanned = 0;
        (end > 0 && !self.skipping).then(|| self.line(end))
    }

    /// A line that has no end yet: kept while it may still be short enough, dropped when it is not.
    fn unfinished(&mut self) -> Option<Line<'_>> {
        let length = self.bytes.len();
        if self.skipping {
            self.used = length;
            self.scanned = 0;
            return None;
        }
        // A carriage return may belong to the line's end.
        let counted = length - usize::from(self.bytes.last() == Some(&b'\r'));
        if counted <= self.max_line_bytes {
            return None;
        }
        self.skipping = true;
        self.used = length;
        self.scanned = 0;
        Some(Line::TooLong(&self.bytes[..self.max_line_bytes]))
    }

    fn line(&self, end: usize) -> Line<'_> {
        let line = &self.bytes[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.max_line_bytes {
            Line::TooLong(&line[..self.max_line_bytes])
        } else {
            Line::Text(line)
        }
    }

    fn drop_used(&mut self) {
        self.bytes.advance(self.used);
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(max: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut buffer = LineBuffer::new(max);
        let mut found = Vec::new();
        let show = |line: Line<'_>| match line {
            Line::Text(line) => String::from_utf8_lossy(line).into_owned(),
            Line::TooLong(start) => format!("too long: {}", String::from_utf8_lossy(start)),
        };
        for chunk in chunks {
            buffer.space(chunk.len()).extend_from_slice(chunk);
            while let Some(line) = buffer.next() {
                found.push(show(line));
            }
        }
        found.extend(buffer.rest().map(show));
        found
    }

    #[test]
    fn lines_come_out_however_they_came_in() {
        assert_eq!(lines(9, &[b"a\nb\r\n\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(9, &[b"a", b"b", b"\n", b"c\nd", b"e\n"]), ["ab", "c", "de"]);
        assert_eq!(lines(9, &[]), Vec::<String>::new());
    }

    #[test]
    fn a_long_line_is_told_once_and_the_next_is_read() {
        assert_eq!(lines(3, &[b"abcdef\nxy\n"]), ["too long: abc", "xy"]);
        assert_eq!(lines(3, &[b"abcd", b"ef", b"gh\nxy\n"]), ["too long: abc", "xy"]);
        assert_eq!(
            lines(3, &[b"abc", b"\nabcd", b"\nx"]),
            ["abc", "too long: abc", "x"]
        );
        assert_eq!(lines(3, &[b"abcdefgh"]), ["too long: abc"]);
        assert_eq!(
            lines(3, &[b"abc\r", b"\nabc\r", b"x\n"]),
            ["abc", "too long: abc"]
        );
    }
}
