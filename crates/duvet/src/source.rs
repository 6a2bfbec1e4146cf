//! The files of a project and what stands in them.

use crate::citation::{Annotation, CommentStyle, Kind, comment, toml};
use crate::config::{Config, SourcePattern};
use crate::diagnostic::{Code, Diagnostic};
use crate::paths::{self, Query};
use crate::target::path_order;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// One file to be read, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// The file relative to the project's root.
    pub name: Arc<str>,
    /// How it is read; files of one pattern share it.
    pub reading: Arc<Reading>,
}

/// How a file is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
}

/// What says that a file is the one that was read: cheap to ask for, different after any ordinary write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Nanoseconds since 1970; zero when the file system does not say.
    modified: u64,
    length: u64,
}

impl Stamp {
    /// The stamp of a file; `None` when there is no such file.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        Some(Self {
            modified: modified.map_or(0, |since| since.as_nanos() as u64),
            length: metadata.len(),
        })
    }

    /// A stamp for a text that is not in a file: it changes with the text.
    pub fn of_text(text: &str) -> Self {
        let hash = blake3::hash(text.as_bytes());
        let mut length = [0; 8];
        length.copy_from_slice(&hash.as_bytes()[..8]);
        Self {
            modified: 0,
            length: u64::from_le_bytes(length),
        }
    }

    /// The stamp as bytes, for hashing.
    pub fn bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.modified.to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }
}

/// What one file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// The file.
    pub name: Arc<str>,
    /// BLAKE3 of its text.
    pub hash: [u8; 32],
    /// Its annotations, by line.
    pub annotations: Vec<Annotation>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// The files that the configuration's patterns mean, each way of reading a file once.
pub fn discover(root: &Path, config: &Config) -> (Vec<Input>, Vec<Diagnostic>) {
    let mut queries: Vec<Query<'_>> = config
        .sources
        .iter()
        .map(|s| Query {
            pattern: &s.pattern,
            ignore: true,
        })
        .collect();
    queries.extend(config.requirements.iter().map(|pattern| Query {
        pattern,
        ignore: false,
    }));
    let found = paths::find(root, &queries);
    let mut hits = vec![0_usize; queries.len()];
    let readings: Vec<Arc<Reading>> = (0..queries.len())
        .map(|index| Arc::new(reading(config.sources.get(index))))
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
        let message = format!("`{}` is no pattern: {problem}", queries[index].pattern);
        diagnostics.push(Diagnostic::of_file(
            Code::PatternInvalid,
            message,
            crate::config::CONFIG_PATH,
        ));
    }
    diagnostics.extend(empty_patterns(config, &hits));
    (inputs, diagnostics)
}

/// Reads one file; a file that is no UTF-8 is reported and read as far as it is.
pub fn read(root: &Path, input: &Input) -> FileFacts {
    match std::fs::read(root.join(&*input.name)) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => parse(input, &text),
            Err(error) => {
                let mut facts = parse(input, &String::from_utf8_lossy(error.as_bytes()));
                facts.diagnostics.push(not_utf8(&input.name, &error));
                facts
            }
        },
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            let diagnostic = Diagnostic::of_file(Code::FileUnreadable, message, &*input.name);
            FileFacts {
                name: Arc::clone(&input.name),
                diagnostics: vec![diagnostic],
                ..FileFacts::default()
            }
        }
    }
}

/// Reads one text as the given input.
pub fn parse(input: &Input, text: &str) -> FileFacts {
    let (mut annotations, diagnostics) = match &*input.reading {
        Reading::Requirements => toml::extract(&input.name, text),
        Reading::Comments {
            style, default_kind, ..
        } => comment::extract(comment::Source {
            name: &input.name,
            text,
            style,
            default_kind: *default_kind,
        }),
    };
    if let Reading::Comments {
        blob_link: Some(link),
        ..
    } = &*input.reading
    {
        for annotation in &mut annotations {
            annotation.blob_link = Some(Arc::clone(link));
        }
    }
    FileFacts {
        name: Arc::clone(&input.name),
        hash: *blake3::hash(text.as_bytes()).as_bytes(),
        annotations,
        diagnostics,
    }
}

//= specs/duvet.md#tolerance
//# A file that is not UTF-8 MUST be reported at the first bad byte and read as far as it is text.
fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> Diagnostic {
    let valid = error.utf8_error().valid_up_to();
    let text = String::from_utf8_lossy(&error.as_bytes()[..valid]);
    let message = format!("byte {valid} is not UTF-8");
    Diagnostic::new(
        Code::FileNotUtf8,
        message,
        name,
        crate::text::position(&text, text.len()),
    )
    .help("save the file as UTF-8, or leave it out of the source patterns")
}

fn reading(source: Option<&SourcePattern>) -> Reading {
    match source {
        None => Reading::Requirements,
        Some(source) => Reading::Comments {
            style: source.style.clone(),
            default_kind: source.default_kind,
            blob_link: source.blob_link.clone(),
        },
    }
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
            Diagnostic::of_file(Code::PatternEmpty, message, crate::config::CONFIG_PATH)
        })
        .collect()
}
