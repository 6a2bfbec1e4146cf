//! The repository as text in memory: every file git knows or would add, by path.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::rust::Source;

/// Files by path, `/` between folders, and the Rust among them taken apart.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    sources: Vec<Source>,
}

impl Tree {
    /// What is in the work tree under `root`. Files that are not text are left out: no rule is about them.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let listing = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("git ls-files")?;
        ensure!(
            listing.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&listing.stderr)
        );
        let paths = String::from_utf8(listing.stdout).context("a path that is not UTF-8")?;
        let files = paths.split_terminator('\0').filter_map(|path| {
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some((path.to_owned(), text))
        });
        Ok(files.collect())
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The manifests of our crates: path and text.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
        self.files()
            .filter(move |(path, _)| ours(path) && path.ends_with("/Cargo.toml"))
    }
}

impl FromIterator<(String, String)> for Tree {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| Source::new(path, text)).collect();
        Self { files, sources }
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }
}
