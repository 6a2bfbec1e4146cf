//! The files of a project and what stands in them.

use crate::citation::{Annotation, CommentStyle, Kind, comment, toml};
use crate::config::{Config, SourcePattern};
use crate::diagnostic::{Code, Diagnostic};
use crate::excerpt::{self, CitedLines};
use crate::fence::{self, Fence, MAX_SOURCE_BYTES, Names};
use crate::paths::{self, Query};
use crate::target::path_order;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

/// One file to be read, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file relative to the project's root.
    pub name: Arc<str>,
    /// How it is read; files of one pattern share it.
    pub reading: Arc<Reading>,
}

/// By name alone: few files are read in two ways.
impl std::hash::Hash for Input {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// How a file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Citations in comments.
    Comments {
        /// Its comment prefixes.
        style: CommentStyle,
        /// What annotations without a type are.
        default_kind: Kind,
        /// Template of links to its lines.
        blob_link: Option<Arc<str>>,
    },
    /// A requirement file.
    Requirements,
    /// A requirement file as the public tool reads it: an array goes by one of its names only.
    StrictRequirements,
}

impl Reading {
    /// How the requirement files of a project are read.
    pub(crate) fn of_requirements(config: &Config) -> Self {
        if config.strict_compat {
            Self::StrictRequirements
        } else {
            Self::Requirements
        }
    }
}

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// The file.
    pub name: Arc<str>,
    /// BLAKE3 of the very bytes that were analysed; zeros when the file could not be read.
    pub hash: [u8; 32],
    /// Whether it has other names, under which it may be changed.
    pub names: Names,
    /// How it was read.
    pub reading: Option<Arc<Reading>>,
    /// Its annotations, by line.
    pub annotations: Vec<Annotation>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// The lines of its annotations, for findings about them.
    pub cited_lines: CitedLines,
}

/// What the configuration's patterns mean.
#[derive(Clone, Debug, Default)]
pub struct Discovered {
    /// The files, each way of reading a file once.
    pub inputs: Vec<Input>,
    /// Those of them that a link leads to: a change is seen at another name.
    pub linked: HashSet<String>,
    /// Patterns that mean nothing.
    pub diagnostics: Vec<Diagnostic>,
}

/// The files that the configuration's patterns mean.
pub fn discover(root: &Path, config: &Config) -> Discovered {
    let patterns: Vec<String> = config
        .sources
        .iter()
        .map(|s| pattern(config, &s.pattern))
        .collect();
    let sources = patterns.iter().map(|pattern| Query {
        pattern,
        ignore: !config.strict_compat,
    });
    let mut queries: Vec<Query<'_>> = sources.collect();
    queries.extend(config.requirements.iter().map(|pattern| Query {
        pattern,
        ignore: false,
    }));
    let found = paths::find(root, &Fence::new(root, &config.allowed), &queries);
    let mut hits = vec![0_usize; queries.len()];
    let readings: Vec<Arc<Reading>> = (0..queries.len())
        .map(|index| Arc::new(reading(config, config.sources.get(index))))
        .collect();
    let mut inputs = Vec::with_capacity(found.files.len());
    for (index, file) in found.files {
        hits[index] += 1;
        inputs.push(Input {
            name: file.into(),
            reading: Arc::clone(&readings[index]),
        });
    }
    inputs.sort_by(|a, b| path_order(&a.name, &b.name));
    inputs.dedup();
    let mut diagnostics = Vec::new();
    for (index, problem) in found.invalid {
        hits[index] = 1;
        let pattern = queries[index].pattern;
        let message = format!("the pattern `{pattern}` cannot be used: {problem}");
        diagnostics.push(config.locations.finding(Code::PatternInvalid, message, pattern));
    }
    diagnostics.extend(found.unreadable.into_iter().map(|(name, problem)| {
        let name = if name.is_empty() { ".".to_owned() } else { name };
        Diagnostic::of_file(
            Code::FileUnreadable,
            format!("it cannot be read: {problem}"),
            name,
        )
    }));
    diagnostics.extend(found.outside.into_iter().map(outside));
    diagnostics.extend(empty_patterns(config, &hits));
    diagnostics.extend(nothing_to_read(config, &inputs));
    Discovered {
        inputs,
        linked: found.linked,
        diagnostics,
    }
}

/// Reads one file. When its bytes are those already known, what is known of them is given again.
pub fn read(root: &Path, input: &Input, known: Option<&Arc<FileFacts>>) -> Arc<FileFacts> {
    BUFFER.with_borrow_mut(|bytes| {
        let facts = match fence::read_into(&root.join(&*input.name), MAX_SOURCE_BYTES, bytes) {
            Ok(names) => of_bytes(input, bytes, names, known),
            Err(problem) => return Arc::new(unreadable(input, &problem)),
        };
        if bytes.capacity() > MAX_KEPT_BUFFER_BYTES {
            *bytes = Vec::new();
        }
        facts
    })
}

thread_local! {
    /// What files are read into, one after the other.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The buffer of a larger file is given back.
const MAX_KEPT_BUFFER_BYTES: usize = 4 << 20;

fn of_bytes(input: &Input, bytes: &[u8], names: Names, known: Option<&Arc<FileFacts>>) -> Arc<FileFacts> {
    let hash = *blake3::hash(bytes).as_bytes();
    if let Some(known) = known.filter(|known| known.hash == hash && known.names == names) {
        return Arc::clone(known);
    }
    let facts = match std::str::from_utf8(bytes) {
        Ok(text) => facts(input, text, hash, None),
        Err(error) => {
            let fault = not_utf8(&input.name, bytes, error);
            facts(input, &String::from_utf8_lossy(bytes), hash, Some(fault))
        }
    };
    Arc::new(FileFacts { names, ..facts })
}

fn unreadable(input: &Input, problem: &fence::Refused) -> FileFacts {
    let message = format!("the file cannot be read: {problem}");
    FileFacts {
        name: Arc::clone(&input.name),
        diagnostics: vec![Diagnostic::of_file(Code::FileUnreadable, message, &*input.name)],
        ..FileFacts::default()
    }
}

/// Reads one text as the given input; its hash is known already.
pub(crate) fn parse(input: &Input, text: &str, hash: blake3::Hash) -> FileFacts {
    facts(input, text, *hash.as_bytes(), None)
}

fn facts(input: &Input, text: &str, hash: [u8; 32], fault: Option<Diagnostic>) -> FileFacts {
    let (mut annotations, mut diagnostics) = match &*input.reading {
        Reading::Requirements => toml::extract(&input.name, text),
        Reading::StrictRequirements => {
            let (annotations, mut found) = toml::extract(&input.name, text);
            found.extend(toml::doubled_arrays(&input.name, text));
            (annotations, found)
        }
        Reading::Comments {
            style, default_kind, ..
        } => comment::extract(comment::Source {
            name: &input.name,
            text,
            style,
            default_kind: *default_kind,
        }),
    };
    //= specs/duvet.md#citations
    //# A citation of `spexus:` MUST be left to `spexus trace`: it is neither counted nor faulted for what it names.
    annotations.retain(|annotation| !annotation.target.is_managed());
    if let Reading::Comments {
        blob_link: Some(link),
        ..
    } = &*input.reading
    {
        for annotation in &mut annotations {
            annotation.blob_link = Some(Arc::clone(link));
        }
    }
    annotations.shrink_to_fit();
    diagnostics.extend(fault);
    excerpt::attach(text, &mut diagnostics);
    FileFacts {
        name: Arc::clone(&input.name),
        hash,
        names: Names::One,
        reading: Some(Arc::clone(&input.reading)),
        cited_lines: CitedLines::of(text, &annotations),
        annotations,
        diagnostics,
    }
}

//= specs/duvet.md#tolerance
//# A file that is not UTF-8 MUST be reported at the first bad byte and read as far as it is text.
fn not_utf8(name: &str, bytes: &[u8], error: std::str::Utf8Error) -> Diagnostic {
    let valid = error.valid_up_to();
    let text = String::from_utf8_lossy(&bytes[..valid]);
    let message = format!("byte {valid} is not UTF-8");
    Diagnostic::new(
        Code::FileNotUtf8,
        message,
        name,
        crate::text::position(&text, text.len()),
    )
    .help("save the file as UTF-8, or leave it out of the source patterns")
}

/// The public tool knows no alternatives: its braces are characters.
fn pattern(config: &Config, written: &str) -> String {
    if !config.strict_compat {
        return written.to_owned();
    }
    let plain = |c| match c {
        '{' => "[{]".to_owned(),
        '}' => "[}]".to_owned(),
        c => c.to_string(),
    };
    written.chars().map(plain).collect()
}

fn reading(config: &Config, source: Option<&SourcePattern>) -> Reading {
    match source {
        None => Reading::of_requirements(config),
        Some(source) => Reading::Comments {
            style: source.style.clone(),
            default_kind: source.default_kind,
            blob_link: source.blob_link.clone(),
        },
    }
}

//= specs/duvet.md#inside-the-fence
//# A link that leads out of the project and is not followed MUST be named.
fn outside(name: String) -> Diagnostic {
    let message = "the link leads outside the project and is not followed";
    Diagnostic::of_file(Code::SourceOutside, message, name)
        .help("name the folder it leads to with `--allow-read` if it is meant")
}

/// Patterns that find nothing, but for the folders that every project is searched for.
fn empty_patterns(config: &Config, hits: &[usize]) -> Vec<Diagnostic> {
    let sources = config.sources.iter().map(|source| source.pattern.as_str());
    let patterns = sources.chain(config.requirements.iter().map(String::as_str));
    patterns
        .zip(hits)
        .filter(|(pattern, hits)| **hits == 0 && !pattern.starts_with(".duvet/"))
        .map(|(pattern, _)| {
            let message = format!("the pattern `{pattern}` matches no file");
            config.locations.finding(Code::PatternEmpty, message, pattern)
        })
        .collect()
}

//= specs/duvet.md#nothing-lost
//# A project in which no file is found to read MUST be an error.
fn nothing_to_read(config: &Config, inputs: &[Input]) -> Option<Diagnostic> {
    if config.strict_compat {
        return None;
    }
    let is_source = |input: &Input| matches!(*input.reading, Reading::Comments { .. });
    let (message, help) = if config.sources.is_empty() {
        if !config.specifications.is_empty() {
            let message = "no sources are configured, so nothing is cited";
            let found = Diagnostic::of_file(Code::SourcesUnnamed, message, &*config.locations.file);
            return Some(found.help("name them in `[[source]]`, by a `pattern` such as `src/**/*.rs`"));
        }
        if !inputs.is_empty() {
            return None;
        }
        let help = "run `duvet init`, or go to the folder with `.duvet/config.toml`";
        ("no sources are configured here", help)
    } else {
        if inputs.iter().any(is_source) {
            return None;
        }
        let help = "check the `pattern` of each `[[source]]`";
        ("not one source file is found by the patterns", help)
    };
    Some(Diagnostic::of_file(Code::InputsEmpty, message, &*config.locations.file).help(help))
}
