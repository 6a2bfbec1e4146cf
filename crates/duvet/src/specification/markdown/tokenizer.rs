//! What matters of a Markdown document: where headings are, and where list items begin and end.

use crate::text::Span;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
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
                    inner: None,
                });
            }
            Event::End(TagEnd::Heading(_)) => tokens.extend(open.take().map(|heading| heading.close(text))),
            Event::Start(Tag::Item) => tokens.push(Token::Break {
                at: range.start as u32,
            }),
            Event::End(TagEnd::Item) => tokens.push(Token::Break { at: range.end as u32 }),
            Event::Start(_) => {}
            _ => {
                if let Some(heading) = &mut open {
                    let inner = heading.inner.get_or_insert(range.clone());
                    inner.end = inner.end.max(range.end);
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
    inner: Option<Range<usize>>,
}

impl OpenHeading {
    /// A title is the heading's source from its first word on, markup included: `[Word](link)` gives `Word](link)`.
    /// Odd, but section titles of the public tool's reports are made this way.
    fn close(self, text: &str) -> Token {
        let title = self
            .inner
            .map(|inner| text[inner].trim().to_owned())
            .unwrap_or_default();
        Token::Heading {
            span: self.span,
            title,
            id: self.id,
            is_top: self.is_top,
        }
    }
}
