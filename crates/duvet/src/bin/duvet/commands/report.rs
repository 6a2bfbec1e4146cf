//! `duvet report`

use crate::arguments::{DiagnosticsForm, Report};
use crate::project::{self, Loaded};
use crate::terminal;
use duvet::analysis::{Analysis, analyse};
use duvet::citation::CommentStyle;
use duvet::config::{Config, expand};
use duvet::diagnostic::{Code, Diagnostic, Severity, json, sarif, text};
use duvet::policy::Policy;
use duvet::report::json_v1::Links;
use duvet::report::{html, json_v1, json_v2, lcov, markdown, snapshot, terminal as summary};
use duvet::store::Store;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) fn run(flags: &Report) -> Result<bool, String> {
    let start = Instant::now();
    let mut loaded = project::load(&flags.project, flags.strict)?;
    links(flags, &mut loaded)?;
    let mut store = Store::default();
    let mut analysis = analyse(&loaded.project, &mut store);
    analysis.diagnostics.append(&mut loaded.diagnostics);
    if !flags.quiet {
        let citations = analysis.citations().count();
        let counts = format!(
            "{citations} citations of {} requirements in {} specifications",
            analysis.requirements.len(),
            analysis.specifications.len()
        );
        terminal::done("Analysed", counts, start);
    }
    write_requirements(&loaded, &store)?;
    write_outputs(flags, &loaded, &analysis)?;
    let policy = gate(flags, &loaded, &mut analysis)?;
    show(flags, &analysis)?;
    Ok(!policy.fails(&analysis.diagnostics))
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

/// Extracted requirements are part of the work tree, so that a changed specification shows up in a diff. Files that
/// are already right are not touched.
fn write_requirements(loaded: &Loaded, store: &Store) -> Result<(), String> {
    for (name, text) in store.extracted() {
        let path = loaded.project.root.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        terminal::write(&path, text.as_bytes(), true)?;
    }
    Ok(())
}

fn write_outputs(flags: &Report, loaded: &Loaded, analysis: &Analysis) -> Result<(), String> {
    let config = &loaded.project.config;
    let links = Links {
        blob: config.blob_link.as_deref(),
        issue: config.issue_link.as_deref(),
    };
    let asked = |flag: &Option<PathBuf>, variable: &str, output: Option<&duvet::config::Output>| {
        let by_config = output
            .filter(|output| output.enabled && flag.is_none())
            .map(|output| output.path.clone());
        let by_variable = std::env::var_os(variable).map(PathBuf::from);
        [flag.clone(), by_config, by_variable]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    for path in asked(&flags.json, "DUVET_INTERNAL_CI_JSON", Some(&config.json)) {
        terminal::write(&path, &json_v1::render(analysis, links), flags.quiet)?;
    }
    for path in asked(&flags.json_v2, "DUVET_INTERNAL_CI_JSON_V2", None) {
        terminal::write(
            &path,
            &json_v2::render(analysis, links, &loaded.project.root),
            flags.quiet,
        )?;
    }
    for path in asked(&flags.html, "DUVET_INTERNAL_CI_HTML", Some(&config.html)) {
        let page = html::render(
            analysis,
            &html::Options {
                title: &title(),
                links,
                styles: styles(config),
            },
        );
        terminal::write(&path, page.as_bytes(), flags.quiet)?;
    }
    if let Some(folder) = &flags.lcov {
        for (name, text) in lcov::render(analysis) {
            terminal::write(&folder.join(name), text.as_bytes(), true)?;
        }
    }
    if let Ok(path) = std::env::var("DUVET_INTERNAL_CI_SNAPSHOT") {
        terminal::write(
            Path::new(&path),
            snapshot::render(analysis).as_bytes(),
            flags.quiet,
        )?;
    }
    match flags.markdown.as_deref() {
        Some(path) if path == Path::new("-") => print!("{}", markdown::render(analysis)),
        Some(path) => terminal::write(path, markdown::render(analysis).as_bytes(), flags.quiet)?,
        None => {}
    }
    Ok(())
}

/// The page is called after the folder of the project.
fn title() -> String {
    let folder = std::env::current_dir().ok();
    folder
        .and_then(|f| Some(f.file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "Traceability".to_owned())
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

/// With a snapshot, CI mode compares it. Without one, `--ci` asks every requirement for citation and test.
fn gate(flags: &Report, loaded: &Loaded, analysis: &mut Analysis) -> Result<Policy, String> {
    let output = &loaded.project.config.snapshot;
    let in_ci = flags.ci.unwrap_or_else(|| project::is_set("CI"));
    let mut policy = Policy {
        strict: flags.strict,
        ..Policy::default()
    };
    if output.enabled {
        let text = snapshot::render(analysis);
        if in_ci {
            analysis.diagnostics.extend(compare(&output.path, &text));
        } else {
            terminal::write(&output.path, text.as_bytes(), flags.quiet)?;
        }
    } else if flags.ci == Some(true) {
        policy.require_citations = flags.require_citations.unwrap_or(true);
        policy.require_tests = flags.require_tests.unwrap_or(true);
        let found = policy.check(analysis);
        analysis.diagnostics.extend(found);
    }
    Ok(policy)
}

fn compare(path: &Path, text: &str) -> Option<Diagnostic> {
    let name = path.display().to_string();
    let Ok(old) = std::fs::read_to_string(path) else {
        let diagnostic = Diagnostic::of_file(
            Code::SnapshotDiffers,
            "there is no snapshot to compare with",
            name,
        );
        return Some(diagnostic.help("run `duvet report` with CI=false and check the snapshot in"));
    };
    if old == text {
        return None;
    }
    let diff = similar::TextDiff::from_lines(old.as_str(), text)
        .unified_diff()
        .context_radius(3)
        .to_string();
    eprintln!("Differences in {name}:\n\n{diff}");
    let diagnostic = Diagnostic::of_file(
        Code::SnapshotDiffers,
        "the snapshot is not that of this run",
        name,
    );
    Some(
        diagnostic.help("if the change is meant, run `duvet report` with CI=false and check the snapshot in"),
    )
}

fn show(flags: &Report, analysis: &Analysis) -> Result<(), String> {
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
    let all: Vec<&Diagnostic> = analysis.diagnostics.iter().collect();
    let form = |diagnostics: &[&Diagnostic], colour: bool| match flags.diagnostics {
        DiagnosticsForm::Text => text::render(diagnostics, text::Paint { colour }, &read),
        DiagnosticsForm::Json => format!("{:#}\n", json::render(diagnostics)),
        DiagnosticsForm::Sarif => format!("{:#}\n", sarif::render(diagnostics, env!("CARGO_PKG_VERSION"))),
    };
    if let Some(path) = &flags.diagnostics_file {
        terminal::write(path, form(&all, false).as_bytes(), flags.quiet)?;
    }
    if flags.quiet {
        return Ok(());
    }
    if flags.diagnostics_file.is_none() {
        eprint!("{}", form(&shown, terminal::colour()));
    }
    if flags.markdown.is_none() {
        eprint!("{}", summary::render(analysis, terminal::colour()));
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
        eprintln!("{errors} errors, {warnings} warnings");
    }
    Ok(())
}

fn read(file: &str) -> Option<String> {
    let bytes = std::fs::read(project::root().join(file)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
