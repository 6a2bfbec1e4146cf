//! What a citation points at: a specification by path or URL, and a section of it.
//!
//! Reports name a specification exactly as the citation does, because that is what the public tool prints and what
//! people search for. Whether two spellings mean the same document is asked separately: [`canonical`].

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// A target as written: `https://www.rfc-editor.org/rfc/rfc9000#section-2.1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Path or URL before `#`.
    pub specification: String,
    /// Section id behind `#`.
    pub section: Option<String>,
    /// The one spelling of the path, where another was written.
    #[serde(skip)]
    plain: Option<String>,
}

impl Target {
    /// Splits a target at its first `#`. An empty section counts as none.
    pub fn parse(text: &str) -> Self {
        let (specification, section) = text.split_once('#').unwrap_or((text, ""));
        let specification = specification.trim();
        let plain = match key(specification) {
            Cow::Borrowed(_) => None,
            Cow::Owned(plain) => Some(plain),
        };
        Self {
            plain,
            specification: specification.to_owned(),
            section: Some(section.trim()).filter(|s| !s.is_empty()).map(str::to_owned),
        }
    }
}

impl Target {
    /// What names the specification: [`key`] of what is written.
    pub fn key(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.specification)
    }

    /// Whether it names a requirement that is managed elsewhere, `spexus:REQ-012`: it has no text here to be held against.
    pub fn is_managed(&self) -> bool {
        self.specification.starts_with(MANAGED)
    }
}

/// What the names of requirements begin with that are managed elsewhere.
pub const MANAGED: &str = "spexus:";

/// The spelling that all spellings of one path share: `a//b` and `a/./b` are `a/b`, as the public tool has it. An address
/// is its own.
pub fn key(specification: &str) -> Cow<'_, str> {
    let is_odd = specification.contains("//")
        || specification.contains("/./")
        || specification.ends_with('/')
        || specification.ends_with("/.");
    if !is_odd || is_url(specification) {
        return specification.into();
    }
    let plain: std::path::PathBuf = Path::new(specification).components().collect();
    plain.to_string_lossy().into_owned().into()
}

/// Targets of one file, each once: citations of one section share it.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    known: HashMap<Arc<str>, Arc<Target>>,
    /// The last one and how it was written: many citations name the section that the one above names.
    last: Option<(Arc<str>, Arc<Target>)>,
}

impl Targets {
    /// What a text names.
    pub(crate) fn get(&mut self, text: &str) -> Arc<Target> {
        if let Some((_, target)) = self.last.as_ref().filter(|(written, _)| **written == *text) {
            return Arc::clone(target);
        }
        let (written, target) = match self.known.get_key_value(text) {
            Some((written, target)) => (Arc::clone(written), Arc::clone(target)),
            None => {
                let new: (Arc<str>, _) = (text.into(), Arc::new(Target::parse(text)));
                self.known.insert(Arc::clone(&new.0), Arc::clone(&new.1));
                new
            }
        };
        self.last = Some((written, Arc::clone(&target)));
        target
    }
}

/// Whether a specification's name is a URL and not a path.
pub fn is_url(specification: &str) -> bool {
    specification.contains("://")
}

/// The order of paths part by part, as `Path` has it, for names with `/` between their parts: a folder's files stand
/// together although `-` and `.` are smaller than `/`.
pub(crate) fn path_order(a: &str, b: &str) -> std::cmp::Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(key).cmp(b.bytes().map(key))
}

/// The place of a specification among others: addresses first, then paths part by part.
pub(crate) fn order(specification: &str) -> (bool, &Path) {
    (!is_url(specification), Path::new(specification))
}

/// The one spelling of a specification's name. Every way to write an RFC's address gives the text form at the RFC
/// editor; other names stand for themselves.
//= specs/duvet.md#specifications-offline
//# The spellings of an RFC's URL MUST name one stored text.
pub fn canonical(specification: &str) -> String {
    match rfc_number(specification) {
        Some(number) => format!("https://www.rfc-editor.org/rfc/rfc{number}.txt"),
        None => specification.to_owned(),
    }
}

/// Where a specification's text is kept below the folder of downloads: host, path, and `.txt` in place of whatever
/// extension the address has, as the public tool stores it.
//= specs/duvet.md#inside-the-fence
//# The text of an address MUST be stored below the folder of downloads, whatever its path says.
pub fn storage_path(specification: &str) -> String {
    let canonical = canonical(specification);
    let path = canonical.split(['?', '#']).next().unwrap_or(&canonical);
    let name = relative_name(path);
    let (folder, file) = name
        .rsplit_once('/')
        .map_or((None, name.as_str()), |(folder, file)| (Some(folder), file));
    // A host is no file name: `example.com` alone keeps its dot.
    let stem = match (folder, file.rsplit_once('.')) {
        (Some(_), Some((stem, _))) if !stem.is_empty() => stem,
        _ => file,
    };
    match folder {
        Some(folder) => format!("{folder}/{stem}.txt"),
        None => format!("{stem}.txt"),
    }
}

/// A path without what only helps to find the file: `./`, `../`, a leading `/`, a scheme.
pub fn relative_name(specification: &str) -> String {
    let path = specification
        .split_once("://")
        .map_or(specification, |(_, rest)| rest);
    let parts = path
        .split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

/// `RFC 9000` of any address of it.
pub fn rfc_number(specification: &str) -> Option<&str> {
    let rest = specification
        .strip_prefix("https://")
        .or_else(|| specification.strip_prefix("http://"))?;
    let (host, path) = rest.split_once('/')?;
    if !matches!(
        host,
        "www.rfc-editor.org" | "rfc-editor.org" | "tools.ietf.org" | "datatracker.ietf.org"
    ) {
        return None;
    }
    let file = path.trim_end_matches('/').rsplit('/').next()?;
    let number = file.strip_prefix("rfc")?;
    let number = [".txt", ".html", ".xml", ".pdf"]
        .iter()
        .find_map(|e| number.strip_suffix(e))
        .unwrap_or(number);
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// The number in `RFC 8446`, `rfc8446` or `rfc-8446`.
pub fn spoken_rfc(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let number = lower.strip_prefix("rfc")?.trim_start_matches([' ', '-', '_']);
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/duvet.md#specifications-offline
    //= type=test
    //# The spellings of an RFC's URL MUST name one stored text.
    #[test]
    fn every_spelling_of_an_rfc_is_one_text() {
        for spelling in [
            "https://www.rfc-editor.org/rfc/rfc9000",
            "http://www.rfc-editor.org/rfc/rfc9000.html",
            "https://tools.ietf.org/html/rfc9000",
            "https://tools.ietf.org/rfc/rfc9000.txt",
            "https://datatracker.ietf.org/doc/html/rfc9000",
            "https://datatracker.ietf.org/doc/rfc9000/",
            "https://www.rfc-editor.org/rfc/rfc9000.pdf",
        ] {
            assert_eq!(
                storage_path(spelling),
                "www.rfc-editor.org/rfc/rfc9000.txt",
                "{spelling}"
            );
        }
        assert_eq!(
            storage_path("https://tools.ietf.org/id/draft-a-00"),
            "tools.ietf.org/id/draft-a-00.txt"
        );
        assert_eq!(
            canonical("https://example.com/rfc1.txt"),
            "https://example.com/rfc1.txt"
        );
        assert_eq!(rfc_number("https://www.rfc-editor.org/rfc/rfcs"), None);
    }

    /// The public tool puts `.txt` in place of an extension, and texts that it stored are found.
    #[test]
    fn the_extension_of_an_address_gives_way() {
        for (address, stored) in [
            ("https://host.example/JA4.md", "host.example/JA4.txt"),
            ("https://host.example/a/b.html", "host.example/a/b.txt"),
            ("https://host.example/v1.2/spec", "host.example/v1.2/spec.txt"),
            ("https://host.example/plain", "host.example/plain.txt"),
        ] {
            assert_eq!(storage_path(address), stored, "{address}");
        }
    }

    #[test]
    fn paths_are_ordered_part_by_part() {
        let names = [
            "a-b/c", "a/c", "a.rs", "a", "a/b-c", "a/b/d", "ab", "a/b.rs", "é/x",
        ];
        for a in names {
            for b in names {
                assert_eq!(path_order(a, b), Path::new(a).cmp(Path::new(b)), "{a} {b}");
            }
        }
    }

    #[test]
    fn spellings_of_one_path_are_one_specification() {
        for (written, plain) in [
            ("specs//a.md", "specs/a.md"),
            ("specs/./a.md", "specs/a.md"),
            ("specs/a.md/", "specs/a.md"),
            ("./specs/a.md", "./specs/a.md"),
            ("specs/../a.md", "specs/../a.md"),
            ("https://example.com//a/./b/", "https://example.com//a/./b/"),
        ] {
            let target = Target::parse(&format!("{written}#x"));
            assert_eq!((target.key(), target.specification.as_str()), (plain, written));
            let is_equal = Path::new(written) == Path::new(plain);
            assert!(is_equal || is_url(written));
        }
    }

    #[test]
    fn targets_split_at_the_first_hash() {
        let target = Target::parse("specs/a.md#one#two");
        assert_eq!(
            (target.specification.as_str(), target.section.as_deref()),
            ("specs/a.md", Some("one#two"))
        );
        assert_eq!(Target::parse("specs/a.md#").section, None);
    }
}
