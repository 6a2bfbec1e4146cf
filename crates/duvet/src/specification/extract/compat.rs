//! Sentences as the public tool cuts them: a full stop before a blank ends one, whatever the word before it is.

use super::Requirement;
use crate::specification::keyword::keywords;
use crate::specification::{Line, Specification};
use crate::text::Span;

pub(super) fn extract(specification: &Specification, section: usize) -> Vec<Requirement> {
    let lines = &specification.sections[section].lines;
    let units = lines.chunk_by(|_, next| !next.break_before);
    units
        .flat_map(|unit| of_unit(specification, section, unit))
        .collect()
}

fn of_unit(specification: &Specification, section: usize, lines: &[Line]) -> Vec<Requirement> {
    let unit = Unit::new(specification, lines);
    let words = keywords(&unit.text);
    let mut found = Vec::new();
    if words.is_empty() {
        return found;
    }
    for sentence in sentences(&unit.text) {
        let inside = words.iter().filter(|k| sentence.contains(&k.range.start));
        if let Some(level) = inside.map(|k| k.level).max() {
            found.push(Requirement {
                section,
                level,
                pieces: unit.pieces(sentence),
                context: Vec::new(),
            });
        }
    }
    found
}

/// Lines a sentence may run over, joined by line ends, and the way back to the specification's text.
pub(super) struct Unit {
    pub(super) text: String,
    /// Start in the joined text, start in the specification, length.
    lines: Vec<(usize, usize, usize)>,
}

impl Unit {
    pub(super) fn new(specification: &Specification, lines: &[Line]) -> Self {
        let mut unit = Self {
            text: String::new(),
            lines: Vec::with_capacity(lines.len()),
        };
        for line in lines {
            let raw = specification.line(line);
            let indent = raw.len() - raw.trim_start().len();
            let trimmed = raw.trim();
            if trimmed.is_empty() {
                continue;
            }
            if !unit.text.is_empty() {
                unit.text.push('\n');
            }
            unit.lines
                .push((unit.text.len(), line.span.start as usize + indent, trimmed.len()));
            unit.text.push_str(trimmed);
        }
        unit
    }

    /// The parts of the specification that a range of the joined text covers, blanks at both ends left out.
    pub(super) fn pieces(&self, range: std::ops::Range<usize>) -> Vec<Span> {
        let text = &self.text[range.clone()];
        let start = range.start + (text.len() - text.trim_start().len());
        let end = range.end - (text.len() - text.trim_end().len());
        let mut pieces = Vec::new();
        for &(joined, source, length) in &self.lines {
            let (from, to) = (start.max(joined), end.min(joined + length));
            if from < to {
                pieces.push(Span::new(source + from - joined, source + to - joined));
            }
        }
        pieces
    }
}

//= specs/duvet.md#extraction
//# In compatible mode, a sentence MUST end at a full stop before a blank or the end of its paragraph or list item.
fn sentences(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'.', bytes)
        .filter(|&at| {
            bytes
                .get(at + 1)
                .is_none_or(|next| matches!(next, b' ' | b'\t' | b'\n'))
        })
        .map(|at| at + 1)
        .chain(std::iter::once(text.len()));
    ends.filter_map(move |end| {
        let sentence = start..end;
        start = end;
        (!sentence.is_empty()).then_some(sentence)
    })
}
