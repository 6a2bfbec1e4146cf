//! Lines that look like citations and are none: quotes without a target, citations behind code.
//!
//! They are only notes, since prefixes such as `//#` also occur in comments that mean something else. Files without
//! any citation are not searched at all.

use super::Source;
use super::tokenizer::Block;
use crate::diagnostic::{Code, Diagnostic};
use crate::text::{Position, lines};
use memchr::memmem;

pub(super) fn find(source: &Source<'_>, blocks: &[Block], diagnostics: &mut Vec<Diagnostic>) {
    let meta = memmem::Finder::new(&source.style.meta);
    if blocks.is_empty() && meta.find(source.text.as_bytes()).is_none() {
        return;
    }
    let mut known = blocks.iter().peekable();
    for (index, (span, line)) in lines(source.text).enumerate() {
        while known.next_if(|block| block.span.end < span.start).is_some() {}
        if known.peek().is_some_and(|block| block.span.start <= span.end) {
            continue;
        }
        if let Some((code, message, at)) = stray(source, &meta, line) {
            let start = Position {
                line: index as u32 + 1,
                column: line[..at].chars().count() as u32 + 1,
            };
            diagnostics.push(Diagnostic::new(code, message, &**source.name, start));
        }
    }
}

fn stray(source: &Source<'_>, meta: &memmem::Finder<'_>, line: &str) -> Option<(Code, &'static str, usize)> {
    let content = source.style.content.as_str();
    let trimmed = line.trim_start();
    if !content.is_empty() && trimmed.starts_with(content) && trimmed[content.len()..].starts_with(' ') {
        let message = "these words are quoted from nowhere: no target stands above them";
        return Some((Code::QuoteWithoutTarget, message, line.len() - trimmed.len()));
    }
    let at = meta.find(line.as_bytes())?;
    if line[..at].trim().is_empty() {
        return None;
    }
    let target = line[at + meta.needle().len()..].strip_prefix(' ')?;
    let is_target =
        target.contains('#') && !target.contains(char::is_whitespace) && target.contains(['/', '.']);
    let message = "a citation behind code is not read; put it on a line of its own";
    is_target.then_some((Code::CitationAfterCode, message, at))
}
