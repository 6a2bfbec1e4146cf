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

/// A text without the blanks that carry no meaning, and the way back to the text it came from.
#[derive(Debug, Default)]
pub(super) struct Normal {
    pub(super) text: String,
    /// Where each stretch that lost nothing begins, here and there.
    stretches: Vec<(u32, u32)>,
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
        let mut joined = String::with_capacity(length);
        let mut lines = Vec::with_capacity(section.lines.len());
        join_lines(&mut joined, specification, section, |place, source| {
            lines.push((place, source));
        });
        Self {
            joined,
            lines,
            ..Self::default()
        }
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
        let start = end - self.joined[start..end].trim_start().len();
        self.pieces_from(start, end)
    }

    /// The same with a blank at the front, where the range begins with one.
    pub(super) fn pieces_from(&self, start: usize, end: usize) -> Spans {
        let end = start + self.joined[start..end].trim_end().len();
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
        if start < end && end <= self.text.len() {
            (self.place(start), self.place(end - 1) + 1)
        } else {
            (0, 0)
        }
    }

    fn place(&self, at: usize) -> usize {
        let behind = self.stretches.partition_point(|(here, _)| *here as usize <= at);
        let (here, there) = self.stretches[behind - 1];
        there as usize + at - here as usize
    }
}

/// Adds the lines of a section to a text, trimmed and with single blanks between them. Tells of each where it begins, in
/// what was added and in the specification.
pub(super) fn join_lines(
    joined: &mut String,
    specification: &Specification,
    section: &Section,
    mut each: impl FnMut(u32, u32),
) {
    let start = joined.len();
    for line in &section.lines {
        let raw = specification.line(line);
        let text = raw.trim_start();
        let indent = (raw.len() - text.len()) as u32;
        let text = text.trim_end();
        if text.is_empty() {
            continue;
        }
        if joined.len() > start {
            joined.push(' ');
        }
        each((joined.len() - start) as u32, line.span.start + indent);
        joined.push_str(text);
    }
}

/// Runs of blanks become one, and blanks beside punctuation vanish; so a word broken at a hyphen is whole again.
pub(super) fn normalise(text: &str) -> Normal {
    let mut kept = String::with_capacity(text.len());
    let mut stretches: Vec<(u32, u32)> = Vec::new();
    let mut expected = None;
    each_word(text, |place, word| {
        if expected != Some(place) {
            stretches.push((kept.len() as u32, place as u32));
        }
        kept.push_str(word);
        expected = Some(place + word.len());
    });
    Normal {
        text: kept,
        stretches,
        grams: OnceLock::new(),
    }
}

/// The same for who need not find the way back: added to another text.
pub(super) fn push_normalised(kept: &mut String, text: &str) {
    each_word(text, |_, word| kept.push_str(word));
}

/// Hands out what is kept of a text, with its place: words, and the blanks that carry a meaning.
fn each_word<'t>(text: &'t str, mut each: impl FnMut(usize, &'t str)) {
    let bytes = text.as_bytes();
    let is_punctuation = |at: usize| bytes[at].is_ascii_punctuation();
    let mut after_punctuation = true;
    let mut at = 0;
    while at < bytes.len() {
        let blanks = at;
        at += blank_bytes(&text[at..]);
        let word = at;
        at += word_bytes(&text[at..]);
        if word == at {
            break;
        }
        if blanks < word && !after_punctuation && !is_punctuation(word) {
            each(blanks, " ");
        }
        each(word, &text[word..at]);
        after_punctuation = is_punctuation(at - 1);
    }
}

/// How many bytes at the front are blanks.
fn blank_bytes(text: &str) -> usize {
    match text.as_bytes() {
        // Nearly every blank stands alone.
        [b' ', next, ..] if next.is_ascii_graphic() => 1,
        [first, ..] if first.is_ascii_graphic() => 0,
        _ => text.len() - text.trim_start().len(),
    }
}

/// How many bytes at the front are none. Texts are nearly all ASCII: only other letters are decoded.
fn word_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let plain = bytes[at..].iter().take_while(|byte| byte.is_ascii_graphic());
        at += plain.count();
        match text[at..].chars().next() {
            Some(letter) if !letter.is_whitespace() => at += letter.len_utf8(),
            _ => return at,
        }
    }
}
