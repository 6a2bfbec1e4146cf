//! `spexus trace export`: the matrix from requirement to result, for sheets, for readers, for other tools, and signed for those who
//! have to believe it.

mod html;
mod lobster;
mod reqstool;
mod sheet;
mod statement;
mod workbook;

use super::super::transfer::Target;
use crate::checkpoint::SigningKey;
use crate::failure::{Failure, Outcome};
use crate::session::Session;
use clap::{Args, ValueEnum};
use serde_json::Value;
use spexus_domain::trace::TestStanding;
use spexus_service::evidence::{self, CheckQuery, TraceMatrix};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The forms of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportForm {
    /// For sheets: one row for each test, place in code and sentence of each requirement
    Csv,
    /// A workbook: requirements, what each rests on, and what was read
    Xlsx,
    /// One page with everything in it, to be read and printed anywhere
    Html,
    /// Three files for LOBSTER, in a folder
    Lobster,
    /// What `reqstool export` writes
    Reqstool,
    /// An in-toto statement on which run verified which requirement; with a key, signed in a DSSE envelope
    Statement,
}

/// What is written, and how.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// How it is written
    #[arg(long, value_enum)]
    format: ExportForm,
    /// The file, or for lobster the folder; - or nothing writes standard output
    #[arg(long, value_name = "FILE")]
    output: Option<String>,
    /// The rung a requirement must stand on to be no gap
    #[arg(long, default_value = "passed")]
    level: String,
    /// Signs a statement with this key; `spexus audit key FILE` makes one
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A file of the release that a statement is about, beside the commit
    #[arg(long, value_name = "FILE")]
    artifact: Vec<PathBuf>,
}

impl Export {
    /// Refuses what the form cannot obey, and reads the key, before the database is asked.
    pub(super) fn prepare(&self) -> Outcome<Option<SigningKey>> {
        let is_statement = self.format == ExportForm::Statement;
        let alien = [
            ("key", self.key.is_some()),
            ("artifact", !self.artifact.is_empty()),
        ];
        if let Some((name, _)) = alien.into_iter().find(|(_, given)| *given && !is_statement) {
            return Err(Failure::argument(
                name,
                "is for statements only",
                "--format statement, or without it",
            ));
        }
        if self.format == ExportForm::Lobster && self.target() == "-" {
            let problem = "LOBSTER reads three files, one for each kind of item";
            return Err(Failure::argument("output", problem, "a folder"));
        }
        self.key.as_deref().map(SigningKey::read).transpose()
    }

    fn target(&self) -> &str {
        self.output.as_deref().unwrap_or("-")
    }
}

//= specs/spexus.md#evidence
//# Every form of `spexus trace export` MUST show the states and gaps of `spexus trace check`.
pub(super) async fn run(session: &Session, wanted: &Export, key: Option<&SigningKey>) -> Outcome {
    let query = CheckQuery {
        project: session.project.clone(),
        level: Some(wanted.level.clone()),
        ..CheckQuery::default()
    };
    let with_runs = wanted.format == ExportForm::Statement;
    let matrix = evidence::matrix(&session.service, &session.caller, &query, with_runs).await?;
    if wanted.format == ExportForm::Lobster {
        return write_folder(Path::new(wanted.target()), &lobster::files(&matrix));
    }
    let mut target = Target::open(wanted.target())?;
    let out = target.writer();
    match wanted.format {
        ExportForm::Csv => sheet::write(&matrix, out)?,
        ExportForm::Xlsx => out.write_all(&workbook::bytes(&matrix)?)?,
        ExportForm::Html => out.write_all(html::page(&matrix).as_bytes())?,
        ExportForm::Reqstool => json(out, &reqstool::document(&matrix))?,
        ExportForm::Statement => json(out, &statement::document(&matrix, &wanted.artifact, key)?)?,
        ExportForm::Lobster => {}
    }
    target.keep()
}

fn json(out: &mut (dyn Write + Send), value: &Value) -> Outcome {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

fn write_folder(folder: &Path, files: &[(&str, Value)]) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| {
        let problem = format!("{} cannot be made: {error}", folder.display());
        Failure::argument("output", problem, "a folder that can be written")
    })?;
    for (name, value) in files {
        let mut target = Target::open(&folder.join(name).to_string_lossy())?;
        json(target.writer(), value)?;
        target.keep()?;
    }
    Ok(())
}

/// What is known of a test, as JSON and people have it.
fn standing_word(standing: TestStanding) -> String {
    let word = serde_json::to_value(standing).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// Flags as one word each, with blanks between them.
fn flag_words(row: &evidence::MatrixRow) -> String {
    let words: Vec<&str> = row.standing.flags.iter().map(|flag| flag.name()).collect();
    words.join(" ")
}

/// What a requirement rests on, one after the other: the sentences it comes from, the code that cites it, the tests that show it.
fn evidence_of(row: &evidence::MatrixRow) -> Vec<EvidenceLine> {
    let sentences = row.sentences.iter().map(|sentence| EvidenceLine {
        kind: "sentence",
        place: place(&sentence.path, sentence.line),
        name: sentence.text.clone(),
        ..EvidenceLine::default()
    });
    let spans = row.spans.iter().map(|span| EvidenceLine {
        kind: "code",
        place: place(&span.path, span.line),
        name: span.symbol.clone(),
        standing: match (span.executed, span.covered) {
            (true, _) => "executed",
            (false, true) => "covered",
            (false, false) => "",
        }
        .to_owned(),
        ..EvidenceLine::default()
    });
    let tests = row.tests.iter().map(|test| EvidenceLine {
        kind: "test",
        place: place(&test.path, test.line),
        name: test.name.clone(),
        standing: standing_word(test.standing),
        commit: test.commit.clone(),
        message: test.message.clone(),
    });
    sentences.chain(spans).chain(tests).collect()
}

/// One thing that a requirement rests on.
#[derive(Default)]
struct EvidenceLine {
    kind: &'static str,
    place: String,
    name: String,
    standing: String,
    commit: String,
    message: String,
}

fn place(path: &str, line: u32) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}:{line}"),
    }
}

/// When the matrix was read, and what it is about, in one line.
fn about(matrix: &TraceMatrix) -> String {
    let commit = match matrix.commit.as_str() {
        "" => "no commit yet".to_owned(),
        commit => format!("commit {commit}"),
    };
    format!("{}, {commit}, read {}", matrix.check.project, matrix.read_at)
}
