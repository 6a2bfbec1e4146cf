//! From marks to sections.

use super::tokenizer::Token;
use crate::specification::{Line, Section};
use crate::text::{Span, lines};
use std::collections::HashSet;

/// The title (that of the first top heading) and the sections. Text before the first heading belongs to none.
pub(super) fn parse(text: &str, tokens: Vec<Token>) -> (Option<String>, Vec<Section>) {
    let mut builder = Builder::default();
    let mut tokens = tokens.into_iter().peekable();
    let mut in_heading_until = 0;
    for (index, (span, line)) in lines(text).enumerate() {
        let mut break_before = false;
        while let Some(token) = tokens.next_if(|t| starts_on(t, span)) {
            match token {
                Token::Break { .. } => break_before = true,
                Token::Heading {
                    span: heading,
                    title,
                    id,
                    is_top,
                } => {
                    in_heading_until = heading.end;
                    builder.open(heading, &title, id, is_top);
                }
            }
        }
        if span.start >= in_heading_until {
            builder.line(
                Line {
                    span,
                    number: index as u32 + 1,
                    break_before,
                },
                line.trim().is_empty(),
            );
        }
    }
    builder.finish()
}

/// A break at the very end of the line above counts for this line.
fn starts_on(token: &Token, line: Span) -> bool {
    match token {
        Token::Break { at } => *at <= line.start.max(line.end.saturating_sub(1)),
        Token::Heading { span, .. } => span.start < line.end.max(line.start + 1),
    }
}

#[derive(Default)]
struct Builder {
    title: Option<String>,
    sections: Vec<Section>,
    ids: HashSet<String>,
    blank: bool,
    broken: bool,
}

impl Builder {
    //= specs/duvet.md#section-ids
    //# Every heading of a Markdown text MUST open a section named by its explicit id or else by its slug, equal names
    //# told apart by a counter.
    fn open(&mut self, heading: Span, title: &str, id: Option<String>, is_top: bool) {
        let title = title.trim().to_owned();
        let id = self.unique(&id.unwrap_or_else(|| super::slug(&title)));
        if is_top && self.title.is_none() {
            self.title = Some(title.clone());
        }
        self.sections.push(Section {
            id,
            title,
            heading,
            lines: Vec::new(),
        });
        self.blank = false;
        self.broken = false;
    }

    /// Equal headings are told apart by a counter, as the public tool does.
    fn unique(&mut self, id: &str) -> String {
        let mut unique = id.to_owned();
        let mut count = 0;
        while !self.ids.insert(unique.clone()) {
            count += 1;
            unique = format!("{id}-{count}");
        }
        unique
    }

    fn line(&mut self, line: Line, is_blank: bool) {
        self.broken |= line.break_before;
        if is_blank {
            self.blank = true;
            return;
        }
        let Some(section) = self.sections.last_mut() else {
            return;
        };
        if self.blank && !section.lines.is_empty() {
            let before = Span {
                start: line.span.start,
                end: line.span.start,
            };
            section.lines.push(Line {
                span: before,
                number: line.number - 1,
                break_before: true,
            });
        }
        section.lines.push(Line {
            break_before: self.broken,
            ..line
        });
        self.blank = false;
        self.broken = false;
    }

    fn finish(self) -> (Option<String>, Vec<Section>) {
        (self.title, self.sections)
    }
}
