//! Lines that look like citations and are none: quotes without a target, citations behind code.
//!
//! They are only notes, since prefixes such as `//#` also occur in comments that mean something else. Files without
//! any citation are not searched at all.

use super::Source;
use super::tokenizer::Block;
use crate::diagnostic::{Code, Diagnostic};
use crate::text::{Cursor, Span};
use memchr::memmem;

pub(super) fn find(source: &Source<'_>, blocks: &[Block], diagnostics: &mut Vec<Diagnostic>) {
    let text = source.text;
    let meta = memmem::Finder::new(&source.style.meta);
    if blocks.is_empty() && meta.find(text.as_bytes()).is_none() {
        return;
    }
    // Only lines that hold one of the prefixes are looked at.
    let mut hits = [source.style.meta.as_bytes(), source.style.content.as_bytes()].map(|prefix| {
        let finder = (!prefix.is_empty()).then(|| memmem::find_iter(text.as_bytes(), prefix));
        finder.into_iter().flatten().peekable()
    });
    let mut known = blocks.iter().peekable();
    let mut cursor = Cursor::new(text);
    let mut from = 0;
    loop {
        let next = hits.iter_mut().filter_map(|hits| {
            while hits.next_if(|hit| *hit < from).is_some() {}
            hits.peek().copied()
        });
        let Some(hit) = next.min() else {
            return;
        };
        let start = memchr::memrchr(b'\n', &text.as_bytes()[..hit]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &text.as_bytes()[hit..]).map_or(text.len(), |length| hit + length);
        from = end + 1;
        let line = &text[start..end];
        let line = line.strip_suffix('\r').unwrap_or(line);
        let span = Span::new(start, start + line.len());
        while known.next_if(|block| block.span.end < span.start).is_some() {}
        if known.peek().is_some_and(|block| block.span.start <= span.end) {
            continue;
        }
        if let Some((code, message, at)) = stray(source, &meta, line) {
            let place = cursor.position(start + at);
            diagnostics.push(Diagnostic::new(code, message, &**source.name, place));
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
