//! The Test Anything Protocol: a line for each test, a plan, and what a test says about itself below its line.

use crate::{Counted, ReportFault, TestOutcome, TestResult, mention};
use std::io::{BufRead, Read};

pub(crate) fn read(input: impl BufRead, out: &mut Counted<'_, '_>) -> Result<(), ReportFault> {
    let mut lines = Lines::new(input, out.limits.max_value_bytes, out.limits.max_report_bytes);
    let (mut plan, mut seen, mut is_in_block) = (None::<(u64, u32)>, 0_u64, false);
    while let Some(text) = lines.next()? {
        let line = lines.line;
        if is_in_block {
            is_in_block = text.trim() != "...";
            continue;
        }
        // Tests inside of tests are indented; their sum is the line of the outer one.
        if text.starts_with([' ', '\t']) {
            is_in_block = text.trim() == "---";
            continue;
        }
        if let Some(reason) = text.strip_prefix("Bail out!") {
            return Err(ReportFault::new(line, format!("the run was given up:{reason}")));
        }
        if let Some(count) = text.strip_prefix("1..") {
            let count = count.split('#').next().unwrap_or_default().trim();
            let Ok(count) = count.parse() else {
                return Err(ReportFault::new(
                    line,
                    format!("the plan {text:?} is no number of tests"),
                ));
            };
            plan = Some((count, line));
        } else if let Some((is_ok, rest)) = test_line(&text) {
            seen += 1;
            out.give(test(is_ok, rest, seen, line))?;
        }
    }
    match plan {
        None if seen == 0 => Err(ReportFault::new(
            1,
            "this is no TAP: there is neither a plan nor a test",
        )),
        None => {
            out.note(
                lines.line,
                "there is no plan, so nobody knows whether tests are missing",
            );
            Ok(())
        }
        Some((planned, line)) => {
            if planned != seen {
                out.note(line, format!("the plan is {planned} tests, and {seen} are there"));
            }
            Ok(())
        }
    }
}

fn test_line(text: &str) -> Option<(bool, &str)> {
    let (is_ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    (rest.is_empty() || rest.starts_with(' ')).then_some((is_ok, rest.trim()))
}

fn test(is_ok: bool, rest: &str, number: u64, line: u32) -> TestResult {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = rest[digits..].trim_start().trim_start_matches("- ");
    let (name, directive) = split_directive(rest);
    let word = directive
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_ascii_uppercase();
    let outcome = match (word.as_str(), is_ok) {
        (word, _) if word.starts_with("SKIP") => TestOutcome::Skipped,
        ("TODO", false) => TestOutcome::Skipped,
        (_, true) => TestOutcome::Passed,
        (_, false) => TestOutcome::Failed,
    };
    let mut mentions = Vec::new();
    mention::of_brackets(name, &mut mentions);
    TestResult {
        suite: String::new(),
        class: String::new(),
        name: match name {
            "" => format!("test {number}"),
            name => name.to_owned(),
        },
        file: None,
        outcome,
        is_flaky: false,
        duration_ms: 0,
        message: directive.to_owned(),
        mentions,
        line,
    }
}

/// The description, and what stands behind a `#` that is not escaped.
fn split_directive(text: &str) -> (&str, &str) {
    let directives = ["skip", "todo"];
    let found = text.match_indices('#').find(|(at, _)| {
        let is_escaped = text[..*at].ends_with('\\');
        let word = text[at + 1..].trim_start().to_ascii_lowercase();
        !is_escaped && directives.iter().any(|directive| word.starts_with(directive))
    });
    match found {
        Some((at, _)) => (text[..at].trim(), text[at + 1..].trim()),
        None => (text.trim(), ""),
    }
}

/// Lines of a text, each cut at a length.
pub(crate) struct Lines<R> {
    input: R,
    pub(crate) line: u32,
    max_line_bytes: usize,
    left_bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, max_line_bytes: usize, max_report_bytes: u64) -> Self {
        Self {
            input,
            line: 0,
            max_line_bytes,
            left_bytes: max_report_bytes,
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<String>, ReportFault> {
        let at = self.line + 1;
        let unreadable = |error: std::io::Error| ReportFault::new(at, format!("it cannot be read: {error}"));
        let mut bytes = Vec::new();
        let most = self.max_line_bytes as u64;
        let taken = self
            .input
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut bytes)
            .map_err(unreadable)?;
        if taken == 0 {
            return Ok(None);
        }
        let mut read = taken as u64;
        if bytes.last() != Some(&b'\n') && read == most {
            read += skip_line(&mut self.input).map_err(unreadable)?;
        }
        self.line = at;
        self.left_bytes = match self.left_bytes.checked_sub(read) {
            Some(left) => left,
            None => return Err(ReportFault::new(at, "the report is larger than may be read")),
        };
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
        Ok(Some(text.to_owned()))
    }
}

/// The rest of a line that is too long to be kept.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let found = memchr::memchr(b'\n', buffer);
        let count = found.map_or(buffer.len(), |at| at + 1);
        input.consume(count);
        skipped += count as u64;
        if found.is_some() {
            return Ok(skipped);
        }
    }
}
