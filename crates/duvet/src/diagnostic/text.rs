//! Diagnostics for people: message, place, the lines in question, and what to do.

use super::{Diagnostic, Severity};
use std::collections::HashMap;
use std::fmt::Write;

/// How many lines of a file are shown at most.
const MAX_EXCERPT_LINES: usize = 6;

/// Colour codes, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint {
    /// Whether the reader is a terminal.
    pub colour: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Note => "1;36",
        };
        self.wrap(code, text)
    }
}

//= specs/duvet.md#tolerance
//# Findings MUST be available as text with an excerpt of the source, as JSON and as SARIF.
/// Writes diagnostics one after the other. `read` gives the text of a file, for the excerpt.
pub fn render(diagnostics: &[&Diagnostic], paint: Paint, read: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut texts: HashMap<&str, Option<String>> = HashMap::new();
    for diagnostic in diagnostics {
        let text = texts
            .entry(&diagnostic.file)
            .or_insert_with(|| read(&diagnostic.file));
        one(&mut out, diagnostic, paint, text.as_deref());
    }
    out
}

fn one(out: &mut String, diagnostic: &Diagnostic, paint: Paint, text: Option<&str>) {
    let head = format!("{}[{}]", diagnostic.severity.name(), diagnostic.code.name());
    let dim = |text: &str| paint.wrap("2", text);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: {}",
        paint.severity(diagnostic.severity, &head),
        diagnostic.message
    );
    let start = diagnostic.start;
    let place = format!("{}:{}:{}", diagnostic.file, start.line, start.column);
    let _ = writeln!(out, "  {} {place}", dim("-->"));
    for (number, line) in text.map(|text| excerpt(text, diagnostic)).unwrap_or_default() {
        let _ = writeln!(out, "{} {line}", dim(&format!("{number:>5} |")));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  {} help: {help}", dim("="));
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        let _ = writeln!(out, "  {} write: {}", dim("="), paint.wrap("32", suggestion));
    }
    out.push('\n');
}

fn excerpt<'a>(text: &'a str, diagnostic: &Diagnostic) -> Vec<(usize, &'a str)> {
    let first = diagnostic.start.line as usize;
    let last = diagnostic.end.map_or(first, |end| end.line as usize).max(first);
    let count = (last - first + 1).min(MAX_EXCERPT_LINES);
    let lines = text.lines().enumerate().skip(first.saturating_sub(1)).take(count);
    lines.map(|(index, line)| (index + 1, line)).collect()
}
