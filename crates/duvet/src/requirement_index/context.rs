//! The lines around a citation.

use super::RequirementIndex;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// At most this many lines before and after are given.
pub const MAX_CONTEXT_LINES: usize = 200;

/// The lines around a citation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CitationContext {
    /// The file.
    pub file_path: String,
    /// Line of the citation, from one.
    pub line_number: u32,
    /// The citation's own lines.
    pub comment_text: String,
    /// Those lines with the ones around them.
    pub context: Vec<String>,
}

/// Why nothing is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The path tries to leave the project.
    Traversal,
    /// The file is not one of the project's sources.
    Outside,
    /// A link leads out of the project.
    Link,
    /// There is no such citation.
    Unknown,
    /// The file is not the one the snapshot was made of, so the citation stands elsewhere now.
    Changed,
}

/// Where a source file really is; links are followed only inside the project.
pub(super) fn real_path(root: &Path, file: &str) -> Result<PathBuf, Denied> {
    let real = root.join(file).canonicalize().map_err(|_| Denied::Unknown)?;
    let root = root.canonicalize().map_err(|_| Denied::Unknown)?;
    if real.starts_with(root) {
        Ok(real)
    } else {
        Err(Denied::Link)
    }
}

/// `get_citation_context`: only files that the project's patterns found are ever opened.
pub fn get_citation_context(
    requirement_index: &RequirementIndex<'_>,
    root: &Path,
    id: &str,
    lines: usize,
) -> Result<CitationContext, Denied> {
    if id.contains('\0') || id.contains('\\') || id.split(['/', ':']).any(|part| part == "..") {
        return Err(Denied::Traversal);
    }
    let file = id.rsplit_once(':').map_or(id, |(file, _)| file);
    let is_source = |name: &str| {
        requirement_index
            .snapshot
            .analysis
            .entries
            .iter()
            .any(|e| &*e.annotation().source == name)
    };
    if Path::new(file).is_absolute() || !is_source(file) {
        return Err(Denied::Outside);
    }
    let citation = requirement_index.find_citation(id).ok_or(Denied::Unknown)?;
    let annotation = requirement_index.snapshot.analysis.annotation(citation);
    let path = real_path(root, file)?;
    let bytes = crate::fence::read(&path, crate::fence::MAX_SOURCE_BYTES).map_err(|_| Denied::Unknown)?;
    //= specs/duvet.md#freshness
    //# Lines of a file MUST be shown only from the bytes that the snapshot was made of.
    let entry = &requirement_index.snapshot.analysis.entries[citation as usize];
    if *blake3::hash(&bytes).as_bytes() != entry.file.facts.hash {
        return Err(Denied::Changed);
    }
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().collect();
    let lines = lines.min(MAX_CONTEXT_LINES);
    let (first, last) = (annotation.line as usize - 1, annotation.last_line as usize);
    let take = |from: usize, to: usize| {
        all.get(from.min(all.len())..to.min(all.len()))
            .unwrap_or_default()
    };
    Ok(CitationContext {
        file_path: file.to_owned(),
        line_number: annotation.line,
        comment_text: take(first, last)
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join("\n"),
        context: take(first.saturating_sub(lines), last + lines)
            .iter()
            .map(|line| (*line).to_owned())
            .collect(),
    })
}
