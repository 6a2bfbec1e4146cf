//! The specifications of a project, read and made searchable.

use crate::diagnostic::{Code, Diagnostic};
use crate::library;
use crate::matching::Haystack;
use crate::source::Stamp;
use crate::specification::{Format, Specification};
use crate::target::is_url;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// One specification that was asked for.
#[derive(Debug)]
pub struct Volume {
    /// As citations name it.
    pub name: String,
    /// The file with its text.
    pub path: PathBuf,
    /// What the file was when it was read; `None` when there was none.
    pub stamp: Option<Stamp>,
    /// The format asked for.
    pub format: Option<Format>,
    /// The text in sections; `None` when it is not on this machine.
    pub specification: Option<Specification>,
    /// What was wrong with the file.
    pub diagnostic: Option<Diagnostic>,
    cited_from: String,
    hash: [u8; 32],
    haystacks: Vec<OnceLock<Haystack>>,
}

/// Where a specification is to be looked for.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// As citations name it.
    pub name: &'a str,
    /// The format asked for, if any.
    pub format: Option<Format>,
    /// A file that cites it, and the line.
    pub cited: (&'a str, u32),
}

impl Volume {
    //= specs/duvet.md#specifications-offline
    //# A report MUST NOT use the network.
    /// Fetches a specification from disk.
    pub fn open(root: &Path, downloads: &Path, order: &Order<'_>) -> Arc<Self> {
        let path = library::locate(root, downloads, order.name, Some(order.cited.0));
        let stamp = Stamp::of(&path);
        let mut diagnostic = None;
        let text = match std::fs::read(&path) {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap_or_else(|error| {
                diagnostic = Some(not_utf8(order, &path));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })),
            Err(_) => {
                diagnostic = Some(missing(order));
                None
            }
        };
        let hash = *blake3::hash(text.as_deref().unwrap_or_default().as_bytes()).as_bytes();
        let specification = text.map(|text| Specification::parse(order.name, text, order.format));
        let sections = specification.as_ref().map_or(0, |s| s.sections.len());
        Arc::new(Self {
            name: order.name.to_owned(),
            path,
            stamp,
            format: order.format,
            specification,
            diagnostic,
            cited_from: order.cited.0.to_owned(),
            hash,
            haystacks: (0..sections).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Whether the file is still the one that was read.
    pub fn is_fresh(&self, root: &Path, downloads: &Path, order: &Order<'_>) -> bool {
        let path = library::locate(root, downloads, order.name, Some(order.cited.0));
        self.format == order.format && self.path == path && self.stamp == Stamp::of(&path)
    }

    /// Whether the file is still the one that was read, wherever the specification was cited from.
    pub fn is_unchanged(&self, root: &Path, downloads: &Path) -> bool {
        let path = library::locate(root, downloads, &self.name, Some(&self.cited_from));
        self.path == path && self.stamp == Stamp::of(&path)
    }

    /// A file that cites it.
    pub fn cited_from(&self) -> &str {
        &self.cited_from
    }

    /// BLAKE3 of the text.
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// One section's text, made searchable when it is first asked for.
    pub fn haystack(&self, specification: &Specification, section: usize) -> &Haystack {
        self.haystacks[section].get_or_init(|| Haystack::new(specification, &specification.sections[section]))
    }
}

//= specs/duvet.md#specifications-offline
//# A specification whose text is missing MUST be reported once, with the command that fetches it.
fn missing(order: &Order<'_>) -> Diagnostic {
    let message = format!("the text of `{}` is not here", order.name);
    let help = if is_url(order.name) {
        format!("run `duvet fetch {}`", order.name)
    } else {
        "write the path relative to the project's root".to_owned()
    };
    let start = crate::text::Position {
        line: order.cited.1,
        column: 1,
    };
    Diagnostic::new(Code::SpecificationMissing, message, order.cited.0, start).help(help)
}

fn not_utf8(order: &Order<'_>, path: &Path) -> Diagnostic {
    let message = format!("`{}` holds bytes that are not UTF-8", path.display());
    let start = crate::text::Position {
        line: order.cited.1,
        column: 1,
    };
    Diagnostic::new(Code::FileNotUtf8, message, order.cited.0, start)
}
