//! Where the texts of specifications are: files of the project, and downloads kept beside it.
//!
//! A report never asks the network. Texts are fetched by a command of their own, which writes down what it got in
//! `.duvet/specifications.lock`; from then on a text that is not the locked one is noticed.

use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic};
use crate::fence::{Fence, Refused};
use crate::target::{canonical, is_url, storage_path};
use crate::tolerant_toml::{Codes, Document};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the lock file is.
pub const LOCK_PATH: &str = ".duvet/specifications.lock";

/// A text over this size is not a specification.
pub const MAX_SPECIFICATION_BYTES: u64 = 64 << 20;

/// Where the texts of a project may be.
#[derive(Clone, Debug)]
pub struct Places {
    root: PathBuf,
    downloads: PathBuf,
    /// What may be read.
    pub fence: Fence,
}

impl Places {
    /// The places of a project.
    pub fn new(root: &Path, config: &Config) -> Self {
        Self {
            root: root.to_owned(),
            downloads: root.join(&config.downloads),
            fence: Fence::new(root, &config.allowed),
        }
    }

    /// Whether a file is where its name says, with no link on the way.
    pub fn is_plain(&self, path: &Path) -> bool {
        let name = path.strip_prefix(&self.root).unwrap_or(path);
        let root = self.root.canonicalize();
        root.is_ok_and(|root| path.canonicalize().is_ok_and(|real| real == root.join(name)))
    }

    /// The file that holds a specification's text, whether or not it exists; refused outside the project.
    ///
    /// A URL means its download. A path is looked for at the root and then beside the citing file, upwards to the root.
    pub fn locate(&self, specification: &str, cited_from: Option<&str>) -> Result<PathBuf, Refused> {
        if is_url(specification) {
            let path = self.downloads.join(storage_path(specification));
            return self.fence.real(&path).map(|_| path);
        }
        let at_root = self.root.join(specification);
        let mut folder = cited_from.map(Path::new).and_then(Path::parent);
        let beside = std::iter::from_fn(|| {
            let current = folder?;
            folder = current.parent();
            Some(self.root.join(current).join(specification))
        });
        let mut refused = None;
        for candidate in std::iter::once(at_root.clone()).chain(beside) {
            match self.fence.real(&candidate) {
                Ok(_) if candidate.exists() => return Ok(candidate),
                Ok(_) => {}
                Err(outside) => refused = refused.or(Some(outside)),
            }
        }
        match refused {
            Some(outside) => Err(outside),
            None => Ok(at_root),
        }
    }
}

/// What was fetched: one entry per text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// By canonical URL.
    pub entries: BTreeMap<String, Locked>,
}

/// One fetched text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locked {
    /// BLAKE3 of the text, in hex.
    pub blake3: String,
    /// The day it was fetched.
    pub date: String,
}

impl Lock {
    /// Reads a lock file; what cannot be read is reported and left out.
    pub fn parse(text: &str) -> (Self, Vec<Diagnostic>) {
        let codes = Codes {
            invalid: Code::TomlInvalid,
            unknown_key: Code::TomlUnknownKey,
            missing_key: Code::TomlMissingKey,
        };
        let (mut document, root) = Document::parse(LOCK_PATH, text, codes);
        let root = root.get_ref();
        let mut lock = Self::default();
        for (span, table) in document.tables(root, "specification") {
            let url = document.string(table, "url");
            let blake3 = document.string(table, "blake3");
            let date = document.string(table, "date").unwrap_or_default();
            match url.zip(blake3) {
                Some((url, blake3)) => {
                    lock.entries.insert(url, Locked { blake3, date });
                }
                None => {
                    document.report(
                        codes.missing_key,
                        "an entry needs `url` and `blake3`".to_owned(),
                        span,
                    );
                }
            }
            document.refuse_unknown(table, &["url", "blake3", "date"]);
        }
        document.refuse_unknown(root, &["version", "specification"]);
        (lock, document.diagnostics)
    }

    /// The lock file's text.
    pub fn render(&self) -> String {
        let mut out = String::from(
            "# Written by `duvet fetch`: the texts that citations are checked against.\nversion = 1\n",
        );
        for (url, locked) in &self.entries {
            let url = toml::Value::from(url.as_str());
            out.push_str(&format!(
                "\n[[specification]]\nurl = {url}\nblake3 = \"{}\"\ndate = \"{}\"\n",
                locked.blake3, locked.date
            ));
        }
        out
    }

    /// Writes down what was fetched.
    pub fn insert(&mut self, url: &str, text: &[u8], date: &str) {
        let blake3 = blake3::hash(text).to_hex().to_string();
        self.entries.insert(
            canonical(url),
            Locked {
                blake3,
                date: date.to_owned(),
            },
        );
    }

    /// Writes down a text that was here before the lock was.
    pub fn insert_if_new(&mut self, url: &str, text: &[u8], date: &str) {
        if !self.entries.contains_key(&canonical(url)) {
            self.insert(url, text, date);
        }
    }

    /// Says so when a text is not the locked one.
    //= specs/duvet.md#specifications-offline
    //# A text that differs from the one in the lock file MUST be reported.
    pub fn check(&self, specification: &str, hash: &[u8; 32]) -> Option<Diagnostic> {
        let locked = self.entries.get(&canonical(specification))?;
        if locked.blake3 == blake3::Hash::from_bytes(*hash).to_hex().as_str() {
            return None;
        }
        let message = format!(
            "the text of `{specification}` is not the one fetched on {}",
            locked.date
        );
        let diagnostic = Diagnostic::of_file(Code::SpecificationChanged, message, LOCK_PATH);
        Some(diagnostic.help(format!(
            "run `duvet fetch --update {specification}` if the new text is meant"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/duvet.md#specifications-offline
    //= type=test
    //# A text that differs from the one in the lock file MUST be reported.
    #[test]
    fn a_lock_notices_another_text_under_any_spelling() {
        let mut lock = Lock::default();
        lock.insert("https://tools.ietf.org/html/rfc1", b"one", "2026-11-15");
        let (again, diagnostics) = Lock::parse(&lock.render());
        assert_eq!((&again, diagnostics.len()), (&lock, 0));
        let hash = |text: &[u8]| *blake3::hash(text).as_bytes();
        assert_eq!(
            again.check("https://www.rfc-editor.org/rfc/rfc1", &hash(b"one")),
            None
        );
        let found = again
            .check("https://www.rfc-editor.org/rfc/rfc1", &hash(b"two"))
            .unwrap();
        assert_eq!(found.code, Code::SpecificationChanged);
        assert_eq!(again.check("https://example.com/other", &hash(b"two")), None);
    }

    #[test]
    fn a_broken_lock_is_reported_and_the_rest_is_used() {
        let text =
            "version = 1\n[[specification]]\nurl = \"a\"\n[[specification]]\nurl = \"b\"\nblake3 = \"x\"\n";
        let (lock, diagnostics) = Lock::parse(text);
        assert_eq!(lock.entries.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(diagnostics.len(), 1);
    }
}
