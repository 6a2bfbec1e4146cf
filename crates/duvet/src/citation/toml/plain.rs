//! Requirement files in the plain shape that extraction writes and people copy: strings, comments and headers, each on
//! lines of their own.
//!
//! A project has hundreds of them and nearly all are of this shape, so they are read line by line. Whatever is not
//! (escapes, arrays, inline tables, a missing or an unknown key) is left to the TOML parser as a whole, which alone knows
//! what to say about it: this reader gives the parser's answer or none.

use super::{ARRAYS, known_keys};
use crate::citation::{Annotation, Details, Kind, join_quote};
use crate::specification::keyword::Level;
use crate::target::Targets;
use crate::text::Span;
use std::sync::Arc;

/// The annotations of a plain file; `None` for any other.
pub(super) fn extract(name: &Arc<str>, text: &str) -> Option<Vec<Annotation>> {
    // Other control characters end or break lines in ways of their own.
    let is_odd = |byte: u8| (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f);
    // Without a way out in the middle, so that many bytes are compared at a time.
    let any_odd = |lane: &[u8]| lane.iter().fold(false, |any, byte| any | is_odd(*byte));
    if text.as_bytes().chunks(LANE_BYTES).any(any_odd) {
        return None;
    }
    let mut reader = Reader { text, at: 0, line: 1 };
    let mut target = None;
    let mut annotations = Vec::new();
    let mut targets = Targets::default();
    let mut entry: Option<Entry<'_>> = None;
    while let Some(row) = reader.row()? {
        match row {
            Row::Header {
                name: array,
                start,
                line,
            } => {
                if let Some(entry) = entry.take() {
                    annotations.push(entry.annotation(name, target, &mut targets)?);
                }
                let (_, kind) = ARRAYS.iter().find(|(known, _)| *known == array)?;
                entry = Some(Entry::new(*kind, start, reader.at, line));
            }
            Row::Pair { key, value } => match &mut entry {
                Some(entry) => entry.set(key, value)?,
                None if key == "target" && target.is_none() => target = Some(value),
                None => return None,
            },
        }
    }
    if let Some(entry) = entry {
        annotations.push(entry.annotation(name, target, &mut targets)?);
    }
    Some(annotations)
}

/// So many bytes are looked at before the next decision.
const LANE_BYTES: usize = 256;

/// One line, or one value of several lines.
enum Row<'t> {
    /// `[[name]]`
    Header { name: &'t str, start: usize, line: u32 },
    /// `key = value`
    Pair { key: &'t str, value: &'t str },
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: u32,
}

impl<'t> Reader<'t> {
    /// The next row; the outer `None` for what is not plain, the inner one at the end.
    #[expect(clippy::option_option, reason = "not plain, at the end, or a row")]
    fn row(&mut self) -> Option<Option<Row<'t>>> {
        loop {
            let rest = &self.text[self.at..];
            let Some(first) = rest.as_bytes().first() else {
                return Some(None);
            };
            let (start, line) = (self.at, self.line);
            match first {
                b'\n' | b'#' => self.skip_line(),
                b'[' => {
                    let row = self.rest_of_line();
                    let name = row.strip_prefix("[[")?.strip_suffix("]]")?;
                    self.at = start + row.len();
                    return Some(Some(Row::Header { name, start, line }));
                }
                b'a'..=b'z' => {
                    let length = rest
                        .bytes()
                        .position(|b| !matches!(b, b'a'..=b'z' | b'-' | b'_'))?;
                    let key = &rest[..length];
                    self.at += length;
                    let after = self.text[self.at..].strip_prefix(" = ")?;
                    self.at = self.text.len() - after.len();
                    let value = self.value()?;
                    // Nothing may follow a value on its line.
                    if !matches!(self.text.as_bytes().get(self.at), None | Some(b'\n')) {
                        return None;
                    }
                    return Some(Some(Row::Pair { key, value }));
                }
                _ => return None,
            }
        }
    }

    fn rest_of_line(&self) -> &'t str {
        let rest = &self.text[self.at..];
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        &rest[..end]
    }

    fn skip_line(&mut self) {
        self.at = (self.at + self.rest_of_line().len() + 1).min(self.text.len());
        self.line += 1;
    }

    /// A string without escapes, and the place behind it.
    fn value(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        for (quote, is_literal) in [("'''", true), ("\"\"\"", false)] {
            let Some(inner) = rest.strip_prefix(quote) else {
                continue;
            };
            let mut ends = memchr::memchr_iter(quote.as_bytes()[0], inner.as_bytes());
            let end = ends.find(|end| inner[*end..].starts_with(quote))?;
            let (value, behind) = (&inner[..end], &inner[end + quote.len()..]);
            // A quote before the end belongs to the value.
            let is_whole = !behind.starts_with(&quote[..1]) && (is_literal || !value.contains('\\'));
            self.line += memchr::memchr_iter(b'\n', value.as_bytes()).count() as u32;
            self.at = self.text.len() - behind.len();
            return is_whole.then(|| value.strip_prefix('\n').unwrap_or(value));
        }
        let (quote, is_literal) = match rest.as_bytes().first()? {
            b'"' => ('"', false),
            b'\'' => ('\'', true),
            _ => return None,
        };
        let inner = self.rest_of_line().strip_prefix(quote)?;
        let (value, behind) = inner.split_once(quote)?;
        self.at += value.len() + 2;
        (behind.is_empty() && (is_literal || !value.contains('\\'))).then_some(value)
    }
}

/// The pairs below one header.
struct Entry<'t> {
    kind: Kind,
    span: Span,
    line: u32,
    pairs: Vec<(&'t str, &'t str)>,
}

impl<'t> Entry<'t> {
    fn new(kind: Kind, start: usize, end: usize, line: u32) -> Self {
        Self {
            kind,
            span: Span::new(start, end),
            line,
            pairs: Vec::with_capacity(3),
        }
    }

    fn set(&mut self, key: &'t str, value: &'t str) -> Option<()> {
        let is_new = self.get(key).is_none();
        // A format is rare and tags are an array.
        let is_plain = key != "format" && known_keys(self.kind).contains(&key);
        (is_new && is_plain).then(|| self.pairs.push((key, value)))
    }

    fn get(&self, key: &str) -> Option<&'t str> {
        let pair = self.pairs.iter().find(|(known, _)| *known == key);
        pair.map(|(_, value)| *value)
    }

    fn annotation(
        self,
        name: &Arc<str>,
        default_target: Option<&str>,
        targets: &mut Targets,
    ) -> Option<Annotation> {
        let quote = self.get("quote")?;
        let target = targets.get(self.get("target").or(default_target)?);
        target.section.as_ref()?;
        let comment = match self.kind {
            Kind::Spec => quote,
            Kind::Exception => self.get("reason")?,
            _ => self.get("reason").unwrap_or_default(),
        };
        let level = match self.get("level") {
            Some(name) => Level::from_name(name)?,
            None => Level::Auto,
        };
        let issue = self.get("tracking-issue").or_else(|| self.get("tracking_issue"));
        let details = Details {
            context: join_quote(self.get("context").unwrap_or_default().lines()),
            comment: comment.to_owned(),
            feature: self.get("feature").unwrap_or_default().to_owned(),
            tracking_issue: issue.unwrap_or_default().to_owned(),
            tags: Vec::new(),
        };
        Some(Annotation {
            source: Arc::clone(name),
            line: self.line,
            column: 1,
            last_line: self.line,
            span: self.span,
            kind: self.kind,
            level,
            format: None,
            target,
            quote: join_quote(quote.lines()).into(),
            blob_link: None,
            details: details.boxed(),
        })
    }
}
