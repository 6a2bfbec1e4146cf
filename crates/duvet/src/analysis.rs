//! What the files of a project mean together: annotations, matches, requirements, findings.

use crate::citation::{Annotation, Kind};
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::loader::LoadedSpecification;
use crate::matching::Match;
use crate::source::FileFacts;
use crate::specification::ietf::front_matter;
use crate::specification::keyword::Level;
use crate::specification::{Format, Specification};
use crate::status::Coverage;
use crate::target::rfc_number;
use std::path::PathBuf;
use std::sync::Arc;

/// What is to be analysed.
#[derive(Clone, Debug)]
pub struct Project {
    /// Folder that every name is relative to.
    pub root: PathBuf,
    /// Its settings.
    pub config: Config,
    /// Whether only faithful quotes count.
    pub strict: bool,
}

/// What the files of a project say together.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// All annotations; an annotation's id is its index here, as in the version 1 report.
    pub entries: Vec<Entry>,
    /// The specifications that are cited, by name.
    pub specifications: Vec<Cited>,
    /// The requirements, by annotation id.
    pub requirements: Vec<Requirement>,
    /// Everything that is wrong, by file and line.
    pub diagnostics: Vec<Diagnostic>,
}

/// One annotation in its file, and its match.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The file with its annotations and matches.
    pub file: Arc<MatchedFile>,
    /// Which of them.
    pub index: u32,
}

impl Entry {
    /// The annotation.
    pub fn annotation(&self) -> &Annotation {
        &self.file.facts.annotations[self.index as usize]
    }

    /// Where its quote was found.
    pub fn matched(&self) -> &Match {
        &self.file.matches[self.index as usize]
    }
}

/// A file whose citations were looked up.
#[derive(Debug)]
pub struct MatchedFile {
    /// What it says.
    pub facts: Arc<FileFacts>,
    /// Matches of its annotations, in their order.
    pub matches: Vec<Match>,
    /// What is wrong with its quotes.
    pub diagnostics: Vec<Diagnostic>,
    /// The specifications it cites, as they were.
    pub specifications: Vec<Arc<LoadedSpecification>>,
}

/// A cited specification.
#[derive(Clone, Debug)]
pub struct Cited {
    /// The specification.
    pub loaded: Arc<LoadedSpecification>,
    /// Ids of its requirements.
    pub requirements: Vec<u32>,
    /// One entry per section of the text.
    pub sections: Vec<CitedSection>,
}

impl Cited {
    /// The name citations use.
    pub fn name(&self) -> &str {
        &self.loaded.name
    }

    /// A name for people: the title, or `RFC 9000: Title`, or the name itself.
    pub fn display_name(&self) -> String {
        let title = self
            .specification()
            .and_then(|specification| match specification.format {
                Format::Markdown => specification.title.clone(),
                Format::Ietf => front_matter::title(specification),
            });
        let number = rfc_number(self.name()).map(|number| format!("RFC {number}"));
        match (number, title) {
            (Some(number), Some(title)) => format!("{number}: {title}"),
            (Some(number), None) => number,
            (None, Some(title)) => title,
            (None, None) => self.name().to_owned(),
        }
    }

    /// What the specification is about, in its own words; empty when it does not say.
    pub fn description(&self) -> String {
        let Some(specification) = self.specification() else {
            return String::new();
        };
        let first = || {
            let section = specification
                .sections
                .iter()
                .find(|section| !section.lines.is_empty())?;
            let lines = section.lines.iter().map(|line| specification.line(line).trim());
            Some(
                lines
                    .take_while(|line| !line.is_empty())
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let text = match specification.format {
            Format::Ietf => front_matter::summary(specification),
            Format::Markdown => first(),
        };
        text.unwrap_or_default()
    }

    /// The text in sections, when it is on this machine.
    pub fn specification(&self) -> Option<&Specification> {
        self.loaded.specification.as_ref()
    }
}

/// What points into one section.
#[derive(Clone, Debug, Default)]
pub struct CitedSection {
    /// Ids of annotations whose quotes count, in order.
    pub annotations: Vec<u32>,
    /// Ids of the requirements among them.
    pub requirements: Vec<u32>,
}

/// One requirement.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Id of the annotation that states it.
    pub annotation: u32,
    /// Index of its specification.
    pub specification: usize,
    /// Index of its section.
    pub section: Option<usize>,
    /// How strongly it binds.
    pub level: Level,
    /// How far it is fulfilled.
    pub coverage: Coverage,
}

impl Analysis {
    /// The annotation with an id.
    pub fn annotation(&self, id: u32) -> &Annotation {
        self.entries[id as usize].annotation()
    }

    /// The match of the annotation with an id.
    pub fn matched(&self, id: u32) -> &Match {
        self.entries[id as usize].matched()
    }

    /// What should have been read and was not. While there is any, nothing may be concluded from what is absent.
    pub fn missing_inputs(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics
            .iter()
            .filter(|found| found.code.is_missing_input())
    }

    /// Number of annotations that are not requirements.
    pub fn citations(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let entries = self
            .entries
            .iter()
            .enumerate()
            .map(|(id, entry)| (id as u32, entry));
        entries.filter(|(_, entry)| entry.annotation().kind != Kind::Spec)
    }
}
