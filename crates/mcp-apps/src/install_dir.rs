//! The folder of installed apps, one folder each, which several processes may share.
//!
//! An app appears and disappears by one rename, so nobody ever sees half of one: `<folder>/<name>/app.json` is what is
//! known about it, `<folder>/<name>/files/` what its bundle held. Folders that begin with a dot are on their way in or
//! out. `<folder>/.run/` says what each running server makes of each app.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::listing::AppListing;
use crate::manifest::Manifest;
use crate::names;

/// What is known about an installed app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppRecord {
    /// Its name.
    pub name: String,
    /// Another one for each installation.
    pub id: String,
    /// When it was installed.
    pub installed_at: String,
    /// Where it lives.
    #[serde(rename = "place")]
    pub location: AppLocation,
    /// What it says about itself.
    pub manifest: Manifest,
    /// Variables chosen at its installation.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What was decided of its manifest's `user_config`.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// What it had when it was last seen.
    #[serde(rename = "catalogue")]
    pub listing: AppListing,
}

/// Where an app lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AppLocation {
    /// In a bundle that was unpacked here.
    Bundle,
    /// In a command; `${__dirname}` is the folder of its manifest.
    Manifest {
        /// That folder, when the manifest came from one.
        folder: Option<PathBuf>,
    },
    /// At an address.
    Url {
        /// The address.
        url: String,
        /// Headers for every request.
        headers: BTreeMap<String, String>,
    },
}

impl AppLocation {
    /// As it stands in lists.
    pub fn name(&self) -> &'static str {
        match self {
            AppLocation::Bundle => "bundle",
            AppLocation::Manifest { .. } => "manifest",
            AppLocation::Url { .. } => "url",
        }
    }
}

/// The folder of installed apps.
#[derive(Clone, Debug)]
pub(crate) struct InstallDir {
    folder: PathBuf,
}

const RECORD: &str = "app.json";
const FILES: &str = "files";

impl InstallDir {
    pub(crate) fn open(folder: &Path) -> Result<Self, Refusal> {
        make_folder(&folder.join(".run")).map_err(|error| broken("made", &error))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything installed, by name. What cannot be read is left out, and told to the log.
    pub(crate) fn all(&self) -> Result<Vec<AppRecord>, Refusal> {
        let entries = std::fs::read_dir(&self.folder).map_err(|error| broken("read", &error))?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| names::check_app(name).is_ok())
            .collect();
        names.sort();
        Ok(names.iter().filter_map(|name| self.read(name)).collect())
    }

    /// Whether there is an app of this name. What cannot be read any more is none, and gives way to the next.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.folder.join(name).exists() && self.read(name).is_some()
    }

    /// A folder to prepare an app in; gone again unless it is [put](Self::put) among the installed ones.
    pub(crate) fn stage(&self) -> Result<TempDir, Refusal> {
        let stage = self.side_folder(".new-")?;
        make_folder(&stage.path().join(FILES)).map_err(|error| broken("written", &error))?;
        Ok(stage)
    }

    /// Puts a prepared app among the installed ones.
    //= specs/mcp-apps.md#installing
    //# A refused installation MUST leave nothing behind, on disk or in a list.
    pub(crate) fn put(&self, stage: TempDir, record: &AppRecord) -> Result<(), Refusal> {
        write(stage.path(), record).map_err(|error| broken("written", &error))?;
        if self.holds(&record.name) {
            return Err(taken(&record.name));
        }
        let to = self.folder.join(&record.name);
        if to.exists() {
            tracing::warn!(
                app = record.name,
                "what was left of an app makes room for a new one"
            );
            self.clear_away(&record.name)?;
        }
        std::fs::rename(stage.path(), &to).map_err(|error| broken("written", &error))?;
        // Its name went with the rename; there is nothing left to remove.
        let _ = stage.keep();
        sync_folder(&self.folder).map_err(|error| broken("written", &error))
    }

    /// Notes what an app has now, if it is still the same installation.
    pub(crate) fn note(&self, record: &AppRecord) {
        let same = self.read(&record.name).is_some_and(|kept| kept.id == record.id);
        if same && let Err(error) = write(&self.folder.join(&record.name), record) {
            tracing::warn!(app = record.name, %error, "what the app has could not be noted");
        }
    }

    /// Removes an app and gives what was known of it; `None` when that could not be read any more.
    //= specs/mcp-apps.md#installing
    //# An app whose record cannot be read any more MUST be removable, and another of its name installable.
    pub(crate) fn remove(&self, name: &str) -> Result<Option<AppRecord>, Refusal> {
        let is_there = names::check_app(name).is_ok() && self.folder.join(name).exists();
        if !is_there {
            return Err(missing(name));
        }
        let record = self.read(name);
        self.clear_away(name)?;
        Ok(record)
    }

    fn clear_away(&self, name: &str) -> Result<(), Refusal> {
        let gone = self.side_folder(".gone-")?;
        let from = self.folder.join(name);
        std::fs::rename(from, gone.path().join(name)).map_err(|error| broken("written", &error))?;
        if let Err(error) = gone.close() {
            tracing::warn!(app = name, %error, "files of a removed app are left");
        }
        Ok(())
    }

    /// Where an app's own files are.
    pub(crate) fn files_of(&self, record: &AppRecord) -> Option<PathBuf> {
        match &record.location {
            AppLocation::Bundle => Some(files_in(&self.folder.join(&record.name))),
            AppLocation::Manifest { folder } => folder.clone(),
            AppLocation::Url { .. } => None,
        }
    }

    /// Where servers say what they make of their apps.
    pub(crate) fn statuses(&self) -> PathBuf {
        self.folder.join(".run")
    }

    /// A folder beside the apps that only its owner can look into.
    fn side_folder(&self, prefix: &str) -> Result<TempDir, Refusal> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let made = builder.prefix(prefix).tempdir_in(&self.folder);
        made.map_err(|error| broken("written", &error))
    }

    fn read(&self, name: &str) -> Option<AppRecord> {
        let text = std::fs::read(self.folder.join(name).join(RECORD)).ok()?;
        match serde_json::from_slice::<AppRecord>(&text) {
            Ok(record) if record.name == name => Some(record),
            Ok(record) => {
                tracing::error!(
                    app = name,
                    says = record.name,
                    "an app is kept under another name"
                );
                None
            }
            Err(error) => {
                tracing::error!(app = name, %error, "what is known about the app cannot be read");
                None
            }
        }
    }
}

/// The folder for files inside the folder of an app.
pub(crate) fn files_in(folder: &Path) -> PathBuf {
    folder.join(FILES)
}

pub(crate) fn taken(name: &str) -> Refusal {
    Refusal::new(Code::EntityDuplicate, format!("there is an app {name:?} already"))
        .hint("Remove it first, or install this one under another name.")
}

pub(crate) fn missing(name: &str) -> Refusal {
    let shown: String = name.chars().take(60).collect();
    Refusal::new(Code::ResourceNotFound, format!("there is no app {shown:?}"))
        .hint("List the apps to see which there are.")
        .fact("app", shown)
}

/// Writes a file beside its place and moves it there; only the owner can read it.
pub(crate) fn write_private(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // Made so that only the owner may read it.
    let mut file = tempfile::Builder::new().prefix(".part-").tempfile_in(folder)?;
    file.write_all(text)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a record so that a crash leaves the old one or the new one: it is on the disk before it has its name.
fn write(folder: &Path, record: &AppRecord) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(record)?;
    let mut file = tempfile::Builder::new().prefix(".part-").tempfile_in(folder)?;
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(RECORD)).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Makes a rename within a folder survive a crash.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(unix)]
fn make_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

fn broken(done: &str, error: &std::io::Error) -> Refusal {
    tracing::error!(%error, "the folder for apps could not be {done}");
    Refusal::new(
        Code::ServiceUnavailable,
        format!("the folder for apps could not be {done}: {}", error.kind()),
    )
    .hint("Check the setting for the folder of apps, its rights and the free space.")
}
