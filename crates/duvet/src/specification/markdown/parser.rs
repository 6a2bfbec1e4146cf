//! From marks to sections.

use super::tokenizer::Token;
use crate::specification::{Line, Section};
use crate::text::{Span, lines};
use std::collections::{HashMap, HashSet};

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
                line,
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
    /// How often a name was taken, so that a thousand equal headings are not counted from one each.
    taken: HashMap<String, usize>,
    broken: bool,
    /// Lines of the open section up to the last one that says something.
    content: usize,
}

impl Builder {
    //= specs/duvet.md#section-ids
    //# Every heading of a Markdown text MUST open a section named by its explicit id or else by its slug, equal names
    //# told apart by a counter.
    fn open(&mut self, heading: Span, title: &str, id: Option<String>, is_top: bool) {
        self.close();
        let id = self.unique(&id.unwrap_or_else(|| super::slug(title)));
        let title = title.replace('\n', " ");
        if is_top && self.title.is_none() {
            self.title = Some(title.clone());
        }
        self.sections.push(Section {
            id,
            title,
            heading,
            lines: Vec::new(),
        });
        self.broken = false;
    }

    /// Equal headings are told apart by a counter, as the public tool does.
    fn unique(&mut self, id: &str) -> String {
        let mut unique = id.to_owned();
        let count = self.taken.entry(id.to_owned()).or_default();
        while !self.ids.insert(unique.clone()) {
            crate::effort::count(1);
            *count += 1;
            unique = format!("{id}-{count}");
        }
        unique
    }

    /// Every line between the first and the last that says something is kept, blank ones too. An empty line ends a
    /// sentence; one of blanks does not.
    fn line(&mut self, line: Line, text: &str) {
        self.broken |= line.break_before;
        let is_blank = text.trim().is_empty();
        let Some(section) = self.sections.last_mut() else {
            return;
        };
        if is_blank && section.lines.is_empty() {
            return;
        }
        let break_before = self.broken || text.is_empty();
        section.lines.push(Line { break_before, ..line });
        if !is_blank {
            self.broken = false;
            self.content = section.lines.len();
        }
    }

    /// Blank lines at the end of a section belong to none.
    fn close(&mut self) {
        if let Some(section) = self.sections.last_mut() {
            section.lines.truncate(self.content);
        }
        self.content = 0;
    }

    fn finish(mut self) -> (Option<String>, Vec<Section>) {
        self.close();
        (self.title, self.sections)
    }
}
