//! Citations that do not hold.

use super::Catalogue;
use super::context::real_path;
use crate::diagnostic::{Code, Diagnostic, Severity};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

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
pub fn list_invalid_citations(catalogue: &Catalogue<'_>, root: &Path) -> Vec<InvalidCitation> {
    let mut texts: HashMap<&str, Vec<String>> = HashMap::new();
    let analysis = &catalogue.snapshot.analysis;
    let found = analysis
        .diagnostics
        .iter()
        .filter(|d| d.severity > Severity::Note && is_about_citation(d.code));
    let mut rows = Vec::new();
    for diagnostic in found {
        let lines = texts.entry(&diagnostic.file).or_insert_with(|| {
            let path = real_path(root, &diagnostic.file);
            let bytes = path
                .ok()
                .and_then(|path| std::fs::read(path).ok())
                .unwrap_or_default();
            String::from_utf8_lossy(&bytes)
                .lines()
                .map(|line| line.trim().to_owned())
                .collect()
        });
        rows.push(row(diagnostic, lines));
    }
    rows
}

fn row(diagnostic: &Diagnostic, lines: &[String]) -> InvalidCitation {
    let line = (diagnostic.start.line as usize)
        .checked_sub(1)
        .and_then(|index| lines.get(index));
    InvalidCitation {
        file_path: diagnostic.file.clone(),
        line_number: diagnostic.start.line,
        comment_text: line.cloned().unwrap_or_default(),
        error: diagnostic.message.clone(),
        code: diagnostic.code.name(),
        suggestion: diagnostic.suggestion.clone(),
    }
}

fn is_about_citation(code: Code) -> bool {
    !matches!(
        code,
        Code::ConfigInvalid
            | Code::ConfigUnknownKey
            | Code::ConfigUnreadable
            | Code::PatternInvalid
            | Code::PatternEmpty
            | Code::TemplateUnresolved
            | Code::SnapshotDiffers
            | Code::CitationRequired
            | Code::TestRequired
    )
}
