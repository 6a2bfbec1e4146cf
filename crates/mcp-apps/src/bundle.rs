//! Bundles: zip files that are looked at whole before a single byte of them is written.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use refusal::{Code, Refusal};
use zip::ZipArchive;

use crate::manifest::{MAX_MANIFEST_BYTES, inside};
use crate::options::AppLimits;

/// Below this size a file may be as well packed as it likes.
const RATIO_COUNTS_ABOVE_BYTES: u64 = 1 << 20;

/// A bundle that was found to be in order.
pub(crate) struct Bundle<R> {
    archive: ZipArchive<R>,
    files: Vec<Member>,
    max_unpacked_bytes: u64,
}

struct Member {
    index: usize,
    path: PathBuf,
    is_folder: bool,
    is_program: bool,
}

impl<R: Read + Seek> Bundle<R> {
    /// Looks at everything a bundle claims to hold.
    //= specs/mcp-apps.md#bundles
    //# A bundle MUST be checked whole before anything of it is written.
    pub(crate) fn open(mut reader: R, limits: &AppLimits) -> Result<Self, Refusal> {
        let size = reader
            .seek(std::io::SeekFrom::End(0))
            .map_err(|_| unreadable("it cannot be read"))?;
        if size > limits.max_bundle_bytes {
            let problem = format!(
                "the bundle has {size} bytes, more than {}",
                limits.max_bundle_bytes
            );
            return Err(too_large(problem));
        }
        reader.rewind().map_err(|_| unreadable("it cannot be read"))?;
        let mut archive = ZipArchive::new(reader).map_err(|error| unreadable(&error.to_string()))?;
        if archive.len() > limits.max_bundle_entries {
            let problem = format!(
                "the bundle has {} files, more than {}",
                archive.len(),
                limits.max_bundle_entries
            );
            return Err(too_large(problem));
        }
        if archive
            .has_overlapping_files()
            .map_err(|error| unreadable(&error.to_string()))?
        {
            return Err(too_large("files of the bundle share their bytes".to_owned()));
        }
        let mut total = 0_u64;
        let mut names = BTreeSet::new();
        let mut files = Vec::with_capacity(archive.len());
        for index in 0..archive.len() {
            let member = member(&mut archive, index, limits, &mut total)?;
            if !names.insert(member.path.to_string_lossy().to_lowercase()) {
                let problem = format!("{} is in the bundle twice", member.path.display());
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "bundle",
                    problem,
                    "each file once",
                ));
            }
            files.push(member);
        }
        Ok(Self {
            archive,
            files,
            max_unpacked_bytes: limits.max_unpacked_bytes,
        })
    }

    /// The text of `manifest.json`.
    pub(crate) fn manifest(&mut self) -> Result<Vec<u8>, Refusal> {
        let file = self.archive.by_name("manifest.json").map_err(|_| {
            Refusal::field(
                Code::MissingRequiredField,
                "bundle",
                "it has no manifest.json",
                "an MCPB bundle",
            )
        })?;
        let mut text = Vec::new();
        let limit = MAX_MANIFEST_BYTES as u64 + 1;
        file.take(limit)
            .read_to_end(&mut text)
            .map_err(|error| unreadable(&error.to_string()))?;
        Ok(text)
    }

    /// Whether the bundle holds this file.
    pub(crate) fn holds(&self, path: &str) -> bool {
        self.files
            .iter()
            .any(|member| !member.is_folder && member.path == Path::new(path))
    }

    /// Writes everything into an empty folder.
    pub(crate) fn unpack(mut self, folder: &Path) -> Result<(), Refusal> {
        let mut left = self.max_unpacked_bytes;
        for member in &self.files {
            let path = folder.join(&member.path);
            if member.is_folder {
                std::fs::create_dir_all(&path).map_err(unwritable)?;
                continue;
            }
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(unwritable)?;
            }
            let file = self
                .archive
                .by_index(member.index)
                .map_err(|error| unreadable(&error.to_string()))?;
            // What a bundle says about its sizes need not be true.
            let claimed = file.size();
            let mut out = create(&path, member.is_program).map_err(unwritable)?;
            let written = std::io::copy(&mut file.take(claimed.min(left) + 1), &mut out)
                .map_err(|error| unreadable(&error.to_string()))?;
            if written > claimed || written > left {
                return Err(too_large(format!(
                    "{} is larger than the bundle says",
                    member.path.display()
                )));
            }
            left -= written;
            out.flush().map_err(unwritable)?;
        }
        Ok(())
    }
}

fn member<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    limits: &AppLimits,
    total: &mut u64,
) -> Result<Member, Refusal> {
    let file = archive
        .by_index_raw(index)
        .map_err(|error| unreadable(&error.to_string()))?;
    let name = file
        .name()
        .map_err(|error| unreadable(&error.to_string()))?
        .into_owned();
    //= specs/mcp-apps.md#bundles
    //# A bundle with a path that leads out of it MUST be refused with 1036, one with a symbolic link with 1038.
    inside("bundle", &name)?;
    let path = file.enclosed_name().filter(|path| !path.as_os_str().is_empty());
    let Some(path) = path else {
        return Err(Refusal::field(
            Code::PathInvalid,
            "bundle",
            format!("{name:?} is no path"),
            "plain paths",
        ));
    };
    if file.is_symlink() {
        let problem = format!("{name:?} is a symbolic link");
        return Err(Refusal::field(
            Code::SymlinkTraversalDetected,
            "bundle",
            problem,
            "plain files",
        ));
    }
    if file.encrypted() {
        let problem = format!("{name:?} is encrypted");
        return Err(Refusal::field(
            Code::InvalidParams,
            "bundle",
            problem,
            "plain files",
        ));
    }
    //= specs/mcp-apps.md#bundles
    //# A bundle that unpacks to more than its limits allow MUST be refused with 1068.
    let (size, packed) = (file.size(), file.compressed_size().max(1));
    if size > RATIO_COUNTS_ABOVE_BYTES && size / packed > limits.max_compression_ratio {
        let problem = format!(
            "{name:?} becomes {} times larger when it is unpacked",
            size / packed
        );
        return Err(too_large(problem));
    }
    *total = total.saturating_add(size);
    if *total > limits.max_unpacked_bytes {
        let problem = format!(
            "the bundle unpacks to more than {} bytes",
            limits.max_unpacked_bytes
        );
        return Err(too_large(problem));
    }
    Ok(Member {
        index,
        is_folder: file.is_dir(),
        is_program: file.unix_mode().is_some_and(|mode| mode & 0o111 != 0),
        path,
    })
}

/// Only the owner may read what was unpacked; no other bit of a bundle's file modes is taken over.
#[cfg(unix)]
fn create(path: &Path, is_program: bool) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mode = if is_program { 0o700 } else { 0o600 };
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _is_program: bool) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn unreadable(problem: &str) -> Refusal {
    let problem: String = format!("the bundle cannot be read: {problem}")
        .chars()
        .take(300)
        .collect();
    Refusal::field(
        Code::InvalidParams,
        "bundle",
        problem,
        "a zip file with a manifest.json (.mcpb)",
    )
}

fn too_large(problem: String) -> Refusal {
    Refusal::new(Code::MessageTooLarge, problem)
        .hint("Install a smaller bundle, or let an administrator raise the limits of apps.")
}

fn unwritable(error: std::io::Error) -> Refusal {
    tracing::error!(%error, "a bundle could not be unpacked");
    Refusal::new(
        Code::ServiceUnavailable,
        format!("the bundle could not be unpacked: {}", error.kind()),
    )
    .hint("Check the free space and the rights of the folder for apps.")
}
