//! `spexus sync`: a folder of specifications and a project follow each other.

use super::CommandContext;
use crate::failure::{Failure, Outcome};
use clap::Args;
use exchange::folder::FolderFormat;
use spexus_service::transfer::sync::{MAX_FILES, SyncFile, SyncMap, Synced, sync};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// A folder that follows a project.
#[derive(Debug, Args)]
pub(crate) struct FolderSync {
    /// The folder that holds openspec/, .kiro/ or specs/NNN-NAME/
    folder: String,
    /// Changes nothing; ends with exit code 1 when the sides differ
    #[arg(long)]
    check: bool,
    /// Tries everything and tells what would come of it, but keeps nothing
    #[arg(long)]
    dry_run: bool,
}

/// What both sides were when they last agreed; belongs into version control.
const MAP: &str = ".spexus-sync.json";
/// A longer file is no specification.
const MAX_FILE_BYTES: u64 = 16 << 20;

pub(super) async fn run(context: &CommandContext, wanted: &FolderSync) -> Outcome {
    let folder = Path::new(&wanted.folder);
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    if files.is_empty() {
        let problem = format!("{} holds no specifications", wanted.folder);
        let allowed = "a folder with openspec/specs/, .kiro/specs/ or specs/NNN-NAME/spec.md";
        return Err(Failure::argument("folder", problem, allowed));
    }
    let base = read_map(folder)?;
    let trial = wanted.check || wanted.dry_run;
    let session = context.open().await?;
    let project = session
        .project()
        .or(Some(base.project.as_str()).filter(|key| !key.is_empty()));
    let synced = sync(
        &session.service,
        &session.caller,
        project,
        &files,
        &base,
        trial,
        Arc::new(|_| {}),
    )
    .await;
    session.close().await;
    let synced = synced?;
    if !trial {
        for file in &synced.written {
            write_whole(&folder.join(&file.path), &file.text)?;
        }
        let map = serde_json::to_string_pretty(&synced.map).map_err(std::io::Error::from)?;
        if synced.map != base {
            write_whole(&folder.join(MAP), &format!("{map}\n"))?;
        }
    }
    context
        .output
        .show(&synced, |synced| summary(synced, files.len(), trial))?;
    //= specs/exchange.md#folders
    //# `spexus sync --check` MUST change nothing and MUST end with exit code 1 when the sides differ; a clash MUST too.
    match (wanted.check && !synced.is_in_sync()) || !synced.clashes.is_empty() {
        true => Err(Failure::already_shown(1)),
        false => Ok(()),
    }
}

/// The files of the formats that are known, in order.
fn collect(folder: &Path, within: &str, files: &mut Vec<SyncFile>) -> Outcome {
    let unreadable = |error: std::io::Error| {
        Failure::argument(
            "folder",
            format!("{} cannot be read: {error}", folder.display()),
            "a folder that can be read",
        )
    };
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(unreadable)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = match within {
            "" => name.clone(),
            within => format!("{within}/{name}"),
        };
        let kind = entry.file_type()?;
        let skipped = matches!(name.as_str(), ".git" | "node_modules" | "target" | "archive");
        if kind.is_dir() && !skipped {
            collect(&entry.path(), &path, files)?;
        } else if kind.is_file()
            && FolderFormat::of(&path).is_some()
            && entry.metadata()?.len() <= MAX_FILE_BYTES
        {
            let text = std::fs::read_to_string(entry.path()).map_err(unreadable)?;
            if text.lines().any(|line| line.starts_with("<<<<<<< ")) {
                let problem = format!("{path} holds a merge that was not finished");
                return Err(Failure::argument(
                    "folder",
                    problem,
                    "files without merge markers",
                ));
            }
            files.push(SyncFile { path, text });
        }
        if files.len() > MAX_FILES {
            let problem = format!("holds more than {MAX_FILES} specifications");
            return Err(Failure::argument("folder", problem, "a part of it"));
        }
    }
    Ok(())
}

fn read_map(folder: &Path) -> Outcome<SyncMap> {
    match std::fs::read_to_string(folder.join(MAP)) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            Failure::argument(
                "folder",
                format!("{MAP} cannot be read: {error}"),
                "the file as `spexus sync` wrote it",
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(SyncMap::default()),
        Err(error) => Err(error.into()),
    }
}

/// A file appears only when it is complete.
fn write_whole(path: &Path, text: &str) -> Outcome {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = std::fs::metadata(path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn summary(synced: &Synced, files: usize, trial: bool) -> String {
    let mut text = String::new();
    for clash in &synced.clashes {
        text.push_str(&format!(
            "clash: {}:{} and {} both changed the {}\n  in the file:    {}\n  in the project: {}\n",
            clash.file,
            clash.line,
            clash.reference_id,
            clash.field,
            indented(&clash.in_file),
            indented(&clash.in_project)
        ));
    }
    for file in &synced.files {
        text.push_str(&format!(
            "{}{file}\n",
            if trial { "would write " } else { "written " }
        ));
    }
    for gone in &synced.gone {
        text.push_str(&format!("in no file any more: {gone}\n"));
    }
    let imported = &synced.imported;
    let end = if trial {
        "; this was a trial, nothing was kept"
    } else {
        ""
    };
    text.push_str(&format!(
        "Project {}: {} created, {} updated, {} unchanged; {} of {files} files changed, {} clashes{end}",
        imported.project,
        imported.created,
        imported.updated,
        imported.unchanged,
        synced.files.len(),
        synced.clashes.len()
    ));
    text
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n                  ")
}
