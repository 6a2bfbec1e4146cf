//! Runs kept on disk: a run whose inputs did not change is replayed instead of done again.
//!
//! What a report writes is a function of its inputs, so the whole run can be kept: the files it wrote, each once under
//! the hash of its content, and the words it said. The key is made of everything that was an input; what a run read
//! beyond its key is written into its record and checked before the record is believed.

use crate::shelf::Volume;
use crate::source::Stamp;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many runs are kept.
const MAX_RUNS: usize = 12;

/// Everything a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Files it wrote.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// What it said to programs.
    pub stdout: String,
    /// What it said to people.
    pub stderr: String,
    /// Whether it passed.
    pub passed: bool,
}

// Fulfils 004 §6c
/// A folder of runs.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Record {
    files: Vec<Written>,
    read: Vec<Read>,
    stdout: String,
    stderr: String,
    passed: bool,
}

#[derive(Serialize, Deserialize)]
struct Written {
    path: PathBuf,
    blob: String,
    stamp: Option<Stamp>,
}

/// A specification that was read.
#[derive(Serialize, Deserialize)]
struct Read {
    name: String,
    cited_from: String,
    path: PathBuf,
    stamp: Option<Stamp>,
}

impl Cache {
    /// A cache in a folder, which is made when the first run is kept.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    //= specs/duvet.md#freshness
    //# A run that is replayed from the cache MUST leave the same files and the same verdict as the run itself.
    /// Replays a run: its files are on disk afterwards. `None` when there is none, or when it is no longer true.
    pub fn replay(&self, key: &str, root: &Path, downloads: &Path) -> Option<Run> {
        let record = std::fs::read(self.run_path(key)).ok()?;
        let record: Record = serde_json::from_slice(&record).ok()?;
        let is_true = |read: &Read| {
            let path = crate::library::locate(root, downloads, &read.name, Some(&read.cited_from));
            path == read.path && Stamp::of(&path) == read.stamp
        };
        if !record.read.iter().all(is_true) {
            return None;
        }
        for written in &record.files {
            if written.stamp.is_none() || Stamp::of(&written.path) != written.stamp {
                write(&written.path, &std::fs::read(self.blob_path(&written.blob)).ok()?).ok()?;
            }
        }
        Some(Run {
            files: Vec::new(),
            stdout: record.stdout,
            stderr: record.stderr,
            passed: record.passed,
        })
    }

    /// Keeps a run whose files were just written. What cannot be kept is forgotten: a cache is never an error.
    pub fn keep(&self, key: &str, run: &Run, volumes: &[Arc<Volume>]) {
        let files = run.files.iter().map(|(path, bytes)| {
            let blob = blake3::hash(bytes).to_hex().to_string();
            let blob_path = self.blob_path(&blob);
            let is_kept = blob_path.exists() || write(&blob_path, bytes).is_ok();
            is_kept.then(|| Written {
                path: path.clone(),
                blob,
                stamp: Stamp::of(path),
            })
        });
        let Some(files) = files.collect::<Option<Vec<_>>>() else {
            return;
        };
        let read = volumes.iter().map(|volume| Read {
            name: volume.name.clone(),
            cited_from: volume.cited_from().to_owned(),
            path: volume.path.clone(),
            stamp: volume.stamp,
        });
        let record = Record {
            files,
            read: read.collect(),
            stdout: run.stdout.clone(),
            stderr: run.stderr.clone(),
            passed: run.passed,
        };
        if let Ok(bytes) = serde_json::to_vec(&record) {
            let _ = write(&self.run_path(key), &bytes);
        }
        self.prune();
    }

    /// Keeps the newest runs and the blobs they name.
    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(self.folder.join("runs")) else {
            return;
        };
        let mut runs: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if runs.len() <= MAX_RUNS {
            return;
        }
        runs.sort_unstable();
        for (_, path) in runs.drain(..runs.len() - MAX_RUNS) {
            let _ = std::fs::remove_file(path);
        }
        let records = runs
            .iter()
            .filter_map(|(_, path)| serde_json::from_slice::<Record>(&std::fs::read(path).ok()?).ok());
        let named: std::collections::HashSet<String> =
            records.flat_map(|r| r.files).map(|f| f.blob).collect();
        for blob in std::fs::read_dir(self.folder.join("blobs"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if !named.contains(&*blob.file_name().to_string_lossy()) {
                let _ = std::fs::remove_file(blob.path());
            }
        }
    }

    fn run_path(&self, key: &str) -> PathBuf {
        self.folder.join("runs").join(format!("{key}.json"))
    }

    fn blob_path(&self, hash: &str) -> PathBuf {
        self.folder.join("blobs").join(hash)
    }
}

/// The key of a run: what was asked, and what every input file is at this moment.
pub fn key(asked: &str, root: &Path, inputs: &[crate::source::Input]) -> String {
    use rayon::prelude::*;
    let stamps: Vec<Option<Stamp>> = inputs
        .par_iter()
        .map(|input| Stamp::of(&root.join(&*input.name)))
        .collect();
    let mut hasher = blake3::Hasher::new();
    hasher.update(asked.as_bytes());
    for (input, stamp) in inputs.iter().zip(stamps) {
        hasher
            .update(input.name.as_bytes())
            .update(&[0])
            .update(&stamp.map(Stamp::bytes).unwrap_or_default());
    }
    hasher.finalize().to_hex().as_str()[..32].to_owned()
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, bytes)
}
