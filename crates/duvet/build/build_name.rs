//! The name of a build, made of all that it is built from.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// What a build is made of, relative to the crate's folder.
pub(crate) const MADE_OF: [&str; 5] = ["build.rs", "src", "assets", "Cargo.toml", "../../Cargo.lock"];

/// Equal sources give the equal name, and one changed line gives another.
pub(crate) fn build_name(folder: &Path) -> String {
    let mut files = Vec::new();
    for place in MADE_OF {
        collect(folder, Path::new(place), &mut files);
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.hash(&mut hasher);
        std::fs::read(folder.join(&file))
            .unwrap_or_default()
            .hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

fn collect(folder: &Path, place: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(folder.join(place)) {
        Ok(entries) => entries
            .flatten()
            .for_each(|entry| collect(folder, &place.join(entry.file_name()), files)),
        Err(_) => files.push(place.to_owned()),
    }
}
