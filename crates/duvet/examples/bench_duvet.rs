//! The speed figures of the traceability engine, beside the public tool when it is given.
//!
//! ```text
//! cargo run --release -p duvet --example bench_duvet -- --corpora DIR --duvet BIN [--public BIN] [--runs N]
//! ```
//!
//! Runs of both tools are interleaved and repeated, so that what else the machine does falls on both; minimum, median
//! and maximum are printed, one JSON object per line.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and fails loudly"
)]

use duvet::analysis::Project;
use duvet::config::{Config, source_pattern};
use duvet::engine::Engine;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const COPIES: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments
            .windows(2)
            .find(|pair| pair[0] == name)
            .map(|pair| pair[1].clone())
    };
    let corpora = PathBuf::from(option("--corpora").unwrap_or_else(|| "../shared/corpora".to_owned()));
    let ours = option("--duvet")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from("target/release/duvet"));
    let public = option("--public").map(PathBuf::from).filter(|path| path.exists());
    let runs = option("--runs").and_then(|runs| runs.parse().ok()).unwrap_or(15);
    if !corpora.join("s2n-quic").is_dir() {
        println!("SKIPPED: no corpora at {}", corpora.display());
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let one = scratch.path().join("one");
    copy(&corpora.join("s2n-quic"), &one);
    let tools: Vec<(&str, PathBuf)> = [("ours", Some(ours)), ("public", public)]
        .into_iter()
        .filter_map(|(n, p)| Some((n, absolute(&p?))))
        .collect();
    compare("s2n-quic report --json", &one, &tools, runs);
    multiply(&one);
    compare("s2n-quic x10 report --json", &one, &tools, runs.min(7));
    let warm = scratch.path().join("warm");
    copy(&corpora.join("s2n-quic"), &warm);
    std::fs::create_dir(warm.join(".duvet")).unwrap();
    run(&tools[0].1, &warm);
    compare("s2n-quic warm, nothing changed", &warm, &tools[..1], runs);
    resident(&corpora.join("s2n-quic"), scratch.path(), runs);
}

/// Times of both tools, one run of each in turn, and the memory of the last.
fn compare(name: &str, folder: &Path, tools: &[(&str, PathBuf)], runs: usize) {
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); tools.len()];
    let mut peaks = vec![0; tools.len()];
    for _ in 0..runs {
        for (index, (_, tool)) in tools.iter().enumerate() {
            let (time, peak) = run(tool, folder);
            times[index].push(time);
            peaks[index] = peak;
        }
    }
    for (index, (tool, _)) in tools.iter().enumerate() {
        line(name, tool, &mut times[index], peaks[index]);
    }
}

/// One `report --json`; wall time, and peak memory in KiB as the kernel counts it.
fn run(tool: &Path, folder: &Path) -> (Duration, u64) {
    let start = Instant::now();
    let mut child = Command::new(tool)
        .current_dir(folder)
        .args([
            "report",
            "--spec-pattern",
            "specs/**/*.toml",
            "--source-pattern",
            "quic*/**/*.rs",
        ])
        .args(["--require-tests", "false", "--no-cargo", "--json", "../out.json"])
        .env("CI", "false")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_kib(child.id()));
        std::thread::sleep(Duration::from_micros(300));
    }
    (start.elapsed(), peak)
}

fn peak_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(0)
}

/// The engine in memory: an unchanged look, and a look after one changed file.
fn resident(corpus: &Path, scratch: &Path, runs: usize) {
    let root = scratch.join("resident");
    copy(corpus, &root);
    let mut config = Config::legacy();
    config.requirements = vec!["specs/**/*.toml".to_owned()];
    config.sources = vec![source_pattern("quic/**/*.rs").unwrap()];
    let mut engine = Engine::new(
        Project {
            root: root.clone(),
            config,
            strict: false,
        },
        SystemTime::now,
    );
    let mut first = vec![time(|| drop(engine.look()))];
    line("resident: first look", "ours", &mut first, 0);
    let mut idle: Vec<Duration> = (0..runs * 10).map(|_| time(|| drop(engine.look()))).collect();
    line("resident: nothing changed", "ours", &mut idle, 0);
    let file = root.join("quic/s2n-quic/src/provider/address_token/default.rs");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut changed = Vec::new();
    for run in 0..runs * 4 {
        std::fs::write(&file, format!("{text}\n// {run}\n")).unwrap();
        changed.push(time(|| assert_eq!(engine.look().files_read, 1)));
    }
    line("resident: one changed file", "ours", &mut changed, 0);
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn line(name: &str, tool: &str, times: &mut [Duration], peak_kib: u64) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    let (min, median, p99) = (at(0), at(50), at(99));
    println!(
        "{{\"bench\":\"{name}\",\"tool\":\"{tool}\",\"runs\":{},\"min_ms\":{min:.2},\"median_ms\":{median:.2},\"p99_ms\":{p99:.2},\"max_ms\":{:.2},\"peak_kib\":{peak_kib}}}",
        times.len(),
        at(100)
    );
}

/// The sources ten times over, in folders beside the first.
fn multiply(root: &Path) {
    for index in 1..COPIES {
        copy(&root.join("quic"), &root.join(format!("quic{index}")));
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| panic!("there is no {}", path.display()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::write(target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}
