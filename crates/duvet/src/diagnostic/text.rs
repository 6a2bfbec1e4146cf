//! Diagnostics for people: message, place, the lines in question, and what to do.

use super::{Diagnostic, Severity};
use crate::excerpt::line_count;
use crate::text::{lines, printable};
use std::fmt::Write;

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
/// Writes diagnostics one after the other.
pub fn render(diagnostics: &[&Diagnostic], paint: Paint) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        one(&mut out, diagnostic, paint);
    }
    out
}

fn one(out: &mut String, diagnostic: &Diagnostic, paint: Paint) {
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
    let last = diagnostic.end.map_or(start.line, |end| end.line);
    let shown = lines(&diagnostic.excerpt).take(line_count(start.line, last));
    for (number, (_, line)) in (start.line..).zip(shown) {
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
