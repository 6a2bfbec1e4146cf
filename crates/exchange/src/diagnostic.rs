//! What is odd about a document, and where.

use std::fmt;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Not as the format has it, yet read.
    Warning,
    /// Not read.
    Error,
}

//= specs/exchange.md#documents
//# What is odd about a document MUST be a diagnostic with line and column; what can be read MUST be read.
/// One odd thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of thing; stable, for programs.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What it is, with the value that caused it.
    pub message: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// Collects diagnostics of one text; finds lines when somebody asks, because most documents have nothing to say.
pub(crate) struct Diagnostics<'a> {
    text: &'a str,
    found: Vec<(usize, Diagnostic)>,
    max: usize,
}

impl<'a> Diagnostics<'a> {
    pub(crate) fn of(text: &'a str, max: usize) -> Self {
        Self {
            text,
            found: Vec::new(),
            max,
        }
    }

    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
    ) {
        if self.found.len() >= self.max {
            return;
        }
        let diagnostic = Diagnostic {
            code,
            severity,
            message: message.into(),
            line: 0,
            column: 0,
        };
        self.found.push((at, diagnostic));
    }

    pub(crate) fn warn(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.add(Severity::Warning, code, at, message);
    }

    pub(crate) fn note(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.add(Severity::Note, code, at, message);
    }

    /// In the order of the text, with lines and columns found in one pass.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|(at, _)| *at);
        let (mut line, mut line_start, mut passed) = (1, 0, 0);
        let text = self.text;
        self.found
            .into_iter()
            .map(|(at, mut diagnostic)| {
                let at = at.min(text.len());
                for newline in memchr::memchr_iter(b'\n', &text.as_bytes()[passed..at]) {
                    line += 1;
                    line_start = passed + newline + 1;
                }
                passed = at;
                diagnostic.line = line;
                diagnostic.column = text
                    .get(line_start..at)
                    .map_or(1, |before| before.chars().count() + 1);
                diagnostic
            })
            .collect()
    }
}
