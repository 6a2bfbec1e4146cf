//! The three steps, and what to say when all of them fail.

use super::grams::Grams;
use super::haystack::{Haystack, join_lines, normalise, push_normalised};
use super::{Drift, Grade, changes_meaning, fuzzy, word_diff};
use crate::specification::Specification;
use crate::text::Spans;
use memchr::memmem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// What a search in one section gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How well the quote agrees.
    pub grade: Grade,
    /// Where, one span per line.
    pub pieces: Spans,
}

/// Looks for a quote in a section; `None` when it is not there even with one edit.
pub fn find(haystack: &Haystack, quote: &str) -> Option<Found> {
    exact(haystack, quote).or_else(|| inexact(haystack, quote))
}

/// The second and the third step.
pub(crate) fn inexact(haystack: &Haystack, quote: &str) -> Option<Found> {
    normalised(haystack, quote).or_else(|| drifted(haystack, quote))
}

pub(crate) fn exact(haystack: &Haystack, quote: &str) -> Option<Found> {
    let mut hits = haystack.find_all(quote);
    let start = hits.next()?;
    let grade = match hits.count() {
        0 => Grade::Exact,
        more => Grade::Ambiguous {
            occurrences: more + 1,
        },
    };
    Some(Found {
        grade,
        pieces: haystack.pieces(start, start + quote.len()),
    })
}

fn normalised(haystack: &Haystack, quote: &str) -> Option<Found> {
    let needle = normalise(quote).text;
    let normal = haystack.normal();
    let mut hits = normal.find_all(needle.as_bytes());
    let start = hits.next().filter(|_| !needle.is_empty())?;
    let grade = match hits.count() {
        0 => Grade::Normalised,
        more => Grade::Ambiguous {
            occurrences: more + 1,
        },
    };
    let (from, to) = normal.original(start, start + needle.len());
    Some(Found {
        grade,
        pieces: haystack.pieces(from, to),
    })
}

fn drifted(haystack: &Haystack, quote: &str) -> Option<Found> {
    let needle = normalise(quote).text;
    let normal = haystack.normal();
    let needle = needle.as_bytes();
    let part = normal.part(needle);
    let (start, end) = fuzzy::find(needle, part, normal.text.as_bytes(), &|half| {
        normal.find_overlapping(half)
    })?;
    let (from, to) = normal.original(start, end);
    // The edit may have split a character: one at the front belongs to the quote, one at the end does not, as for the
    // public tool.
    let (from, to) = (
        haystack.joined.floor_char_boundary(from),
        haystack.joined.floor_char_boundary(to),
    );
    let text = whole_words(&haystack.joined, from, to, quote).to_owned();
    let grade = Grade::Drifted(Arc::new(Drift {
        distance: 1,
        diff: word_diff(quote, &text),
        changes_meaning: changes_meaning(quote, &text),
        tolerated: true,
        text,
    }));
    Some(Found {
        grade,
        // A letter too many before the quote may be one in place of a blank: the public tool counts that blank.
        pieces: haystack.pieces_from(from, to),
    })
}

/// What to write instead: no word cut in two, and no stop of the sentence before, unless the quote has it as well.
fn whole_words<'t>(text: &'t str, from: usize, to: usize, quote: &str) -> &'t str {
    let is_inner =
        |c: char| c.is_alphanumeric() || matches!(c, '[' | ']' | '(' | ')' | '<' | '>' | '-' | '_');
    let matched = &text[from..to];
    let stray = matched.len() - matched.trim_start_matches(['.', ',', ';', ':', ' ']).len();
    let starts_plain = quote.starts_with(|c: char| !matches!(c, '.' | ',' | ';' | ':'));
    if stray > 0 && starts_plain {
        return whole_words(text, from + stray, to, quote);
    }
    let before = text[..from]
        .chars()
        .rev()
        .take_while(|c| is_inner(*c))
        .map(char::len_utf8);
    let from = if matched.starts_with(char::is_whitespace) {
        from
    } else {
        from - before.sum::<usize>()
    };
    let after = text[to..]
        .chars()
        .take_while(|c| is_inner(*c))
        .map(char::len_utf8);
    let to = if matched.ends_with(|c: char| c.is_alphanumeric()) {
        to + after.sum::<usize>()
    } else {
        to
    };
    &text[from..to]
}

/// All sections one after the other, for quotes that are not where they are said to be.
#[derive(Debug)]
pub struct Everywhere {
    exact: Joined,
    /// Made when a quote is not there word for word.
    normal: OnceLock<Joined>,
}

#[derive(Debug, Default)]
struct Joined {
    text: String,
    /// Where each section begins.
    starts: Vec<usize>,
    /// How many quotes were looked for; an index is worth its memory only for many.
    asked: AtomicUsize,
    grams: OnceLock<Grams>,
}

/// A text is searched as it is for so many quotes, before it is indexed.
const SEARCHES_BEFORE_INDEX: usize = 16;

impl Everywhere {
    /// The sections of a specification, in their order.
    pub fn new(specification: &Specification) -> Self {
        let mut exact = Joined::default();
        exact.text.reserve(specification.text.len());
        for section in &specification.sections {
            exact.push(|text| join_lines(text, specification, section, |_, _| {}));
        }
        Self {
            exact,
            normal: OnceLock::new(),
        }
    }

    /// The first section that has a quote word for word, blanks aside.
    pub fn section_of(&self, quote: &str) -> Option<usize> {
        let found = self.exact.find(quote);
        found.or_else(|| self.normal().find(&normalise(quote).text))
    }

    fn normal(&self) -> &Joined {
        self.normal.get_or_init(|| {
            let mut normal = Joined::default();
            normal.text.reserve(self.exact.text.len());
            for section in self.exact.sections() {
                normal.push(|text| push_normalised(text, section));
            }
            normal
        })
    }
}

impl Joined {
    fn push(&mut self, section: impl FnOnce(&mut String)) {
        self.starts.push(self.text.len());
        section(&mut self.text);
        // No quote holds it, so none is found across two sections.
        self.text.push('\0');
    }

    fn sections(&self) -> impl Iterator<Item = &str> {
        let ends = self.starts.iter().skip(1).copied().chain([self.text.len()]);
        let ranges = self.starts.iter().copied().zip(ends);
        ranges.map(|(start, end)| &self.text[start..end - 1])
    }

    fn find(&self, quote: &str) -> Option<usize> {
        let text = self.text.as_bytes();
        let at = if self.asked.fetch_add(1, Ordering::Relaxed) < SEARCHES_BEFORE_INDEX {
            crate::effort::count(text.len());
            memmem::find(text, quote.as_bytes())
        } else {
            let grams = self.grams.get_or_init(|| Grams::new(&self.text));
            grams.find_all(text, quote.as_bytes()).next()
        };
        let at = at.filter(|_| !quote.is_empty())?;
        Some(self.starts.partition_point(|start| *start <= at) - 1)
    }
}
