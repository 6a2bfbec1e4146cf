//! Evidence from outside: what reading a large report costs, what one run does to a large project, what the gate costs, and what the
//! state of one item costs beside reading the item.

use super::rest::client::Client;
use super::rest::process::{Bench, Server};
use super::row::{Row, Target};
use super::sample;
use anyhow::{Context as _, Result, ensure};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Test cases of the large report.
const CASES: usize = 1_000_000;
/// Requirements of the large project, each with a mark above its code and one above its test.
const REQUIREMENTS: usize = 100_000;
/// Results of one run.
const RESULTS: usize = 10_000;
/// Runs one after the other.
const RUNS: usize = 5;
/// Reads of one state.
const READS: usize = 300;

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let bench = Bench::build()?;
    let mut rows = ingesting(&bench)?;
    let server = Server::with_demo(&bench, "trace.db", REQUIREMENTS)?;
    let mut client = Client::connect(&server)?;
    let requirements = requirements(&mut client)?;
    client.post("/api/v1/trace/push", &scan(&requirements))?;
    // The first run brings the results; each of the others brings them again with another outcome for some.
    let mut seconds = Vec::new();
    for run in 0..RUNS {
        let body = results(&requirements, run);
        let start = Instant::now();
        client.post("/api/v1/trace/push", &body)?;
        seconds.push(start.elapsed().as_secs_f64() * 1e3);
    }
    rows.push(Row::alone(
        format!(
            "a run of {RESULTS} results on {} requirements",
            requirements.len()
        ),
        "ms",
        sample::of(seconds),
        Target::AtMost(100.0),
    ));
    let checks = (0..RUNS).map(|_| {
        let start = Instant::now();
        client.get("/api/v1/trace/check?limit=1")?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    });
    rows.push(Row::alone(
        format!("check of {} requirements", requirements.len()),
        "ms",
        sample::of(checks.collect::<Result<Vec<f64>>>()?),
        Target::AtMost(300.0),
    ));
    let item = format!("/api/v1/requirements/{}", requirements[0]);
    let mut other = Client::connect(&server)?;
    let state = || median(&mut client, &format!("{item}/trace"));
    let point = || median(&mut other, &item);
    let pair = sample::alternate(7, state, point)?;
    rows.push(Row::ratio("state ÷ point read", "µs", &pair, Target::AtMost(2.0)));
    Ok(rows)
}

/// How long one request takes, of many.
fn median(client: &mut Client, path: &str) -> Result<f64> {
    let mut times = Vec::with_capacity(READS);
    for _ in 0..READS {
        let start = Instant::now();
        client.get(path)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(sample::of(times).median)
}

/// A report of a million cases by the command line: how long it takes, and how much memory.
fn ingesting(bench: &Bench) -> Result<Vec<Row>> {
    let report = bench.file("report.xml");
    write_report(&report)?;
    let database = bench.file("ingest.db");
    let start = Instant::now();
    let mut child = Command::new(bench.program().get_program())
        .args(["--database", &format!("sqlite:{}", database.display())])
        .args(["trace", "push", "--commit", "abcdef1", "--junit"])
        .arg(&report)
        .stdout(Stdio::null())
        .spawn()
        .context("spexus trace push")?;
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_bytes(child.id()).unwrap_or(peak));
        match child.try_wait()? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "spexus trace push failed");
    let megabytes = peak as f64 / f64::from(1 << 20);
    let named = format!("{CASES} cases pushed");
    Ok(vec![
        Row::alone(&named, "s", sample::of([seconds]), Target::AtMost(10.0)),
        Row::alone(
            format!("{named}, memory"),
            "MB",
            sample::of([megabytes]),
            Target::AtMost(200.0),
        ),
    ])
}

/// The most memory a process ever held.
fn peak_bytes(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn write_report(path: &Path) -> Result<PathBuf> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    file.write_all(b"<testsuites>\n<testsuite name=\"pkg\">\n")?;
    for case in 0..CASES {
        writeln!(
            file,
            "<testcase classname=\"pkg::module_{}\" name=\"case_{case}\" time=\"0.001\"/>",
            case / 1_000
        )?;
    }
    file.write_all(b"</testsuite>\n</testsuites>\n")?;
    file.flush()?;
    Ok(path.to_owned())
}

/// The requirements of the project.
fn requirements(client: &mut Client) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut path = String::from("/api/v1/requirements?limit=200");
    loop {
        let page: serde_json::Value = serde_json::from_str(&client.get(&path)?)?;
        let rows = page["data"].as_array().context("a page")?;
        found.extend(
            rows.iter()
                .filter_map(|row| row["reference_id"].as_str().map(str::to_owned)),
        );
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/requirements?limit=200&cursor={cursor}"),
            None => return Ok(found),
        }
    }
}

/// Marks above code and tests of all of them.
fn scan(requirements: &[String]) -> String {
    let mut marks = String::new();
    for (at, id) in requirements.iter().enumerate() {
        let file = at / 20;
        let line = at % 20 * 10 + 1;
        let end = line + 8;
        for (role, path, names) in [
            ("code", format!("src/m{file}.rs"), String::new()),
            (
                "test",
                format!("tests/m{file}.rs"),
                format!("\"pkg::m{file}::case_{at}\""),
            ),
        ] {
            let _ = write!(
                marks,
                "{}{{\"id\":\"{id}\",\"role\":\"{role}\",\"path\":\"{path}\",\"line\":{line},\"end_line\":{end},\"names\":[{names}],\
                 \"hash\":\"h{at}\",\"by\":\"citation\"}}",
                if marks.is_empty() { "" } else { "," }
            );
        }
    }
    format!("{{\"commit\":\"abcdef1\",\"marks\":[{marks}]}}")
}

/// A run of some of the tests.
fn results(requirements: &[String], run: usize) -> String {
    let step = (requirements.len() / RESULTS).max(1);
    let mut cases = String::new();
    for at in (0..requirements.len()).step_by(step).take(RESULTS) {
        let inside = if at % 7 == run { "<skipped/>" } else { "" };
        let _ = write!(
            cases,
            "<testcase classname=\\\"pkg::m{}\\\" name=\\\"case_{at}\\\">{inside}</testcase>",
            at / 20
        );
    }
    let text = format!("<testsuite name=\\\"pkg\\\">{cases}</testsuite>");
    format!(
        "{{\"commit\":\"abcdef1\",\"command\":\"run {run}\",\"reports\":[{{\"format\":\"junit\",\"text\":\"{text}\"}}]}}"
    )
}
