//! What makes a run fail.

use crate::diagnostic::{Diagnostic, Severity};
use serde::{Deserialize, Serialize};

/// Which findings fail a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Quotes that differ from the specification fail, and are not counted.
    pub strict: bool,
    /// Every requirement needs a citation.
    pub require_citations: bool,
    /// Every requirement needs a test.
    pub require_tests: bool,
}

impl Policy {
    /// Whether the findings fail the run.
    pub fn fails(&self, diagnostics: &[Diagnostic]) -> bool {
        let limit = if self.strict {
            Severity::Warning
        } else {
            Severity::Error
        };
        diagnostics.iter().any(|diagnostic| diagnostic.severity >= limit)
    }
}
