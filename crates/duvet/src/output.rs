//! Files written whole: a reader sees the old text or the new one, never half of one, whenever the writer is stopped.

use crate::fence::{Fence, Refused};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells apart files that one process writes at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The bytes of a file in the pieces they were rendered in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunks(Vec<Vec<u8>>);

impl From<Vec<Vec<u8>>> for Chunks {
    fn from(chunks: Vec<Vec<u8>>) -> Self {
        Self(chunks)
    }
}

impl From<Vec<u8>> for Chunks {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![bytes])
    }
}

impl Chunks {
    /// BLAKE3 of all of them together.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for chunk in &self.0 {
            hasher.update(chunk);
        }
        hasher.finalize()
    }

    fn slices(&self) -> Vec<&[u8]> {
        self.0.iter().map(Vec::as_slice).collect()
    }
}

/// Writes a file inside the fence; see [`write()`].
pub fn write_inside(fence: &Fence, path: &Path, bytes: &[u8]) -> Result<bool, Refused> {
    write_regular(fence.real(path)?, &[bytes])
}

/// Writes a file to where it really is; see [`write()`].
pub fn write_at(real: PathBuf, bytes: &[u8]) -> Result<bool, Refused> {
    write_regular(real, &[bytes])
}

/// Writes a file inside the fence; see [`write()`].
pub fn write_chunks_inside(fence: &Fence, path: &Path, chunks: &Chunks) -> Result<bool, Refused> {
    write_regular(fence.real(path)?, &chunks.slices())
}

//= specs/duvet.md#inside-the-fence
//# A device or a pipe MUST NOT be written to unless the person named it.
/// A pipe that lies where the project says a file is would be waited for.
fn write_regular(path: PathBuf, chunks: &[&[u8]]) -> Result<bool, Refused> {
    match std::fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(Refused::NotAFile),
        _ => write_real(path, chunks),
    }
}

/// Writes a file, making its folder: beside its place first, then renamed. A file that already says so is not touched;
/// gives whether it was written. What is no regular file (a pipe, `/dev/stdout`) is written to as it is.
pub fn write(path: &Path, bytes: &[u8]) -> Result<bool, Refused> {
    write_real(real(path), &[bytes])
}

/// The same for what comes in pieces.
pub fn write_chunks(path: &Path, chunks: &Chunks) -> Result<bool, Refused> {
    write_real(real(path), &chunks.slices())
}

/// A link is followed: the file it names is replaced, the link stays.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

//= specs/duvet.md#freshness
//# A file MUST be replaced as a whole, so that a run that is stopped leaves the old text or the new one.
fn write_real(path: PathBuf, chunks: &[&[u8]]) -> Result<bool, Refused> {
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => return Err(Refused::NotAFile),
        Ok(metadata) if !metadata.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
            for chunk in chunks {
                file.write_all(chunk)?;
            }
            return Ok(true);
        }
        Ok(metadata) if holds(&path, metadata.len(), chunks).unwrap_or(false) => return Ok(false),
        Ok(metadata) => replace(&path, chunks, Some(metadata.permissions()))?,
        Err(_) => {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            replace(&path, chunks, None)?;
        }
    }
    Ok(true)
}

/// So many bytes of the old file are compared at a time.
const COMPARED_BYTES: usize = 64 << 10;

/// Whether a file of the given length says the same.
fn holds(path: &Path, length: u64, chunks: &[&[u8]]) -> std::io::Result<bool> {
    let wanted: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    if length != wanted as u64 {
        return Ok(false);
    }
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; COMPARED_BYTES.min(wanted)];
    for piece in chunks.iter().flat_map(|chunk| chunk.chunks(COMPARED_BYTES)) {
        let old = &mut buffer[..piece.len()];
        file.read_exact(old)?;
        if old != piece {
            return Ok(false);
        }
    }
    // It may have grown since.
    Ok(file.read(&mut [0])? == 0)
}

fn replace(path: &Path, chunks: &[&[u8]], permissions: Option<std::fs::Permissions>) -> Result<(), Refused> {
    if permissions.as_ref().is_some_and(std::fs::Permissions::readonly) {
        return Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied).into());
    }
    let mut beside = beside(path);
    // A run that was killed may have left a file behind, and its process number may be ours now.
    while beside.symlink_metadata().is_ok() {
        beside = self::beside(path);
    }
    let written = write_new(&beside, chunks, permissions).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    Ok(written?)
}

fn write_new(
    path: &Path,
    chunks: &[&[u8]],
    permissions: Option<std::fs::Permissions>,
) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    for chunk in chunks {
        file.write_all(chunk)?;
    }
    match permissions {
        Some(permissions) => file.set_permissions(permissions),
        None => Ok(()),
    }
}

/// A name in the same folder that nobody else uses and no pattern of sources means.
fn beside(path: &Path) -> PathBuf {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".duvet-{}-{number}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/duvet.md#freshness
    //= type=test
    //# A file MUST be replaced as a whole, so that a run that is stopped leaves the old text or the new one.
    #[test]
    fn a_reader_of_the_old_file_keeps_the_old_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/report.json");
        assert!(write(&path, b"old").unwrap());
        let mut reader = std::fs::File::open(&path).unwrap();
        assert!(write(&path, b"new and longer").unwrap());
        assert!(!write(&path, b"new and longer").unwrap(), "nothing to do");
        let mut old = String::new();
        reader.read_to_string(&mut old).unwrap();
        assert_eq!(old, "old");
        assert_eq!(std::fs::read(&path).unwrap(), b"new and longer");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left beside"
        );
    }

    #[test]
    fn a_left_over_file_of_a_killed_run_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let next = NEXT.load(Ordering::Relaxed);
        for number in next..next + 50 {
            let left = folder
                .path()
                .join(format!(".duvet-{}-{number}.tmp", std::process::id()));
            std::fs::write(left, "half").unwrap();
        }
        let path = folder.path().join("a");
        assert!(write(&path, b"2").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_never_leads_out() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().join("project");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("real"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(world.path().join("victim"), root.join("evil")).unwrap();
        let fence = Fence::new(&root, &[]);
        write_inside(&fence, &root.join("link"), b"x").unwrap();
        assert!(root.join("link").is_symlink());
        assert_eq!(std::fs::read(root.join("real")).unwrap(), b"x");
        // A link to a file that does not exist yet is taken by its own name and replaced.
        let _ = write_inside(&fence, &root.join("evil"), b"x");
        assert!(!world.path().join("victim").exists());
    }
}
