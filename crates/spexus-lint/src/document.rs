//! The requirements of a document: which passages of a Markdown or plain text file are to be judged.
//!
//! A specification holds much that is no requirement: headings, purpose, scenarios, tasks. Judged is what has an obligation
//! (`shall`, `must`, `should` and their Russian kin); a passage is the paragraph or the list item around it.

use crate::ears;
use crate::sentence::Sentence;
use crate::token::{Span, tokenize};

/// A passage of a document that demands something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage<'a> {
    /// Where it stands in the document, in characters.
    pub span: Span,
    /// What it says.
    pub text: &'a str,
}

/// The passages of a text that demand something. In a text of which no passage does, all are.
pub fn passages(text: &str) -> Vec<Passage<'_>> {
    let tokens = tokenize(text);
    let mut all: Vec<(Passage<'_>, bool)> = Vec::new();
    let mut start = 0;
    for at in 1..=tokens.len() {
        if at < tokens.len() && !tokens[at].begins {
            continue;
        }
        if let (Some(first), Some(last)) = (tokens.get(start), tokens.get(at - 1)) {
            let passage = Passage {
                span: Span::new(first.span.start, last.span.end),
                text: &text[first.bytes.start..last.bytes.end],
            };
            let demands = Sentence::of(text, &tokens[start..at]).iter().any(demands);
            all.push((passage, demands));
        }
        start = at;
    }
    let any = all.iter().any(|(_, demands)| *demands);
    all.into_iter()
        .filter(|(_, demands)| *demands || !any)
        .map(|(passage, _)| passage)
        .collect()
}

fn demands(sentence: &Sentence<'_>) -> bool {
    let force = sentence.ears.as_ref().map(|ears| ears.force);
    matches!(force, Some(ears::Force::Binding | ears::Force::Advised))
}
