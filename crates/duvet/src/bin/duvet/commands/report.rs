//! `duvet report`

use super::fetch;
use crate::arguments::{DiagnosticsForm, Report};
use crate::project::{self, Loaded};
use crate::terminal;
use duvet::analysis::{Analysis, conclude, gather};
use duvet::cache::{Cache, File, Run, key};
use duvet::citation::CommentStyle;
use duvet::config::{Config, Output, expand};
use duvet::diagnostic::{Code, Diagnostic, Severity, json, sarif, text};
use duvet::fence::{self, Fence};
use duvet::library::Places;
use duvet::output;
use duvet::policy::Policy;
use duvet::report::json_v1::Links;
use duvet::report::{html, json_v1, json_v2, lcov, markdown, snapshot, terminal as summary};
use duvet::store::{Gathered, Store};
use duvet::watch::Watch;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CACHE_PATH: &str = ".duvet/cache";
const WATCH_LIMIT: Duration = Duration::from_secs(3600);

pub(crate) fn run(flags: &Report) -> Result<bool, String> {
    if !flags.watch {
        return once(flags);
    }
    let watch = Watch::new(&project::root()).map_err(|error| format!("cannot watch the project: {error}"))?;
    let mut seen = 0;
    loop {
        // A run that could not be made is shown; the next change is another chance.
        if let Err(problem) = once(flags) {
            terminal::tell(&format!("error: {}\n", terminal::printable(&problem)));
        }
        // What changed while the run went on was told in the meantime, so it is run again.
        while !watch.wait(&mut seen, WATCH_LIMIT) {}
    }
}

fn once(flags: &Report) -> Result<bool, String> {
    let start = Instant::now();
    let mut loaded = project::load(&flags.project, flags.strict)?;
    links(flags, &mut loaded)?;
    if flags.fetch {
        // What could not be fetched is missing below and said there as well.
        fetch::missing(&loaded.project, &flags.hosts)?;
    }
    let mut store = Store::default();
    let progress = std::sync::Arc::clone(&store.progress);
    let project = &loaded.project;
    let places = Places::new(&project.root, &project.config);
    let gathered = terminal::with_bar(&progress, || gather(project, &mut store));
    let cache = cache(flags, &loaded, &gathered);
    if let Some((cache, key)) = &cache
        && let Some(run) = cache.replay(key, &project.root, &places, &gathered)
    {
        if !flags.quiet {
            terminal::done("Unchanged", "since the last run", start);
        }
        say(&run);
        return Ok(run.passed);
    }
    let mut analysis = conclude(project, &mut store, gathered);
    analysis.diagnostics.append(&mut loaded.diagnostics);
    if !flags.quiet {
        terminal::done("Analysed", counts(&analysis), start);
    }
    let run = report(flags, &loaded, analysis, &store);
    let extracted = loaded.project.root.join(&loaded.project.config.extracted);
    let problems = write(&run, &places.fence, &extracted, flags.quiet);
    //= specs/duvet.md#nothing-lost
    //# Findings MUST be shown when nothing can be written.
    say(&run);
    if !problems.is_empty() {
        return Err(problems.join("\nerror: "));
    }
    if let Some((cache, key)) = cache {
        cache.keep(&key, &run, &extracted, &store);
    }
    Ok(run.passed)
}

/// Writes all files that can be written; what is wrong with the others.
fn write(run: &Run, fence: &Fence, extracted: &Path, quiet: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let written: Vec<_> = run
        .files
        .par_iter()
        .map(|file| (file, Instant::now(), file.write(fence)))
        .collect();
    for (file, start, result) in written {
        let path = file.path.display();
        match result {
            Ok(_) if quiet || file.path.starts_with(extracted) => {}
            Ok(true) => terminal::done("Wrote", path, start),
            Ok(false) => terminal::done("Kept", path, start),
            Err(problem) => problems.push(format!("cannot write `{path}`: {problem}")),
        }
    }
    problems
}

/// What the report does, without doing it.
fn report(flags: &Report, loaded: &Loaded, mut analysis: Analysis, store: &Store) -> Run {
    let mut run = Run {
        files: requirements(loaded, store),
        ..Run::default()
    };
    let is_kept = loaded.project.config.snapshot.enabled;
    let ((), snapshot) = rayon::join(
        || outputs(flags, loaded, &analysis, &mut run),
        || is_kept.then(|| snapshot::render(&analysis)),
    );
    let policy = gate(flags, loaded, &mut analysis, snapshot, &mut run);
    spare(&analysis, &mut run);
    show(flags, &analysis, store, &mut run);
    run.passed = !policy.fails(&analysis.diagnostics);
    run
}

//= specs/duvet.md#nothing-lost
//# While an input is missing, a file of an earlier run MUST NOT be overwritten.
/// Takes out what would replace the output of a run that had all its inputs.
fn spare(analysis: &Analysis, run: &mut Run) {
    let Some(first) = analysis.missing_inputs().next() else {
        return;
    };
    let count = run.files.len();
    run.files.retain(|file| !file.path.exists());
    let spared = count - run.files.len();
    if spared > 0 {
        let message = terminal::printable(&first.message).into_owned();
        run.stderr
            .push_str(&format!("{spared} files are left as they are: {message}\n\n"));
    }
}

fn say(run: &Run) {
    terminal::answer(&run.stdout);
    terminal::tell(&run.stderr);
}

fn counts(analysis: &Analysis) -> String {
    let (citations, requirements) = (analysis.citations().count(), analysis.requirements.len());
    format!(
        "{citations} citations of {requirements} requirements in {} specifications",
        analysis.specifications.len()
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
fn cache(flags: &Report, loaded: &Loaded, gathered: &Gathered) -> Option<(Cache, String)> {
    if flags.no_cache || in_ci(flags) || !Path::new(".duvet").is_dir() {
        return None;
    }
    let secret = terminal::secret()?;
    let config = &loaded.project.config;
    let variables = ["JSON", "JSON_V2", "HTML", "SNAPSHOT"].map(|name| variable(name).unwrap_or_default());
    let asked = format!(
        "{flags:?} {config:?} {:?} {variables:?} {} {}",
        loaded.diagnostics,
        title(),
        terminal::colour()
    );
    Some((
        Cache::new(PathBuf::from(CACHE_PATH), secret),
        key(env!("DUVET_BUILD"), &asked, gathered),
    ))
}

/// Extracted requirements are part of the work tree, so that a changed specification shows up in a diff. Files that
/// are already right are not touched.
fn requirements(loaded: &Loaded, store: &Store) -> Vec<File> {
    let file = |(name, text): &(String, std::sync::Arc<str>)| File {
        path: loaded.project.root.join(name),
        bytes: text.as_bytes().to_vec(),
        is_asked: false,
    };
    store.extracted().map(file).collect()
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(format!("DUVET_INTERNAL_CI_{name}")).map(PathBuf::from)
}

/// Where an output goes: to the flag's path or else the configuration's, and to the variable's beside.
fn asked(flag: Option<&PathBuf>, output: Option<&Output>, name: &str) -> Vec<(PathBuf, bool)> {
    let by_config = output
        .filter(|output| output.enabled)
        .map(|output| (output.path.clone(), false));
    let by_person = |path: PathBuf| (path, true);
    [
        flag.cloned().map(by_person).or(by_config),
        variable(name).map(by_person),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn file((path, is_asked): (PathBuf, bool), bytes: Vec<u8>) -> File {
    File {
        path,
        bytes,
        is_asked,
    }
}

/// Makes one output.
type Render<'a> = dyn Fn() -> Vec<u8> + Sync + 'a;

/// Renders every output that is asked for, side by side.
fn outputs(flags: &Report, loaded: &Loaded, analysis: &Analysis, run: &mut Run) {
    let config = &loaded.project.config;
    let links = Links {
        blob: config.blob_link.as_deref(),
        issue: config.issue_link.as_deref(),
    };
    let page = || {
        let options = html::Options {
            title: &title(),
            links,
            styles: styles(config),
        };
        html::render(analysis, &options)
    };
    let v1 = || json_v1::render(analysis, links);
    let v2 = || json_v2::render(analysis, links, &loaded.project.root);
    let text = || snapshot::render(analysis).into_bytes();
    let table = || markdown::render(analysis).into_bytes();
    let by_person = |path: Option<PathBuf>| path.map(|path| (path, true)).into_iter().collect();
    let markdown = flags.markdown.clone().filter(|path| path != Path::new("-"));
    let outputs: [(Vec<(PathBuf, bool)>, &Render<'_>); 5] = [
        (asked(flags.html.as_ref(), Some(&config.html), "HTML"), &page),
        (asked(flags.json.as_ref(), Some(&config.json), "JSON"), &v1),
        (asked(flags.json_v2.as_ref(), None, "JSON_V2"), &v2),
        (by_person(variable("SNAPSHOT")), &text),
        (by_person(markdown), &table),
    ];
    let asked: Vec<((PathBuf, bool), &Render<'_>)> = outputs
        .into_iter()
        .flat_map(|(paths, render)| paths.into_iter().map(move |path| (path, render)))
        .collect();
    let rendered = asked.into_par_iter().with_max_len(1);
    run.files
        .par_extend(rendered.map(|(path, render)| file(path, render())));
    if let Some(folder) = &flags.lcov {
        let files = lcov::render(analysis)
            .into_iter()
            .map(|(name, text)| file((folder.join(name), true), text.into_bytes()));
        run.files.extend(files);
    }
    if flags.markdown.as_deref() == Some(Path::new("-")) {
        run.stdout.push_str(&markdown::render(analysis));
    }
}

/// The page is called after the folder of the project.
fn title() -> String {
    let folder = std::env::current_dir().ok();
    let name = folder.and_then(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "Traceability".to_owned())
}

/// Comment styles of the project, the most used first.
fn styles(config: &Config) -> Vec<CommentStyle> {
    let mut styles: Vec<CommentStyle> = Vec::new();
    for source in &config.sources {
        if !styles.contains(&source.style) {
            styles.push(source.style.clone());
        }
    }
    let uses = |style: &CommentStyle| {
        config
            .sources
            .iter()
            .filter(|source| source.style == *style)
            .count()
    };
    styles.sort_by_key(|style| std::cmp::Reverse(uses(style)));
    styles
}

fn in_ci(flags: &Report) -> bool {
    flags.ci.unwrap_or_else(|| project::is_set("CI"))
}

/// With a snapshot, CI mode compares it. Without one, `--ci` asks every requirement for citation and test.
fn gate(
    flags: &Report,
    loaded: &Loaded,
    analysis: &mut Analysis,
    snapshot: Option<String>,
    run: &mut Run,
) -> Policy {
    let output = &loaded.project.config.snapshot;
    let mut policy = Policy {
        strict: flags.strict,
        ..Policy::default()
    };
    if let Some(text) = snapshot {
        if in_ci(flags) {
            analysis.diagnostics.extend(compare(&output.path, &text, run));
        } else {
            let snapshot = file((output.path.clone(), false), text.into_bytes());
            // One that lacks what was not read must not be checked in, whether or not there was one before.
            if analysis.missing_inputs().next().is_none() || output.path.exists() {
                run.files.push(snapshot);
            }
        }
    } else if flags.ci == Some(true) {
        policy.require_citations = flags.require_citations.unwrap_or(true);
        policy.require_tests = flags.require_tests.unwrap_or(true);
        let found = policy.check(analysis);
        analysis.diagnostics.extend(found);
    }
    policy
}

fn compare(path: &Path, text: &str, run: &mut Run) -> Option<Diagnostic> {
    let name = path.display().to_string();
    let help = "if the change is meant, run `duvet report` with CI=false and check the snapshot in";
    let old = fence::read(path, fence::MAX_SOURCE_BYTES).map(String::from_utf8);
    let Ok(Ok(old)) = old else {
        let message = "there is no snapshot to compare with";
        return Some(Diagnostic::of_file(Code::SnapshotDiffers, message, name).help(help));
    };
    if old == text {
        return None;
    }
    let diff = similar::TextDiff::from_lines(old.as_str(), text)
        .unified_diff()
        .context_radius(3)
        .to_string();
    run.stderr.push_str(&format!(
        "Differences in {name}:\n\n{}\n",
        terminal::printable(&diff)
    ));
    let message = "the snapshot is not that of this run";
    Some(Diagnostic::of_file(Code::SnapshotDiffers, message, name).help(help))
}

fn show(flags: &Report, analysis: &Analysis, store: &Store, run: &mut Run) {
    let least = if flags.verbose {
        Severity::Note
    } else {
        Severity::Warning
    };
    let shown: Vec<&Diagnostic> = analysis
        .diagnostics
        .iter()
        .filter(|d| d.severity >= least)
        .collect();
    let hashes: HashMap<&str, &[u8; 32]> = store.files().collect();
    let read = |file: &str| read(file, hashes.get(file).copied());
    let form = |diagnostics: &[&Diagnostic], colour: bool| match flags.diagnostics {
        DiagnosticsForm::Text => text::render(diagnostics, text::Paint { colour }, &read),
        DiagnosticsForm::Json => format!("{:#}\n", json::render(diagnostics)),
        DiagnosticsForm::Sarif => format!("{:#}\n", sarif::render(diagnostics, env!("CARGO_PKG_VERSION"))),
    };
    match &flags.diagnostics_file {
        Some(path) => {
            let all: Vec<&Diagnostic> = analysis.diagnostics.iter().collect();
            // Findings are of this run, whatever is missing: they replace those of an earlier one.
            let findings = form(&all, false);
            match output::write(path, findings.as_bytes()) {
                Ok(_) => run.files.push(file((path.clone(), true), findings.into_bytes())),
                Err(problem) => {
                    let name = path.display();
                    run.stderr
                        .push_str(&format!("error: cannot write `{name}`: {problem}\n"));
                }
            }
        }
        None if !flags.quiet => run.stderr.push_str(&form(&shown, terminal::colour())),
        None => {}
    }
    if flags.quiet || flags.diagnostics != DiagnosticsForm::Text {
        return;
    }
    if flags.markdown.is_none() {
        run.stderr
            .push_str(&summary::render(analysis, terminal::colour()));
    }
    let count = |severity| {
        analysis
            .diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if errors + warnings > 0 {
        run.stderr
            .push_str(&format!("{errors} errors, {warnings} warnings\n"));
    }
}

/// The lines of a finding, as long as the file is still the one that was analysed.
fn read(file: &str, hash: Option<&[u8; 32]>) -> Option<std::sync::Arc<str>> {
    let bytes = fence::read(&project::root().join(file), fence::MAX_SOURCE_BYTES).ok()?;
    let is_same = hash.is_none_or(|hash| blake3::hash(&bytes).as_bytes() == hash);
    is_same.then(|| String::from_utf8_lossy(&bytes).into())
}
