//! What is kept in memory between two passes over a project: what is known of a file holds for as long as its bytes are
//! the same.
//!
//! Bytes decide, never size and time: those can be restored, frozen or equal by chance. A file is read once in a pass;
//! the hash that names it is that of the very bytes that were analysed. The [pipeline](crate::pipeline) asks here before
//! it works something out, and leaves here what it worked out.

use crate::analysis::{MatchedFile, Project};
use crate::diagnostic::Diagnostic;
use crate::fence::Names;
use crate::file_watcher;
use crate::loader::LoadedSpecification;
use crate::source::{FileFacts, Input};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Everything that the last pass worked out.
#[derive(Debug, Default)]
pub struct Memo {
    pub(crate) files: HashMap<Input, Arc<FileFacts>>,
    pub(crate) specifications: HashMap<String, Arc<LoadedSpecification>>,
    pub(crate) matched: HashMap<Input, Arc<MatchedFile>>,
    pub(crate) extracted: HashMap<String, (Arc<LoadedSpecification>, Extracted)>,
    /// How many files the last pass read and did not know.
    pub files_read: usize,
    /// How far the pass that is going on has come.
    pub progress: Arc<Progress>,
}

/// Files of the pass that is going on, for whoever draws a bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files read so far.
    pub done: AtomicUsize,
    /// All files.
    pub total: AtomicUsize,
}

/// Requirement files as extraction would write them: name and text.
pub(crate) type Extracted = Vec<(String, Arc<str>)>;

impl Memo {
    /// Requirement files of the last pass, as they are to be written: name and text.
    pub fn extracted(&self) -> impl Iterator<Item = &(String, Arc<str>)> {
        self.extracted.values().flat_map(|(_, files)| files)
    }

    /// The specifications of the last pass.
    pub fn specifications(&self) -> Vec<Arc<LoadedSpecification>> {
        self.specifications.values().cloned().collect()
    }

    /// The files of the last pass: name and hash of the bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8; 32])> {
        self.files
            .iter()
            .map(|(input, facts)| (&*input.name, &facts.hash))
    }

    /// Whether the last pass read files that a watcher of the root does not see every change of.
    pub(crate) fn has_unseen(&self, root: &Path) -> bool {
        let is_seen = |path: &Path| file_watcher::is_input(path.strip_prefix(root).unwrap_or(path));
        let mut files = self.files.iter();
        let mut texts = self.specifications.values();
        files.any(|(input, facts)| facts.names == Names::Several || !is_seen(Path::new(&*input.name)))
            || texts.any(|loaded| loaded.names() == Names::Several || !is_seen(&loaded.path))
    }

    /// A name for what the last pass read: equal settings and equal texts give the equal name.
    pub(crate) fn fingerprint(&self, project: &Project, found: &[Diagnostic], lock: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(format!("{:?}{}{found:?}", project.config, project.strict).as_bytes());
        hasher.update(blake3::hash(lock.as_bytes()).as_bytes());
        let mut files: Vec<_> = self
            .files
            .iter()
            .map(|(input, facts)| (&input.name, &facts.hash, facts.diagnostics.len()))
            .collect();
        files.sort_unstable();
        for (name, hash, faults) in files {
            hasher.update(name.as_bytes()).update(&[0]).update(hash);
            hasher.update(&faults.to_le_bytes());
        }
        let mut specifications: Vec<_> = self
            .specifications
            .values()
            .map(|loaded| (&loaded.name, loaded.hash()))
            .collect();
        specifications.sort_unstable();
        for (name, hash) in specifications {
            hasher.update(name.as_bytes()).update(&[hash.is_some().into()]);
            hasher.update(&hash.unwrap_or_default());
        }
        hasher.finalize().to_hex().as_str()[..16].to_owned()
    }
}
