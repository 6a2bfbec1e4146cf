//! `duvet report`

use crate::arguments::{DiagnosticsForm, Report};
use crate::project::{self, Loaded};
use crate::terminal;
use duvet::analysis::{Analysis, analyse};
use duvet::cache::{Cache, Run, key};
use duvet::citation::CommentStyle;
use duvet::config::{Config, Output, expand};
use duvet::diagnostic::{Code, Diagnostic, Severity, json, sarif, text};
use duvet::policy::Policy;
use duvet::report::json_v1::Links;
use duvet::report::{html, json_v1, json_v2, lcov, markdown, snapshot, terminal as summary};
use duvet::source::discover;
use duvet::store::Store;
use duvet::watch::Watch;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CACHE_PATH: &str = ".duvet/cache";
const WATCH_LIMIT: Duration = Duration::from_secs(3600);

pub(crate) fn run(flags: &Report) -> Result<bool, String> {
    if !flags.watch {
        return once(flags);
    }
    let watch = Watch::new(&project::root()).map_err(|error| format!("cannot watch the project: {error}"))?;
    loop {
        // A run that could not be made is shown; the next change is another chance.
        if let Err(problem) = once(flags) {
            eprintln!("error: {problem}");
        }
        while !watch.wait(WATCH_LIMIT) {}
    }
}

fn once(flags: &Report) -> Result<bool, String> {
    let start = Instant::now();
    let mut loaded = project::load(&flags.project, flags.strict)?;
    links(flags, &mut loaded)?;
    let cache = cache(flags, &loaded);
    if let Some((cache, key)) = &cache
        && let Some(run) = cache.replay(key, &loaded.project.root, &loaded.project.config.downloads)
    {
        if !flags.quiet {
            terminal::done("Unchanged", "since the last run", start);
        }
        say(&run);
        return Ok(run.passed);
    }
    let mut store = Store::default();
    let progress = std::sync::Arc::clone(&store.progress);
    let mut analysis = terminal::with_bar(&progress, || analyse(&loaded.project, &mut store));
    analysis.diagnostics.append(&mut loaded.diagnostics);
    if !flags.quiet {
        terminal::done("Analysed", counts(&analysis), start);
    }
    let run = report(flags, &loaded, analysis, &store);
    let extracted = loaded.project.root.join(&loaded.project.config.extracted);
    for (path, bytes) in &run.files {
        terminal::write(path, bytes, flags.quiet || path.starts_with(&extracted))?;
    }
    say(&run);
    let passed = run.passed;
    keep(flags, &loaded, run, &store);
    Ok(passed)
}

/// Keeps the run under the key its inputs have now: requirement files that it wrote are inputs of the next one.
fn keep(flags: &Report, loaded: &Loaded, mut run: Run, store: &Store) {
    let extracted = loaded.project.root.join(&loaded.project.config.extracted);
    run.files.retain(|(path, _)| !path.starts_with(&extracted));
    if let Some((cache, key)) = cache(flags, loaded) {
        cache.keep(&key, &run, &store.volumes());
    }
}

/// What the report does, without doing it.
fn report(flags: &Report, loaded: &Loaded, mut analysis: Analysis, store: &Store) -> Run {
    let mut run = Run {
        files: requirements(loaded, store),
        ..Run::default()
    };
    outputs(flags, loaded, &analysis, &mut run);
    let policy = gate(flags, loaded, &mut analysis, &mut run);
    show(flags, &analysis, &mut run);
    run.passed = !policy.fails(&analysis.diagnostics);
    run
}

fn say(run: &Run) {
    print!("{}", run.stdout);
    eprint!("{}", run.stderr);
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
fn cache(flags: &Report, loaded: &Loaded) -> Option<(Cache, String)> {
    if flags.no_cache || in_ci(flags) || !Path::new(".duvet").is_dir() {
        return None;
    }
    let config = &loaded.project.config;
    let (inputs, _) = discover(&loaded.project.root, config);
    let variables = ["JSON", "JSON_V2", "HTML", "SNAPSHOT"].map(|name| variable(name).unwrap_or_default());
    let lock = std::fs::read(duvet::library::LOCK_PATH).unwrap_or_default();
    let asked = format!(
        "{} {flags:?} {config:?} {:?} {variables:?} {} {} {lock:?}",
        env!("CARGO_PKG_VERSION"),
        loaded.diagnostics,
        title(),
        terminal::colour()
    );
    Some((
        Cache::new(PathBuf::from(CACHE_PATH)),
        key(&asked, &loaded.project.root, &inputs),
    ))
}

/// Extracted requirements are part of the work tree, so that a changed specification shows up in a diff. Files that
/// are already right are not touched.
fn requirements(loaded: &Loaded, store: &Store) -> Vec<(PathBuf, Vec<u8>)> {
    let files = store
        .extracted()
        .map(|(name, text)| (loaded.project.root.join(name), text.as_bytes()));
    let is_old = |path: &Path, text: &[u8]| !std::fs::read(path).is_ok_and(|known| known == text);
    files
        .filter(|(path, text)| is_old(path, text))
        .map(|(path, text)| (path, text.to_vec()))
        .collect()
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(format!("DUVET_INTERNAL_CI_{name}")).map(PathBuf::from)
}

/// Where an output goes: to the flag's path or else the configuration's, and to the variable's beside.
fn asked(flag: Option<&PathBuf>, output: Option<&Output>, name: &str) -> Vec<PathBuf> {
    let by_config = output
        .filter(|output| output.enabled)
        .map(|output| output.path.clone());
    [flag.cloned().or(by_config), variable(name)]
        .into_iter()
        .flatten()
        .collect()
}

fn outputs(flags: &Report, loaded: &Loaded, analysis: &Analysis, run: &mut Run) {
    let config = &loaded.project.config;
    let links = Links {
        blob: config.blob_link.as_deref(),
        issue: config.issue_link.as_deref(),
    };
    for path in asked(flags.json.as_ref(), Some(&config.json), "JSON") {
        run.files.push((path, json_v1::render(analysis, links)));
    }
    for path in asked(flags.json_v2.as_ref(), None, "JSON_V2") {
        run.files
            .push((path, json_v2::render(analysis, links, &loaded.project.root)));
    }
    for path in asked(flags.html.as_ref(), Some(&config.html), "HTML") {
        let page = html::render(
            analysis,
            &html::Options {
                title: &title(),
                links,
                styles: styles(config),
            },
        );
        run.files.push((path, page.into_bytes()));
    }
    if let Some(path) = variable("SNAPSHOT") {
        run.files.push((path, snapshot::render(analysis).into_bytes()));
    }
    if let Some(folder) = &flags.lcov {
        let files = lcov::render(analysis)
            .into_iter()
            .map(|(name, text)| (folder.join(name), text.into_bytes()));
        run.files.extend(files);
    }
    match flags.markdown.as_deref() {
        Some(path) if path == Path::new("-") => run.stdout.push_str(&markdown::render(analysis)),
        Some(path) => run
            .files
            .push((path.to_owned(), markdown::render(analysis).into_bytes())),
        None => {}
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
fn gate(flags: &Report, loaded: &Loaded, analysis: &mut Analysis, run: &mut Run) -> Policy {
    let output = &loaded.project.config.snapshot;
    let mut policy = Policy {
        strict: flags.strict,
        ..Policy::default()
    };
    if output.enabled {
        let text = snapshot::render(analysis);
        if in_ci(flags) {
            analysis.diagnostics.extend(compare(&output.path, &text, run));
        } else {
            run.files.push((output.path.clone(), text.into_bytes()));
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
    let Ok(old) = std::fs::read_to_string(path) else {
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
    run.stderr
        .push_str(&format!("Differences in {name}:\n\n{diff}\n"));
    let message = "the snapshot is not that of this run";
    Some(Diagnostic::of_file(Code::SnapshotDiffers, message, name).help(help))
}

fn show(flags: &Report, analysis: &Analysis, run: &mut Run) {
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
    let form = |diagnostics: &[&Diagnostic], colour: bool| match flags.diagnostics {
        DiagnosticsForm::Text => text::render(diagnostics, text::Paint { colour }, &read),
        DiagnosticsForm::Json => format!("{:#}\n", json::render(diagnostics)),
        DiagnosticsForm::Sarif => format!("{:#}\n", sarif::render(diagnostics, env!("CARGO_PKG_VERSION"))),
    };
    match &flags.diagnostics_file {
        Some(path) => {
            let all: Vec<&Diagnostic> = analysis.diagnostics.iter().collect();
            run.files.push((path.clone(), form(&all, false).into_bytes()));
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

fn read(file: &str) -> Option<String> {
    let bytes = std::fs::read(project::root().join(file)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
