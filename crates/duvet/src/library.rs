//! Where the texts of specifications are: files of the project, and downloads kept beside it.

use crate::target::{is_url, storage_path};
use std::path::{Path, PathBuf};

/// The file that holds a specification's text, whether or not it exists.
///
/// A URL means its download. A path is looked for at the root and then beside the citing file, upwards to the root.
pub fn locate(root: &Path, downloads: &Path, specification: &str, cited_from: Option<&str>) -> PathBuf {
    if is_url(specification) {
        return root.join(downloads).join(storage_path(specification));
    }
    let at_root = root.join(specification);
    if at_root.exists() {
        return at_root;
    }
    let mut folder = cited_from.map(Path::new).and_then(Path::parent);
    while let Some(current) = folder {
        let candidate = root.join(current).join(specification);
        if candidate.exists() {
            return candidate;
        }
        folder = current.parent();
    }
    at_root
}
