//! What a push brings, as it is kept: marks of sources, results of tests, lines that ran. Each is a line of JSON in a document
//! that is never changed; everything else is made from these.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a mark in a source makes of the code below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MarkRole {
    /// Code that does what the item says.
    Code,
    /// A test that shows it.
    Test,
    /// A sentence of a specification that it comes from.
    Sentence,
}

/// A mark in a source that names an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceMark {
    /// The item, as it is named there.
    pub id: String,
    /// What the mark makes of the code below it.
    pub role: MarkRole,
    /// The file, relative to the root of the tree, with `/`.
    pub path: String,
    /// The line of the mark.
    pub line: u32,
    /// The last line of the code it stands above.
    pub end_line: u32,
    /// What is defined there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// The names runners may give the test, outermost part first, with `::` between the parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The hash of that code.
    pub hash: String,
    /// The words it quotes, or the sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// What kind of mark it is.
    pub by: String,
}

/// One result of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRecord {
    /// The suite.
    #[serde(rename = "s", default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// The class, module or binary.
    #[serde(rename = "c", default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// The name.
    #[serde(rename = "n")]
    pub name: String,
    /// What became of it.
    #[serde(rename = "o")]
    pub outcome: RecordedOutcome,
    /// What it said when it did not pass.
    #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The ids it names, each with what named it.
    #[serde(rename = "i", default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<(String, String)>,
}

impl TestRecord {
    /// The name people see: the class in front, unless the name says it already.
    pub fn full_name(&self) -> String {
        full_name(&self.class, &self.name)
    }
}

pub(super) fn full_name(class: &str, name: &str) -> String {
    match class.is_empty() || class == name || name.starts_with(&format!("{class}.")) {
        true => name.to_owned(),
        false => format!("{class}::{name}"),
    }
}

/// What became of a test in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RecordedOutcome {
    /// It passed.
    #[serde(rename = "p")]
    Passed,
    /// It was skipped.
    #[serde(rename = "s")]
    Skipped,
    /// It passed when it was tried again.
    #[serde(rename = "k")]
    Flaky,
    /// It failed.
    #[serde(rename = "f")]
    Failed,
    /// It could not run to its end.
    #[serde(rename = "e")]
    Error,
}

/// The lines of a file that ran, in one test or in some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageRecord {
    /// The test, where the report is of one.
    #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
    pub test: String,
    /// The file, with `/`.
    #[serde(rename = "f")]
    pub file: String,
    /// Ranges of lines, with both ends.
    #[serde(rename = "r")]
    pub ran: Vec<(u32, u32)>,
}

/// What a part of a push holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// Marks of sources.
    Marks,
    /// Results of tests.
    Tests,
    /// Lines that ran.
    Coverage,
}

impl PartKind {
    /// All of them.
    pub const ALL: [PartKind; 3] = [PartKind::Marks, PartKind::Tests, PartKind::Coverage];

    /// As it stands in the database.
    pub const fn name(self) -> &'static str {
        match self {
            PartKind::Marks => "marks",
            PartKind::Tests => "tests",
            PartKind::Coverage => "coverage",
        }
    }
}
