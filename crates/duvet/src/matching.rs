//! Is the quoted text in the section, and how well does it agree?
//!
//! The public tool looks for a quote in three steps and says nothing of which one succeeded: the very text, the text
//! without regard to blanks, and the text with one edit. The same three steps are taken here, because a report has to
//! count what the public tool counts; but each citation keeps its [`Grade`], so that a quote which drifted from the
//! specification is shown, and refused in strict mode.

mod fuzzy;
mod grams;
mod haystack;
mod meaning;
mod search;

pub use haystack::Haystack;
pub use meaning::{changes_meaning, word_diff};
pub use search::{Everywhere, Found, find};
pub(crate) use search::{exact, inexact};

use crate::text::{Span, Spans};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

// Fulfils 004 §6b
//= specs/duvet.md#matching
//# Each citation MUST be graded exact, normalised, ambiguous, drifted, moved or missing.
/// How well a quote agrees with the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "grade")]
pub enum Grade {
    /// Nothing is quoted; the citation only points at a section.
    Reference,
    /// Word for word.
    Exact,
    /// Equal but for blanks and line ends.
    Normalised,
    /// Equal to several places of the section; the first is taken.
    Ambiguous {
        /// How many places.
        occurrences: usize,
    },
    /// A few edits away from the specification.
    Drifted(Arc<Drift>),
    /// Not in this section, but in another one.
    Moved {
        /// Id of the section that has it.
        section: String,
    },
    /// Nowhere in the specification.
    Missing {
        /// The sentence that comes nearest, if any does.
        nearest: Option<String>,
    },
    /// The specification or the section does not exist.
    Unresolved,
}

/// How a quote differs from the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Number of edits in characters, blanks aside.
    pub distance: usize,
    /// What the specification says there.
    pub text: String,
    /// Words taken away and added on the way from the quote to the specification: `[-a-]{+b+}`.
    pub diff: String,
    /// Whether a number, a negation or a keyword is among the changes.
    pub changes_meaning: bool,
    /// Whether the public tool would count it all the same.
    pub tolerated: bool,
}

impl Grade {
    /// The word used in every output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Exact => "exact",
            Self::Normalised => "normalised",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Drifted(_) => "drifted",
            Self::Moved { .. } => "moved",
            Self::Missing { .. } => "missing",
            Self::Unresolved => "unresolved",
        }
    }

    /// Whether a strict reader accepts the citation.
    //= specs/duvet.md#matching
    //# In strict mode a quote that differs from the specification by more than blanks MUST NOT match.
    pub fn is_faithful(&self) -> bool {
        matches!(
            self,
            Self::Reference | Self::Exact | Self::Normalised | Self::Ambiguous { .. }
        )
    }

    /// Whether the citation counts in a report that is as tolerant as the public tool.
    pub fn is_counted(&self) -> bool {
        self.is_faithful() || matches!(self, Self::Drifted(drift) if drift.tolerated)
    }
}

/// Where a citation's quote was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// How well it agrees.
    pub grade: Grade,
    /// Index of the cited section, when it exists.
    pub section: Option<usize>,
    /// The quoted text in the specification, one span per line; empty when nothing is counted.
    pub pieces: Spans,
}

/// Whether a piece of a quote counts. The public tool leaves out what is a single byte on its line, such as a lone
/// brace; the line is cut there all the same.
pub(crate) fn is_counted(piece: Span) -> bool {
    piece.len() > 1
}

#[cfg(test)]
mod tests;
