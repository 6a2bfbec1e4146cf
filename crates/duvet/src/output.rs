//! Files written whole: a reader sees the old text or the new one, never half of one, whenever the writer is stopped.

use crate::fence::{Fence, Refused};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells apart files that one process writes at the same time.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Takes the bytes of a file piece by piece.
pub type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// Hands a file's bytes to a sink, the same ones whenever it is asked.
pub type Render<'a> = dyn Fn(&mut Sink<'_>) -> io::Result<()> + Sync + 'a;

/// BLAKE3 of a text that is small enough to be had whole.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}

/// Writes a file inside the fence; see [`write()`].
pub fn write_inside(fence: &Fence, path: &Path, bytes: &[u8]) -> Result<bool, Refused> {
    stream_inside(fence, path, &|sink| sink(bytes))
}

/// Writes a file to where it really is; see [`write()`].
pub fn write_at(real: PathBuf, bytes: &[u8]) -> Result<bool, Refused> {
    write_regular(real, &|sink| sink(bytes))
}

/// Writes a file inside the fence; see [`write()`].
pub fn stream_inside(fence: &Fence, path: &Path, render: &Render<'_>) -> Result<bool, Refused> {
    write_regular(fence.real(path)?, render)
}

//= specs/duvet.md#inside-the-fence
//# A device or a pipe MUST NOT be written to unless the person named it.
/// A pipe that lies where the project says a file is would be waited for.
fn write_regular(path: PathBuf, render: &Render<'_>) -> Result<bool, Refused> {
    match std::fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(Refused::NotAFile),
        _ => write_real(path, render),
    }
}

/// Writes a file, making its folder: beside its place first, then renamed. A file that already says so is not touched;
/// gives whether it was written. What is no regular file (a pipe, `/dev/stdout`) is written to as it is.
pub fn write(path: &Path, bytes: &[u8]) -> Result<bool, Refused> {
    stream(path, &|sink| sink(bytes))
}

/// The same for what comes in pieces.
pub fn stream(path: &Path, render: &Render<'_>) -> Result<bool, Refused> {
    write_real(real(path), render)
}

/// A link is followed: the file it names is replaced, the link stays.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

//= specs/duvet.md#freshness
//# A file MUST be replaced as a whole, so that a run that is stopped leaves the old text or the new one.
fn write_real(path: PathBuf, render: &Render<'_>) -> Result<bool, Refused> {
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => return Err(Refused::NotAFile),
        Ok(metadata) if !metadata.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path)?;
            render(&mut |bytes| file.write_all(bytes))?;
            return Ok(true);
        }
        Ok(_) if holds(&path, render).unwrap_or(false) => return Ok(false),
        Ok(metadata) => replace(&path, render, Some(metadata.permissions()))?,
        Err(_) => {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)?;
            }
            replace(&path, render, None)?;
        }
    }
    Ok(true)
}

/// So many bytes of the old file are compared at a time.
const COMPARED_BYTES: usize = 64 << 10;

/// Whether a file says the same. Rendering ends at the first difference.
fn holds(path: &Path, render: &Render<'_>) -> io::Result<bool> {
    let mut file = std::fs::File::open(path)?;
    let mut buffer = Vec::new();
    render(&mut |bytes| {
        for piece in bytes.chunks(COMPARED_BYTES) {
            buffer.resize(piece.len(), 0);
            file.read_exact(&mut buffer)?;
            if buffer != piece {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    })?;
    // It may be longer.
    Ok(file.read(&mut [0])? == 0)
}

//= specs/duvet.md#nothing-lost
//# A disk that is full MUST leave each file as it was or as it is to be, fail the run, and change no later answer.
fn replace(
    path: &Path,
    render: &Render<'_>,
    permissions: Option<std::fs::Permissions>,
) -> Result<(), Refused> {
    if permissions.as_ref().is_some_and(std::fs::Permissions::readonly) {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied).into());
    }
    let mut beside = beside(path);
    // A run that was killed may have left a file behind, and its process number may be ours now.
    while beside.symlink_metadata().is_ok() {
        beside = self::beside(path);
    }
    let written = write_new(&beside, render, permissions).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    Ok(written?)
}

fn write_new(path: &Path, render: &Render<'_>, permissions: Option<std::fs::Permissions>) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)?;
    render(&mut |bytes| file.write_all(bytes))?;
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
