//! From lines to sections: which candidate headings are headings.

use super::tokenizer::{Blank, HeadingKind, Token};
use crate::specification::{Line, Section};
use crate::text::Span;

pub(super) fn parse<'a>(tokens: impl Iterator<Item = Token<'a>>) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut open: Option<Section> = None;
    let mut last_number = Vec::new();
    let mut above = Above::default();
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Blank(blank) => above.blank(blank),
            Token::Furniture => above.furniture(),
            Token::Heading {
                line,
                kind,
                id,
                title,
            } if opens(&last_number, (kind, id, title), &above, tokens.peek()) => {
                if kind != HeadingKind::Named {
                    last_number = parts(id);
                }
                sections.extend(open.replace(section(kind, id, title, line.span)));
                above = Above::default();
            }
            // Whatever stands at the top of a page, but for a heading.
            Token::Heading { .. } | Token::Text { .. } if above.last == Last::Blank(Blank::Page) => {
                above.furniture();
            }
            Token::Heading { line, .. } | Token::Text { line } => {
                if let Some(section) = &mut open {
                    push(section, line, above.has_blank);
                }
                above = Above::default();
            }
        }
    }
    sections.extend(open);
    sections
}

/// What stands between a line and the text above it.
#[derive(Default)]
struct Above {
    /// Whether an empty line does. Those around footers and headers belong to the page.
    has_blank: bool,
    has_furniture: bool,
    last: Last,
}

/// The line just above.
#[derive(Default, PartialEq, Eq)]
enum Last {
    #[default]
    Text,
    Blank(Blank),
    Furniture,
}

impl Above {
    fn blank(&mut self, blank: Blank) {
        self.has_blank |= !self.has_furniture;
        self.last = Last::Blank(blank);
    }

    fn furniture(&mut self) {
        self.has_furniture = true;
        self.last = Last::Furniture;
    }
}

/// A blank line just above it and a title that looks like one are enough. Without them a candidate has to continue the
/// numbering, because numbered lists and rows of tables at the margin look the same. One without a number stands between
/// two blank lines.
fn opens(
    last: &[Part],
    (kind, id, title): (HeadingKind, &str, &str),
    above: &Above,
    below: Option<&Token<'_>>,
) -> bool {
    if kind == HeadingKind::Named {
        let blank = Blank::Line;
        return above.last == Last::Blank(blank) && below == Some(&Token::Blank(blank));
    }
    let is_row = title.trim_end_matches('|').contains('|');
    let after_blank = matches!(above.last, Last::Blank(_));
    (after_blank && !is_row) || follows(last, &parts(id))
}

/// Whether `next` is the first child of `last`, or counts on from it at some level.
fn follows(last: &[Part], next: &[Part]) -> bool {
    let Some((&tail, head)) = next.split_last() else {
        return false;
    };
    if head == last {
        return tail.number <= 1;
    }
    last.len() >= next.len() && last[..head.len()] == *head && last[head.len()].next() == tail
}

/// One dot-separated part of a number: `A2` is `('A', 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    letter: Option<char>,
    number: u32,
}

impl Part {
    fn next(self) -> Self {
        match (self.letter, self.number) {
            (Some(letter), 0) => Self {
                letter: char::from_u32(letter as u32 + 1),
                number: 0,
            },
            _ => Self {
                number: self.number + 1,
                ..self
            },
        }
    }
}

fn parts(id: &str) -> Vec<Part> {
    let part = |text: &str| {
        let letter = text.chars().next().filter(char::is_ascii_alphabetic);
        let digits = &text[letter.map_or(0, char::len_utf8)..];
        Part {
            letter,
            number: digits.parse().unwrap_or(0),
        }
    };
    id.split('.').map(part).collect()
}

//= specs/duvet.md#section-ids
//# A numbered heading of an IETF text MUST be named `section-` and its number, an appendix `appendix-` and its letter.
fn section(kind: HeadingKind, id: &str, title: &str, heading: Span) -> Section {
    let id = match kind {
        HeadingKind::Section => format!("section-{id}"),
        HeadingKind::Appendix => format!("appendix-{id}"),
        HeadingKind::Named => format!("name-{}", crate::specification::markdown::slug(title)),
    };
    Section {
        id,
        title: title.to_owned(),
        heading,
        lines: Vec::new(),
    }
}

/// Runs of blank lines become one, and none stands at either end of a section.
fn push(section: &mut Section, line: Line, after_blank: bool) {
    if after_blank && !section.lines.is_empty() {
        let before = Span {
            start: line.span.start,
            end: line.span.start,
        };
        section.lines.push(Line {
            span: before,
            number: line.number.saturating_sub(1),
            break_before: true,
        });
    }
    section.lines.push(line);
}
