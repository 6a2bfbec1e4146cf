//! Bad input is data: what was wrong, where, and what to write instead.
//!
//! Nothing in this crate stops at the first fault. Every stage returns its value together with diagnostics, and the
//! caller's [`Policy`](crate::policy::Policy) decides which of them make a run fail.

pub mod json;
pub mod sarif;
pub mod text;

use crate::text::Position;
use serde::{Deserialize, Serialize};

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What kind of fault it is; stable, for programs.
    pub code: Code,
    /// How much it matters when no policy says otherwise.
    pub severity: Severity,
    /// What was wrong, with the value that caused it.
    pub message: String,
    /// The file, as it was named by the configuration or found by a pattern.
    pub file: String,
    /// Where the fault begins.
    pub start: Position,
    /// Where it ends, when that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end: Option<Position>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
    /// The text to write in place of the faulty one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suggestion: Option<String>,
    /// The lines it is about, from where it begins; empty when it is about no lines.
    #[serde(skip)]
    pub excerpt: Box<str>,
}

impl Diagnostic {
    /// A finding with the code's usual severity, at one place of one file.
    pub fn new(code: Code, message: impl Into<String>, file: impl Into<String>, start: Position) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            file: file.into(),
            start,
            end: None,
            help: None,
            suggestion: None,
            excerpt: Box::default(),
        }
    }

    /// A finding about a whole file.
    pub fn of_file(code: Code, message: impl Into<String>, file: impl Into<String>) -> Self {
        Self::new(code, message, file, Position { line: 1, column: 1 })
    }

    /// Says where the fault ends.
    #[must_use]
    pub fn until(mut self, end: Position) -> Self {
        self.end = Some(end);
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Shows the lines it is about.
    #[must_use]
    pub fn showing(mut self, excerpt: &str) -> Self {
        self.excerpt = excerpt.into();
        self
    }

    /// Says what to write instead.
    #[must_use]
    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; never fails a run.
    Note,
    /// Wrong, yet the report is as the public tool would write it; fails a strict run.
    Warning,
    /// A citation or an input that could not be used; fails a run.
    Error,
}

impl Severity {
    /// The word used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $severity:ident;)*) => {
        /// The kinds of findings: one row each, found again by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $(#[doc = concat!($($doc),*)] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The name, as it stands in every output.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The severity before any policy.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// One sentence about the kind, for rule lists.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),*).trim_ascii(),)* }
            }
        }
    };
}

codes! {
    /// The configuration file is missing or cannot be read.
    ConfigUnreadable = "config-unreadable", Error;
    /// The configuration file is not valid TOML, or a value in it does not fit.
    ConfigInvalid = "config-invalid", Error;
    /// The configuration has a key that is not known.
    ConfigUnknownKey = "config-unknown-key", Error;
    /// A pattern is not a valid glob.
    PatternInvalid = "pattern-invalid", Error;
    /// A pattern matches no file.
    PatternEmpty = "pattern-empty", Warning;
    /// Extracted requirements are in no file that is read.
    RequirementsUnread = "requirements-unread", Warning;
    /// There are specifications, and no sources that could cite them.
    SourcesUnnamed = "sources-unnamed", Warning;
    /// No file is found to read at all.
    InputsEmpty = "inputs-empty", Error;
    /// A link that a pattern finds leads outside the project.
    SourceOutside = "source-outside", Warning;
    /// A file or a folder cannot be read.
    FileUnreadable = "file-unreadable", Error;
    /// A file holds bytes that are not UTF-8.
    FileNotUtf8 = "file-not-utf8", Error;
    /// A citation's metadata line has a key that is not known.
    MetaUnknownKey = "meta-unknown-key", Error;
    /// A citation's metadata line repeats a key.
    MetaDuplicateKey = "meta-duplicate-key", Error;
    /// A citation's metadata value does not fit its key.
    MetaInvalidValue = "meta-invalid-value", Error;
    /// A metadata key is not allowed for this type of citation.
    MetaNotAllowed = "meta-not-allowed", Error;
    /// A citation names no target.
    TargetMissing = "target-missing", Error;
    /// A citation's target names no section.
    TargetWithoutSection = "target-without-section", Error;
    /// Quote lines stand without a target line above them.
    QuoteWithoutTarget = "quote-without-target", Note;
    /// A citation stands behind code on its line and is therefore not read.
    CitationAfterCode = "citation-after-code", Note;
    /// A requirement file is not valid TOML.
    TomlInvalid = "toml-invalid", Error;
    /// A requirement file has a key that is not known.
    TomlUnknownKey = "toml-unknown-key", Error;
    /// A requirement file lacks a key that is needed.
    TomlMissingKey = "toml-missing-key", Error;
    /// The text of a specification is not on this machine.
    SpecificationMissing = "specification-missing", Error;
    /// A specification lies outside the project.
    SpecificationOutside = "specification-outside", Error;
    /// The text of a specification differs from the one in the lock file.
    SpecificationChanged = "specification-changed", Warning;
    /// A citation names a section that the specification does not have.
    SectionUnknown = "section-unknown", Error;
    /// The quoted text is nowhere in the specification.
    QuoteMissing = "quote-missing", Error;
    /// The quoted text is in another section of the specification.
    QuoteMoved = "quote-moved", Error;
    /// The quoted text differs from the specification's.
    QuoteDrifted = "quote-drifted", Warning;
    /// The quoted text changes a number, a negation or a keyword of the specification.
    QuoteMeaningChanged = "quote-meaning-changed", Warning;
    /// The quoted text occurs several times in the section; the first is meant.
    QuoteAmbiguous = "quote-ambiguous", Note;
    /// A requirement file of an earlier extraction names text that is gone.
    RequirementStale = "requirement-stale", Warning;
    /// A link template names no variable that is set and no literal.
    TemplateUnresolved = "template-unresolved", Error;
    /// A requirement has no citation although citations are required.
    CitationRequired = "citation-required", Error;
    /// A requirement has no test although tests are required.
    TestRequired = "test-required", Error;
    /// The snapshot on disk is missing or differs from the one of this run.
    SnapshotDiffers = "snapshot-differs", Error;
}

impl Code {
    /// Whether something that should have been read was not: what was not read is not known to be absent, so nothing
    /// may be concluded from its absence.
    pub fn is_missing_input(self) -> bool {
        matches!(
            self,
            Self::ConfigUnreadable
                | Self::ConfigInvalid
                | Self::ConfigUnknownKey
                | Self::TemplateUnresolved
                | Self::PatternInvalid
                | Self::InputsEmpty
                | Self::FileUnreadable
                | Self::TomlInvalid
                | Self::TomlUnknownKey
                | Self::TomlMissingKey
                | Self::SpecificationMissing
                | Self::SpecificationOutside
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_code_says_what_it_is() {
        let mut names: Vec<_> = Code::ALL.iter().map(|c| c.name()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(Code::ALL.iter().all(|c| c.summary().ends_with('.')));
    }
}
