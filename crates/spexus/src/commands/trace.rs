//! `spexus trace …`: from requirement to sentence, code, test and result.

mod export;
mod git;
mod output;

use super::CommandContext;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::progress;
use crate::session::Session;
use clap::{Args, Subcommand};
use output::CheckForm;
use spexus_domain::Timestamp;
use spexus_domain::trace::ReviewKind;
use spexus_service::evidence::{
    self, CheckQuery, EvidenceSource, NewPush, NewReview, PushAnswer, SourceForm, TraceAnswer, scan,
};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// What can be done with evidence.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Pushes reports, coverage and the marks of a tree for one commit; all of it or nothing, and twice is once
    Push(Box<Push>),
    /// Fails when a requirement stands below a rung, and says what to do about each
    Check(Check),
    /// Writes everything the check rests on: for sheets, for readers, for other tools, or as a signed statement
    Export(export::Export),
    /// Shows where an item stands and why
    Show(Show),
    /// Says that the tests of an item still show its text, and that tests which are gone are not missed
    Confirm(Said),
    /// Stands for an item as it is: its text, its code and its tests
    Affirm(Said),
    /// Takes an item out of the gate for a while
    Waive(Waive),
}

/// What is said about an item.
#[derive(Debug, Args)]
pub(crate) struct Said {
    /// Any id
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
}

/// A waiver.
#[derive(Debug, Args)]
pub(crate) struct Waive {
    #[command(flatten)]
    said: Said,
    /// Until when: a time, or a length such as 30d
    #[arg(long, value_name = "TIME")]
    expires: String,
}

/// What is pushed.
#[derive(Debug, Args)]
pub(crate) struct Push {
    /// The commit, in hexadecimal digits
    #[arg(long, value_name = "SHA")]
    commit: String,
    /// When it was made, as RFC 3339; decides which of two pushes is about the later one
    #[arg(long, value_name = "TIME")]
    committed_at: Option<String>,
    /// The working tree had changes that are in no commit
    #[arg(long)]
    dirty: bool,
    /// What was run
    #[arg(long, default_value = "")]
    command: String,
    /// A JUnit report of any dialect
    #[arg(long, value_name = "FILE")]
    junit: Vec<String>,
    /// A report in the Common Test Report Format
    #[arg(long, value_name = "FILE")]
    ctrf: Vec<String>,
    /// A report of the Test Anything Protocol
    #[arg(long, value_name = "FILE")]
    tap: Vec<String>,
    /// A report of Robot Framework
    #[arg(long, value_name = "FILE")]
    robot: Vec<String>,
    /// Coverage by LCOV; of one test as TEST=FILE
    #[arg(long, value_name = "[TEST=]FILE")]
    lcov: Vec<String>,
    /// Coverage by Cobertura; of one test as TEST=FILE
    #[arg(long, value_name = "[TEST=]FILE")]
    cobertura: Vec<String>,
    /// Coverage by llvm-cov's JSON; of one test as TEST=FILE
    #[arg(long, value_name = "[TEST=]FILE")]
    llvm_cov: Vec<String>,
    /// Coverage by JaCoCo; of one test as TEST=FILE
    #[arg(long, value_name = "[TEST=]FILE")]
    jacoco: Vec<String>,
    /// The root of a working tree whose marks are read
    #[arg(long, value_name = "DIR")]
    scan: Option<PathBuf>,
}

/// What is checked.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The rung every requirement must stand on
    #[arg(long, default_value = "passed")]
    level: String,
    /// Only gaps that were none when this baseline was made
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Only requirements whose code, tests, sentences or text changed since this commit, as git in the current folder says
    #[arg(long, value_name = "REF")]
    changed_since: Option<String>,
    /// How the answer is written
    #[arg(long, value_enum, default_value = "text")]
    format: CheckForm,
}

/// What is shown.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Any id
    id: String,
}

pub(super) async fn run(context: &CommandContext, command: &Command) -> Outcome {
    // Reports are opened and the tree is read before the database is: a name that is wrong says so at once.
    let pushed = match command {
        Command::Push(wanted) => Some(wanted.read(context.global.project.as_deref())?),
        _ => None,
    };
    let key = match command {
        Command::Export(wanted) => wanted.prepare()?,
        _ => None,
    };
    let session = context.open().await?;
    let done = match (command, pushed) {
        (Command::Export(wanted), _) => export::run(&session, wanted, key.as_ref()).await,
        (Command::Check(wanted), _) => check(&session, context.output, wanted).await,
        (Command::Show(wanted), _) => show(&session, context.output, wanted).await,
        (Command::Confirm(said), _) => {
            review(&session, context.output, ReviewKind::Confirmed, said, None).await
        }
        (Command::Affirm(said), _) => {
            review(&session, context.output, ReviewKind::Affirmed, said, None).await
        }
        (Command::Waive(wanted), _) => {
            let expires = Some(wanted.expires.clone());
            review(
                &session,
                context.output,
                ReviewKind::Waived,
                &wanted.said,
                expires,
            )
            .await
        }
        (Command::Push(_), Some(new)) => push(&session, context.output, new).await,
        (Command::Push(_), None) => Ok(()),
    };
    session.close().await;
    done
}

async fn push(session: &Session, output: Output, new: NewPush) -> Outcome {
    let bar = progress::bar("pushing", None);
    let pushed = evidence::push(&session.service, &session.caller, new).await;
    bar.finish_and_clear();
    output.show(&pushed?, summary)
}

async fn check(session: &Session, output: Output, wanted: &Check) -> Outcome {
    let query = CheckQuery {
        project: session.project.clone(),
        level: Some(wanted.level.clone()),
        baseline: wanted.baseline.clone(),
        changed: wanted
            .changed_since
            .as_deref()
            .map(git::changed_since)
            .transpose()?,
        ..CheckQuery::default()
    };
    let found = evidence::check(&session.service, &session.caller, &query).await?;
    match wanted.format {
        form if form == CheckForm::Text || output.json => output.show(&found, output::text)?,
        form => crate::output::write(&output::document(form, &found)?)?,
    }
    match found.holds {
        true => Ok(()),
        false => Err(Failure::already_shown(1)),
    }
}

async fn show(session: &Session, output: Output, wanted: &Show) -> Outcome {
    let found = evidence::trace(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
    )
    .await?;
    output.show(&found, standing)
}

async fn review(
    session: &Session,
    output: Output,
    kind: ReviewKind,
    said: &Said,
    expires: Option<String>,
) -> Outcome {
    let input = NewReview {
        kind: kind.name().to_owned(),
        why: said.why.clone(),
        expires,
        project: session.project.clone(),
    };
    let found = evidence::review(&session.service, &session.caller, &said.id, input).await?;
    output.show(&found, standing)
}

impl Push {
    fn read(&self, project: Option<&str>) -> Outcome<NewPush> {
        let committed_at = self.committed_at.as_deref();
        let committed_at = committed_at
            .map(|text| Timestamp::parse("committed-at", text))
            .transpose()?;
        let scanned = self.scan.as_deref().map(scan_tree).transpose()?;
        Ok(NewPush {
            project: project.map(str::to_owned),
            commit: self.commit.clone(),
            committed_at,
            is_dirty: self.dirty,
            command: self.command.clone(),
            sources: self.sources()?,
            marks: scanned.map(|scanned| scanned.marks),
        })
    }

    fn sources(&self) -> Outcome<Vec<EvidenceSource>> {
        let given = [
            ("junit", &self.junit),
            ("ctrf", &self.ctrf),
            ("tap", &self.tap),
            ("robot", &self.robot),
            ("lcov", &self.lcov),
            ("cobertura", &self.cobertura),
            ("llvm-cov", &self.llvm_cov),
            ("jacoco", &self.jacoco),
        ];
        let each = given
            .into_iter()
            .flat_map(|(form, files)| files.iter().map(move |file| (form, file)));
        each.map(|(form, file)| open(form, file)).collect()
    }
}

/// `FILE`, or `TEST=FILE` for coverage. A file whose name has a `=` in it is a file.
fn open(form: &'static str, given: &str) -> Outcome<EvidenceSource> {
    let (test, file) = match given.split_once('=') {
        Some((test, file)) if !Path::new(given).exists() => (Some(test), file),
        _ => (None, given),
    };
    let parsed = SourceForm::parse(form, form, test)?;
    let unreadable = |error: std::io::Error| {
        let problem = format!("{file} cannot be read: {error}");
        Failure::argument(form, problem, "a file that can be read")
    };
    let opened = File::open(file).map_err(unreadable)?;
    if opened.metadata().map_err(unreadable)?.is_dir() {
        return Err(Failure::argument(
            form,
            format!("{file} is a folder"),
            "a file that can be read",
        ));
    }
    Ok(EvidenceSource {
        name: file.to_owned(),
        form: parsed,
        input: Box::new(BufReader::with_capacity(64 << 10, opened)),
    })
}

fn scan_tree(root: &Path) -> Outcome<scan::TreeScan> {
    let scanned = scan::tree(root)?;
    for note in &scanned.notes {
        eprintln!("note: {note}");
    }
    Ok(scanned)
}

fn summary(pushed: &PushAnswer) -> String {
    let commit = pushed.commit.get(..12).unwrap_or(&pushed.commit);
    let mut text = match pushed.already_known {
        true => format!("The same evidence of {commit} was pushed before; nothing was done.\n"),
        false => format!("Pushed evidence of {commit}.\n"),
    };
    for source in &pushed.sources {
        let counts = match source.files {
            0 => format!(
                "{} passed, {} failed, {} errors, {} skipped",
                source.passed, source.failed, source.errors, source.skipped
            ),
            files => format!("{files} files"),
        };
        text.push_str(&format!("  {} ({}): {counts}\n", source.name, source.form));
        for note in &source.notes {
            text.push_str(&format!("    {note}\n"));
        }
    }
    if pushed.marks > 0 {
        text.push_str(&format!("  {} marks in the tree\n", pushed.marks));
    }
    for (raises, why) in [
        (pushed.reported, "an agent's word"),
        (pushed.dirty, "of a working tree with changes"),
    ] {
        if raises {
            text.push_str(&format!("It is {why}, so it raises no state.\n"));
        }
    }
    if !pushed.unknown_ids.is_empty() {
        text.push_str(&format!(
            "Named, but no items of the project: {}\n",
            pushed.unknown_ids.join(", ")
        ));
    }
    let states: Vec<String> = pushed
        .states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    text.push_str(&format!(
        "Items with evidence: {}",
        if states.is_empty() {
            "none".to_owned()
        } else {
            states.join(", ")
        }
    ));
    text
}

fn standing(found: &TraceAnswer) -> String {
    let trace = &found.trace;
    let flags: Vec<&str> = trace.flags.iter().map(|flag| flag.name()).collect();
    let mut text = format!("{} {}\n{}", found.reference_id, found.title, trace.state.name());
    if !flags.is_empty() {
        text.push_str(&format!(" ({})", flags.join(", ")));
    }
    if !trace.weakest.is_empty() {
        text.push_str(&format!("\n{}", trace.weakest));
    }
    for sentence in &trace.sentences {
        text.push_str(&format!(
            "\n  sentence  {}:{}  {}",
            sentence.path, sentence.line, sentence.text
        ));
    }
    for span in &trace.spans {
        text.push_str(&format!(
            "\n  code      {}:{}  {}",
            span.path, span.line, span.symbol
        ));
    }
    for test in &trace.tests {
        let standing = serde_json::to_value(test.standing).unwrap_or_default();
        let standing = standing.as_str().unwrap_or_default().replace('_', " ");
        text.push_str(&format!("\n  test      {}  {standing}", test.name));
    }
    text
}
