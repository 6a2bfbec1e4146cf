//! What the text of an item makes of its evidence. It is asked when evidence comes, and again when the text was edited since: both must
//! come to the same.

use super::ladder::{ItemStanding, derive};
use super::{ItemTrace, Rung};

/// An item as it reads now.
#[derive(Clone, Copy, Debug)]
pub struct ItemReading<'a> {
    /// What people call it.
    pub label: &'a str,
    /// Its title and its description.
    pub text: &'a str,
    /// Whether that changed since its claims were made or confirmed.
    pub is_text_changed: bool,
    /// The fingerprint of the evidence that somebody affirmed for the text as it is.
    pub affirmed: Option<&'a str>,
}

/// Holds the evidence of an item against its text and fills in where it stands.
///
/// A text that changed is suspect until somebody reads it again with its tests. A quote that does not stand there is suspect however it
/// came to that.
//= specs/spexus-service.md#evidence
//# An item whose text changed after tests claimed it MUST NOT stand higher than claimed until somebody confirms it.
pub fn read_again(trace: &mut ItemTrace, reading: &ItemReading<'_>) {
    let text = plain(reading.text);
    let holds = |quote: &str| text.contains(&plain(quote));
    for span in &mut trace.spans {
        span.quote_found = (!span.quote.is_empty()).then(|| holds(&span.quote));
    }
    let spans = trace.spans.iter();
    let is_span_misquoted = spans.clone().any(|span| span.quote_found == Some(false));
    let tests = trace.tests.iter();
    let is_test_misquoted = tests
        .clone()
        .any(|test| !test.quote.is_empty() && !holds(&test.quote));
    let is_text_moved = reading.is_text_changed && !trace.tests.is_empty();
    let affirmed = reading.affirmed;
    let is_affirmed = affirmed.is_some_and(|affirmed| affirmed == trace.fingerprint());
    trace.moved = match is_affirmed {
        true => Vec::new(),
        false => moved(trace, reading.label, is_text_moved),
    };
    let standing = ItemStanding {
        is_suspect: is_text_moved || is_span_misquoted || is_test_misquoted,
        is_text_moved,
        is_affirmed,
    };
    derive(reading.label, trace, standing);
}

/// What moved since somebody read it with the rest, in words.
fn moved(trace: &ItemTrace, label: &str, is_text_moved: bool) -> Vec<String> {
    let text = is_text_moved.then(|| format!("the text of {label}"));
    let spans = trace.spans.iter().filter(|span| !span.was.is_empty());
    let spans = spans.map(|span| match span.symbol.as_str() {
        "" => format!("the code at {}:{}", span.path, span.line),
        symbol => format!("the code of {symbol} at {}:{}", span.path, span.line),
    });
    let sentences = trace.sentences.iter().filter(|sentence| !sentence.was.is_empty());
    let sentences = sentences.map(|sentence| format!("the sentence at {}:{}", sentence.path, sentence.line));
    text.into_iter().chain(spans).chain(sentences).collect()
}

impl ItemTrace {
    /// Takes everything as it is for read: nothing of it moved any more.
    pub fn confirm(&mut self) {
        for span in &mut self.spans {
            span.was.clear();
        }
        for sentence in &mut self.sentences {
            sentence.was.clear();
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.spans.is_empty() && self.sentences.is_empty()
    }

    /// Whether what is known of it was typed in or pushed for its text: from then on only a person takes another for it.
    pub fn is_claimed(&self) -> bool {
        !self.tests.is_empty() || self.state > Rung::Cited
    }
}

/// A text whatever the blanks and the signs of Markdown between its words.
fn plain(text: &str) -> String {
    let text = text.replace(['*', '_', '`'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
