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

/// Some spans of one text. Most quotes are one line, and one span needs no memory of its own.
#[derive(Clone, Debug)]
pub enum Spans {
    /// One.
    One(Span),
    /// None, or several.
    Many(Box<[Span]>),
}

impl Default for Spans {
    fn default() -> Self {
        Self::Many(Box::default())
    }
}

impl From<Vec<Span>> for Spans {
    fn from(spans: Vec<Span>) -> Self {
        match spans.as_slice() {
            [one] => Self::One(*one),
            _ => Self::Many(spans.into()),
        }
    }
}

impl std::ops::Deref for Spans {
    type Target = [Span];

    fn deref(&self) -> &[Span] {
        match self {
            Self::One(span) => std::slice::from_ref(span),
            Self::Many(spans) => spans,
        }
    }
}

impl PartialEq for Spans {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Spans {}

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

/// Line and column of many offsets of one text. Going on from the last place costs the way between the two, not the way
/// from the front: a file of twenty thousand findings is not read twenty thousand times.
#[derive(Debug)]
pub struct Cursor<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Cursor<'t> {
    /// A cursor at the front of a text.
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// As [`position`].
    pub fn position(&mut self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let bytes = self.text.as_bytes();
        let between = |from: usize, to: usize| {
            crate::effort::count(to - from);
            memchr::memchr_iter(b'\n', &bytes[from..to]).count() as u32
        };
        self.line = if offset >= self.at {
            self.line + between(self.at, offset)
        } else {
            self.line - between(offset, self.at)
        };
        self.at = offset;
        let line_start = memchr::memrchr(b'\n', &bytes[..offset]).map_or(0, |i| i + 1);
        Position {
            line: self.line,
            column: self.text[line_start..offset].chars().count() as u32 + 1,
        }
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

/// `1 file`, `2 files`.
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// A stranger's text as a terminal may show it: nothing in it moves the cursor, changes colours, rings or turns the
/// direction of what follows.
//= specs/duvet.md#inside-the-fence
//# Text of a project MUST NOT reach a terminal with control sequences in it.
pub fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    // Nearly every text is as plain as it looks.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if !text.bytes().all(is_plain) && text.contains(is_harmful) {
        text.replace(is_harmful, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// The same for JSON, which loses nothing: such a character can only stand in a string, where it has a number.
pub fn escaped(json: &str) -> std::borrow::Cow<'_, str> {
    if !json.contains(is_harmful) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_harmful(c) {
            // All of them have four digits.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn is_harmful(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/duvet.md#inside-the-fence
    //= type=test
    //# Text of a project MUST NOT reach a terminal with control sequences in it.
    #[test]
    fn escape_sequences_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\tb\nc é"), "a\tb\nc é");
        let evil = "\u{1b}]0;title\u{7}\u{1b}[2Jx\u{9b}31m\u{202e}y\r";
        let shown = printable(evil);
        assert!(
            !shown.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\r']),
            "{shown:?}"
        );
        assert!(shown.contains("title") && shown.contains('y'));
    }

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
        let text = "é=1\nx\n\nlast é";
        let mut cursor = Cursor::new(text);
        for offset in [0, 9, 2, 1, 14, 7, 3, 99, 0] {
            assert_eq!(cursor.position(offset), position(text, offset), "{offset}");
        }
    }
}
