//! What a run writes and shows. Outputs are rendered and written beside each other and beside the findings.

use super::{in_ci, title, variable};
use crate::arguments::{DiagnosticsForm, Report};
use crate::project::Loaded;
use crate::terminal;
use duvet::analysis::Analysis;
use duvet::config::Output;
use duvet::diagnostic::{Code, Diagnostic, Severity, json, sarif, text};
use duvet::fence::{self, Fence, Refused};
use duvet::memo::Memo;
use duvet::output::{self, Render, Sink};
use duvet::policy::Policy;
use duvet::report::json_v1::Links;
use duvet::report::{html, json_v1, json_v2, lcov, markdown, snapshot, table};
use duvet::run_cache::{OutputFile, Run};
use duvet::text::{Position, counted};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What one run reports, and where it may write.
pub(super) struct Reporter<'a> {
    pub(super) flags: &'a Report,
    pub(super) loaded: &'a Loaded,
    pub(super) analysis: &'a Analysis,
    pub(super) fence: &'a Fence,
    /// Whether everything was read that should have been.
    pub(super) is_whole: bool,
    /// Whether the run is kept, so that the bytes of its files have to be known.
    pub(super) is_kept: bool,
}

/// A file that was to be written.
struct Written {
    file: OutputFile,
    start: Instant,
    result: Result<Write, Refused>,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Write {
    Written,
    /// It was there already.
    Kept,
    /// It is left as it is, because an input is missing.
    Spared,
}

/// Findings as they are shown.
#[derive(Default)]
struct Findings {
    stderr: String,
    /// The file they were written to.
    file: Option<OutputFile>,
    /// Why they were not.
    problem: Option<String>,
    passed: bool,
}

/// A place to write to, and whether the person named it.
type Target = (PathBuf, bool);

impl Reporter<'_> {
    /// Everything the run does, and what could not be written.
    pub(super) fn report(&self, memo: &Memo) -> (Run, Vec<String>) {
        let ((requirements, outputs), mut findings) = rayon::join(
            || rayon::join(|| self.write_requirements(memo), || self.write_outputs()),
            || self.findings(),
        );
        let mut run = Run {
            passed: findings.passed,
            ..Run::default()
        };
        let mut problems = Vec::new();
        let mut spared = 0;
        for (path, result) in requirements {
            match result {
                Ok(write) => spared += usize::from(write == Write::Spared),
                Err(problem) => problems.push(format!("cannot write `{}`: {problem}", path.display())),
            }
        }
        for Written { file, start, result } in outputs {
            let path = file.path.display();
            match result {
                Ok(Write::Spared) => {
                    spared += 1;
                    continue;
                }
                Ok(_) if self.flags.quiet => {}
                Ok(Write::Written) => terminal::done("Wrote", path, start),
                Ok(Write::Kept) => terminal::done("Kept", path, start),
                Err(problem) => problems.push(format!("cannot write `{path}`: {problem}")),
            }
            run.files.push(file);
        }
        if let Some(first) = self.analysis.missing_inputs().next().filter(|_| spared > 0) {
            let message = terminal::printable(&first.message);
            let files = match spared {
                1 => "1 file is left as it is".to_owned(),
                _ => format!("{spared} files are left as they are"),
            };
            let line = format!("{files}: {message}\n\n");
            findings.stderr.insert_str(0, &line);
        }
        run.stderr = findings.stderr;
        run.files.extend(findings.file);
        problems.extend(findings.problem);
        if self.flags.markdown.as_deref() == Some(Path::new("-")) {
            run.stdout = terminal::printable(&markdown::render(self.analysis)).into_owned();
        }
        (run, problems)
    }

    /// Extracted requirements are part of the work tree, so that a changed specification shows up in a diff. Files that
    /// are already right are not touched.
    fn write_requirements(&self, memo: &Memo) -> Vec<(PathBuf, Result<Write, Refused>)> {
        let mut by_folder: BTreeMap<PathBuf, Vec<(PathBuf, &str)>> = BTreeMap::new();
        for (name, text) in memo.extracted() {
            let path = self.loaded.project.root.join(name);
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            by_folder.entry(folder).or_default().push((path, text));
        }
        // A specification has a folder and hundreds of files in it: where the folder really is is asked once.
        let folders: Vec<_> = by_folder.into_iter().collect();
        let written = folders.into_par_iter();
        written
            .flat_map_iter(|(folder, files)| self.write_folder(&folder, files))
            .collect()
    }

    fn write_folder(
        &self,
        folder: &Path,
        files: Vec<(PathBuf, &str)>,
    ) -> Vec<(PathBuf, Result<Write, Refused>)> {
        let real = self.fence.real(folder);
        let write = |path: &Path, text: &str| match (&real, path.file_name()) {
            (Ok(folder), Some(name)) => {
                output::write_at(self.fence.real_below(folder, name)?, text.as_bytes())
            }
            _ => output::write_inside(self.fence, path, text.as_bytes()),
        };
        let one = |(path, text): (PathBuf, &str)| {
            let result = self.write(&path, || write(&path, text));
            (path, result)
        };
        files.into_par_iter().map(one).collect()
    }

    //= specs/duvet.md#nothing-lost
    //# While an input is missing, a file of an earlier run MUST NOT be overwritten.
    fn write(&self, path: &Path, write: impl FnOnce() -> Result<bool, Refused>) -> Result<Write, Refused> {
        if !self.is_whole && path.exists() {
            return Ok(Write::Spared);
        }
        let is_new = write()?;
        Ok(if is_new { Write::Written } else { Write::Kept })
    }

    /// Renders and writes every output that is asked for.
    fn write_outputs(&self) -> Vec<Written> {
        let Self { flags, analysis, .. } = self;
        let project = &self.loaded.project;
        let config = &project.config;
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        if config.strict_compat && analysis.diagnostics.iter().any(is_error) {
            // The public tool stops at the first fault, before it writes anything but requirements.
            return Vec::new();
        }
        let links = Links {
            blob: config.blob_link.as_deref(),
            issue: config.issue_link.as_deref(),
        };
        let page = |sink: &mut Sink<'_>| {
            let options = html::Options {
                title: &title(),
                links,
                styles: config.styles(),
            };
            html::stream(analysis, &options, sink)
        };
        let v1 = |sink: &mut Sink<'_>| json_v1::stream(analysis, links, sink);
        let v2 = |sink: &mut Sink<'_>| sink(&json_v2::render(analysis, links, &project.root));
        let lines = |sink: &mut Sink<'_>| sink(snapshot::render(analysis).as_bytes());
        let summary = |sink: &mut Sink<'_>| sink(markdown::render(analysis).as_bytes());
        let by_person = |path: Option<PathBuf>| path.map(|path| (path, true)).into_iter().collect();
        let markdown = flags.markdown.clone().filter(|path| path != Path::new("-"));
        let outputs: [(Vec<Target>, &Render<'_>); 6] = [
            (targets(flags.html.as_ref(), Some(&config.html), "HTML"), &page),
            (targets(flags.json.as_ref(), Some(&config.json), "JSON"), &v1),
            (targets(flags.json_v2.as_ref(), None, "JSON_V2"), &v2),
            (by_person(variable("SNAPSHOT")), &lines),
            (self.kept_snapshot().into_iter().collect(), &lines),
            (by_person(markdown), &summary),
        ];
        let asked: Vec<(Target, &Render<'_>)> = outputs
            .into_iter()
            .flat_map(|(paths, render)| paths.into_iter().map(move |path| (path, render)))
            .collect();
        let mut written: Vec<Written> = asked
            .into_par_iter()
            .with_max_len(1)
            .map(|(target, render)| self.write_output(target, render))
            .collect();
        if let Some(folder) = &flags.lcov {
            let files = lcov::render(analysis).into_iter();
            written.extend(files.map(|(name, text)| {
                self.write_output((folder.join(name), true), &|sink| sink(text.as_bytes()))
            }));
        }
        written
    }

    fn write_output(&self, (path, is_asked): Target, render: &Render<'_>) -> Written {
        let mut file = OutputFile {
            path,
            hash: None,
            is_asked,
        };
        let start = Instant::now();
        let path = file.path.clone();
        let result = self.write(&path, || match self.is_kept {
            true => file.write_hashed(self.fence, render),
            false => file.write(self.fence, render),
        });
        Written { file, start, result }
    }

    /// Where the snapshot is kept, unless it is compared. One that lacks what was not read must not be checked in, whether
    /// or not there was one before.
    fn kept_snapshot(&self) -> Option<Target> {
        let output = &self.loaded.project.config.snapshot;
        let is_kept = output.enabled && !in_ci(self.flags);
        (is_kept && (self.is_whole || output.path.exists())).then(|| (output.path.clone(), false))
    }

    /// With a snapshot, CI mode compares it. Without one, `--ci` asks every requirement for citation and test.
    fn findings(&self) -> Findings {
        let Self { flags, analysis, .. } = self;
        let output = &self.loaded.project.config.snapshot;
        let mut policy = Policy {
            strict: flags.strict,
            ..Policy::default()
        };
        let mut findings = Findings::default();
        let mut of_gate = Vec::new();
        if output.enabled {
            if in_ci(flags) {
                let text = snapshot::render(analysis);
                of_gate.extend(compare(self.fence, &output.path, &text, &mut findings.stderr));
            }
        } else if flags.ci == Some(true) {
            policy.require_citations = flags.require_citations.unwrap_or(true);
            policy.require_tests = flags.require_tests.unwrap_or(true);
            let is_theirs = self.loaded.project.config.strict_compat;
            of_gate = match is_theirs {
                true => policy.check_lines(analysis),
                false => policy.check(analysis),
            };
        }
        let all: Vec<&Diagnostic> = analysis.diagnostics.iter().chain(&of_gate).collect();
        self.show(&all, &mut findings);
        findings.passed = !policy.fails(all);
        findings
    }

    fn show(&self, all: &[&Diagnostic], findings: &mut Findings) {
        let Self { flags, analysis, .. } = self;
        let add = |text: &mut String, diagnostics: &[&Diagnostic], colour: bool| match flags.diagnostics {
            DiagnosticsForm::Text => text::render(text, diagnostics, text::Paint { colour }),
            DiagnosticsForm::Json => text.push_str(&terminal::json(&json::render(diagnostics))),
            DiagnosticsForm::Sarif => {
                let log = sarif::render(diagnostics, env!("CARGO_PKG_VERSION"));
                text.push_str(&terminal::json(&log));
            }
        };
        if let Some(path) = &flags.diagnostics_file {
            // Findings are of this run, whatever is missing: they replace those of an earlier one.
            let mut text = String::new();
            add(&mut text, all, false);
            match output::write(path, text.as_bytes()) {
                Ok(_) => {
                    findings.file = Some(OutputFile {
                        path: path.clone(),
                        hash: Some(output::hash(text.as_bytes())),
                        is_asked: true,
                    });
                }
                Err(problem) => {
                    findings.problem = Some(format!("cannot write `{}`: {problem}", path.display()));
                }
            }
        } else if !flags.quiet {
            let least = if flags.verbose {
                Severity::Note
            } else {
                Severity::Warning
            };
            let shown = all.iter().copied().filter(|found| found.severity >= least);
            let shown: Vec<&Diagnostic> = shown.collect();
            add(&mut findings.stderr, &shown, terminal::colour());
        }
        if flags.quiet || flags.diagnostics != DiagnosticsForm::Text {
            return;
        }
        if flags.markdown.is_none() {
            findings
                .stderr
                .push_str(&table::render(analysis, terminal::colour()));
        }
        let count = |severity| all.iter().filter(|found| found.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        if errors + warnings > 0 {
            let line = format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning"));
            findings.stderr.push_str(&line);
        }
    }
}

/// Where an output goes: to the flag's path or else the configuration's, and to the variable's beside.
fn targets(flag: Option<&PathBuf>, output: Option<&Output>, name: &str) -> Vec<Target> {
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

/// What is different about two snapshots is worked out for so long; after that whole blocks are shown as changed.
const DIFF_DEADLINE: Duration = Duration::from_secs(2);

fn compare(fence: &Fence, path: &Path, text: &str, stderr: &mut String) -> Option<Diagnostic> {
    let name = path.display().to_string();
    let help = "if the change is meant, run `duvet report` with CI=false and check the snapshot in";
    let found_at = |line: u32, message: &str| {
        let start = Position { line, column: 1 };
        Some(Diagnostic::new(Code::SnapshotDiffers, message, &name, start).help(help))
    };
    let found = |message: &str| found_at(1, message);
    //= specs/duvet.md#inside-the-fence
    //# A file that a specification, a citation or the configuration names MUST NOT be read or written when it lies
    //# outside the project's folder, links resolved.
    let old = match fence.read(path, fence::MAX_SOURCE_BYTES).map(String::from_utf8) {
        Ok(Ok(old)) => old,
        Err(Refused::Outside) => return found("the snapshot lies outside the project and is not compared"),
        _ => return found("there is no snapshot to compare with"),
    };
    if old == text {
        return None;
    }
    let diff = similar::TextDiff::configure()
        .timeout(DIFF_DEADLINE)
        .diff_lines(old.as_str(), text)
        .unified_diff()
        .context_radius(3)
        .to_string();
    stderr.push_str(&format!(
        "Differences in {name}:\n\n{}\n",
        terminal::printable(&diff)
    ));
    let same = old.lines().zip(text.lines()).take_while(|(old, new)| old == new);
    found_at(same.count() as u32 + 1, "the snapshot is not that of this run")
}
