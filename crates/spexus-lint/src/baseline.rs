//! What was there already: a list of fingerprints, so that only new findings count.
//!
//! A fingerprint is made of the rule, the words found and the sentence around them, without its place. So a text may move
//! and grow, and an old finding stays old until its own sentence is changed.

use std::collections::BTreeMap;

use crate::finding::Finding;

/// Known findings, each with how often it stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownFindings {
    known: BTreeMap<String, usize>,
}

impl KnownFindings {
    /// Takes findings of one text up.
    pub fn add(&mut self, text: &str, findings: &[Finding]) {
        for finding in findings {
            *self.known.entry(fingerprint(text, finding)).or_default() += 1;
        }
    }

    //= specs/spexus-lint.md#findings
    //# With a baseline only findings that are not in it MUST count, wherever the text around them has moved.
    /// Takes the findings out that are known; each known one hides as many as there were.
    pub fn subtract(&mut self, text: &str, findings: Vec<Finding>) -> Vec<Finding> {
        let is_new = |finding: &Finding| match self.known.get_mut(&fingerprint(text, finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        findings.into_iter().filter(is_new).collect()
    }

    /// Reads what [`KnownFindings::write`] wrote; lines that are none are read past.
    pub fn read(text: &str) -> Self {
        let entry = |line: &str| {
            let (print, count) = line.trim().split_once(' ')?;
            Some((print.to_owned(), count.parse().ok()?))
        };
        Self {
            known: text.lines().filter_map(entry).collect(),
        }
    }

    /// One line for each fingerprint, sorted, so that two baselines merge as text.
    pub fn write(&self) -> String {
        let lines = self
            .known
            .iter()
            .map(|(print, count)| format!("{print} {count}\n"));
        lines.collect()
    }
}

/// Sixteen hex digits of the rule, the words and their sentence.
pub fn fingerprint(text: &str, finding: &Finding) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (start, end) = (
        finding.span.start.min(chars.len()),
        finding.span.end.min(chars.len()),
    );
    let stops = |c: &char| matches!(c, '.' | '!' | '?' | '\n' | '。');
    let from = chars[..start].iter().rposition(&stops).map_or(0, |at| at + 1);
    let to = chars[end..]
        .iter()
        .position(stops)
        .map_or(chars.len(), |at| end + at);
    let plain = |range: &[char]| {
        let text: String = range.iter().collect();
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let parts = [
        finding.rule,
        &plain(&chars[start..end]),
        &plain(&chars[from..to.max(from)]),
    ];
    let hash = blake3::hash(parts.join("\u{1f}").as_bytes());
    hash.to_hex()[..16].to_owned()
}
