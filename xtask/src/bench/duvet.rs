//! The traceability engine on a real project, beside the public tool when it is there.
//!
//! The figures come from the crate's own example `bench_duvet`; here they meet their targets. Without the corpus there
//! is nothing to measure, and that is said.

use super::row::{Row, Target};
use super::sample::{self, Pair};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is promised of each figure: of the ratio where the public tool ran too, else of the figure itself.
const TARGETS: &[(&str, Option<f64>, f64)] = &[
    ("report --json", Some(0.1), 130.0),
    ("memory of report --json", Some(0.334), 100.0),
    ("report with all outputs", Some(0.125), 200.0),
    ("memory of report with all outputs", Some(0.334), 100.0),
    ("report --json, sources ten times over", Some(0.067), 600.0),
    (
        "memory of report --json, sources ten times over",
        Some(0.334),
        200.0,
    ),
    ("report --json, sources forty times over", Some(0.067), 2_400.0),
    (
        "memory of report --json, sources forty times over",
        Some(0.334),
        600.0,
    ),
    ("mcp, sources forty times over, median of", None, 3.0),
    ("mcp, sources forty times over, p99 of", None, 3.0),
    (
        "mcp, sources forty times over, a hundred calls at once",
        None,
        300.0,
    ),
    ("report --json, mpl", Some(0.125), 60.0),
    ("memory of report --json, mpl", Some(0.334), 40.0),
    ("8,000 sections of ten requirements", Some(0.125), 3_000.0),
    ("growth to", None, 5.5),
    ("20,000 requirements in one section", None, 2_000.0),
    ("20,000 quotes that are missing", None, 20_000.0),
    ("1,000,000 citations", Some(0.125), 10_000.0),
    ("memory of 1,000,000 citations", None, 600.0),
    ("report --json, nothing changed", None, 30.0),
    ("resident, one changed file", None, 10.0),
    ("mcp, start to first answer", None, 200.0),
    ("mcp, p99 of", None, 10.0),
];

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let Some(corpora) = corpora() else {
        println!(
            "SKIPPED: no corpora; set SPEXUS_CORPORA or put them at ../shared/corpora beside the workspace"
        );
        return Ok(Vec::new());
    };
    let status = Command::new("cargo")
        .args([
            "build",
            "--profile",
            super::PROFILE,
            "--quiet",
            "--package",
            "duvet",
        ])
        .args(["--bin", "duvet", "--example", "bench_duvet"])
        .status()?;
    ensure!(status.success(), "duvet does not build");
    let built = super::target_folder()?.join(super::PROFILE);
    let mut bench = Command::new(built.join("examples/bench_duvet"));
    bench
        .arg("--corpora")
        .arg(corpora)
        .arg("--duvet")
        .arg(built.join("duvet"));
    match public_tool() {
        Some(tool) => drop(bench.arg("--public").arg(tool)),
        None => println!("no public duvet; set DUVET_PUBLIC to compare with it"),
    }
    let output = bench
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("bench_duvet")?;
    ensure!(output.status.success(), "bench_duvet failed");
    String::from_utf8(output.stdout)?
        .lines()
        .filter_map(row)
        .collect()
}

/// A line of the example as a row. A figure without a target is for those who run the example themselves.
fn row(text: &str) -> Option<Result<Row>> {
    let line: Value = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(error) => return Some(Err(error.into())),
    };
    let name = line["name"].as_str()?;
    let known = TARGETS
        .iter()
        .find(|(known, ..)| name == *known || (is_beginning(known) && name.starts_with(known)));
    let (_, ratio, alone) = known?;
    let unit = match line["unit"].as_str() {
        Some("MB") => "MB",
        Some("×") => "×",
        _ => "ms",
    };
    let figures = |tool: &str| -> Vec<f64> {
        let all = line[tool].as_array().into_iter().flatten();
        all.filter_map(Value::as_f64).collect()
    };
    let (ours, public) = (figures("ours"), figures("public"));
    Some(Ok(match ratio {
        Some(ratio) if !public.is_empty() => {
            let pair = Pair {
                ratio: sample::of(ours.iter().zip(&public).map(|(ours, public)| ours / public)),
                ours: sample::of(ours),
                bare: sample::of(public),
            };
            Row::ratio(name, unit, &pair, Target::AtMost(*ratio))
        }
        _ => Row::alone(name, unit, sample::of(ours), Target::AtMost(*alone)),
    }))
}

/// One promise for several figures.
fn is_beginning(known: &str) -> bool {
    known.ends_with(" of") || known.ends_with(" to")
}

fn corpora() -> Option<PathBuf> {
    let given = std::env::var_os("SPEXUS_CORPORA").map(PathBuf::from);
    let beside = ["../shared/corpora", "../../shared/corpora"].map(PathBuf::from);
    let mut folders = given.into_iter().chain(beside);
    folders.find(|folder| folder.join("s2n-quic").is_dir())
}

/// The public tool: named by the environment, or in PATH. Ours answers `--version`, which the public one does not know.
fn public_tool() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("DUVET_PUBLIC") {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("duvet"))
        .find(|tool| tool.is_file())?;
    (!answers_version(&found)).then_some(found)
}

fn answers_version(tool: &Path) -> bool {
    Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
