//! From text to tokens: words, numbers, quoted names and marks, each with its place in characters and in bytes.
//!
//! Markdown is read past, not removed: emphasis, list marks, headings, fenced code and comments make no token, so places
//! stay those of the text as it was written.

use std::borrow::Cow;
use std::ops::Range;

use serde::Serialize;

/// A stretch of a text, counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// The first character, from 0.
    pub start: usize,
    /// The first character after it.
    pub end: usize,
}

impl Span {
    /// From one place to another.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Whether the two share a character.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Number,
    /// Code, a quoted name, an address: said about, not said.
    Quoted,
    Mark,
}

#[derive(Clone, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) lower: Cow<'a, str>,
    pub(crate) span: Span,
    pub(crate) bytes: Range<usize>,
    /// Begins a paragraph, a list item or a cell: no sentence goes on over it.
    pub(crate) begins: bool,
}

impl Token<'_> {
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind != Kind::Quoted && self.lower == word
    }

    pub(crate) fn is_any(&self, words: &[&str]) -> bool {
        self.kind != Kind::Quoted && words.contains(&&*self.lower)
    }

    pub(crate) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    pub(crate) fn is_capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }
}

pub(crate) fn tokenize(text: &str) -> Vec<Token<'_>> {
    Tokenizer {
        text,
        at: 0,
        chars: 0,
        begins: true,
        line_start: true,
        found: Vec::with_capacity(text.len() / 5),
    }
    .run()
}

/// How far a quotation may reach; a lone quotation mark is a mark.
const MAX_QUOTED_CHARS: usize = 120;

struct Tokenizer<'a> {
    text: &'a str,
    at: usize,
    chars: usize,
    begins: bool,
    line_start: bool,
    found: Vec<Token<'a>>,
}

impl<'a> Tokenizer<'a> {
    fn run(mut self) -> Vec<Token<'a>> {
        while let Some(c) = self.peek() {
            if self.line_start && self.take_line_mark() {
                continue;
            }
            self.line_start = false;
            match c {
                '\n' => self.take_newline(),
                c if c.is_whitespace() => self.skip(c.len_utf8()),
                '*' | '~' => self.skip(1),
                '_' if !self.after_word() => self.skip(1),
                '`' => self.take_quoted('`'),
                '"' | '“' | '«' | '„' => self.take_quoted(closing(c)),
                '\'' | '‘' if !self.after_word() => self.take_quoted(closing(c)),
                '|' => {
                    self.begins = true;
                    self.skip(1);
                }
                '<' if self.rest().starts_with("<!--") => self.skip_past("-->"),
                ']' if self.rest().starts_with("](") => self.skip_past(")"),
                c if c.is_ascii_digit() => self.take_number(),
                c if c.is_alphabetic() => self.take_word(),
                c => self.push(Kind::Mark, c.len_utf8()),
            }
        }
        self.found
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn after_word(&self) -> bool {
        self.text[..self.at]
            .chars()
            .next_back()
            .is_some_and(char::is_alphanumeric)
    }

    fn skip(&mut self, bytes: usize) {
        let passed = &self.text[self.at..self.at + bytes];
        self.chars += match passed.is_ascii() {
            true => bytes,
            false => passed.chars().count(),
        };
        self.at += bytes;
    }

    fn skip_past(&mut self, end: &str) {
        let rest = self.rest();
        self.skip(rest.find(end).map_or(rest.len(), |at| at + end.len()));
    }

    fn push(&mut self, kind: Kind, bytes: usize) {
        let (at, start) = (self.at, self.chars);
        self.skip(bytes);
        let text = &self.text[at..self.at];
        self.found.push(Token {
            kind,
            text,
            lower: match text.chars().any(char::is_uppercase) {
                true => Cow::Owned(text.to_lowercase()),
                false => Cow::Borrowed(text),
            },
            span: Span::new(start, self.chars),
            bytes: at..self.at,
            begins: std::mem::take(&mut self.begins),
        });
    }

    fn take_newline(&mut self) {
        self.skip(1);
        self.line_start = true;
        let rest = self.rest();
        let next = rest.split('\n').next().unwrap_or_default();
        if next.trim().is_empty() {
            self.begins = true;
        }
    }

    /// What only has a meaning where a line begins; true when something was passed.
    fn take_line_mark(&mut self) -> bool {
        let line = self.rest().split('\n').next().unwrap_or_default();
        let content = line.trim_start_matches([' ', '\t', '>']);
        let indent = line.len() - content.len();
        if content.starts_with("```") || content.starts_with("~~~") {
            let fence = &content[..3];
            self.skip(indent + 3);
            let rest = self.rest();
            let end = rest.find(&format!("\n{fence}")).map_or(rest.len(), |at| at + 4);
            self.skip(end);
            self.skip_rest_of_line();
            return true;
        }
        if content.starts_with('#') && content.trim_start_matches('#').starts_with(' ') {
            self.skip(line.len());
            self.begins = true;
            return true;
        }
        match list_mark(content) {
            Some(bytes) => {
                self.skip(indent + bytes);
                self.begins = true;
                self.line_start = false;
                true
            }
            None if indent > 0 => {
                self.skip(indent);
                self.line_start = false;
                true
            }
            None => false,
        }
    }

    fn skip_rest_of_line(&mut self) {
        let rest = self.rest();
        self.skip(rest.find('\n').unwrap_or(rest.len()));
        self.begins = true;
    }

    fn take_quoted(&mut self, end: char) {
        let mut rest = self.rest().char_indices();
        rest.next();
        let close = rest
            .take(MAX_QUOTED_CHARS)
            .take_while(|(_, c)| *c != '\n')
            .find(|(_, c)| *c == end);
        match close {
            Some((at, c)) => self.push(Kind::Quoted, at + c.len_utf8()),
            None => self.push(Kind::Mark, self.peek().map_or(1, char::len_utf8)),
        }
    }

    fn take_number(&mut self) {
        let bytes = self.rest().as_bytes();
        let mut end = 1;
        while end < bytes.len() {
            let joins =
                matches!(bytes[end], b'.' | b',') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            match bytes[end].is_ascii_digit() || joins {
                true => end += 1,
                false => break,
            }
        }
        self.push(Kind::Number, end);
    }

    fn take_word(&mut self) {
        let rest = self.rest();
        if rest.starts_with("http://") || rest.starts_with("https://") {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            return self.push(Kind::Quoted, end);
        }
        let mut end = rest.len();
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let joins = matches!(c, '-' | '‑' | '\'' | '’' | '_' | '.')
                && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
            if !c.is_alphanumeric() && !joins {
                end = at;
                break;
            }
        }
        self.push(Kind::Word, end);
    }
}

fn closing(open: char) -> char {
    match open {
        '“' | '„' => '”',
        '«' => '»',
        '‘' => '’',
        same => same,
    }
}

/// The bytes of `- `, `12. `, `1.2 `, `[ ] ` at the beginning of a list item.
fn list_mark(line: &str) -> Option<usize> {
    let digits = line
        .bytes()
        .take_while(|c| c.is_ascii_digit() || *c == b'.')
        .count();
    let numbered = digits > 0
        && line.as_bytes()[..digits].contains(&b'.')
        && line.starts_with(|c: char| c.is_ascii_digit());
    let mark = match line.as_bytes().first()? {
        b'-' | b'*' | b'+' => 1,
        _ if numbered => digits,
        _ if digits > 0 && line[digits..].starts_with(')') => digits + 1,
        _ => return None,
    };
    let blank = line[mark..].len() - line[mark..].trim_start_matches(' ').len();
    let after = &line[mark + blank..];
    let task = ["[ ] ", "[x] ", "[X] "]
        .iter()
        .any(|box_| after.starts_with(box_));
    (blank > 0).then_some(mark + blank + if task { 4 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let tokens = tokenize(text);
        let texts: Vec<_> = tokens.iter().map(|token| token.text).collect();
        assert_eq!(texts, expect);
        for token in &tokens {
            let chars: String = text
                .chars()
                .skip(token.span.start)
                .take(token.span.end - token.span.start)
                .collect();
            assert_eq!(chars, token.text);
            assert_eq!(&text[token.bytes.clone()], token.text);
        }
    }

    #[test]
    fn words_numbers_and_marks() {
        check(
            "The API shall answer in 1.5 s.",
            &["The", "API", "shall", "answer", "in", "1.5", "s", "."],
        );
        check("10ms, e.g. node.js", &["10", "ms", ",", "e.g", ".", "node.js"]);
        check("Система — должна", &["Система", "—", "должна"]);
    }

    #[test]
    fn markdown_is_read_past() {
        check("**WHEN** `a b` is *set*", &["WHEN", "`a b`", "is", "set"]);
        check("# Title\n- [ ] one\n2. two", &["one", "two"]);
        check("a\n```\ncode shall\n```\nb", &["a", "b"]);
        check(
            "see [the page](https://x.y/z) now",
            &["see", "[", "the", "page", "now"],
        );
        check("a <!-- TBD --> b", &["a", "b"]);
    }

    #[test]
    fn a_lone_quotation_mark_is_a_mark() {
        check("5\" disk", &["5", "\"", "disk"]);
        check("the user's 'name' field", &["the", "user's", "'name'", "field"]);
    }
}
