//! The specifications of a project, read and made searchable.

use crate::diagnostic::{Code, Diagnostic};
use crate::fence::{self, Refused};
use crate::library::{MAX_SPECIFICATION_BYTES, Places};
use crate::matching::{Everywhere, Haystack};
use crate::nearest::Sentences;
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
    /// The format asked for.
    pub format: Option<Format>,
    /// The text in sections; `None` when it is not on this machine.
    pub specification: Option<Specification>,
    /// What was wrong with the file.
    pub diagnostic: Option<Diagnostic>,
    cited_from: String,
    hash: Option<[u8; 32]>,
    haystacks: Vec<OnceLock<Haystack>>,
    everywhere: OnceLock<Everywhere>,
    sentences: Vec<OnceLock<Sentences>>,
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
    pub fn open(places: &Places, order: &Order<'_>) -> Arc<Self> {
        Self::renew(places, order, None, &|_| false)
    }

    /// The same; what is known is given again when the file still holds the same bytes. A file of which
    /// `is_unchanged` says so is not read for that.
    pub fn renew(
        places: &Places,
        order: &Order<'_>,
        known: Option<&Arc<Self>>,
        is_unchanged: &dyn Fn(&Path) -> bool,
    ) -> Arc<Self> {
        let located = places.locate(order.name, Some(order.cited.0));
        let path = match &located {
            Ok(path) => path.clone(),
            Err(_) => PathBuf::new(),
        };
        let known = known.filter(|known| {
            known.specification.is_some() && known.format == order.format && known.path == path
        });
        if let Some(known) = known.filter(|_| is_unchanged(&path) && places.is_plain(&path)) {
            return Arc::clone(known);
        }
        let bytes = located.and_then(|path| fence::read(&path, MAX_SPECIFICATION_BYTES));
        let hash = bytes.as_ref().map(|bytes| *blake3::hash(bytes).as_bytes()).ok();
        if let Some(known) = known.filter(|known| known.hash == hash) {
            return Arc::clone(known);
        }
        let mut diagnostic = None;
        let text = match bytes {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap_or_else(|error| {
                diagnostic = Some(not_utf8(order, &path));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })),
            Err(refused) => {
                diagnostic = Some(absent(order, &refused));
                None
            }
        };
        let specification = text.map(|text| Specification::parse(order.name, text, order.format));
        let sections = specification.as_ref().map_or(0, |s| s.sections.len());
        Arc::new(Self {
            name: order.name.to_owned(),
            path,
            format: order.format,
            specification,
            diagnostic,
            cited_from: order.cited.0.to_owned(),
            hash,
            haystacks: (0..sections).map(|_| OnceLock::new()).collect(),
            everywhere: OnceLock::new(),
            sentences: (0..sections).map(|_| OnceLock::new()).collect(),
        })
    }

    /// A file that cites it.
    pub fn cited_from(&self) -> &str {
        &self.cited_from
    }

    /// BLAKE3 of the very bytes that were read; `None` when there is no text.
    pub fn hash(&self) -> Option<[u8; 32]> {
        self.hash
    }

    /// One section's text, made searchable when it is first asked for.
    pub fn haystack(&self, specification: &Specification, section: usize) -> &Haystack {
        self.haystacks[section].get_or_init(|| Haystack::new(specification, &specification.sections[section]))
    }
}

impl Volume {
    /// All sections at once, made searchable when a quote is first missed.
    pub fn everywhere(&self, specification: &Specification) -> &Everywhere {
        let sections = 0..specification.sections.len();
        self.everywhere
            .get_or_init(|| Everywhere::new(sections.map(|section| self.haystack(specification, section))))
    }

    /// The sentences of one section, found by their words.
    pub fn sentences(&self, specification: &Specification, section: usize) -> &Sentences {
        self.sentences[section].get_or_init(|| Sentences::new(&self.haystack(specification, section).joined))
    }
}

//= specs/duvet.md#specifications-offline
//# A specification whose text is missing MUST be reported once, with the command that fetches it.
fn absent(order: &Order<'_>, refused: &Refused) -> Diagnostic {
    let name = order.name;
    let (code, message) = match refused {
        Refused::Outside => {
            let message = format!("`{name}` lies outside the project and is not read");
            (Code::SpecificationOutside, message)
        }
        Refused::System(error) if error.kind() == std::io::ErrorKind::NotFound => (
            Code::SpecificationMissing,
            format!("the text of `{name}` is not here"),
        ),
        other => {
            let message = format!("the text of `{name}` cannot be read: {other}");
            (Code::SpecificationMissing, message)
        }
    };
    let help = match code {
        Code::SpecificationOutside => {
            "copy it into the project, or name its folder with `--allow-read`".to_owned()
        }
        _ if is_url(name) => format!("run `duvet fetch {name}`"),
        _ => "write the path relative to the project's root".to_owned(),
    };
    let start = crate::text::Position {
        line: order.cited.1,
        column: 1,
    };
    Diagnostic::new(code, message, order.cited.0, start).help(help)
}

fn not_utf8(order: &Order<'_>, path: &Path) -> Diagnostic {
    let message = format!("`{}` holds bytes that are not UTF-8", path.display());
    let start = crate::text::Position {
        line: order.cited.1,
        column: 1,
    };
    Diagnostic::new(Code::FileNotUtf8, message, order.cited.0, start)
}
