//! Specifications read from disk and made searchable.

use crate::diagnostic::{Code, Diagnostic};
use crate::fence::{self, Names, Refused};
use crate::locator::{MAX_SPECIFICATION_BYTES, SpecificationLocator};
use crate::matching::{Everywhere, Found, Haystack};
use crate::nearest::{NameIndex, Sentences};
use crate::specification::{Format, Specification};
use crate::target::{is_url, spoken_rfc};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A specification as it was read, or what kept it from being read.
#[derive(Debug)]
pub struct LoadedSpecification {
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
    /// Of the bytes, where the text is not the same as them; else worked out when it is asked for.
    hash: OnceLock<Option<[u8; 32]>>,
    names: Names,
    haystacks: Vec<OnceLock<Haystack>>,
    everywhere: OnceLock<Everywhere>,
    sentences: Vec<OnceLock<Sentences>>,
    section_names: OnceLock<NameIndex>,
    /// Quotes that are not in their section word for word, and what was found instead.
    searched: Mutex<Searched>,
}

/// By section and quote.
type Searched = HashMap<(usize, Box<str>), Found>;

/// A specification to be loaded, and who cites it.
#[derive(Clone, Debug)]
pub struct SpecificationRequest<'a> {
    /// As citations name it.
    pub name: &'a str,
    /// The format asked for, if any.
    pub format: Option<Format>,
    /// A file that cites it, and the line.
    pub cited: (&'a str, u32),
    /// The file beside which its path is looked for, when it is not at the root.
    pub beside: &'a str,
    /// The line itself.
    pub excerpt: &'a str,
}

impl LoadedSpecification {
    //= specs/duvet.md#specifications-offline
    //# A report MUST NOT use the network.
    /// Fetches a specification from disk.
    pub fn open(locator: &SpecificationLocator, request: &SpecificationRequest<'_>) -> Arc<Self> {
        Self::renew(locator, request, None, &|_| false)
    }

    /// The same; what is known is given again when the file still holds the same bytes. A file of which
    /// `is_unchanged` says so is not read for that.
    pub fn renew(
        locator: &SpecificationLocator,
        request: &SpecificationRequest<'_>,
        known: Option<&Arc<Self>>,
        is_unchanged: &dyn Fn(&Path) -> bool,
    ) -> Arc<Self> {
        let located = locator.locate(request.name, Some(request.beside));
        let path = match &located {
            Ok(path) => path.clone(),
            Err(_) => PathBuf::new(),
        };
        let known = known.filter(|known| {
            known.specification.is_some() && known.format == request.format && known.path == path
        });
        let is_same =
            |known: &&Arc<Self>| known.names == Names::One && is_unchanged(&path) && locator.is_plain(&path);
        if let Some(known) = known.filter(is_same) {
            return Arc::clone(known);
        }
        let mut names = Names::One;
        let bytes = located.and_then(|path| {
            let mut bytes = Vec::new();
            names = fence::read_into(&path, MAX_SPECIFICATION_BYTES, &mut bytes)?;
            Ok(bytes)
        });
        let hash = OnceLock::new();
        let hash_of = |bytes: &[u8]| *blake3::hash(bytes).as_bytes();
        if let Some(known) = known {
            let now = *hash.get_or_init(|| bytes.as_ref().ok().map(|bytes| hash_of(bytes)));
            if known.hash() == now && known.names == names {
                return Arc::clone(known);
            }
        }
        let mut diagnostic = None;
        let text = match bytes {
            Ok(bytes) => Some(String::from_utf8(bytes).unwrap_or_else(|error| {
                diagnostic = Some(not_utf8(request, &path));
                hash.get_or_init(|| Some(hash_of(error.as_bytes())));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            })),
            Err(refused) => {
                diagnostic = Some(absent(request, &refused));
                None
            }
        };
        let specification = text.map(|text| Specification::parse(request.name, text, request.format));
        let sections = specification.as_ref().map_or(0, |s| s.sections.len());
        Arc::new(Self {
            name: request.name.to_owned(),
            path,
            format: request.format,
            specification,
            diagnostic,
            cited_from: request.beside.to_owned(),
            hash,
            names,
            haystacks: (0..sections).map(|_| OnceLock::new()).collect(),
            everywhere: OnceLock::new(),
            sentences: (0..sections).map(|_| OnceLock::new()).collect(),
            section_names: OnceLock::new(),
            searched: Mutex::default(),
        })
    }

    /// What names it, however it is spelt.
    pub fn key(&self) -> std::borrow::Cow<'_, str> {
        crate::target::key(&self.name)
    }

    /// The file beside which it was looked for.
    pub fn cited_from(&self) -> &str {
        &self.cited_from
    }

    /// BLAKE3 of the very bytes that were read; `None` when there is no text.
    pub fn hash(&self) -> Option<[u8; 32]> {
        let of_text = || {
            let specification = self.specification.as_ref()?;
            Some(*blake3::hash(specification.text.as_bytes()).as_bytes())
        };
        *self.hash.get_or_init(of_text)
    }

    /// Whether it has other names, under which it may be changed.
    pub(crate) fn names(&self) -> Names {
        self.names
    }

    /// One section's text, made searchable when it is first asked for.
    pub fn haystack(&self, specification: &Specification, section: usize) -> &Haystack {
        self.haystacks[section].get_or_init(|| Haystack::new(specification, &specification.sections[section]))
    }
}

impl LoadedSpecification {
    /// All sections at once, made searchable when a quote is first missed.
    pub fn everywhere(&self, specification: &Specification) -> &Everywhere {
        self.everywhere.get_or_init(|| Everywhere::new(specification))
    }

    /// The sections by id and title, made searchable when an unknown one is first cited.
    pub fn section_names(&self, specification: &Specification) -> &NameIndex {
        let sections = specification.sections.iter();
        let names = sections.map(|section| (section.id.as_str(), section.title.as_str()));
        self.section_names.get_or_init(|| NameIndex::new(names))
    }

    /// What a search gave that costs more than looking: code and test often quote the same words, and drifted words are
    /// copied along.
    pub(crate) fn searched(&self, section: usize, quote: &str, search: impl FnOnce(&str) -> Found) -> Found {
        let key = (section, Box::from(quote));
        if let Some(found) = self.searched.lock().get(&key) {
            return found.clone();
        }
        // Not under the lock: others look for other quotes meanwhile.
        let found = search(quote);
        self.searched.lock().insert(key, found.clone());
        found
    }

    /// The sentences of one section, found by their words.
    pub fn sentences(&self, specification: &Specification, section: usize) -> &Sentences {
        self.sentences[section].get_or_init(|| Sentences::new(&self.haystack(specification, section).joined))
    }
}

//= specs/duvet.md#specifications-offline
//# A specification whose text is missing MUST be reported once, with the command that fetches it.
//= specs/duvet.md#tolerance
//# A citation that calls an RFC by its number MUST be reported with its address.
fn absent(request: &SpecificationRequest<'_>, refused: &Refused) -> Diagnostic {
    let name = request.name;
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
        _ => match spoken_rfc(name) {
            Some(number) => format!("did you mean `https://www.rfc-editor.org/rfc/rfc{number}`?"),
            None => "write the path relative to the project's root".to_owned(),
        },
    };
    let start = crate::text::Position {
        line: request.cited.1,
        column: 1,
    };
    Diagnostic::new(code, message, request.cited.0, start)
        .help(help)
        .showing(request.excerpt)
}

fn not_utf8(request: &SpecificationRequest<'_>, path: &Path) -> Diagnostic {
    let message = format!("`{}` holds bytes that are not UTF-8", path.display());
    let start = crate::text::Position {
        line: request.cited.1,
        column: 1,
    };
    Diagnostic::new(Code::FileNotUtf8, message, request.cited.0, start).showing(request.excerpt)
}
