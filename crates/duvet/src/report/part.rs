//! Specifications cut into parts that are rendered one at a time: memory is that of a few parts, however long a text is.

use crate::analysis::Cited;
use std::ops::Range;

/// A part has so many lines or one section.
const MIN_LINES: usize = 400;

/// Some sections of a specification.
pub(super) struct Part<'a> {
    pub(super) cited: &'a Cited,
    pub(super) sections: Range<usize>,
}

impl Part<'_> {
    /// Whether the specification begins here.
    pub(super) fn is_first(&self) -> bool {
        self.sections.start == 0
    }

    /// Whether it ends here.
    pub(super) fn is_last(&self) -> bool {
        self.sections.end == self.cited.sections.len()
    }
}

/// The parts of all specifications, in their order. One without sections is one part.
pub(super) fn parts<'a>(specifications: impl IntoIterator<Item = &'a Cited>) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for cited in specifications {
        let sections = cited.specification().map_or(&[][..], |text| &text.sections);
        let (mut start, mut lines) = (0, 0);
        for (index, section) in sections.iter().enumerate() {
            lines += section.lines.len();
            if lines >= MIN_LINES && index + 1 < sections.len() {
                let sections = start..index + 1;
                parts.push(Part { cited, sections });
                (start, lines) = (index + 1, 0);
            }
        }
        let sections = start..sections.len();
        parts.push(Part { cited, sections });
    }
    parts
}
