//! The fence around a project: what a specification, a citation or a configuration names is read and written inside
//! the project's folder only, links resolved.
//!
//! Texts come from strangers: a pull request may cite `/etc/passwd`, a fetched specification may call a section
//! `../../Cargo`. What the person at the command line names herself (a report's path, a folder of patterns) is her own
//! word and is allowed beside the root.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// A source or a requirement file over this size is not read.
pub const MAX_SOURCE_BYTES: u64 = 512 << 20;
/// A configuration or a lock file over this size is not read.
pub const MAX_SETTINGS_BYTES: u64 = 8 << 20;
/// A report to be merged, or a coverage report, over this size is not read.
pub const MAX_REPORT_BYTES: u64 = 1 << 30;

/// Folders that may be read and written.
#[derive(Clone, Debug)]
pub struct Fence {
    folders: Vec<PathBuf>,
}

/// Why a file is not read or written.
#[derive(Debug)]
pub enum Refused {
    /// It is, or a link leads, outside the fence.
    Outside,
    /// It is a folder, a device, a pipe or a socket.
    NotAFile,
    /// It is over the limit.
    TooLarge {
        /// The limit.
        max_bytes: u64,
    },
    /// The system says no.
    System(std::io::Error),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Outside => f.write_str("it leads outside the project"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::TooLarge { max_bytes } => write!(f, "it is larger than {max_bytes} bytes"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

impl Fence {
    /// A fence around a folder, with gates to those that the person allows beside it.
    pub fn new(root: &Path, allowed: &[PathBuf]) -> Self {
        let all = std::iter::once(root.to_owned()).chain(allowed.iter().map(|folder| root.join(folder)));
        Self {
            folders: all.map(|folder| real(&folder)).collect(),
        }
    }

    //= specs/duvet.md#inside-the-fence
    //# A file that a specification, a citation or the configuration names MUST NOT be read or written when it lies
    //# outside the project's folder, links resolved.
    /// Where a path really is, whether or not a file is there; refused outside the fence.
    pub fn real(&self, path: &Path) -> Result<PathBuf, Refused> {
        let real = real(path);
        let is_inside = self.folders.iter().any(|folder| real.starts_with(folder));
        if is_inside {
            Ok(real)
        } else {
            Err(Refused::Outside)
        }
    }

    /// The same for a file of a folder that is known to be inside: only a link leads out of it.
    pub fn real_below(&self, folder: &Path, name: &std::ffi::OsStr) -> Result<PathBuf, Refused> {
        let path = folder.join(name);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => self.real(&path),
            _ => Ok(path),
        }
    }

    /// Whether a path is inside, links resolved.
    pub fn holds(&self, path: &Path) -> bool {
        self.real(path).is_ok()
    }

    /// The bytes of a regular file inside the fence.
    pub fn read(&self, path: &Path, max_bytes: u64) -> Result<Vec<u8>, Refused> {
        read(&self.real(path)?, max_bytes)
    }

    //= specs/duvet.md#nothing-lost
    //# A lock file that is there and cannot be read MUST be a missing input.
    /// The text of a small file of ours; empty only when there is none.
    pub fn read_settings(&self, path: &Path) -> Result<String, Refused> {
        match self.read(path, MAX_SETTINGS_BYTES) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(Refused::System(problem)) if problem.kind() == std::io::ErrorKind::NotFound => {
                Ok(String::new())
            }
            Err(problem) => Err(problem),
        }
    }
}

//= specs/duvet.md#inside-the-fence
//# A device, a pipe or a file over the limit MUST be reported and not read.
/// The bytes of a regular file of at most the given size. A pipe is not waited for, a device is not drained.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    read_into(path, max_bytes, &mut bytes)?;
    Ok(bytes)
}

/// The same into memory that was used before: a thousand files are read into one buffer.
pub fn read_into(path: &Path, max_bytes: u64, bytes: &mut Vec<u8>) -> Result<Names, Refused> {
    bytes.clear();
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Refused::NotAFile);
    }
    if metadata.len() > max_bytes {
        return Err(Refused::TooLarge { max_bytes });
    }
    // One byte more than there should be: reading less of a regular file means that this is its end.
    let expected = metadata.len() as usize;
    bytes.resize(expected + 1, 0);
    let read = read_once(&file, bytes)?;
    bytes.truncate(read);
    if read != expected {
        file.take(max_bytes.saturating_add(1).saturating_sub(read as u64))
            .read_to_end(bytes)?;
    }
    if bytes.len() as u64 > max_bytes {
        return Err(Refused::TooLarge { max_bytes });
    }
    Ok(names(&metadata))
}

/// How many names a file has. One with several can be changed under another, where nobody watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// The one it was read by.
    #[default]
    One,
    /// Hard links lead to it.
    Several,
}

#[cfg(unix)]
fn names(metadata: &std::fs::Metadata) -> Names {
    use std::os::unix::fs::MetadataExt;
    if metadata.nlink() > 1 {
        Names::Several
    } else {
        Names::One
    }
}

#[cfg(not(unix))]
fn names(_metadata: &std::fs::Metadata) -> Names {
    Names::One
}

fn read_once(mut file: &std::fs::File, bytes: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Opening a pipe would wait for a writer: it is opened without waiting, and refused by its kind afterwards.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::ErrorKind::Unsupported.into());
    }
    std::fs::File::open(path)
}

/// The real place of a path: links resolved as far as the path exists, the rest taken by its words.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut rest: Vec<Component<'_>> = Vec::new();
    let mut parts: Vec<Component<'_>> = path.components().collect();
    while let Some(last) = parts.pop() {
        rest.push(last);
        let front: PathBuf = parts.iter().collect();
        let front = if parts.is_empty() {
            PathBuf::from(".")
        } else {
            front
        };
        let Ok(mut real) = front.canonicalize() else {
            continue;
        };
        for part in rest.iter().rev() {
            match part {
                Component::ParentDir => drop(real.pop()),
                Component::Normal(name) => real.push(name),
                Component::RootDir | Component::Prefix(_) => real.push(part.as_os_str()),
                Component::CurDir => {}
            }
        }
        return real;
    }
    path.to_owned()
}

/// The name of a file made of a name somebody chose: as it is where it is harmless, else its slug and a hash.
//= specs/duvet.md#inside-the-fence
//# A section's id MUST NOT become a path: a file named after it lies in its specification's folder.
pub fn file_stem(name: &str) -> String {
    const MAX_STEM_BYTES: usize = 180;
    let is_harmless =
        |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    if !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= MAX_STEM_BYTES
        && name.chars().all(is_harmless)
    {
        return name.to_owned();
    }
    let slug: String = slug::slugify(name).chars().take(MAX_STEM_BYTES / 2).collect();
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let slug = if slug.is_empty() { "section" } else { &slug };
    format!("{slug}-{}", &hash.as_str()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_path_in_it_becomes_a_word() {
        assert_eq!(file_stem("section-2.1"), "section-2.1");
        assert_eq!(file_stem("über"), "über");
        for evil in [
            "../../../Cargo",
            "/etc/x",
            "..",
            ".git",
            "",
            "a\\b",
            "a\nb",
            "c:x",
            &"x".repeat(400),
        ] {
            let stem = file_stem(evil);
            assert!(
                !stem.is_empty() && !stem.starts_with('.') && stem.len() < 200,
                "{evil}: {stem}"
            );
            assert!(!stem.contains(['/', '\\', '\n', ':']), "{evil}: {stem}");
        }
        assert_ne!(file_stem("../a"), file_stem("/a"), "two ids are two files");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_dots_do_not_lead_out() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().join("project");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::write(world.path().join("secret"), "s").unwrap();
        std::fs::write(root.join("own"), "o").unwrap();
        std::os::unix::fs::symlink(world.path().join("secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(world.path(), root.join("folder")).unwrap();
        std::os::unix::fs::symlink(root.join("own"), root.join("inner")).unwrap();
        let fence = Fence::new(&root, &[]);
        for inside in ["own", "inner", "deep/../own", "deep/new/file", "./own"] {
            assert!(fence.holds(&root.join(inside)), "{inside}");
        }
        let outside = [
            "link",
            "folder/secret",
            "folder/new",
            "../secret",
            "deep/../../secret",
            "no/../../x",
        ];
        for path in outside {
            assert!(!fence.holds(&root.join(path)), "{path}");
        }
        assert!(!fence.holds(Path::new("/etc/passwd")));
        assert!(Fence::new(&root, &[PathBuf::from("..")]).holds(&root.join("../secret")));
        assert!(matches!(read(Path::new("/dev/zero"), 10), Err(Refused::NotAFile)));
        assert!(matches!(
            fence.read(&root.join("own"), 0),
            Err(Refused::TooLarge { max_bytes: 0 })
        ));
    }
}
