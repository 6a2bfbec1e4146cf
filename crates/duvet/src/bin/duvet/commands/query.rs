//! `duvet query`

use crate::arguments::{CheckName, CoverageName, Query};
use crate::project;
use duvet::analysis::analyse;
use duvet::paths;
use duvet::query::{Check, Coverage, CoverageFormat, Filter, Verdict, run as ask};
use duvet::store::Store;
use duvet::target::Target;

pub(crate) fn run(flags: &Query) -> Result<bool, String> {
    let checks: Vec<Check> = flags.check.iter().map(|name| check(*name)).collect();
    let needs_runs = checks
        .iter()
        .any(|c| matches!(c, Check::Coverage | Check::ExecutedCoverage));
    let runs = needs_runs.then(|| coverage(flags)).transpose()?;
    let loaded = project::load(&flags.project, true)?;
    let analysis = analyse(&loaded.project, &mut Store::default());
    let filter = Filter {
        sections: flags.section.iter().map(|text| Target::parse(text)).collect(),
        quotes: flags.quote.clone(),
    };
    let verdicts: Vec<Verdict> = checks
        .iter()
        .map(|check| ask(&analysis, *check, &filter, runs.as_ref()))
        .collect();
    let passed = verdicts.iter().all(|verdict| verdict.passed);
    let drifted = analysis
        .citations()
        .filter(|(_, entry)| !entry.matched().grade.is_faithful())
        .count();
    if flags.json {
        let answer = serde_json::json!({ "passed": passed, "drifted": drifted, "verdicts": verdicts });
        println!("{answer:#}");
        return Ok(passed);
    }
    for verdict in &verdicts {
        show(verdict, flags.verbose);
    }
    if drifted > 0 {
        eprintln!(
            "{drifted} citations differ from the specification and were not counted; see `duvet report`\n"
        );
    }
    eprintln!("Overall: {}", word(passed));
    Ok(passed)
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
    let found = paths::find(&project::root(), &queries);
    if found.files.is_empty() {
        return Err("no coverage report was found; see --coverage-report".to_owned());
    }
    let mut coverage = Coverage::default();
    for (_, file) in found.files {
        let text = std::fs::read_to_string(&file).map_err(|e| format!("cannot read `{file}`: {e}"))?;
        coverage.add(&text, format);
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
    eprintln!("{name}: {}\n", word(verdict.passed));
    for (category, count) in &verdict.counts {
        eprintln!("  {category}: {count}");
    }
    eprintln!();
    for finding in &verdict.findings {
        eprintln!("  × {}: {}", finding.problem, finding.target);
        eprintln!("    {}", finding.text);
        for citation in &finding.citations {
            eprintln!("    --> {citation}");
        }
        for line in finding.write.iter().flat_map(|text| text.lines()) {
            eprintln!("        {line}");
        }
        eprintln!();
    }
    if verbose && verdict.passed {
        eprintln!("  nothing to complain about\n");
    }
}

fn word(passed: bool) -> &'static str {
    if passed { "✓ PASS" } else { "✗ FAIL" }
}
