//! The whole way from a project's files to what they mean together.

use crate::citation::{Annotation, Kind};
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic};
use crate::index;
use crate::library::Places;
use crate::matching::Match;
use crate::shelf::Volume;
use crate::source::{FileFacts, Input, discover};
use crate::specification::ietf::front_matter;
use crate::specification::keyword::Level;
use crate::specification::{Format, Specification};
use crate::status::Coverage;
use crate::store::{Gathered, Store, Unchanged};
use crate::target::rfc_number;
use std::collections::HashSet;
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
    pub volumes: Vec<Arc<Volume>>,
}

/// A cited specification.
#[derive(Clone, Debug)]
pub struct Cited {
    /// The specification.
    pub volume: Arc<Volume>,
    /// Ids of its requirements.
    pub requirements: Vec<u32>,
    /// One entry per section of the text.
    pub sections: Vec<CitedSection>,
}

impl Cited {
    /// The name citations use.
    pub fn name(&self) -> &str {
        &self.volume.name
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
        self.volume.specification.as_ref()
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

//= specs/duvet.md#tolerance
//# A fault in one input MUST NOT keep the report from being written.
/// Reads, looks up and counts. What the store still knows from an earlier call is not worked out again.
pub fn analyse(project: &Project, store: &mut Store) -> Analysis {
    let gathered = gather(project, store);
    conclude(project, store, gathered)
}

/// The first half: every file is found, read and hashed.
pub fn gather(project: &Project, store: &mut Store) -> Gathered {
    let found = discover(&project.root, &project.config);
    store.gather(project, &found, &|_| false)
}

/// The second half: specifications are read, citations looked up and requirements counted.
pub fn conclude(project: &Project, store: &mut Store, gathered: Gathered) -> Analysis {
    let read = read(project, store, gathered, &|_| false);
    join(project, store, read)
}

/// All that a look read.
pub(crate) struct Read {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) lock: String,
    written: HashSet<String>,
    files: Vec<(Input, Arc<FileFacts>)>,
    volumes: Vec<Arc<Volume>>,
}

/// Reads what the gathered files need beside them.
pub(crate) fn read(
    project: &Project,
    store: &mut Store,
    mut gathered: Gathered,
    is_unchanged: &Unchanged<'_>,
) -> Read {
    let places = Places::new(&project.root, &project.config);
    let mut diagnostics = std::mem::take(&mut gathered.diagnostics);
    let extracted = store.extract(project, &places, is_unchanged, &mut diagnostics);
    let files = store.complete(project, &gathered, &extracted, is_unchanged);
    let volumes = store.shelve(project, &places, &files, is_unchanged);
    diagnostics.extend(Store::check_lock(&gathered.lock, &volumes));
    Read {
        diagnostics,
        lock: gathered.lock,
        written: extracted.into_iter().map(|(name, _)| name).collect(),
        files,
        volumes,
    }
}

/// What all that was read means together.
pub(crate) fn join(project: &Project, store: &mut Store, mut read: Read) -> Analysis {
    let matched = store.look_up(&read.files, &read.volumes);
    let mut analysis = index::build(&matched, &read.volumes, project.strict);
    analysis.diagnostics.append(&mut read.diagnostics);
    mark_stale(project, &read.written, &mut analysis.diagnostics);
    index::sort_diagnostics(&mut analysis.diagnostics);
    analysis
}

/// A requirement file that extraction no longer writes and whose text is gone is left over from an earlier one.
//= specs/duvet.md#tolerance
//# A requirement file left over from an earlier extraction MUST be reported as stale and not as a broken citation.
fn mark_stale(project: &Project, written: &HashSet<String>, diagnostics: &mut [Diagnostic]) {
    let folder = format!("{}/", project.config.extracted.display());
    let is_lost = |code| {
        matches!(
            code,
            Code::SectionUnknown | Code::QuoteMissing | Code::QuoteMoved | Code::QuoteDrifted
        ) || code == Code::QuoteMeaningChanged
    };
    for diagnostic in diagnostics {
        let is_left = diagnostic.file.starts_with(&folder) && !written.contains(diagnostic.file.as_str());
        if is_left && is_lost(diagnostic.code) {
            diagnostic.code = Code::RequirementStale;
            diagnostic.severity = diagnostic.code.severity();
            diagnostic.help = Some("the specification no longer says this; delete the file".to_owned());
        }
    }
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
