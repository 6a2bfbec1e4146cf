//! Throw-away projects.

use std::path::{Path, PathBuf};

/// A folder with the given files, removed at the end.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    /// A project with the given files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            scratch.write(name, text);
        }
        scratch
    }

    /// A copy of a folder that may be written to.
    pub(crate) fn copy_of(folder: &Path) -> Self {
        let scratch = Self(tempfile::tempdir().unwrap());
        copy(folder, scratch.root());
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            // Bytes only: the corpora are read-only and a copy of their permissions would be too.
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
