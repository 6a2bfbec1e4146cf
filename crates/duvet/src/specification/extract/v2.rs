//! Sentences as a person would cut them.
//!
//! Abbreviations do not end a sentence; fenced and indented code states nothing; a list item keeps the words that lead
//! into its list; every row of a table is a requirement of its own; a sentence with several keywords is one requirement
//! for each clause that binds; and the paragraph that only explains the keywords is skipped.

use super::Requirement;
use super::compat::Unit;
use crate::specification::keyword::{Keyword, Level, keywords};
use crate::specification::{Format, Line, Specification};
use crate::text::Span;
use std::ops::Range;

pub(super) fn extract(specification: &Specification, section: usize) -> Vec<Requirement> {
    let mut found = Vec::new();
    let mut lead: Option<Lead> = None;
    for block in blocks(specification, &specification.sections[section].lines) {
        match block {
            Block::Table(rows) => found.extend(
                rows.iter()
                    .filter_map(|row| whole_row(specification, section, row)),
            ),
            Block::Prose { lines, is_item } => {
                let unit = Unit::new(specification, lines);
                if is_boilerplate(&unit.text) {
                    continue;
                }
                let context = lead.as_ref().filter(|_| is_item);
                found.extend(of_unit(section, &unit, context));
                if !is_item {
                    lead = Lead::of(&unit);
                }
            }
        }
    }
    found
}

/// A run of lines that belongs together.
enum Block<'a> {
    Prose { lines: &'a [Line], is_item: bool },
    Table(&'a [Line]),
}

/// Words that introduce a list, such as `A server:`; they bind the items when they hold the keyword.
struct Lead {
    pieces: Vec<Span>,
    keywords: Vec<Keyword>,
}

impl Lead {
    fn of(unit: &Unit) -> Option<Self> {
        let text = unit.text.trim_end();
        if !text.ends_with(':') {
            return None;
        }
        let sentence = sentences(text).last()?;
        let keywords = keywords(&text[sentence.clone()]);
        Some(Self {
            pieces: unit.pieces(sentence),
            keywords,
        })
    }
}

//= specs/duvet.md#extraction
//# In mode `v2`, fenced code MUST NOT state requirements.
fn blocks<'a>(specification: &'a Specification, lines: &'a [Line]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut in_fence = false;
    for group in lines.chunk_by(|_, next| !next.break_before) {
        let mut start = 0;
        for (index, line) in group.iter().enumerate() {
            let text = specification.line(line).trim();
            let is_fence = specification.format == Format::Markdown
                && (text.starts_with("```") || text.starts_with("~~~"));
            if is_fence {
                if !in_fence {
                    push(specification, &group[start..index], &mut blocks);
                }
                in_fence = !in_fence;
                start = index + 1;
            } else if in_fence {
                start = index + 1;
            }
        }
        push(specification, &group[start.min(group.len())..], &mut blocks);
    }
    blocks
}

fn push<'a>(specification: &'a Specification, lines: &'a [Line], blocks: &mut Vec<Block<'a>>) {
    let lines = match lines
        .iter()
        .position(|line| !specification.line(line).trim().is_empty())
    {
        Some(first) => &lines[first..],
        None => return,
    };
    let text = |line: &Line| specification.line(line).trim();
    let is_row = |line: &Line| text(line).starts_with('|') && text(line).ends_with('|');
    if lines.iter().all(is_row) {
        blocks.push(Block::Table(lines));
    } else if specification.format == Format::Markdown
        && specification.line(&lines[0]).starts_with("    ")
        && !is_item(text(&lines[0]))
    {
        // Indented code, unless a list item above it is what it is indented for.
        if matches!(blocks.last(), Some(Block::Prose { is_item: true, .. })) {
            blocks.push(Block::Prose { lines, is_item: true });
        }
    } else {
        blocks.push(Block::Prose {
            lines,
            is_item: is_item(text(&lines[0])),
        });
    }
}

fn is_item(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '*', '+', 'o']).or_else(|| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0)
            .then(|| text[digits..].strip_prefix(['.', ')']))
            .flatten()
    });
    rest.is_some_and(|rest| rest.starts_with(' '))
}

//= specs/duvet.md#extraction
//# In mode `v2`, every row of a table that holds a keyword MUST be a requirement of its own.
/// A row with a keyword; the ruler between head and body has none.
fn whole_row(specification: &Specification, section: usize, row: &Line) -> Option<Requirement> {
    let raw = specification.line(row);
    let level = keywords(raw).into_iter().map(|keyword| keyword.level).max()?;
    let start = row.span.start as usize + (raw.len() - raw.trim_start().len());
    let pieces = vec![Span::new(start, start + raw.trim().len())];
    Some(Requirement {
        section,
        level,
        pieces,
        context: Vec::new(),
    })
}

//= specs/duvet.md#extraction
//# In mode `v2`, an item of a list MUST keep the words that lead into the list.
fn of_unit(section: usize, unit: &Unit, lead: Option<&Lead>) -> Vec<Requirement> {
    let context = lead.map(|lead| lead.pieces.clone()).unwrap_or_default();
    // An item without a keyword binds when the words before its list do: "The server MUST:" and then "- a".
    let inherited = lead.and_then(|lead| lead.keywords.iter().map(|keyword| keyword.level).max());
    let mut found = Vec::new();
    for sentence in sentences(&unit.text) {
        let words = keywords(&unit.text[sentence.clone()]);
        let clauses = match (words.is_empty(), inherited) {
            (true, Some(level)) => vec![Clause {
                range: sentence,
                level,
            }],
            (true, None) => continue,
            (false, _) => clauses(&unit.text, sentence, &words),
        };
        found.extend(clauses.into_iter().map(|clause| Requirement {
            section,
            level: clause.level,
            pieces: unit.pieces(clause.range),
            context: context.clone(),
        }));
    }
    found
}

struct Clause {
    range: Range<usize>,
    level: Level,
}

//= specs/duvet.md#extraction
//# In mode `v2`, a compound sentence MUST be split by its keywords.
/// One clause per keyword, cut where a conjunction begins a new binding part: `, and MUST`, `; it SHOULD`, `, but MAY`.
fn clauses(text: &str, sentence: Range<usize>, words: &[Keyword]) -> Vec<Clause> {
    let mut cuts = vec![sentence.start];
    for pair in words.windows(2) {
        let between = sentence.start + pair[0].range.end..sentence.start + pair[1].range.start;
        if let Some(cut) = cut(&text[between.clone()]) {
            cuts.push(between.start + cut);
        }
    }
    cuts.push(sentence.end);
    let level = |range: &Range<usize>| {
        let inside = words
            .iter()
            .filter(|k| range.contains(&(sentence.start + k.range.start)));
        inside.map(|k| k.level).max()
    };
    let ranges = cuts.windows(2).map(|pair| pair[0]..pair[1]);
    ranges
        .filter_map(|range| {
            Some(Clause {
                level: level(&range)?,
                range,
            })
        })
        .collect()
}

/// Where the second of two clauses begins in the words between their keywords.
fn cut(between: &str) -> Option<usize> {
    [";", ", and ", ", but ", ", or ", ",\nand ", ",\nbut ", ",\nor "]
        .iter()
        .filter_map(|mark| between.rfind(mark).map(|at| at + 1))
        .max()
}

/// Sentences end at `.`, `!` or `?` before a blank, unless the word before is an abbreviation or a single letter.
fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut start = 0;
    let stops = memchr::memchr3_iter(b'.', b'!', b'?', bytes);
    let ends = stops
        .filter(|&at| ends_sentence(text, at))
        .map(|at| at + 1)
        .chain(std::iter::once(text.len()));
    ends.filter_map(move |end| {
        let sentence = start..end;
        start = end;
        (!text[sentence.clone()].trim().is_empty()).then_some(sentence)
    })
}

//= specs/duvet.md#extraction
//# In mode `v2`, an abbreviation MUST NOT end a sentence.
fn ends_sentence(text: &str, at: usize) -> bool {
    let next = text.as_bytes().get(at + 1);
    if next.is_some_and(|next| !matches!(next, b' ' | b'\t' | b'\n')) {
        return false;
    }
    if text.as_bytes()[at] != b'.' {
        return true;
    }
    let word = text[..at]
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"'))
        .next()
        .unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let rest = text[at + 1..].trim_start();
    let goes_on = rest.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || c == ',');
    !ABBREVIATIONS.contains(&lower.as_str()) || (!goes_on && AMBIGUOUS.contains(&lower.as_str()))
}

/// Words whose full stop belongs to them.
const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "cf", "vs", "viz", "al", "eq", "eqs", "fig", "figs", "sec", "sect", "no", "nos",
    "ref", "refs", "ch", "vol", "pp", "dr", "mr", "mrs", "st", "jr", "sr", "inc", "ltd", "co", "dept",
    "approx", "resp", "incl", "max", "min",
];

/// Those that may also stand at the end of a sentence.
const AMBIGUOUS: &[&str] = &[
    "etc", "al", "inc", "ltd", "co", "no", "max", "min", "st", "resp", "incl",
];

/// The paragraph of RFC 2119 and RFC 8174 that says what the keywords mean.
fn is_boilerplate(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("key words")
        && (text.contains("to be interpreted as") || text.contains("rfc 2119") || text.contains("rfc2119"))
}
