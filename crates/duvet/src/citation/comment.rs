//! Citations in comments, line by line and in any language.

mod parser;
mod stray;
mod tokenizer;

use super::{Annotation, CommentStyle, Kind};
use crate::diagnostic::Diagnostic;
use crate::target::Targets;
use crate::text::Cursor;
use std::sync::Arc;

/// The file a text was read from, and how it is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name of the file, as reports show it.
    pub name: &'a Arc<str>,
    /// Its text.
    pub text: &'a str,
    /// Its comment prefixes.
    pub style: &'a CommentStyle,
    /// What annotations without a type are.
    pub default_kind: Kind,
}

//= specs/duvet.md#citations
//# A citation MUST be read in any language whose comment prefixes are configured.
/// The annotations of one source file, and everything that is wrong with its citations.
pub fn extract(source: Source<'_>) -> (Vec<Annotation>, Vec<Diagnostic>) {
    let mut annotations = Vec::new();
    let mut diagnostics = Vec::new();
    let blocks = tokenizer::blocks(source.text, source.style);
    let mut context = parser::BlockContext {
        cursor: Cursor::new(source.text),
        targets: Targets::default(),
    };
    for block in &blocks {
        annotations.extend(parser::annotation(&source, block, &mut context, &mut diagnostics));
    }
    stray::find(&source, &blocks, &mut diagnostics);
    (annotations, diagnostics)
}

#[cfg(test)]
mod tests;
