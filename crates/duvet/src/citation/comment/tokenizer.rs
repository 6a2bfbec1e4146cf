//! Blocks of citation lines in a text.
//!
//! Most lines of most files are no citations, so the text is searched for the metadata prefix and only lines around a
//! hit are looked at.

use crate::citation::CommentStyle;
use crate::text::Span;
use memchr::memmem;

/// Metadata lines followed by quote lines, without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// Number of the first line, from one.
    pub(super) line: u32,
    /// What stands behind the metadata prefix, trimmed, line by line.
    pub(super) meta: Vec<Span>,
    /// What stands behind the quote prefix, trimmed, line by line.
    pub(super) content: Vec<Span>,
    /// From the first prefix to the end of the last line.
    pub(super) span: Span,
}

/// All blocks of a text in order.
pub(super) fn blocks(text: &str, style: &CommentStyle) -> Vec<Block> {
    let mut blocks = Vec::new();
    if style.meta.is_empty() {
        return blocks;
    }
    let finder = memmem::Finder::new(&style.meta);
    let mut counted = (0, 1);
    let mut at = 0;
    while let Some(hit) = finder.find(&text.as_bytes()[at..]).map(|i| at + i) {
        let line_start = text[..hit].rfind('\n').map_or(0, |i| i + 1);
        if line_start < at || !text[line_start..hit].trim_start().is_empty() {
            at = hit + style.meta.len();
            continue;
        }
        counted.1 += memchr::memchr_iter(b'\n', &text.as_bytes()[counted.0..line_start]).count() as u32;
        counted.0 = line_start;
        at = read_run(text, style, line_start, counted.1, &mut blocks);
    }
    blocks
}

/// Reads lines from a metadata line on until one is neither; gives back where it stopped.
fn read_run(
    text: &str,
    style: &CommentStyle,
    start: usize,
    first_line: u32,
    blocks: &mut Vec<Block>,
) -> usize {
    let mut block = Block::default();
    let mut at = start;
    let mut number = first_line;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i);
        let Some((is_meta, prefix, value)) = citation_line(text, at, end, style) else {
            break;
        };
        if is_meta && !block.content.is_empty() {
            blocks.push(std::mem::take(&mut block));
        }
        if block.line == 0 {
            block.line = number;
            block.span.start = prefix as u32;
        }
        block.span.end = value.end;
        if is_meta {
            block.meta.push(value)
        } else {
            block.content.push(value)
        }
        number += 1;
        at = (end + 1).min(text.len());
    }
    if block.line != 0 {
        blocks.push(block);
    }
    at.max(start + 1)
}

/// Whether the line is metadata, where its prefix begins, and the trimmed rest; `None` for any other line.
fn citation_line(text: &str, at: usize, end: usize, style: &CommentStyle) -> Option<(bool, usize, Span)> {
    let line = &text[at..end];
    let trimmed = line.trim_start();
    let prefix = at + (line.len() - trimmed.len());
    let is_meta = trimmed.starts_with(&style.meta);
    if !is_meta && (style.content.is_empty() || !trimmed.starts_with(&style.content)) {
        return None;
    }
    let skip = if is_meta {
        style.meta.len()
    } else {
        style.content.len()
    };
    let rest = &trimmed[skip..];
    let start = prefix + skip + (rest.len() - rest.trim_start().len());
    let length = rest.trim().len();
    Some((
        is_meta,
        prefix,
        Span::new(start.min(end), (start + length).min(end)),
    ))
}
