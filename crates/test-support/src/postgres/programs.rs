//! Where PostgreSQL's programs are.
//!
//! Debian keeps them out of `PATH`, in a folder for each version, so both places are searched and the newest version
//! wins. The folder counts when it has `initdb`: the client programs alone cannot make a cluster.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder with `initdb`, `pg_ctl`, `createdb` and `dropdb`.
pub(super) struct Programs {
    folder: PathBuf,
}

impl Programs {
    pub(super) fn on_this_machine() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        find(&path, Path::new(DEBIAN)).map(|folder| Self { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }
}

fn find(path: &OsStr, debian: &Path) -> Option<PathBuf> {
    std::env::split_paths(path)
        .find_map(|folder| home_of_initdb(&folder))
        .or_else(|| newest(debian))
}

/// A lone link to `initdb` in `PATH` leads to the folder where its companions are.
fn home_of_initdb(folder: &Path) -> Option<PathBuf> {
    let initdb = fs::canonicalize(folder.join("initdb")).ok()?;
    let home = initdb.parent()?;
    home.join("createdb").is_file().then(|| home.to_owned())
}

fn newest(debian: &Path) -> Option<PathBuf> {
    let version = |folder: &Path| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<PathBuf> = fs::read_dir(debian).ok()?.flatten().map(|e| e.path()).collect();
    folders.retain(|folder| home_of_initdb(&folder.join("bin")).is_some());
    folders.sort_by_key(|folder| version(folder));
    folders.pop().map(|folder| folder.join("bin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        for program in ["initdb", "createdb"] {
            fs::write(folder.join(program), "").unwrap();
        }
    }

    #[test]
    fn the_newest_version_of_debian_wins_by_number() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9", "15", "7"] {
            install(&root.path().join(version).join("bin"));
        }
        let found = find(OsStr::new(""), root.path()).unwrap();
        assert_eq!(found, root.path().join("15/bin"));
    }

    #[test]
    fn a_link_in_path_is_followed_to_the_companions() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        install(&root.join("real"));
        fs::create_dir(root.join("links")).unwrap();
        std::os::unix::fs::symlink(root.join("real/initdb"), root.join("links/initdb")).unwrap();
        let found = find(root.join("links").as_os_str(), Path::new("/nowhere"));
        assert_eq!(found, Some(root.join("real")));
    }

    #[test]
    fn clients_alone_are_not_a_server() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("16/bin")).unwrap();
        fs::write(root.path().join("16/bin/createdb"), "").unwrap();
        assert_eq!(find(root.path().as_os_str(), root.path()), None);
    }
}
