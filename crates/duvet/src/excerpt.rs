//! The lines of a file that a finding shows.
//!
//! They are taken while the file's text is in memory: a finding shows what was analysed, whatever became of the file
//! since, and no file is read a second time for it.

use crate::citation::Annotation;
use crate::diagnostic::Diagnostic;
use crate::text::{Span, lines};

/// A finding shows at most this many lines.
pub(crate) const MAX_EXCERPT_LINES: usize = 6;

/// The first lines of each annotation of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CitedLines {
    text: Box<str>,
    /// Where the lines of each annotation end.
    ends: Box<[u32]>,
}

impl CitedLines {
    /// The lines of a text's annotations.
    pub(crate) fn of(text: &str, annotations: &[Annotation]) -> Self {
        let lines = annotations.iter().map(|annotation| {
            let start = text.floor_char_boundary(annotation.span.start as usize);
            let start = memchr::memrchr(b'\n', &text.as_bytes()[..start]).map_or(0, |end| end + 1);
            let count = line_count(annotation.line, annotation.last_line);
            first_lines(&text[start..], count)
        });
        let mut cited = String::with_capacity(lines.clone().map(str::len).sum());
        let push = |lines: &str| {
            cited.push_str(lines);
            cited.len() as u32
        };
        let ends = lines.map(push).collect();
        Self {
            text: cited.into(),
            ends,
        }
    }

    /// The first lines of one annotation, by its place among those of the file.
    pub fn excerpt(&self, annotation: usize) -> &str {
        let end = |index: usize| self.ends.get(index).map_or(0, |end| *end as usize);
        let start = annotation.checked_sub(1).map_or(0, end);
        self.text.get(start..end(annotation)).unwrap_or_default()
    }
}

/// Gives findings the lines of the text they are about.
pub(crate) fn attach(text: &str, diagnostics: &mut [Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    let starts: Vec<Span> = lines(text).map(|(span, _)| span).collect();
    for diagnostic in diagnostics {
        let first = diagnostic.start.line as usize;
        let Some(start) = first.checked_sub(1).and_then(|index| starts.get(index)) else {
            continue;
        };
        let last = diagnostic.end.map_or(diagnostic.start.line, |end| end.line);
        let count = line_count(diagnostic.start.line, last);
        diagnostic.excerpt = first_lines(&text[start.start as usize..], count).into();
    }
}

/// How many lines are shown of those from one to another.
pub(crate) fn line_count(first: u32, last: u32) -> usize {
    (last.saturating_sub(first) as usize + 1).min(MAX_EXCERPT_LINES)
}

fn first_lines(text: &str, count: usize) -> &str {
    let mut ends = memchr::memchr_iter(b'\n', text.as_bytes());
    let end = ends.nth(count - 1).map_or(text.len(), |end| end + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::text::Position;

    fn annotation(text: &str, start: usize, line: u32, last_line: u32) -> Annotation {
        Annotation {
            line,
            last_line,
            span: Span::new(start, text.len()),
            ..Annotation::default()
        }
    }

    #[test]
    fn annotations_keep_their_first_lines() {
        let text = "code\n  //= a#b\n  //# one\nmore\n//= c#d\n//# 1\n//# 2\n//# 3\n//# 4\n//# 5\n//# 6";
        let annotations = [annotation(text, 7, 2, 3), annotation(text, 31, 5, 11)];
        let cited = CitedLines::of(text, &annotations);
        assert_eq!(cited.excerpt(0), "  //= a#b\n  //# one\n");
        assert_eq!(
            cited.excerpt(1).lines().collect::<Vec<_>>(),
            ["//= c#d", "//# 1", "//# 2", "//# 3", "//# 4", "//# 5"]
        );
        assert_eq!(cited.excerpt(2), "", "there is no third");
    }

    #[test]
    fn findings_get_the_lines_they_are_about() {
        let at = |line, last| {
            Diagnostic::new(Code::TomlInvalid, "x", "f", Position { line, column: 1 }).until(Position {
                line: last,
                column: 1,
            })
        };
        let mut found = [at(2, 3), at(4, 4), at(9, 9), at(0, 0)];
        attach("a\nb\r\nc\nd", &mut found);
        let shown = found.map(|found| found.excerpt.to_string());
        assert_eq!(shown, ["b\r\nc\n", "d", "", ""]);
    }
}
