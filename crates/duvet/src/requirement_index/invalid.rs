//! Citations that do not hold.

use super::RequirementIndex;
use crate::diagnostic::{Code, Diagnostic, Severity};
use serde::Serialize;

/// One row of `list_invalid_citations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidCitation {
    /// The file.
    pub file_path: String,
    /// Line of the fault, from one.
    pub line_number: u32,
    /// The line itself.
    pub comment_text: String,
    /// What is wrong.
    pub error: String,
    /// Kind of the fault.
    pub code: &'static str,
    /// What to write instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// `list_invalid_citations`: everything that is wrong with citations and requirement files, drifted quotes included.
pub fn list_invalid_citations(index: &RequirementIndex<'_>) -> Vec<InvalidCitation> {
    let found = index.invalid_citations().into_iter();
    found.map(InvalidCitation::of).collect()
}

impl<'a> RequirementIndex<'a> {
    /// Everything that is wrong with citations.
    pub fn invalid_citations(&self) -> Vec<&'a Diagnostic> {
        let all = self.snapshot.analysis.diagnostics.iter();
        all.filter(|found| found.severity > Severity::Note && is_about_citation(found.code))
            .collect()
    }
}

impl InvalidCitation {
    /// One fault as a row.
    pub fn of(diagnostic: &Diagnostic) -> Self {
        let line = diagnostic.excerpt.lines().next().unwrap_or_default();
        Self {
            file_path: diagnostic.file.clone(),
            line_number: diagnostic.start.line,
            comment_text: line.trim().to_owned(),
            error: diagnostic.message.clone(),
            code: diagnostic.code.name(),
            suggestion: diagnostic.suggestion.clone(),
        }
    }
}

/// What a gate asks for is no fault of a citation; what keeps citations from being read at all is.
fn is_about_citation(code: Code) -> bool {
    !matches!(
        code,
        Code::PatternEmpty | Code::SnapshotDiffers | Code::CitationRequired | Code::TestRequired
    )
}
