//! Diagnostics for people: message, place, the lines in question, and what to do.

use super::{Diagnostic, Severity};
use crate::text::{Span, lines, printable};
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
pub fn render(
    diagnostics: &[&Diagnostic],
    paint: Paint,
    read: &dyn Fn(&str) -> Option<std::sync::Arc<str>>,
) -> String {
    let mut out = String::new();
    let mut texts: HashMap<&str, Option<Excerpts>> = HashMap::new();
    for diagnostic in diagnostics {
        let text = texts
            .entry(&diagnostic.file)
            .or_insert_with(|| read(&diagnostic.file).map(Excerpts::new));
        one(&mut out, diagnostic, paint, text.as_ref());
    }
    out
}

fn one(out: &mut String, diagnostic: &Diagnostic, paint: Paint, text: Option<&Excerpts>) {
    let head = format!("{}[{}]", diagnostic.severity.name(), diagnostic.code.name());
    let dim = |text: &str| paint.wrap("2", text);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: {}",
        paint.severity(diagnostic.severity, &head),
        printable(&diagnostic.message)
    );
    let start = diagnostic.start;
    let place = format!("{}:{}:{}", printable(&diagnostic.file), start.line, start.column);
    let _ = writeln!(out, "  {} {place}", dim("-->"));
    for (number, line) in text.map(|text| text.of(diagnostic)).unwrap_or_default() {
        let _ = writeln!(out, "{} {}", dim(&format!("{number:>5} |")), printable(line));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  {} help: {}", dim("="), printable(help));
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        let _ = writeln!(
            out,
            "  {} write: {}",
            dim("="),
            paint.wrap("32", &printable(suggestion))
        );
    }
    out.push('\n');
}

/// The lines of a file, found by their numbers.
struct Excerpts {
    text: std::sync::Arc<str>,
    lines: Vec<Span>,
}

impl Excerpts {
    fn new(text: std::sync::Arc<str>) -> Self {
        let lines = lines(&text).map(|(span, _)| span).collect();
        Self { text, lines }
    }

    fn of(&self, diagnostic: &Diagnostic) -> Vec<(usize, &str)> {
        let first = diagnostic.start.line as usize;
        let last = diagnostic.end.map_or(first, |end| end.line as usize).max(first);
        let count = (last - first + 1).min(MAX_EXCERPT_LINES);
        let from = first.saturating_sub(1).min(self.lines.len());
        let shown = self.lines[from..].iter().take(count);
        shown
            .enumerate()
            .map(|(index, span)| (from + index + 1, &self.text[span.range()]))
            .collect()
    }
}
