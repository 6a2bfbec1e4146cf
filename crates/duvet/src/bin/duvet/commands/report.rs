//! `duvet report`

mod reporter;

use super::fetch;
use crate::arguments::Report;
use crate::project::{self, Loaded};
use crate::terminal;
use duvet::analysis::Analysis;
use duvet::config::expand;
use duvet::engine::Engine;
use duvet::fence;
use duvet::locator::SpecificationLocator;
use duvet::memo::Memo;
use duvet::pipeline::{Inputs, analyse_inputs, read_inputs};
use duvet::run_cache::{Run, RunCache, key};
use duvet::text::counted;
use reporter::Reporter;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) fn run(flags: &Report) -> Result<bool, String> {
    if flags.watch { watch(flags) } else { once(flags) }
}

//= specs/duvet.md#freshness
//# A resident program MUST know of every change up to a cookie file that it wrote for the answer, and read
//# everything again where it cannot.
//= specs/duvet.md#freshness
//# A report that watches MUST leave, once the project is at rest, what a run without a cache leaves.
/// Reports whenever the project is another than the one reported last, until interrupted.
fn watch(flags: &Report) -> Result<bool, String> {
    let mut engine = project::engine(&flags.project)?.watching();
    let (mut reported, mut seen) = (None, 0);
    loop {
        let start = Instant::now();
        // Before the run, so that what changes while it goes on is another state than this one.
        let state = state(flags, &mut engine);
        let took = start.elapsed();
        if reported.as_ref() != Some(&state) {
            // A run that could not be made is shown; the next change is another chance.
            if let Err(problem) = once(flags) {
                terminal::write_stderr(&format!("error: {}\n", terminal::printable(&problem)));
            }
            reported = Some(state);
        } else {
            engine.wait(&mut seen, took);
        }
    }
}

/// Names everything that a run depends on: what is analysed, and the snapshot where that is compared.
fn state(flags: &Report, engine: &mut Engine) -> (String, Option<Vec<u8>>) {
    let id = engine.snapshot().id.clone();
    let compared = &engine.project().config.snapshot;
    let is_compared = compared.enabled && in_ci(flags);
    let kept = is_compared.then(|| fence::read(&compared.path, fence::MAX_SOURCE_BYTES).ok());
    (id, kept.flatten())
}

fn once(flags: &Report) -> Result<bool, String> {
    let start = Instant::now();
    let mut loaded = project::load(&flags.project, flags.strict)?;
    links(flags, &mut loaded)?;
    // The public tool downloads what is missing without being asked.
    if flags.fetch || loaded.project.config.strict_compat {
        // What could not be fetched is missing below and said there as well.
        fetch::missing(&loaded.project, &flags.hosts)?;
    }
    let mut memo = Memo::default();
    let progress = std::sync::Arc::clone(&memo.progress);
    let project = &loaded.project;
    let locator = SpecificationLocator::new(&project.root, &project.config);
    let inputs = terminal::with_bar(&progress, || read_inputs(project, &mut memo));
    let cache = cache(flags, &loaded, &inputs);
    if let Some((cache, key)) = &cache
        && let Some(run) = cache.replay(key, &project.root, &locator, &inputs)
    {
        if !flags.quiet {
            terminal::done("Unchanged", "since the last run", start);
        }
        print(&run)?;
        return Ok(run.passed);
    }
    let mut analysis = analyse_inputs(project, &mut memo, inputs);
    analysis.diagnostics.append(&mut loaded.diagnostics);
    if !flags.quiet {
        terminal::done("Analysed", counts(&analysis), start);
    }
    let reporter = Reporter {
        flags,
        loaded: &loaded,
        analysis: &analysis,
        fence: &locator.fence,
        is_whole: analysis.missing_inputs().next().is_none(),
        is_kept: cache.is_some(),
    };
    let is_whole = reporter.is_whole;
    let (run, mut problems) = reporter.report(&memo);
    //= specs/duvet.md#nothing-lost
    //# Findings MUST be shown when nothing can be written.
    problems.extend(print(&run).err());
    let passed = run.passed;
    // What is spared while an input is missing depends on which files are there, so such a run is not replayed.
    if let Some((cache, key)) = cache.filter(|_| is_whole && problems.is_empty()) {
        cache.keep(&key, &run, &project.config.extracted, &memo);
    }
    if !flags.watch {
        // The process ends here, and the system takes its memory back faster than it could be given back piece by piece.
        std::mem::forget((analysis, memo));
    }
    if problems.is_empty() {
        Ok(passed)
    } else {
        Err(problems.join("\nerror: "))
    }
}

//= specs/duvet.md#nothing-lost
//# A run MUST fail when what was asked for could not be written, standard output included.
fn print(run: &Run) -> Result<(), String> {
    terminal::write_stderr(&run.stderr);
    terminal::write_stdout(&run.stdout)
}

fn counts(analysis: &Analysis) -> String {
    let (citations, requirements) = (analysis.citations().count(), analysis.requirements.len());
    format!(
        "{} of {} in {}",
        counted(citations, "citation"),
        counted(requirements, "requirement"),
        counted(analysis.specifications.len(), "specification")
    )
}

/// Links given by flags stand before those of the configuration.
fn links(flags: &Report, loaded: &mut Loaded) -> Result<(), String> {
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(link) = &flags.blob_link {
        loaded.project.config.blob_link = Some(expand(link, &variable)?);
    }
    if let Some(link) = &flags.issue_link {
        loaded.project.config.issue_link = Some(expand(link, &variable)?);
    }
    Ok(())
}

/// A project without `.duvet` gets no cache, and a comparison with the snapshot on disk is never replayed.
fn cache(flags: &Report, loaded: &Loaded, inputs: &Inputs) -> Option<(RunCache, String)> {
    if flags.no_cache || in_ci(flags) || !Path::new(".duvet").is_dir() {
        return None;
    }
    let secret = terminal::secret()?;
    let config = &loaded.project.config;
    let variables = ["JSON", "JSON_V2", "HTML", "SNAPSHOT"].map(|name| variable(name).unwrap_or_default());
    // By `Debug`, on purpose: a flag or a setting that comes later is part of the key without anybody thinking of it.
    let asked = format!(
        "{flags:?} {config:?} {:?} {variables:?} {} {}",
        loaded.diagnostics,
        title(),
        terminal::colour()
    );
    Some((
        RunCache::open(&loaded.project.root, secret)?,
        key(env!("DUVET_BUILD"), &asked, inputs),
    ))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(format!("DUVET_INTERNAL_CI_{name}")).map(PathBuf::from)
}

/// The page is called after the folder of the project.
fn title() -> String {
    let folder = std::env::current_dir().ok();
    let name = folder.and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "Traceability".to_owned())
}

fn in_ci(flags: &Report) -> bool {
    flags.ci.unwrap_or_else(|| project::is_set("CI"))
}
