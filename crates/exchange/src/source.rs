//! What a document of any format says, in the few words an importer needs.

use std::ops::Range;

/// How high something stands: a document, a chapter of it, or one of its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceLevel {
    /// A document or a feature.
    Group,
    /// A chapter or a story.
    Section,
    /// A requirement.
    Statement,
    /// An acceptance criterion.
    Criterion,
}

/// One thing a document says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceItem {
    /// Names it in its source, from import to import.
    pub id: String,
    /// How high it stands.
    pub level: SourceLevel,
    /// What it stands in; nothing for a group.
    pub parent: Option<String>,
    /// Its title; empty where it has none.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Further fields by name.
    pub fields: Vec<(String, String)>,
    /// The line it stands in, from 1.
    pub line: usize,
}

/// A relation between two things of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLink {
    /// `id` of the one it begins at.
    pub source: String,
    /// `id` of the one it ends at.
    pub target: String,
    /// What the document calls it.
    pub name: String,
    /// The line it stands in, from 1.
    pub line: usize,
}

/// Where a text of a file stands, so that it can be written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, relative to its folder.
    pub file: String,
    /// Where the title stands.
    pub title: Option<Range<usize>>,
    /// Where the text stands.
    pub text: Range<usize>,
}

/// Finds lines of places fast.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn of(text: &str) -> Self {
        Self(memchr::memchr_iter(b'\n', text.as_bytes()).collect())
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        self.0.partition_point(|newline| *newline < at) + 1
    }
}
