//! Citations that do not hold.

use super::Catalogue;
use super::context::real_path;
use crate::diagnostic::{Code, Diagnostic, Severity};
use serde::Serialize;
use std::cell::RefCell;
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
    let lines = Lines::new(root);
    let found = catalogue.invalid_citations().into_iter();
    found.map(|diagnostic| lines.row(diagnostic)).collect()
}

impl<'a> Catalogue<'a> {
    /// Everything that is wrong with citations, before anybody looks into the files.
    pub fn invalid_citations(&self) -> Vec<&'a Diagnostic> {
        let all = self.snapshot.analysis.diagnostics.iter();
        all.filter(|found| found.severity > Severity::Note && is_about_citation(found.code))
            .collect()
    }
}

/// The lines of the files that are shown, each file read once and only when a row of it is.
#[derive(Debug)]
pub struct Lines<'a> {
    root: &'a Path,
    texts: RefCell<HashMap<String, Vec<String>>>,
}

impl<'a> Lines<'a> {
    /// No file is read yet.
    pub fn new(root: &'a Path) -> Self {
        Self {
            root,
            texts: RefCell::default(),
        }
    }

    /// One fault as a row.
    pub fn row(&self, diagnostic: &Diagnostic) -> InvalidCitation {
        let mut texts = self.texts.borrow_mut();
        let lines = texts
            .entry(diagnostic.file.clone())
            .or_insert_with(|| read(self.root, &diagnostic.file));
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
}

fn read(root: &Path, file: &str) -> Vec<String> {
    let path = real_path(root, file).ok();
    let bytes = path.and_then(|path| crate::fence::read(&path, crate::fence::MAX_SOURCE_BYTES).ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default())
        .lines()
        .map(|line| line.trim().to_owned())
        .collect()
}

/// What a gate asks for is no fault of a citation; what keeps citations from being read at all is.
fn is_about_citation(code: Code) -> bool {
    !matches!(
        code,
        Code::PatternEmpty | Code::SnapshotDiffers | Code::CitationRequired | Code::TestRequired
    )
}
