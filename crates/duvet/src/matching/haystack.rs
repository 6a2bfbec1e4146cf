//! A section's text made searchable, with the way back to the specification's bytes.

use super::grams::Grams;
use crate::specification::{Section, Specification};
use crate::text::{Span, Spans};
use std::sync::OnceLock;

/// One section's text: its lines trimmed and joined by single blanks.
#[derive(Debug, Default)]
pub struct Haystack {
    /// The joined text.
    pub joined: String,
    /// Start in the joined text and in the specification, for each line.
    lines: Vec<(u32, u32)>,
    normal: OnceLock<Normal>,
    grams: OnceLock<Grams>,
}

/// A text without the blanks that carry no meaning, each byte with its place in the text it came from.
#[derive(Debug, Default)]
pub(super) struct Normal {
    pub(super) text: String,
    places: Vec<u32>,
    grams: OnceLock<Grams>,
}

impl Normal {
    /// Where a normalised quote stands, from the front.
    pub(super) fn find_all<'a>(&'a self, needle: &'a [u8]) -> Box<dyn Iterator<Item = usize> + 'a> {
        self.grams().find_all(self.text.as_bytes(), needle)
    }

    /// The same with places that overlap.
    pub(super) fn find_overlapping<'a>(&'a self, needle: &'a [u8]) -> Box<dyn Iterator<Item = usize> + 'a> {
        self.grams().find_overlapping(self.text.as_bytes(), needle)
    }

    /// Where to part a quote that may have an edit.
    pub(super) fn part(&self, needle: &[u8]) -> usize {
        self.grams().part(needle)
    }

    fn grams(&self) -> &Grams {
        self.grams.get_or_init(|| Grams::new(&self.text))
    }
}

impl Haystack {
    /// The text of one section.
    pub fn new(specification: &Specification, section: &Section) -> Self {
        let length = section.lines.iter().map(|line| line.span.len() + 1).sum();
        let mut haystack = Self {
            joined: String::with_capacity(length),
            lines: Vec::with_capacity(section.lines.len()),
            ..Self::default()
        };
        for line in &section.lines {
            let raw = specification.line(line);
            let text = raw.trim();
            if text.is_empty() {
                continue;
            }
            if !haystack.joined.is_empty() {
                haystack.joined.push(' ');
            }
            let indent = (raw.len() - raw.trim_start().len()) as u32;
            haystack
                .lines
                .push((haystack.joined.len() as u32, line.span.start + indent));
            haystack.joined.push_str(text);
        }
        haystack
    }

    /// Where a quote stands word for word, from the front.
    pub(super) fn find_all<'a>(&'a self, quote: &'a str) -> Box<dyn Iterator<Item = usize> + 'a> {
        let grams = self.grams.get_or_init(|| Grams::new(&self.joined));
        grams.find_all(self.joined.as_bytes(), quote.as_bytes())
    }

    /// The text without meaningless blanks; made when the first quote needs it.
    pub(super) fn normal(&self) -> &Normal {
        self.normal.get_or_init(|| normalise(&self.joined))
    }

    /// The bytes of the specification behind a range of the joined text, one span per line, blanks at both ends of
    /// the range left out.
    pub(super) fn pieces(&self, start: usize, end: usize) -> Spans {
        let text = &self.joined[start..end];
        let (start, end) = (end - text.trim_start().len(), start + text.trim_end().len());
        let first = self
            .lines
            .partition_point(|line| line.0 as usize <= start)
            .saturating_sub(1);
        let mut pieces = Vec::new();
        for (index, &(joined, source)) in self.lines.iter().enumerate().skip(first) {
            let line_end = self
                .lines
                .get(index + 1)
                .map_or(self.joined.len(), |next| next.0 as usize - 1);
            let (from, to) = (start.max(joined as usize), end.min(line_end));
            if joined as usize >= end {
                break;
            }
            if from < to {
                let base = source as usize - joined as usize;
                pieces.push(Span {
                    start: source + (from as u32 - joined),
                    end: (base + to) as u32,
                });
            }
        }
        pieces.into()
    }
}

impl Normal {
    /// The range of the original text behind a range of this one.
    pub(super) fn original(&self, start: usize, end: usize) -> (usize, usize) {
        match (
            self.places.get(start),
            end.checked_sub(1).and_then(|last| self.places.get(last)),
        ) {
            (Some(&first), Some(&last)) if start < end => (first as usize, last as usize + 1),
            _ => (0, 0),
        }
    }
}

/// Runs of blanks become one, and blanks beside punctuation vanish; so a word broken at a hyphen is whole again.
pub(super) fn normalise(text: &str) -> Normal {
    let bytes = text.as_bytes();
    let mut kept: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut places: Vec<u32> = Vec::with_capacity(bytes.len());
    let mut pending: Option<u32> = None;
    let mut after_punctuation = true;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // Texts are nearly all ASCII: only other letters are decoded.
        let (length, is_blank) = if byte.is_ascii() {
            (1, matches!(byte, b' ' | b'\t'..=b'\r'))
        } else {
            let letter = text[at..].chars().next().unwrap_or_default();
            (letter.len_utf8(), letter.is_whitespace())
        };
        if is_blank {
            pending.get_or_insert(at as u32);
            at += length;
            continue;
        }
        let is_punctuation = byte.is_ascii_punctuation();
        if let Some(blank) = pending.take()
            && !is_punctuation
            && !after_punctuation
        {
            kept.push(b' ');
            places.push(blank);
        }
        kept.extend_from_slice(&bytes[at..at + length]);
        places.extend((at..at + length).map(|place| place as u32));
        after_punctuation = is_punctuation;
        at += length;
    }
    Normal {
        // Whole letters were taken from a text, so it is one.
        text: String::from_utf8(kept).unwrap_or_default(),
        places,
        grams: OnceLock::new(),
    }
}
