//! What matters of a Markdown document: where headings are, and where list items begin and end.

use crate::text::Span;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// One mark in the text, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A heading with the whole of its source.
    Heading {
        span: Span,
        title: String,
        id: Option<String>,
        is_top: bool,
    },
    /// A sentence cannot cross this offset.
    Break { at: u32 },
}

pub(super) fn tokenize(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut open: Option<OpenHeading> = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_HEADING_ATTRIBUTES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, id, .. }) => {
                open = Some(OpenHeading {
                    span: Span::new(range.start, range.end),
                    id: id.map(|id| id.to_string()),
                    is_top: level == HeadingLevel::H1,
                    is_empty: true,
                    inner: None,
                });
            }
            Event::End(TagEnd::Heading(_)) => tokens.extend(open.take().map(|heading| heading.close(text))),
            Event::Start(Tag::Item) => tokens.push(Token::Break {
                at: range.start as u32,
            }),
            Event::End(TagEnd::Item) => tokens.push(Token::Break { at: range.end as u32 }),
            Event::Start(_) => {}
            event => {
                if let Some(heading) = &mut open {
                    heading.hold(&event, &range);
                }
            }
        }
    }
    tokens
}

struct OpenHeading {
    span: Span,
    id: Option<String>,
    is_top: bool,
    /// Whether anything stands in it.
    is_empty: bool,
    /// From the first plain words to the end of what stands in it.
    inner: Option<Range<usize>>,
}

impl OpenHeading {
    /// Only words that stand in the source as they are begin a title: neither code, nor HTML, nor `&amp;`.
    fn hold(&mut self, event: &Event<'_>, range: &Range<usize>) {
        self.is_empty = false;
        match &mut self.inner {
            Some(inner) => inner.end = inner.end.max(range.end),
            None if matches!(event, Event::Text(CowStr::Borrowed(_))) => self.inner = Some(range.clone()),
            None => {}
        }
    }

    /// A title is the heading's source from its first word on, markup included: `[Word](link)` gives `Word](link)`, and
    /// `` `code` word `` gives ` word`. A heading of code alone gives its whole source. Odd, but section titles of the
    /// public tool's reports, and the ids that citations name, are made this way.
    fn close(self, text: &str) -> Token {
        let title = match self.inner {
            Some(inner) => text[inner].trim_end().to_owned(),
            None if self.is_empty => String::new(),
            None => text[self.span.range()].trim().to_owned(),
        };
        Token::Heading {
            span: self.span,
            title,
            id: self.id,
            is_top: self.is_top,
        }
    }
}
