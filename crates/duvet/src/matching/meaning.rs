//! Edits that turn a requirement into another one.

use crate::specification::keyword::keywords;
use similar::{ChangeTag, TextDiff};

/// Whether two texts differ in a number, a negation or a keyword of RFC 2119.
//= specs/duvet.md#matching
//# A changed number, negation or keyword MUST be named as a change of meaning.
pub fn changes_meaning(quote: &str, specification: &str) -> bool {
    marks(quote) != marks(specification)
}

/// Numbers, negations and keywords in order.
fn marks(text: &str) -> Vec<String> {
    let words = text
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '.')))
        .map(|w| w.trim_matches('.'));
    let mut marks: Vec<String> = words
        .filter(|word| word.bytes().any(|b| b.is_ascii_digit()) || is_negation(word))
        .map(str::to_lowercase)
        .collect();
    marks.extend(
        keywords(text)
            .into_iter()
            .map(|k| format!("{:?}{}", k.level, k.negated)),
    );
    marks
}

fn is_negation(word: &str) -> bool {
    let lower = word.to_lowercase();
    matches!(
        lower.as_str(),
        "not" | "no" | "never" | "none" | "neither" | "nor" | "without" | "cannot" | "unless"
    ) || lower.ends_with("n't")
}

/// What was taken away and what was added on the way from the quote to the specification.
pub fn word_diff(quote: &str, specification: &str) -> String {
    let diff = TextDiff::from_words(quote, specification);
    let mut out = String::new();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => out.push_str(change.value()),
            ChangeTag::Delete => out.push_str(&format!("[-{}-]", change.value())),
            ChangeTag::Insert => out.push_str(&format!("{{+{}+}}", change.value())),
        }
    }
    out
}
