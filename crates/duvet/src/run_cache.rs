//! Runs kept on disk: a run whose inputs are the same bytes is replayed instead of worked out again.
//!
//! What a report writes is a function of its inputs, so the whole run can be kept: the files it wrote, each once under
//! the hash of its content, and the words it said. The key is made of the very bytes that were read for it and of the
//! build that reads them; what a run read beyond its key is written into its record and compared before the record is
//! believed. Size and time of a file decide nothing.
//!
//! A record is believed only when its seal fits, and the seal is made with a secret that lies in the person's own cache
//! folder. So a cache that somebody else put into the project (a commit, an archive) is as good as none: it can neither
//! forge a verdict nor name a file to be written.

use crate::fence::{self, Fence};
use crate::locator::SpecificationLocator;
use crate::memo::Memo;
use crate::output::{self, Render};
use crate::pipeline::Inputs;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How many runs are kept.
const MAX_RUNS: usize = 12;
/// A record or an output over this size is not kept.
const MAX_KEPT_BYTES: u64 = 256 << 20;

/// Where the cache lies below the project's folder.
const CACHE_FOLDERS: [&str; 2] = [".duvet", "cache"];
const RUNS: &str = "runs";
const BLOBS: &str = "blobs";
/// Hex digits of a run's key, and of the hash that names a blob.
const KEY_DIGITS: usize = 32;
const BLOB_DIGITS: usize = 64;

/// Everything a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Files it wrote.
    pub files: Vec<OutputFile>,
    /// What it said to programs.
    pub stdout: String,
    /// What it said to people.
    pub stderr: String,
    /// Whether it passed.
    pub passed: bool,
}

/// A file that a run wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Where.
    pub path: PathBuf,
    /// BLAKE3 of what; `None` where nobody keeps the run.
    pub hash: Option<[u8; 32]>,
    /// Whether the person named the place; otherwise it has to lie inside the project.
    pub is_asked: bool,
}

impl OutputFile {
    /// Writes it, where it is allowed to be; whether it was not already there.
    pub fn write(&self, fence: &Fence, render: &Render<'_>) -> Result<bool, fence::Refused> {
        if self.is_asked {
            output::stream(&self.path, render)
        } else {
            output::stream_inside(fence, &self.path, render)
        }
    }

    /// The same, with the hash of the very bytes that were written.
    pub fn write_hashed(&mut self, fence: &Fence, render: &Render<'_>) -> Result<bool, fence::Refused> {
        let hash = parking_lot::Mutex::new(None);
        let is_new = self.write(fence, &|sink| {
            let mut hasher = blake3::Hasher::new();
            render(&mut |bytes| {
                hasher.update(bytes);
                sink(bytes)
            })?;
            *hash.lock() = Some(*hasher.finalize().as_bytes());
            Ok(())
        });
        self.hash = hash.into_inner();
        is_new
    }
}

// Fulfils 004 §6c
/// A folder of runs, and the secret that seals them.
#[derive(Clone, Debug)]
pub struct RunCache {
    folder: PathBuf,
    secret: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Record {
    files: Vec<Written>,
    /// Files in the folder of extracted requirements, as they were when the run was over.
    extracted: Vec<(String, String)>,
    specifications: Vec<Read>,
    stdout: String,
    stderr: String,
    passed: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    path: PathBuf,
    blob: String,
    is_asked: bool,
}

/// A specification that was read, or looked for.
#[derive(Serialize, Deserialize)]
struct Read {
    name: String,
    cited_from: String,
    path: PathBuf,
    hash: Option<String>,
}

impl RunCache {
    //= specs/duvet.md#inside-the-fence
    //# The cache MUST NOT be kept behind a link, and only files that it made itself are removed from it.
    /// The cache of a project, which is made when the first run is kept. `None` where a link or a file stands in place
    /// of one of its folders: what is kept and removed there would be somebody else's.
    pub fn open(root: &Path, secret: [u8; 32]) -> Option<Self> {
        let mut folder = root.to_owned();
        for name in CACHE_FOLDERS {
            folder.push(name);
            if !is_plain_or_absent(&folder, std::fs::FileType::is_dir) {
                return None;
            }
        }
        let inner = [RUNS, BLOBS].map(|name| folder.join(name));
        let is_plain = |inner: &PathBuf| is_plain_or_absent(inner, std::fs::FileType::is_dir);
        inner.iter().all(is_plain).then_some(Self { folder, secret })
    }

    //= specs/duvet.md#freshness
    //# A run that is replayed from the cache MUST leave the same files and the same verdict as the run itself.
    /// Replays a run: its files are on disk afterwards. `None` when there is none, or when it is no longer true.
    pub fn replay(
        &self,
        key: &str,
        root: &Path,
        locator: &SpecificationLocator,
        inputs: &Inputs,
    ) -> Option<Run> {
        let record = self.record(key)?;
        let is_true = record.specifications.iter().all(|read| read.holds(locator));
        if !is_true || !extracted_hold(&record, root, inputs) {
            return None;
        }
        let files = record.files.into_iter().map(|written| self.blob(written));
        // All of them are at hand before the first one is written.
        let files: Vec<(OutputFile, Vec<u8>)> = files.collect::<Option<_>>()?;
        for (file, bytes) in &files {
            file.write(&locator.fence, &|sink| sink(bytes)).ok()?;
        }
        Some(Run {
            files: Vec::new(),
            stdout: record.stdout,
            stderr: record.stderr,
            passed: record.passed,
        })
    }

    /// Keeps a run whose files were just written. What cannot be kept is forgotten: a cache is never an error.
    pub fn keep(&self, key: &str, run: &Run, extracted: &Path, memo: &Memo) {
        let files = run.files.iter().filter(|file| !file.path.starts_with(extracted));
        let written = files.map(|file| {
            // Read again and not kept in memory meanwhile; when it is another by now, the run is not kept.
            let bytes = fence::read(&file.path, MAX_KEPT_BYTES).ok()?;
            let hash = blake3::hash(&bytes);
            if file.hash != Some(*hash.as_bytes()) {
                return None;
            }
            let blob = hash.to_hex().to_string();
            write_own(&self.blob_path(&blob), &bytes)?;
            Some(Written {
                path: file.path.clone(),
                blob,
                is_asked: file.is_asked,
            })
        });
        let Some(files) = written.collect::<Option<Vec<_>>>() else {
            return;
        };
        let folder = format!("{}/", extracted.strip_prefix(".").unwrap_or(extracted).display());
        let below = memo.files().filter(|(name, _)| name.starts_with(&folder));
        let specifications = memo.specifications();
        let record = Record {
            files,
            extracted: below.map(|(name, hash)| (name.to_owned(), hex(hash))).collect(),
            specifications: specifications
                .iter()
                .map(|loaded| Read {
                    name: loaded.name.clone(),
                    cited_from: loaded.cited_from().to_owned(),
                    path: loaded.path.clone(),
                    hash: loaded.hash().as_ref().map(hex),
                })
                .collect(),
            stdout: run.stdout.clone(),
            stderr: run.stderr.clone(),
            passed: run.passed,
        };
        if let Ok(text) = serde_json::to_string(&record) {
            let sealed = format!("{}\n{text}", self.seal(key, &text));
            let _ = write_own(&self.run_path(key), sealed.as_bytes());
        }
        self.prune();
    }

    //= specs/duvet.md#freshness
    //# A cache that another person made MUST NOT be believed.
    fn record(&self, key: &str) -> Option<Record> {
        let bytes = fence::read(&self.run_path(key), MAX_KEPT_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let (seal, record) = text.split_once('\n')?;
        // Comparing hashes of this type takes the same time whatever they are.
        let seal = blake3::Hash::from_hex(seal).ok()?;
        let expected = blake3::Hash::from_hex(self.seal(key, record)).ok()?;
        if seal != expected {
            return None;
        }
        serde_json::from_str(record).ok()
    }

    fn seal(&self, key: &str, record: &str) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher
            .update(key.as_bytes())
            .update(&[0])
            .update(record.as_bytes());
        hasher.finalize().to_hex().to_string()
    }

    /// A kept file, when it still is what it is called.
    fn blob(&self, written: Written) -> Option<(OutputFile, Vec<u8>)> {
        let hash = blake3::Hash::from_hex(&written.blob).ok()?;
        let bytes = fence::read(&self.blob_path(hash.to_hex().as_str()), MAX_KEPT_BYTES).ok()?;
        let file = OutputFile {
            path: written.path,
            hash: Some(*hash.as_bytes()),
            is_asked: written.is_asked,
        };
        (blake3::hash(&bytes) == hash).then_some((file, bytes))
    }

    /// Keeps the newest runs and the blobs they name.
    fn prune(&self) {
        let is_run = |name: &str| {
            let key = name.strip_suffix(".json");
            key.is_some_and(|key| is_hex(key, KEY_DIGITS))
        };
        let mut runs = own_files(&self.folder.join(RUNS), is_run);
        if runs.len() <= MAX_RUNS {
            return;
        }
        runs.sort_unstable();
        for (_, path) in runs.drain(..runs.len() - MAX_RUNS) {
            let _ = std::fs::remove_file(path);
        }
        let keys = runs.iter().filter_map(|(_, path)| path.file_stem()?.to_str());
        let records = keys.filter_map(|key| self.record(key));
        let named: std::collections::HashSet<String> = records
            .flat_map(|record| record.files)
            .map(|file| file.blob)
            .collect();
        let is_left = |name: &str| is_hex(name, BLOB_DIGITS) && !named.contains(name);
        for (_, path) in own_files(&self.folder.join(BLOBS), is_left) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn run_path(&self, key: &str) -> PathBuf {
        self.folder.join(RUNS).join(format!("{key}.json"))
    }

    fn blob_path(&self, hash: &str) -> PathBuf {
        self.folder.join(BLOBS).join(hash)
    }
}

impl Read {
    /// Whether the specification is found at the same place with the same bytes.
    fn holds(&self, locator: &SpecificationLocator) -> bool {
        let located = locator.locate(&self.name, Some(&self.cited_from));
        let Ok(path) = located else {
            return self.path.as_os_str().is_empty() && self.hash.is_none();
        };
        let bytes = fence::read(&path, crate::locator::MAX_SPECIFICATION_BYTES).ok();
        path == self.path && bytes.map(|bytes| hex(blake3::hash(&bytes).as_bytes())) == self.hash
    }
}

/// Whether the folder of extracted requirements is as the run left it.
fn extracted_hold(record: &Record, root: &Path, inputs: &Inputs) -> bool {
    use rayon::prelude::*;
    let expected: HashMap<&str, &str> = record
        .extracted
        .iter()
        .map(|(name, hash)| (name.as_str(), hash.as_str()))
        .collect();
    let holds = |name: &str| {
        let bytes = fence::read(&root.join(name), fence::MAX_SOURCE_BYTES).ok();
        bytes.is_some_and(|bytes| expected.get(name) == Some(&blake3::hash(&bytes).to_hex().as_str()))
    };
    inputs.extracted.len() == expected.len() && inputs.extracted.par_iter().all(|input| holds(&input.name))
}

/// Whether nothing is there, or what was expected; a link is never that.
fn is_plain_or_absent(path: &Path, is_expected: fn(&std::fs::FileType) -> bool) -> bool {
    match path.symlink_metadata() {
        Ok(metadata) => is_expected(&metadata.file_type()),
        Err(problem) => problem.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Writes a file of the cache, unless something else has its name.
fn write_own(path: &Path, bytes: &[u8]) -> Option<()> {
    if !is_plain_or_absent(path, std::fs::FileType::is_file) {
        return None;
    }
    output::write(path, bytes).map(drop).ok()
}

/// Regular files with names of ours, and when they were written.
fn own_files(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<(std::time::SystemTime, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(&is_ours));
    ours.filter_map(|entry| {
        // Of the entry itself: a link is not followed.
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((metadata.modified().ok()?, entry.path()))
    })
    .collect()
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

//= specs/duvet.md#freshness
//# The key of a run MUST be made of the very bytes that were analysed and of the build that analysed them.
/// The key of a run: what was asked, by which build, and what every file holds.
pub fn key(build: &str, asked: &str, inputs: &Inputs) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    part(build.as_bytes());
    part(asked.as_bytes());
    part(inputs.lock.as_bytes());
    part(format!("{:?}", inputs.diagnostics).as_bytes());
    for (input, facts) in &inputs.sources {
        part(input.name.as_bytes());
        part(format!("{:?}", input.reading).as_bytes());
        part(&facts.hash);
        part(format!("{:?}", facts.diagnostics).as_bytes());
    }
    hasher.finalize().to_hex().as_str()[..KEY_DIGITS].to_owned()
}
