//! `spexus import`, `spexus export` and `spexus demo`: projects in and out, and made up.

use super::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::progress;
use crate::session::Session;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use serde_json::json;
use spexus_service::transfer::lines::ImportOptions;
use spexus_service::transfer::sheet::Layout;
use spexus_service::transfer::{
    Exported, Imported, Input, Progress, RowAction, RowOutcome, demo, document, lines, reqif, sheet,
};
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The forms a project can be carried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON lines; nothing is lost
    Jsonl,
    /// For spreadsheets
    Csv,
    /// For readers
    Markdown,
    /// For other requirements tools: ReqIF, or an archive of it
    Reqif,
}

/// A project that is carried in.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; - reads standard input
    file: String,
    /// How it is written; told by the file's name when left out (.jsonl, .csv, .md, .reqif, .reqifz)
    #[arg(long)]
    format: Option<Format>,
    /// Tries everything and tells what would come of it, but keeps nothing
    #[arg(long)]
    dry_run: bool,
    /// Leaves out the history that JSON lines may carry: the project begins a new one
    #[arg(long)]
    no_history: bool,
}

/// A project that is carried out.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The file; - or nothing writes standard output
    #[arg(default_value = "-")]
    file: String,
    /// The file, said by name
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    output: Option<String>,
    /// Writes into this document, as it came from another tool, and changes only what changed (ReqIF)
    #[arg(long, value_name = "FILE")]
    onto: Option<String>,
    /// How to write it; told by the file's name when left out, else JSON lines
    #[arg(long)]
    format: Option<Format>,
    /// The columns of a CSV file, separated by commas; attributes.NAME for what the project adds
    #[arg(long)]
    columns: Option<String>,
    /// Only this epic and what is below it, for CSV and Markdown
    #[arg(long, value_name = "ID")]
    epic: Option<String>,
    /// Leaves cells of a CSV file that begin like formulas as they are, instead of making them text with an apostrophe
    #[arg(long)]
    formulas: bool,
    /// Begins a CSV file with the mark that tells spreadsheets it is UTF-8
    #[arg(long)]
    bom: bool,
    /// Leaves the history out of JSON lines, and what was deleted
    #[arg(long)]
    no_history: bool,
}

/// A project that is made up.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// How many items
    #[arg(long, default_value_t = 500)]
    items: u64,
    /// The same seed writes the same project
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(super) async fn import(context: &CommandContext, wanted: &Import) -> Outcome {
    let format = format(wanted.format, &wanted.file)?;
    refuse_no_history(wanted.no_history, format)?;
    let input = open_input(&wanted.file)?;
    let session = context.open().await?;
    let (bar, progress) = counting("imported", None);
    let (service, caller, project, dry) = (
        &session.service,
        &session.caller,
        session.project(),
        wanted.dry_run,
    );
    let imported = match format {
        Format::Jsonl => {
            let reading = ImportOptions {
                dry_run: dry,
                history: !wanted.no_history,
            };
            lines::import(service, caller, project, input, reading, progress).await
        }
        Format::Csv => sheet::import(service, caller, project, input, dry, progress).await,
        Format::Markdown => document::import(service, caller, project, input, dry, progress).await,
        Format::Reqif => reqif::import(service, caller, project, input, dry, progress).await,
    };
    bar.finish_and_clear();
    session.close().await;
    context.output.show(&imported?, summary)
}

impl Export {
    fn target(&self) -> &str {
        self.output.as_deref().unwrap_or(&self.file)
    }
}

pub(super) async fn export(context: &CommandContext, wanted: &Export) -> Outcome {
    let format = match (wanted.format, wanted.target()) {
        (None, "-") => Format::Jsonl,
        (given, file) => format(given, file)?,
    };
    //= specs/spexus.md#transfer
    //# An option of an export that its form cannot obey MUST be refused.
    let csv_only = [
        ("columns", wanted.columns.is_some()),
        ("formulas", wanted.formulas),
        ("bom", wanted.bom),
    ];
    let alien = csv_only.iter().find(|(_, given)| *given && format != Format::Csv);
    if let Some((name, _)) = alien {
        return Err(Failure::argument(
            name,
            "is for CSV files only",
            "--format csv, or without it",
        ));
    }
    if wanted.onto.is_some() && format != Format::Reqif {
        return Err(Failure::argument(
            "onto",
            "is for ReqIF only",
            "--format reqif, or without it",
        ));
    }
    if wanted.epic.is_some() && matches!(format, Format::Jsonl | Format::Reqif) {
        let problem = "JSON lines and ReqIF carry a whole project";
        return Err(Failure::argument(
            "epic",
            problem,
            "--format csv or markdown, or without it",
        ));
    }
    refuse_no_history(wanted.no_history, format)?;
    let session = context.open().await?;
    let (bar, progress) = counting("exported", None);
    let exported = write_export(&session, wanted, format, &progress).await;
    bar.finish_and_clear();
    session.close().await;
    report(context.output, wanted, &exported?)
}

pub(super) async fn demo(context: &CommandContext, wanted: &Demo) -> Outcome {
    let session = context.open().await?;
    let (bar, progress) = counting("items", Some(wanted.items));
    let begun = Instant::now();
    let filled = demo::fill(
        &session.service,
        &session.caller,
        session.project(),
        wanted.items,
        wanted.seed,
        progress,
    )
    .await;
    bar.finish_and_clear();
    session.close().await;
    let (filled, seconds) = (filled?, begun.elapsed().as_secs_f64());
    let per_second = (filled.items as f64 / seconds.max(1e-6)).round();
    let answer =
        json!({"filled": filled, "seconds": (seconds * 1e3).round() / 1e3, "items_per_second": per_second});
    context.output.show(&answer, |_| {
        format!(
            "{} items, {} links, {} comments and {} users in the project {} in {seconds:.1} s: {per_second} items/s",
            filled.items, filled.links, filled.comments, filled.users, filled.project
        )
    })
}

async fn write_export(
    session: &Session,
    wanted: &Export,
    format: Format,
    progress: &Progress,
) -> Outcome<Exported> {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    let onto = wanted.onto.as_deref().map(open_input).transpose()?;
    let mut target = Target::open(wanted.target())?;
    let out = target.writer();
    let exported = match format {
        Format::Jsonl => lines::export(service, caller, project, !wanted.no_history, out, progress).await?,
        Format::Csv => {
            let layout = Layout {
                columns: wanted.columns.clone(),
                epic: wanted.epic.clone(),
                formulas: wanted.formulas,
                mark: wanted.bom,
            };
            sheet::export(service, caller, project, &layout, out, progress).await?
        }
        Format::Markdown => {
            document::export(service, caller, project, wanted.epic.as_deref(), out, progress).await?
        }
        Format::Reqif => reqif::export(service, caller, project, onto, out).await?,
    };
    target.keep()?;
    Ok(exported)
}

fn refuse_no_history(given: bool, format: Format) -> Outcome {
    if given && format != Format::Jsonl {
        let problem = "only JSON lines carry a history";
        return Err(Failure::argument(
            "no-history",
            problem,
            "--format jsonl, or without it",
        ));
    }
    Ok(())
}

/// Where an export goes. A file appears only when it is complete.
pub(super) enum Target {
    Stdout(BufWriter<std::io::Stdout>),
    File {
        out: BufWriter<tempfile::NamedTempFile>,
        path: String,
    },
}

impl Target {
    pub(super) fn open(file: &str) -> Outcome<Self> {
        if file == "-" {
            return Ok(Self::Stdout(BufWriter::new(std::io::stdout())));
        }
        let folder = match Path::new(file).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let out = tempfile::NamedTempFile::new_in(folder).map_err(|error| {
            Failure::argument(
                "file",
                format!("{file} cannot be written: {error}"),
                "a file in a folder that can be written",
            )
        })?;
        Ok(Self::File {
            out: BufWriter::new(out),
            path: file.to_owned(),
        })
    }

    pub(super) fn writer(&mut self) -> &mut (dyn Write + Send) {
        match self {
            Self::Stdout(out) => out,
            Self::File { out, .. } => out,
        }
    }

    pub(super) fn keep(self) -> Outcome {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File { out, path } => {
                let file = out.into_inner().map_err(|error| error.into_error())?;
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

/// The file, or what standard input says, kept aside: a transaction must not wait for someone to type.
fn open_input(file: &str) -> Outcome<Input> {
    let unreadable = |error: std::io::Error| {
        Failure::argument(
            "file",
            format!("{file} cannot be read: {error}"),
            "a file that can be read, or -",
        )
    };
    if file != "-" {
        let opened = File::open(file).map_err(unreadable)?;
        if opened.metadata().map_err(unreadable)?.is_dir() {
            return Err(Failure::argument(
                "file",
                format!("{file} is a folder"),
                "a file that can be read, or -",
            ));
        }
        return Ok(Box::new(BufReader::new(opened)));
    }
    let mut aside = tempfile::tempfile()?;
    std::io::copy(&mut std::io::stdin().lock(), &mut aside).map_err(unreadable)?;
    aside.seek(SeekFrom::Start(0))?;
    Ok(Box::new(BufReader::new(aside)))
}

fn format(given: Option<Format>, file: &str) -> Outcome<Format> {
    let extension = Path::new(file)
        .extension()
        .and_then(|end| end.to_str())
        .unwrap_or_default()
        .to_lowercase();
    match (given, extension.as_str()) {
        (Some(format), _) => Ok(format),
        (None, "jsonl" | "ndjson" | "json") => Ok(Format::Jsonl),
        (None, "csv") => Ok(Format::Csv),
        (None, "md" | "markdown") => Ok(Format::Markdown),
        (None, "reqif" | "reqifz") => Ok(Format::Reqif),
        (None, _) => {
            let problem = format!("cannot be told from the name {file:?}");
            Err(Failure::argument(
                "format",
                problem,
                "--format jsonl, csv, markdown or reqif",
            ))
        }
    }
}

fn counting(what: &'static str, total: Option<u64>) -> (ProgressBar, Progress) {
    let bar = progress::bar(what, total);
    let counted = bar.clone();
    (bar, Arc::new(move |count| counted.set_position(count)))
}

fn summary(imported: &Imported) -> String {
    let mut text = String::new();
    if imported.dry_run {
        let row = |row: &RowOutcome| {
            let action = match row.action {
                RowAction::Created => "create",
                RowAction::Updated => "update",
                RowAction::Unchanged => "keep",
            };
            [
                format!("line {}", row.line),
                action.to_owned(),
                row.reference_id.to_string(),
                row.title.clone(),
            ]
        };
        text.push_str(&table(&imported.rows.iter().map(row).collect::<Vec<_>>()));
        text.push_str("\nThis was a trial; nothing was kept.\n");
    }
    text.push_str(&format!(
        "Project {}: {} created, {} updated, {} unchanged",
        imported.project, imported.created, imported.updated, imported.unchanged
    ));
    if imported.links + imported.comments > 0 {
        text.push_str(&format!(
            ", {} links, {} comments",
            imported.links, imported.comments
        ));
    }
    if imported.changes > 0 {
        text.push_str(&format!(
            "\nIts history came with it: {} changes, each held against the one before it",
            imported.changes
        ));
    }
    if !imported.new_users.is_empty() {
        text.push_str(&format!(
            "\nDisabled accounts made for names nobody here had: {}",
            imported.new_users.join(", ")
        ));
    }
    for warning in &imported.warnings {
        text.push_str(&format!("\nwarning: {warning}"));
    }
    text
}

/// What was written, unless standard output is the file itself.
fn report(output: Output, wanted: &Export, exported: &Exported) -> Outcome {
    if exported.links_left_out > 0 {
        eprintln!(
            "warning: {} links into other projects were left out",
            exported.links_left_out
        );
    }
    if wanted.target() == "-" {
        return Ok(());
    }
    output.show(exported, |exported| {
        format!(
            "Project {}: {} items, {} links, {} comments{} written to {}",
            exported.project,
            exported.items,
            exported.links,
            exported.comments,
            match exported.changes {
                0 => String::new(),
                changes => format!(" and {changes} changes of its history"),
            },
            wanted.target()
        )
    })
}
