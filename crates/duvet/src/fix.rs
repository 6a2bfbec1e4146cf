//! Drifted quotes rewritten in the specification's words, in the comment style the file already has.

use crate::analysis::Analysis;
use crate::citation::{Annotation, CommentStyle};
use crate::matching::Grade;
use crate::source::Reading;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One file with its new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The file.
    pub file: String,
    /// Its new text.
    pub text: String,
    /// How many citations were rewritten.
    pub citations: usize,
    /// What changes, as a unified diff.
    pub diff: String,
}

/// The files whose citations can be mended: drifted quotes get the specification's words, moved ones their section.
/// Requirement files are left alone; extraction writes those.
//= specs/duvet.md#fix
//# A drifted citation MUST be rewritten with the specification's words, in the comment prefixes and the indent the
//# file already has.
pub fn fix(root: &Path, analysis: &Analysis, reading: &dyn Fn(&str) -> Option<Reading>) -> Vec<Fixed> {
    let mut by_file: BTreeMap<Arc<str>, Vec<(&Annotation, &Grade)>> = BTreeMap::new();
    for (_, entry) in analysis.citations() {
        if matches!(entry.matched().grade, Grade::Drifted { .. } | Grade::Moved { .. }) {
            let annotation = entry.annotation();
            by_file
                .entry(Arc::clone(&annotation.source))
                .or_default()
                .push((annotation, &entry.matched().grade));
        }
    }
    by_file
        .into_iter()
        .filter_map(|(file, citations)| fix_file(root, &file, &citations, reading))
        .collect()
}

fn fix_file(
    root: &Path,
    file: &str,
    citations: &[(&Annotation, &Grade)],
    reading: &dyn Fn(&str) -> Option<Reading>,
) -> Option<Fixed> {
    let Some(Reading::Comments { style, .. }) = reading(file) else {
        return None;
    };
    let old = std::fs::read_to_string(root.join(file)).ok()?;
    let mut text = old.clone();
    // From the end, so that the spans before stay true.
    for (annotation, grade) in citations.iter().rev() {
        let span = annotation.span.range();
        let block = old.get(span.clone())?;
        let fixed = match grade {
            Grade::Drifted { text, .. } => requote(block, &style, text),
            Grade::Moved { section } => retarget(block, annotation, section),
            _ => continue,
        };
        text.replace_range(span, &fixed);
    }
    let diff = TextDiff::from_lines(&old, &text)
        .unified_diff()
        .header(file, file)
        .to_string();
    Some(Fixed {
        file: file.to_owned(),
        text,
        citations: citations.len(),
        diff,
    })
}

/// Keeps the metadata lines, the indent and the line ends; wraps the words as wide as the quote was.
fn requote(block: &str, style: &CommentStyle, words: &str) -> String {
    let end = if block.contains("\r\n") { "\r\n" } else { "\n" };
    let is_quote = |line: &&str| line.trim_start().starts_with(&style.content);
    let quotes: Vec<&str> = block.lines().filter(is_quote).collect();
    let first = quotes.first().copied().unwrap_or_default();
    let rest = first
        .trim_start()
        .strip_prefix(style.content.as_str())
        .unwrap_or_default();
    let gap = &rest[..rest.len() - rest.trim_start().len()];
    let indent = block
        .lines()
        .nth(1)
        .map(|line| &line[..line.len() - line.trim_start().len()])
        .unwrap_or_default();
    let width = quotes
        .iter()
        .map(|line| content_width(line, style))
        .max()
        .unwrap_or(0)
        .max(60);
    let mut lines: Vec<String> = block
        .lines()
        .filter(|line| !is_quote(line))
        .map(str::to_owned)
        .collect();
    lines.extend(
        wrap(words, width)
            .into_iter()
            .map(|line| format!("{indent}{}{gap}{line}", style.content)),
    );
    lines.join(end)
}

fn content_width(line: &str, style: &CommentStyle) -> usize {
    line.trim_start()
        .strip_prefix(style.content.as_str())
        .map_or(0, |rest| rest.trim().chars().count())
}

fn wrap(words: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn retarget(block: &str, annotation: &Annotation, section: &str) -> String {
    let specification = &annotation.target.specification;
    let old = format!(
        "{specification}#{}",
        annotation.target.section.as_deref().unwrap_or_default()
    );
    block.replacen(&old, &format!("{specification}#{section}"), 1)
}
