//! The lock file: which text of each fetched specification citations are checked against.
//!
//! `duvet fetch` writes down what it got in `.duvet/specifications.lock`; from then on a text that is not the locked one is
//! noticed.

use crate::diagnostic::{Code, Diagnostic};
use crate::excerpt;
use crate::target::canonical;
use crate::tolerant_toml::{Codes, Document};
use std::collections::BTreeMap;

/// Where the lock file is.
pub const LOCK_PATH: &str = ".duvet/specifications.lock";

/// What was fetched: one entry per text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockFile {
    /// By canonical URL.
    pub entries: BTreeMap<String, LockEntry>,
}

/// One fetched text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockEntry {
    /// BLAKE3 of the text, in hex.
    pub blake3: String,
    /// The day it was fetched.
    pub date: String,
}

impl LockFile {
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
                    lock.entries.insert(url, LockEntry { blake3, date });
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
        excerpt::attach(text, &mut document.diagnostics);
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
            LockEntry {
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

    /// Says so when a text is not the locked one; its hash is asked for only when there is one.
    //= specs/duvet.md#specifications-offline
    //# A text that differs from the one in the lock file MUST be reported.
    pub fn check(&self, specification: &str, hash: impl FnOnce() -> Option<[u8; 32]>) -> Option<Diagnostic> {
        let locked = self.entries.get(&canonical(specification))?;
        if locked.blake3 == blake3::Hash::from_bytes(hash()?).to_hex().as_str() {
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
        let mut lock = LockFile::default();
        lock.insert("https://tools.ietf.org/html/rfc1", b"one", "2026-11-15");
        let (again, diagnostics) = LockFile::parse(&lock.render());
        assert_eq!((&again, diagnostics.len()), (&lock, 0));
        let hash = |text: &[u8]| *blake3::hash(text).as_bytes();
        assert_eq!(
            again.check("https://www.rfc-editor.org/rfc/rfc1", || Some(hash(b"one"))),
            None
        );
        let found = again
            .check("https://www.rfc-editor.org/rfc/rfc1", || Some(hash(b"two")))
            .unwrap();
        assert_eq!(found.code, Code::SpecificationChanged);
        assert_eq!(
            again.check("https://example.com/other", || Some(hash(b"two"))),
            None
        );
    }

    #[test]
    fn a_broken_lock_is_reported_and_the_rest_is_used() {
        let text =
            "version = 1\n[[specification]]\nurl = \"a\"\n[[specification]]\nurl = \"b\"\nblake3 = \"x\"\n";
        let (lock, diagnostics) = LockFile::parse(text);
        assert_eq!(lock.entries.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(diagnostics.len(), 1);
    }
}
