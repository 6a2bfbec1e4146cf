//! Stale citations: what the code quotes beside what the specification says now.

use crate::analysis::Analysis;
use crate::citation::Annotation;
use crate::matching::Grade;
use crate::text::printable;
use std::fmt::Write;

/// Characters of each of the two columns.
const COLUMN_CHARS: usize = 46;

//= specs/duvet.md#fix
//# A stale citation MUST be shown with its old and its new text side by side when asked for.
/// Every citation whose quote is not what the specification says, with both texts side by side.
pub fn render(analysis: &Analysis) -> String {
    let mut out = String::new();
    for (_, entry) in analysis.citations() {
        let annotation = entry.annotation();
        let now = match &entry.matched().grade {
            Grade::Drifted(drift) => drift.text.clone(),
            Grade::Moved { section } => format!("(the same words, now in #{section})"),
            Grade::Missing {
                nearest: Some(nearest),
            } => nearest.clone(),
            Grade::Missing { nearest: None } => "(nothing like it)".to_owned(),
            _ => continue,
        };
        one(&mut out, annotation, entry.matched().grade.name(), &now);
    }
    out
}

// Writing to a string cannot fail; results of `write!` are dropped.
fn one(out: &mut String, annotation: &Annotation, grade: &str, now: &str) {
    let target = &annotation.target;
    let _ = writeln!(
        out,
        "{}:{}  {}#{}  {grade}",
        printable(&annotation.source),
        annotation.line,
        printable(&target.specification),
        printable(target.section.as_deref().unwrap_or_default()),
    );
    let (old, new) = (wrapped(&annotation.quote), wrapped(now));
    let _ = writeln!(
        out,
        "  {:<COLUMN_CHARS$} | the specification says",
        "the code quotes"
    );
    for row in 0..old.len().max(new.len()) {
        let cell = |column: &[String]| column.get(row).cloned().unwrap_or_default();
        let (left, right) = (cell(&old), cell(&new));
        let pad = " ".repeat(COLUMN_CHARS.saturating_sub(left.chars().count()));
        let _ = writeln!(out, "  {left}{pad} | {right}");
    }
    out.push('\n');
}

/// Words in lines of a column's width; a word that is longer has a line of its own.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in printable(text).split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMN_CHARS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_their_width_and_every_word() {
        let text =
            "A server MUST NOT answer before the client has sent everything, not even then. Überlänge.";
        let lines = wrapped(text);
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMN_CHARS));
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrapped(&"x".repeat(60)).len(), 1);
        assert!(wrapped("").is_empty());
    }
}
