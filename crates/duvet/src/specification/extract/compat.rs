//! Sentences as the public tool cuts them: a full stop before a blank ends one, whatever the word before it is.

use super::Requirement;
use crate::specification::keyword::{Level, keywords, may_hold};
use crate::specification::{Line, Specification};
use crate::text::Span;
use std::collections::HashMap;

pub(super) fn extract(specification: &Specification, section: usize) -> Vec<Requirement> {
    let lines = &specification.sections[section].lines;
    let units = lines.chunk_by(|_, next| !next.break_before);
    let may_demand = |unit: &&[Line]| unit.iter().any(|line| may_hold(specification.line(line)));
    units
        .filter(may_demand)
        .flat_map(|unit| of_unit(specification, section, unit))
        .collect()
}

/// One sentence for each keyword. Sentences of one section that are equal become one afterwards.
fn of_unit(specification: &Specification, section: usize, lines: &[Line]) -> Vec<Requirement> {
    let unit = Unit::new(specification, lines);
    let mut stops = Stops::new(&unit);
    let mut levels: HashMap<std::ops::Range<usize>, Level> = HashMap::new();
    for keyword in keywords(&unit.text) {
        let sentence = stops.before(keyword.range.start)..stops.behind(keyword.range.end);
        let level = levels.entry(sentence).or_default();
        *level = (*level).max(keyword.level);
    }
    let mut found: Vec<(std::ops::Range<usize>, Level)> = levels.into_iter().collect();
    found.sort_by_key(|(sentence, level)| (sentence.start, *level, sentence.end));
    let requirement = |(sentence, level)| Requirement {
        section,
        level,
        pieces: unit.pieces(sentence),
        context: Vec::new(),
    };
    found.into_iter().map(requirement).collect()
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
            text: String::with_capacity(lines.iter().map(|line| line.span.len() + 1).sum()),
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
        let first = self
            .lines
            .partition_point(|(joined, _, length)| joined + length <= start);
        for &(joined, source, length) in self.lines[first..]
            .iter()
            .take_while(|(joined, ..)| *joined < end)
        {
            crate::effort::count(1);
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
/// Where the sentences of a unit begin and end, cut as the public tool cuts them. A line without a stop is gone through
/// once, however many keywords stand in lines like it.
struct Stops<'u> {
    text: &'u str,
    lines: &'u [(usize, usize, usize)],
    /// For each line that was asked for, where a sentence begins that reaches over the line's end.
    before: HashMap<usize, usize>,
    /// For each line that was asked for, where a sentence ends that reaches over the line's start.
    behind: HashMap<usize, usize>,
}

impl<'u> Stops<'u> {
    fn new(unit: &'u Unit) -> Self {
        Self {
            text: &unit.text,
            lines: &unit.lines,
            before: HashMap::new(),
            behind: HashMap::new(),
        }
    }

    /// Line by line backwards to a full stop before a blank. The public tool looks at the last stop of a line, and if no
    /// blank follows that one, at the first.
    fn before(&mut self, keyword: usize) -> usize {
        let mut line = self.line(keyword);
        let mut limit = keyword;
        let mut passed = Vec::new();
        let stop = loop {
            if let Some(known) = self.before.get(&line).filter(|_| limit != keyword) {
                break *known;
            }
            let start = self.lines[line].0;
            let last = self.text[start..limit].rfind('.').map(|at| start + at + 1);
            crate::effort::count(limit - last.unwrap_or(start));
            let stop = last.and_then(|last| match is_blank(self.text, last) {
                true => Some(last),
                false => first_stop(self.text, start, limit),
            });
            if limit != keyword {
                passed.push(line);
            }
            match (stop, line) {
                (Some(stop), _) => break stop,
                (None, 0) => break 0,
                (None, _) => {
                    line -= 1;
                    limit = self.end(line);
                }
            }
        };
        self.before.extend(passed.into_iter().map(|line| (line, stop)));
        stop
    }

    fn behind(&mut self, keyword: usize) -> usize {
        let mut line = self.line(keyword);
        let mut from = keyword;
        let mut passed = Vec::new();
        let stop = loop {
            if let Some(known) = self.behind.get(&line).filter(|_| from != keyword) {
                break *known;
            }
            let end = self.end(line);
            if from != keyword {
                passed.push(line);
            }
            match first_stop(self.text, from, end) {
                Some(stop) => break stop,
                None if line + 1 == self.lines.len() => break end,
                None => {
                    line += 1;
                    from = self.lines[line].0;
                }
            }
        };
        self.behind.extend(passed.into_iter().map(|line| (line, stop)));
        stop
    }

    fn line(&self, at: usize) -> usize {
        self.lines
            .partition_point(|(start, ..)| *start <= at)
            .saturating_sub(1)
    }

    fn end(&self, line: usize) -> usize {
        self.lines[line].0 + self.lines[line].2
    }
}

/// The end of the first full stop before a blank. What follows a stop is not looked at again, so that of two stops in a
/// row only the first counts.
fn first_stop(text: &str, from: usize, to: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < to {
        crate::effort::count(1);
        at += match bytes[at] {
            b'.' if is_blank(text, at + 1) => return Some(at + 1),
            b'.' => 2,
            _ => 1,
        };
    }
    None
}

fn is_blank(text: &str, at: usize) -> bool {
    let next = text.as_bytes().get(at);
    next.is_none_or(|next| matches!(next, b' ' | b'\t' | b'\n'))
}
