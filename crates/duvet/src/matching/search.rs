//! The three steps, and what to say when all of them fail.

use super::haystack::{Haystack, normalise};
use super::{Grade, changes_meaning, fuzzy, word_diff};
use crate::text::Span;
use memchr::memmem;

/// What a search in one section gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// How well the quote agrees.
    pub grade: Grade,
    /// Where, one span per line.
    pub pieces: Vec<Span>,
}

/// Looks for a quote in a section; `None` when it is not there even with one edit.
pub fn find(haystack: &Haystack, quote: &str) -> Option<Found> {
    exact(haystack, quote)
        .or_else(|| normalised(haystack, quote))
        .or_else(|| drifted(haystack, quote))
}

fn exact(haystack: &Haystack, quote: &str) -> Option<Found> {
    let mut hits = memmem::find_iter(haystack.joined.as_bytes(), quote);
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
    let mut hits = memmem::find_iter(normal.text.as_bytes(), &needle);
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
    let (start, end) = fuzzy::find(needle.as_bytes(), normal.text.as_bytes())?;
    let (from, to) = normal.original(start, end);
    // The edit may have split a character; the span is widened to whole ones.
    let (from, to) = (
        haystack.joined.floor_char_boundary(from),
        haystack.joined.ceil_char_boundary(to),
    );
    let text = haystack.joined[from..to].to_owned();
    let grade = Grade::Drifted {
        distance: 1,
        diff: word_diff(quote, &text),
        changes_meaning: changes_meaning(quote, &text),
        tolerated: true,
        text,
    };
    Some(Found {
        grade,
        pieces: haystack.pieces(from, to),
    })
}
