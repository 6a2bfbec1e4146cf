//! Diagnostics for people: message, place, the lines in question, and what to do.

use super::{Diagnostic, Severity};
use crate::excerpt::line_count;
use crate::text::{lines, printable};
use std::borrow::Cow;
use std::fmt::Write;

/// Colour codes, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint {
    /// Whether the reader is a terminal.
    pub colour: bool,
}

impl Paint {
    fn wrap<'t>(self, code: &str, text: &'t str) -> Cow<'t, str> {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m").into()
        } else {
            text.into()
        }
    }

    fn severity<'t>(self, severity: Severity, text: &'t str) -> Cow<'t, str> {
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
/// Adds diagnostics to a text, one after the other.
pub fn render(out: &mut String, diagnostics: &[&Diagnostic], paint: Paint) {
    for diagnostic in diagnostics {
        one(out, diagnostic, paint);
    }
}

fn one(out: &mut String, diagnostic: &Diagnostic, paint: Paint) {
    let head = format!("{}[{}]", diagnostic.severity.name(), diagnostic.code.name());
    let arrow = paint.wrap("2", "-->");
    let equals = paint.wrap("2", "=");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: {}",
        paint.severity(diagnostic.severity, &head),
        printable(&diagnostic.message)
    );
    let start = diagnostic.start;
    let file = printable(&diagnostic.file);
    let _ = writeln!(out, "  {arrow} {file}:{}:{}", start.line, start.column);
    let last = diagnostic.end.map_or(start.line, |end| end.line);
    let shown = lines(&diagnostic.excerpt).take(line_count(start.line, last));
    for (number, (_, line)) in (start.line..).zip(shown) {
        let number = format!("{number:>5} |");
        let _ = writeln!(out, "{} {}", paint.wrap("2", &number), printable(line));
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(out, "  {equals} help: {}", printable(help));
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        let suggestion = printable(suggestion);
        let _ = writeln!(out, "  {equals} write: {}", paint.wrap("32", &suggestion));
    }
    out.push('\n');
}
