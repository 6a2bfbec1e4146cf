//! Where the texts of specifications are: files of the project, and downloads kept beside it.
//!
//! A report never asks the network; see [`lockfile`](crate::lockfile) for what is fetched.

use crate::config::Config;
use crate::fence::{Fence, Refused};
use crate::target::{is_url, storage_path};
use std::path::{Path, PathBuf};

/// A text over this size is not a specification.
pub const MAX_SPECIFICATION_BYTES: u64 = 64 << 20;

/// Finds the file of a specification by its path or URL.
#[derive(Clone, Debug)]
pub struct SpecificationLocator {
    root: PathBuf,
    downloads: PathBuf,
    /// What may be read.
    pub fence: Fence,
}

impl SpecificationLocator {
    /// The locator of a project.
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
