//! `spexus lint`: what texts leave open. Files and standard input need no database; a project does.

use super::{CommandContext, input};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use clap::{Args, ValueEnum};
use serde_json::Value;
use spexus_lint::render::{self, FileFindings, Lines};
use spexus_lint::{
    Advice, Finding, Glossary, KnownFindings, Options, SetEntry, SetFinding, Span, Tier, apply, check,
    check_set, passages, rule,
};
use spexus_service::language::{self, ProjectFindings};
use std::path::Path;

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line each
    Text,
    /// One JSON value
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Information,
    Warning,
    Error,
    /// No finding is enough
    Never,
}

/// What is judged.
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// Files and folders (.md, .markdown, .txt); - reads standard input. Nothing judges the project
    files: Vec<String>,
    /// How to write the findings
    #[arg(long)]
    format: Option<Format>,
    /// Ends with exit code 1 from this level on
    #[arg(long, value_name = "LEVEL", default_value = "warning")]
    fail_on: Level,
    /// Shows findings from this level on
    #[arg(long, value_name = "LEVEL", default_value = "information")]
    least: Level,
    /// A file of known findings: only others count
    #[arg(long, value_name = "FILE")]
    baseline: Option<String>,
    /// Writes the findings to the file of known ones instead of reading it
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// A file of lines `term: definition (not: other words)`
    #[arg(long, value_name = "FILE")]
    glossary: Option<String>,
    /// Rules that say nothing, by number or name, separated by commas
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    silent: Vec<String>,
    /// Writes into the files what a program can mend
    #[arg(long)]
    fix: bool,
    /// Only what is below this item, in a project
    #[arg(long, value_name = "ID")]
    under: Option<String>,
}

/// Files read at most in one run.
const MAX_FILES: usize = 10_000;
/// A longer file is no specification.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// A text and where it is from.
struct Source {
    name: String,
    text: String,
}

pub(super) async fn run(context: &CommandContext, wanted: &Lint) -> Outcome {
    let options = options(wanted)?;
    let (sources, found) = match wanted.files.is_empty() {
        true => project(context, wanted, &options).await?,
        false => files(context, wanted, &options)?,
    };
    finish(context.output, wanted, &sources, found)
}

fn options(wanted: &Lint) -> Outcome<Options> {
    for name in &wanted.silent {
        if rule(name).is_none() {
            let problem = format!("{name:?} is no rule");
            return Err(Failure::argument(
                "silent",
                problem,
                "numbers such as L101, or names such as vague-term",
            ));
        }
    }
    let glossary = match &wanted.glossary {
        Some(file) => Glossary::read(&input::file("glossary", file)?),
        None => Glossary::default(),
    };
    Ok(Options {
        glossary,
        silent: wanted.silent.clone(),
        least: tier(wanted.least).unwrap_or(Tier::Error),
        ..Options::default()
    })
}

fn tier(level: Level) -> Option<Tier> {
    match level {
        Level::Information => Some(Tier::Information),
        Level::Warning => Some(Tier::Warning),
        Level::Error => Some(Tier::Error),
        Level::Never => None,
    }
}

type Judged = (Vec<Source>, Vec<Vec<Finding>>);

//= specs/spexus-lint.md#files
//# Files and standard input MUST be judged without a database.
fn files(context: &CommandContext, wanted: &Lint, options: &Options) -> Outcome<Judged> {
    let alien = [
        ("project", context.global.project.is_some()),
        ("under", wanted.under.is_some()),
    ];
    if let Some((name, _)) = alien.iter().find(|(_, given)| *given) {
        return Err(Failure::argument(
            name,
            "is for a project, and files are given",
            "one of the two",
        ));
    }
    let mut names = Vec::new();
    for name in &wanted.files {
        collect(name, &mut names)?;
    }
    let mut sources = Vec::new();
    for name in names {
        let text = input::file("files", &name)?;
        sources.push(Source { name, text });
    }
    let mut found: Vec<Vec<Finding>> = sources
        .iter()
        .map(|source| of_file(&source.text, options))
        .collect();
    if wanted.fix {
        fix(&sources, &mut found)?;
    }
    together(&sources, options, &mut found);
    Ok((sources, found))
}

/// A file as it is named, or the texts of a folder in order.
fn collect(name: &str, names: &mut Vec<String>) -> Outcome {
    let path = Path::new(name);
    if name == "-" || !path.is_dir() {
        names.push(name.to_owned());
        return Ok(());
    }
    let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = path.to_string_lossy();
        let skipped = matches!(
            entry.file_name().to_str(),
            Some(".git" | "node_modules" | "target")
        );
        if kind.is_dir() && !skipped {
            collect(&name, names)?;
        } else if kind.is_file() && is_text(&path) && entry.metadata()?.len() <= MAX_FILE_BYTES {
            names.push(name.into_owned());
        }
        if names.len() > MAX_FILES {
            let problem = format!("hold more than {MAX_FILES} texts");
            return Err(Failure::argument("files", problem, "a part of the folder"));
        }
    }
    Ok(())
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().and_then(|end| end.to_str());
    extension.is_some_and(|end| ["md", "markdown", "txt"].contains(&end))
}

/// What demands something in a file, judged passage by passage, with places of the file.
//= specs/spexus-lint.md#files
//# In a document only the passages that demand something MUST be judged; where none does, all of them.
fn of_file(text: &str, options: &Options) -> Vec<Finding> {
    let shift = |span: Span, by: usize| Span::new(span.start + by, span.end + by);
    let mut found = Vec::new();
    for passage in passages(text) {
        found.extend(check(passage.text, options).into_iter().map(|mut finding| {
            finding.span = shift(finding.span, passage.span.start);
            if let Advice::Fix(edit) = &mut finding.advice {
                edit.span = shift(edit.span, passage.span.start);
            }
            finding
        }));
    }
    found
}

fn fix(sources: &[Source], found: &mut [Vec<Finding>]) -> Outcome {
    for (source, findings) in sources.iter().zip(found) {
        let mended = apply(&source.text, findings.iter());
        if mended == source.text {
            continue;
        }
        if source.name == "-" {
            return Err(Failure::argument(
                "fix",
                "cannot write into standard input",
                "a file",
            ));
        }
        std::fs::write(&source.name, mended)?;
        findings.retain(|finding| finding.fix().is_none());
    }
    Ok(())
}

/// What passages of all files say together, at the later one.
fn together(sources: &[Source], options: &Options, found: &mut [Vec<Finding>]) {
    let mut places = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let lines = Lines::of(&source.text);
        for passage in passages(&source.text) {
            let at = lines.position(passage.span.start);
            places.push((
                number,
                passage.span.start,
                format!("{}:{}", source.name, at.line),
                passage.text,
            ));
        }
    }
    let ids: Vec<String> = (0..places.len()).map(|number| number.to_string()).collect();
    let entries: Vec<SetEntry<'_>> = ids
        .iter()
        .zip(&places)
        .map(|(id, place)| SetEntry { id, text: place.3 })
        .collect();
    let place = |id: &str| id.parse().ok().and_then(|number: usize| places.get(number));
    for one in check_set(&entries, options) {
        if let (Some(first), Some(second)) = (place(&one.first), place(&one.second)) {
            let span = Span::new(one.second_span.start + second.1, one.second_span.end + second.1);
            found[second.0].push(as_finding(&one, span, &first.2));
        }
    }
}

fn as_finding(one: &SetFinding, span: Span, first: &str) -> Finding {
    Finding {
        rule: one.rule,
        name: one.name,
        tier: one.tier,
        message: format!("{}: see {first}", one.message),
        span,
        advice: Advice::Question("Which of the two holds?".to_owned()),
    }
}

async fn project(context: &CommandContext, wanted: &Lint, options: &Options) -> Outcome<Judged> {
    if wanted.fix {
        return Err(Failure::argument(
            "fix",
            "is for files",
            "spexus batch with the operations of lint_text",
        ));
    }
    let session = context.open().await?;
    let under = wanted.under.as_deref();
    let found = language::of_project(
        &session.service,
        &session.caller,
        session.project(),
        under,
        options,
    )
    .await;
    session.close().await;
    let ProjectFindings { items, together, .. } = found?;
    let mut sources = Vec::new();
    let mut findings = Vec::new();
    for item in items {
        sources.push(Source {
            name: item.reference_id,
            text: item.text,
        });
        findings.push(item.findings);
    }
    for one in together {
        let at = sources.iter().position(|source| source.name == one.second);
        let at = at.unwrap_or_else(|| {
            sources.push(Source {
                name: one.second.clone(),
                text: String::new(),
            });
            findings.push(Vec::new());
            sources.len() - 1
        });
        let span = match sources[at].text.is_empty() {
            true => Span::new(0, 0),
            false => one.second_span,
        };
        findings[at].push(as_finding(&one, span, &one.first));
    }
    Ok((sources, findings))
}

fn finish(output: Output, wanted: &Lint, sources: &[Source], found: Vec<Vec<Finding>>) -> Outcome {
    let found = match &wanted.baseline {
        Some(file) if wanted.update_baseline => return write_baseline(output, file, sources, &found),
        Some(file) => {
            let mut known = KnownFindings::read(&input::file("baseline", file)?);
            let new = sources.iter().zip(found);
            new.map(|(source, findings)| known.subtract(&source.text, findings))
                .collect()
        }
        None => found,
    };
    let files: Vec<FileFindings<'_>> = sources
        .iter()
        .zip(found)
        .map(|(source, mut findings)| {
            findings.sort_by_key(|finding| (finding.span, finding.rule));
            FileFindings {
                file: &source.name,
                text: &source.text,
                findings,
            }
        })
        .filter(|file| !file.findings.is_empty())
        .collect();
    match wanted
        .format
        .unwrap_or(if output.json { Format::Json } else { Format::Text })
    {
        Format::Json => output.value(&render::json(&files))?,
        Format::Sarif => output.value(&render::sarif(&files))?,
        Format::Text => output.show(&Value::Null, |_| summary(&files, sources.len()))?,
    }
    //= specs/spexus-lint.md#exit-code
    //# `spexus lint` MUST end with exit code 1 when a finding of the level of `--fail-on` or above is left, else with 0.
    let enough = |finding: &Finding| tier(wanted.fail_on).is_some_and(|least| finding.tier >= least);
    match files.iter().flat_map(|file| &file.findings).any(enough) {
        true => Err(Failure::already_shown(1)),
        false => Ok(()),
    }
}

fn write_baseline(output: Output, file: &str, sources: &[Source], found: &[Vec<Finding>]) -> Outcome {
    let mut baseline = KnownFindings::default();
    for (source, findings) in sources.iter().zip(found) {
        baseline.add(&source.text, findings);
    }
    std::fs::write(file, baseline.write())?;
    let count: usize = found.iter().map(Vec::len).sum();
    output.show(&serde_json::json!({"baseline": file, "findings": count}), |_| {
        format!("{count} findings are known now, in {file}")
    })
}

fn summary(files: &[FileFindings<'_>], judged: usize) -> String {
    let counts = render::counts(files.iter().flat_map(|file| &file.findings));
    format!(
        "{}texts: {judged}, errors: {}, warnings: {}, information: {}",
        render::text(files),
        counts["error"],
        counts["warning"],
        counts["information"]
    )
}
