//! What moved since somebody last read it with the text of its item: code below a citation, and sentences an item comes from. The first
//! sight counts as read: whoever wrote the citation had both before them.

use super::{TracedSentence, TracedSpan};

/// Whether two spans are of one citation.
type IsSame = fn(&TracedSpan, &TracedSpan) -> bool;

/// Surest first: the same place with the same code, the same place, the same code somewhere else, the same words somewhere else.
const SAME_SPAN: [IsSame; 4] = [
    |a, b| is_same_place(a, b) && read_hash(a) == b.hash,
    is_same_place,
    |a, b| read_hash(a) == b.hash || a.hash == b.hash,
    |a, b| a.quote == b.quote,
];

fn is_same_place(a: &TracedSpan, b: &TracedSpan) -> bool {
    (&a.path, &a.symbol, &a.quote) == (&b.path, &b.symbol, &b.quote)
}

/// The hash of the code that somebody read.
fn read_hash(span: &TracedSpan) -> &str {
    if span.was.is_empty() {
        &span.hash
    } else {
        &span.was
    }
}

/// Says of each span what its code was when somebody read it, where it is another now.
//= specs/spexus-service.md#evidence
//# Code below a citation, and a sentence an item comes from, that changed since somebody read it with the item MUST be told as
//# suspect, by its place, until somebody confirms it; a file that only moved MUST NOT.
pub(super) fn spans(before: &[TracedSpan], now: &mut [TracedSpan]) {
    pair(before, now, &SAME_SPAN, |earlier, span| {
        let read = read_hash(earlier);
        span.was = if read == span.hash { "" } else { read }.to_owned();
    });
}

/// Says of each sentence what it was when somebody read it, where it is another now.
pub(super) fn sentences(before: &[TracedSentence], now: &mut [TracedSentence]) {
    let same: [fn(&TracedSentence, &TracedSentence) -> bool; 3] = [
        |a, b| a.path == b.path && (a.text == b.text || a.was == b.text),
        |a, b| a.text == b.text || a.was == b.text,
        |a, b| a.path == b.path,
    ];
    pair(before, now, &same, |earlier, sentence| {
        let read = if earlier.was.is_empty() {
            &earlier.text
        } else {
            &earlier.was
        };
        sentence.was = if *read == sentence.text { "" } else { read }.to_owned();
    });
}

/// Each of the new ones with the one it was, each once.
fn pair<T>(before: &[T], now: &mut [T], same: &[fn(&T, &T) -> bool], mut found: impl FnMut(&T, &mut T)) {
    let mut left: Vec<&T> = before.iter().collect();
    let mut open: Vec<&mut T> = now.iter_mut().collect();
    for is_same in same {
        open.retain_mut(|new| {
            let Some(at) = left.iter().position(|earlier| is_same(earlier, new)) else {
                return true;
            };
            found(left.remove(at), new);
            false
        });
    }
}
