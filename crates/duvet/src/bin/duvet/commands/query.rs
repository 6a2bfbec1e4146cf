//! `duvet query`

use crate::arguments::{CheckName, CoverageName, Query};
use crate::{project, terminal};
use duvet::fence::{self, Fence, MAX_REPORT_BYTES};
use duvet::memo::Memo;
use duvet::paths;
use duvet::pipeline::analyse;
use duvet::query::{Check, Coverage, CoverageFormat, Filter, Verdict, is_undecided, run as ask};
use duvet::target::Target;
use std::path::{Path, PathBuf};

pub(crate) fn run(flags: &Query) -> Result<bool, String> {
    let checks: Vec<Check> = flags.check.iter().map(|name| check(*name)).collect();
    let needs_runs = checks
        .iter()
        .any(|c| matches!(c, Check::Coverage | Check::ExecutedCoverage));
    let runs = needs_runs.then(|| coverage(flags)).transpose()?;
    let loaded = project::load(&flags.project, true)?;
    let mut memo = Memo::default();
    let analysis = analyse(&loaded.project, &mut memo);
    let filter = Filter {
        sections: flags.section.iter().map(|text| Target::parse(text)).collect(),
        quotes: flags.quote.clone(),
    };
    let is_whole = loaded.is_whole(&analysis);
    if !loaded.project.config.strict_compat {
        known(&memo, &filter.sections)?;
    }
    let style = loaded
        .project
        .config
        .styles()
        .into_iter()
        .next()
        .unwrap_or_default();
    let verdicts: Vec<Verdict> = checks
        .iter()
        .map(|check| ask(&analysis, *check, &filter, runs.as_ref(), &style))
        .collect();
    let passed = is_whole && verdicts.iter().all(|verdict| verdict.passed);
    let drifted = analysis
        .citations()
        .filter(|(_, entry)| !entry.matched().grade.is_faithful())
        .count();
    let is_stopped = checks
        .iter()
        .any(|check| is_undecided(&analysis, *check, &filter));
    if loaded.project.config.strict_compat && is_stopped {
        return Err(format!(
            "citations that do not hold: {drifted}; there is no verdict with `--compat strict`"
        ));
    }
    if flags.json {
        let answer = serde_json::json!({ "passed": passed, "drifted": drifted, "verdicts": verdicts });
        terminal::write_stdout(&terminal::json(&answer))?;
        return Ok(passed);
    }
    for verdict in &verdicts {
        show(verdict, flags.verbose);
    }
    if drifted > 0 {
        say(&format!(
            "citations that do not hold and were not counted: {drifted}; see `duvet report`\n"
        ));
    }
    say(&format!("Overall: {}", word(passed)));
    Ok(passed)
}

//= specs/duvet.md#nothing-lost
//# A query about a specification or a section that is not there MUST fail.
fn known(memo: &Memo, sections: &[Target]) -> Result<(), String> {
    let all = memo.specifications();
    for wanted in sections {
        let name = &wanted.specification;
        let Some(loaded) = all.iter().find(|loaded| loaded.key() == wanted.key()) else {
            return Err(format!("there is no specification `{name}`"));
        };
        let is_here = |id: &str| {
            loaded
                .specification
                .as_ref()
                .is_some_and(|text| text.find(id).is_some())
        };
        if let Some(id) = wanted.section.as_deref().filter(|id| !is_here(id)) {
            return Err(format!("`{name}` has no section `{id}`"));
        }
    }
    Ok(())
}

fn check(name: CheckName) -> Check {
    match name {
        CheckName::Implementation => Check::Implementation,
        CheckName::Test => Check::Test,
        CheckName::Coverage => Check::Coverage,
        CheckName::ExecutedCoverage => Check::ExecutedCoverage,
        CheckName::Duplicates => Check::Duplicates,
    }
}

fn coverage(flags: &Query) -> Result<Coverage, String> {
    let format = match flags.coverage_format {
        Some(CoverageName::JacocoXml) => CoverageFormat::JacocoXml,
        Some(CoverageName::Lcov) => CoverageFormat::Lcov,
        None => return Err("a check of coverage needs --coverage-report and --coverage-format".to_owned()),
    };
    let queries: Vec<_> = flags
        .coverage_report
        .iter()
        .map(|pattern| paths::Query {
            pattern,
            ignore: false,
        })
        .collect();
    // The person names coverage reports herself; they may lie anywhere.
    let folders: Vec<PathBuf> = flags
        .coverage_report
        .iter()
        .map(|p| paths::base(p).into())
        .collect();
    let found = paths::find(
        &project::root(),
        &Fence::new(&project::root(), &folders),
        &queries,
    );
    if found.files.is_empty() {
        return Err("no coverage report was found; see --coverage-report".to_owned());
    }
    let mut coverage = Coverage::default();
    for (_, file) in found.files {
        let bytes = fence::read(Path::new(&file), MAX_REPORT_BYTES)
            .map_err(|e| format!("cannot read `{file}`: {e}"))?;
        coverage.add(&String::from_utf8_lossy(&bytes), format);
    }
    Ok(coverage)
}

fn show(verdict: &Verdict, verbose: bool) {
    let name = match verdict.check {
        Check::Implementation => "Implementation",
        Check::Test => "Tests",
        Check::Coverage => "Coverage",
        Check::ExecutedCoverage => "Executed coverage",
        Check::Duplicates => "Duplicates",
    };
    say(&format!("{name}: {}\n", word(verdict.passed)));
    for (category, count) in &verdict.counts {
        say(&format!("  {category}: {count}"));
    }
    terminal::write_stderr("\n");
    for finding in &verdict.findings {
        say(&format!("  × {}: {}", finding.problem, finding.target));
        say(&format!("    {}", finding.text));
        for citation in &finding.citations {
            say(&format!("    --> {citation}"));
        }
        for line in finding.write.iter().flat_map(|text| text.lines()) {
            say(&format!("        {line}"));
        }
        terminal::write_stderr("\n");
    }
    if verbose && verdict.passed {
        say("  nothing to complain about\n");
    }
}

fn say(line: &str) {
    terminal::write_stderr(&format!("{}\n", terminal::printable(line)));
}

fn word(passed: bool) -> &'static str {
    if passed { "✓ PASS" } else { "✗ FAIL" }
}
