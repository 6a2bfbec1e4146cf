//! Places in a text: byte spans for programs, line and column for people.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A half-open range of bytes. Texts over 4 GiB are refused when they are read, so 32 bits are enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte offsets of one text.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// The span as an index into the text it was made from.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Number of bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether nothing lies inside.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Where something is, for people: both count from one, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// Line, from one.
    pub line: u32,
    /// Column in characters, from one.
    pub column: u32,
}

/// Line and column of a byte offset; an offset past the end counts as the end.
pub fn position(text: &str, offset: usize) -> Position {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Position {
        line: memchr::memchr_iter(b'\n', before.as_bytes()).count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
    }
}

/// Lines of a text with their spans, without line ends (`\n` or `\r\n`).
pub fn lines(text: &str) -> impl Iterator<Item = (Span, &str)> {
    let mut start = 0;
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let mut done = text.is_empty();
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let (end, next) = match ends.next() {
            Some(end) => (end, end + 1),
            None => (text.len(), text.len()),
        };
        let line = &text[start..end];
        let line = line.strip_suffix('\r').unwrap_or(line);
        let span = Span::new(start, start + line.len());
        start = next;
        done = next == text.len();
        Some((span, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_places() {
        let text = "a\r\nbé\n\nlast";
        let got: Vec<_> = lines(text).map(|(span, line)| (span.start, line)).collect();
        assert_eq!(got, [(0, "a"), (3, "bé"), (7, ""), (8, "last")]);
        assert_eq!(lines("").count(), 0);
        assert_eq!(lines("x\n").count(), 1);
    }

    #[test]
    fn columns_count_characters_and_never_split_one() {
        assert_eq!(position("é=1\nx", 2), Position { line: 1, column: 2 });
        assert_eq!(position("é=1\nx", 1), Position { line: 1, column: 1 });
        assert_eq!(position("é=1\nx", 99), Position { line: 2, column: 2 });
    }
}
