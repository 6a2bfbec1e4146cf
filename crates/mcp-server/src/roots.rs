//! Roots: the folders whose files clients may reach, kept by the server.
//!
//! The operator configures some (*managed*: no client can remove them) and names folders under which more may be added
//! while the server runs. Nothing outside of both is ever opened. A client may declare roots of its own, the folders it
//! works in; then only what lies in one of the server's *and* in one of its own can be reached.

mod client;
mod methods;

pub(crate) use methods::METHODS;
pub use methods::{FixedRoots, RootKeeper};

use std::path::{Path, PathBuf};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};

use crate::root_dirs::RootDirs;
use mcp_protocol::uri;

/// Roots kept at once, the managed ones included.
const MAX_ROOTS: usize = 100;
const MAX_NAME_CHARS: usize = 200;
const MAX_DESCRIPTION_CHARS: usize = 1_000;

// Fulfils 002 Req-Root-002
/// A root as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The folder's address in canonical form, links resolved.
    pub uri: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the operator configured it, so that no client can remove it.
    #[serde(default)]
    pub managed: bool,
}

impl Root {
    /// A root a client wants to add.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            description: None,
            managed: false,
        }
    }
}

#[derive(Clone, Debug)]
struct ServedRoot {
    root: Root,
    folder: PathBuf,
}

/// The roots of a server. They change while it runs; readers never wait.
#[derive(Debug)]
pub struct RootSet {
    served: ArcSwap<Vec<ServedRoot>>,
    /// Folders under which clients may add roots, links resolved.
    allowed: RootDirs,
    changing: Mutex<()>,
}

impl RootSet {
    /// The folders the operator configured, and those under which more may be added. All of them must exist.
    pub fn new(managed: &[PathBuf], allowed: &[PathBuf]) -> Result<Self, Refusal> {
        let allowed = allowed.iter().map(|folder| existing(folder));
        let set = Self {
            served: ArcSwap::default(),
            allowed: RootDirs::of(allowed.collect::<Result<_, _>>()?),
            changing: Mutex::new(()),
        };
        for folder in managed {
            let folder = existing(folder)?;
            let root = Root {
                managed: true,
                ..Root::new(uri::of_path(&folder))
            };
            set.insert(named(root, &folder), folder)?;
        }
        Ok(set)
    }

    /// Whether there are files to reach, or can be once somebody adds a root.
    pub fn is_open(&self) -> bool {
        !self.served.load().is_empty() || !self.allowed.is_empty()
    }

    /// All roots, by address.
    pub fn list(&self) -> Vec<Root> {
        self.served
            .load()
            .iter()
            .map(|served| served.root.clone())
            .collect()
    }

    /// The folders, for looking up files.
    pub fn folders(&self) -> RootDirs {
        RootDirs::of(
            self.served
                .load()
                .iter()
                .map(|served| served.folder.clone())
                .collect(),
        )
    }

    /// What adding this root would add; nothing is changed.
    pub fn check(&self, wanted: &Root) -> Result<Root, Refusal> {
        self.examine(wanted).map(|(root, _)| root)
    }

    /// Adds a root a client asked for.
    //= specs/mcp-server.md#roots
    //# A root MUST be refused that is not the address of a folder that exists, lies outside the folders the operator allows, or is, contains or lies in another root.
    pub fn add(&self, wanted: &Root) -> Result<Root, Refusal> {
        let (root, folder) = self.examine(wanted)?;
        self.insert(root.clone(), folder)?;
        Ok(root)
    }

    /// The root with this address, when a client may remove it.
    pub fn removable(&self, uri: &str) -> Result<Root, Refusal> {
        let wanted = bare(uri)?;
        let served = self.served.load();
        let found = served.iter().find(|served| served.root.uri == wanted);
        let Some(found) = found else {
            let refusal = Refusal::new(Code::ResourceNotFound, format!("there is no root {uri:?}"));
            return Err(refusal
                .fact("uri", uri)
                .hint("List the roots and name one of them."));
        };
        //= specs/mcp-server.md#roots
        //# A root the operator configured MUST NOT be removed by a client.
        if found.root.managed {
            let problem = format!("the root {uri:?} is managed by the operator");
            return Err(Refusal::new(Code::AuthzForbidden, problem)
                .hint("Only the configuration of the server can take it away."));
        }
        Ok(found.root.clone())
    }

    /// Takes a root out. False when there was none.
    pub fn remove(&self, uri: &str) -> bool {
        let _changing = self.lock();
        let served = self.served.load();
        let kept: Vec<ServedRoot> = served.iter().filter(|one| one.root.uri != uri).cloned().collect();
        let removed = kept.len() < served.len();
        self.served.store(kept.into());
        removed
    }

    /// Puts the roots clients added, here or elsewhere, in the place of those known so far. A folder that is gone stays a
    /// root: nothing can be read from it until it is back. Gives those that may not be roots any more, with the reason.
    pub fn restore(&self, added: Vec<Root>) -> (bool, Vec<(Root, Refusal)>) {
        let before = self.list();
        let _changing = self.lock();
        let mut served: Vec<ServedRoot> = self
            .served
            .load()
            .iter()
            .filter(|served| served.root.managed)
            .cloned()
            .collect();
        let mut refused = Vec::new();
        for root in added {
            match self.restored(&root, &served) {
                Ok(folder) => served.push(ServedRoot { root, folder }),
                Err(refusal) => refused.push((root, refusal)),
            }
        }
        served.sort_by(|a, b| a.folder.cmp(&b.folder));
        self.served.store(served.into());
        (before != self.list(), refused)
    }

    fn restored(&self, root: &Root, served: &[ServedRoot]) -> Result<PathBuf, Refusal> {
        let folder = uri::path_of(&root.uri)?;
        if !self.allowed.holds(&folder) {
            return Err(not_allowed(&root.uri));
        }
        refuse_overlap(&root.uri, &folder, served)?;
        Ok(folder)
    }

    fn examine(&self, wanted: &Root) -> Result<(Root, PathBuf), Refusal> {
        check_text("name", wanted.name.as_deref(), MAX_NAME_CHARS)?;
        check_text(
            "description",
            wanted.description.as_deref(),
            MAX_DESCRIPTION_CHARS,
        )?;
        let written = uri::path_of(&bare(&wanted.uri)?)?;
        // Before anything is looked at: nobody shall learn what exists elsewhere.
        if !self.allowed.holds(&written) {
            return Err(not_allowed(&wanted.uri));
        }
        let folder = existing(&written).map_err(|refusal| Refusal {
            message: format!("uri: {:?} is not a folder that exists", wanted.uri),
            ..refusal
        })?;
        if !self.allowed.holds(&folder) {
            let problem = format!("{:?} leads out of the folders roots may be added in", wanted.uri);
            return Err(Refusal::new(Code::SymlinkTraversalDetected, problem));
        }
        let served = self.served.load();
        refuse_overlap(&wanted.uri, &folder, &served)?;
        if served.len() >= MAX_ROOTS {
            let problem = format!("there are {MAX_ROOTS} roots already");
            return Err(Refusal::new(Code::QuotaExceeded, problem).hint("Remove a root first."));
        }
        let root = Root {
            uri: uri::of_path(&folder),
            managed: false,
            ..wanted.clone()
        };
        Ok((named(root, &folder), folder))
    }

    fn insert(&self, root: Root, folder: PathBuf) -> Result<(), Refusal> {
        let _changing = self.lock();
        let mut served = Vec::clone(&self.served.load());
        refuse_overlap(&root.uri, &folder, &served)?;
        served.push(ServedRoot { root, folder });
        served.sort_by(|a, b| a.folder.cmp(&b.folder));
        self.served.store(served.into());
        Ok(())
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.changing.lock()
    }
}

/// A folder's real path.
fn existing(folder: &Path) -> Result<PathBuf, Refusal> {
    let real = folder.canonicalize().ok().filter(|real| real.is_dir());
    real.ok_or_else(|| {
        let problem = format!("{:?} is not a folder that exists", folder.display().to_string());
        Refusal::new(Code::PathInvalid, problem).hint("Name a folder that exists.")
    })
}

fn named(root: Root, folder: &Path) -> Root {
    let own = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    Root {
        name: root.name.clone().or_else(own),
        ..root
    }
}

/// The canonical address without a slash at its end.
fn bare(uri: &str) -> Result<String, Refusal> {
    let form = uri::canonical(uri)?;
    let path = uri::path_of(&form)?;
    Ok(uri::of_path(&path))
}

fn refuse_overlap(uri: &str, folder: &Path, served: &[ServedRoot]) -> Result<(), Refusal> {
    for other in served {
        let own = &other.root.uri;
        if other.folder == folder {
            let problem = format!("{uri:?} is a root already");
            return Err(Refusal::new(Code::ResourceDuplicate, problem)
                .hint("List the roots; nothing has to be added."));
        }
        if folder.starts_with(&other.folder) || other.folder.starts_with(folder) {
            let problem = format!("{uri:?} overlaps with the root {own:?}");
            return Err(Refusal::new(Code::RuleViolated, problem)
                .hint("Name a folder that neither lies in another root nor contains one, or remove that root first."));
        }
    }
    Ok(())
}

fn not_allowed(uri: &str) -> Refusal {
    let problem = format!("{uri:?} is outside the folders roots may be added in");
    Refusal::new(Code::UriOutOfBounds, problem)
        .hint("Ask the operator to allow the folder in the server's configuration.")
}

fn check_text(field: &'static str, text: Option<&str>, max: usize) -> Result<(), Refusal> {
    let fits = |text: &str| {
        let count = text.chars().count();
        (1..=max).contains(&count) && !text.chars().any(char::is_control)
    };
    match text {
        Some(text) if !fits(text) => Err(Refusal::field(
            Code::InvalidParams,
            field,
            "is empty, too long or holds control characters",
            format!("1 to {max} characters on one line"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
