//! `.reqifz`: a ZIP archive of documents and what they embed.
//!
//! The bytes are kept; what is in them is read within limits, and a name that would lead out of the archive is never one
//! anybody could write to.

use std::io::{Cursor, Read as _, Write as _};

use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::diagnostic::{Diagnostic, Severity};

/// What is read of an archive at most.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLimits {
    /// Files in it.
    pub max_entries: usize,
    /// Bytes of one file, unpacked.
    pub max_entry_bytes: u64,
    /// Bytes of all files, unpacked.
    pub max_total_bytes: u64,
    /// How much a file may grow when it is unpacked.
    pub max_ratio: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            max_entries: 10_000,
            max_entry_bytes: 1 << 30,
            max_total_bytes: 2 << 30,
            max_ratio: 200,
        }
    }
}

/// An archive as it came.
#[derive(Clone, Debug)]
pub struct Archive {
    bytes: Vec<u8>,
    /// The documents, by name, in the order of the archive.
    pub documents: Vec<(String, Vec<u8>)>,
    /// The names of everything else.
    pub attachments: Vec<String>,
    /// What is odd about it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether bytes begin like a ZIP archive.
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

impl Archive {
    //= specs/exchange.md#documents
    //# A name in an archive that leads out of it MUST NOT be read, and an archive larger than its limits MUST be refused.
    /// Reads an archive; refused is what is no archive, or larger than the limits.
    pub fn read(bytes: Vec<u8>, limits: &ArchiveLimits) -> Result<Self, Diagnostic> {
        let broken = |error: zip::result::ZipError| {
            fault(
                "archive",
                Severity::Error,
                format!("the archive cannot be read: {error}"),
            )
        };
        let mut archive = ZipArchive::new(Cursor::new(&bytes)).map_err(broken)?;
        if archive.len() > limits.max_entries {
            let message = format!(
                "the archive has {} files, {} at most",
                archive.len(),
                limits.max_entries
            );
            return Err(fault("archive-limit", Severity::Error, message));
        }
        let (mut documents, mut attachments, mut diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = 0_u64;
        for number in 0..archive.len() {
            let mut file = archive.by_index(number).map_err(broken)?;
            let name = file.name().map_err(broken)?.into_owned();
            if leads_out(&name) {
                let message = format!("{name:?} leads out of the archive; it is kept and not read");
                diagnostics.push(fault("archive-path", Severity::Warning, message));
                continue;
            }
            let hidden = name.starts_with("__MACOSX/")
                || name.rsplit('/').next().is_some_and(|last| last.starts_with('.'));
            let is_document = name.to_lowercase().ends_with(".reqif") && !hidden;
            if file.is_dir() || !is_document {
                if !file.is_dir() && !hidden {
                    attachments.push(name);
                }
                continue;
            }
            let allowed = limits.max_entry_bytes.min(limits.max_total_bytes - total);
            let allowed = allowed.min(
                file.compressed_size()
                    .saturating_mul(limits.max_ratio)
                    .max(1 << 16),
            );
            let mut content = Vec::new();
            let read = file.by_ref().take(allowed + 1).read_to_end(&mut content);
            read.map_err(|error| {
                fault(
                    "archive",
                    Severity::Error,
                    format!("{name:?} cannot be unpacked: {error}"),
                )
            })?;
            if content.len() as u64 > allowed {
                let message = format!("{name:?} unpacks to more than {allowed} bytes");
                return Err(fault("archive-limit", Severity::Error, message));
            }
            total += content.len() as u64;
            documents.push((name, content));
        }
        if documents.is_empty() {
            return Err(fault(
                "archive",
                Severity::Error,
                "the archive holds no .reqif document".to_owned(),
            ));
        }
        Ok(Self {
            bytes,
            documents,
            attachments,
            diagnostics,
        })
    }

    /// The archive with other content in some of its documents; without any, the bytes as they came.
    pub fn write(&self, changed: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Diagnostic> {
        let same = |(name, content): &(String, Vec<u8>)| {
            self.documents
                .iter()
                .any(|(old, bytes)| old == name && bytes == content)
        };
        if changed.iter().all(same) {
            return Ok(self.bytes.clone());
        }
        let broken = |error: zip::result::ZipError| {
            fault(
                "archive",
                Severity::Error,
                format!("the archive cannot be written: {error}"),
            )
        };
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes)).map_err(broken)?;
        let mut out = ZipWriter::new(Cursor::new(Vec::with_capacity(self.bytes.len())));
        for number in 0..archive.len() {
            let file = archive.by_index_raw(number).map_err(broken)?;
            let own = file.name().map_err(broken)?.into_owned();
            match changed.iter().find(|(name, _)| *name == own) {
                Some((name, content)) => {
                    out.start_file(name.as_str(), SimpleFileOptions::default())
                        .map_err(broken)?;
                    let written = out.write_all(content);
                    written.map_err(|error| fault("archive", Severity::Error, error.to_string()))?;
                }
                None => out.raw_copy_file(file).map_err(broken)?,
            }
        }
        Ok(out.finish().map_err(broken)?.into_inner())
    }
}

fn leads_out(name: &str) -> bool {
    let absolute = name.starts_with(['/', '\\']) || name.as_bytes().get(1) == Some(&b':');
    absolute || name.contains('\0') || name.split(['/', '\\']).any(|part| part == "..")
}

fn fault(code: &'static str, severity: Severity, message: String) -> Diagnostic {
    Diagnostic {
        code,
        severity,
        message,
        line: 1,
        column: 1,
    }
}
