//! The speed figures of the traceability engine, beside the public tool when it is given.
//!
//! ```text
//! cargo run --profile dist -p duvet --example bench_duvet -- --corpora DIR --duvet BIN [--public BIN] [--runs N]
//! ```
//!
//! `cargo xtask bench duvet` runs it and sets the figures against their targets. Runs of both tools are interleaved, so
//! that what else the machine does falls on both. Each line is a JSON object: a name, a unit, and every single figure.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and fails loudly"
)]

mod growth;
mod server;

use duvet::analysis::Project;
use duvet::config::{Config, source_pattern};
use duvet::engine::Engine;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments
            .windows(2)
            .find(|pair| pair[0] == name)
            .map(|pair| pair[1].clone())
    };
    let folder = |name: &str, usual: &str| PathBuf::from(option(name).unwrap_or_else(|| usual.to_owned()));
    let corpora = folder("--corpora", "../shared/corpora");
    let corpus = corpora.join("s2n-quic");
    let ours = absolute(&folder("--duvet", "target/dist/duvet"));
    let public = option("--public").map(|path| absolute(Path::new(&path)));
    let runs = option("--runs").and_then(|runs| runs.parse().ok()).unwrap_or(15);
    let scratch = tempfile::tempdir().unwrap();
    let one = scratch.path().join("one");
    copy(&corpus, &one);
    let tools = [Some(ours.as_path()), public.as_deref()];
    compare("report --json", &one, &JSON, tools, runs);
    let all = scratch.path().join("all");
    configure(&one, &all);
    compare("report with all outputs", &all, &ALL, tools, runs);
    multiply(&one, 10);
    compare(
        "report --json, sources ten times over",
        &one,
        &JSON,
        tools,
        runs.min(7),
    );
    multiply(&one, 40);
    compare(
        "report --json, sources forty times over",
        &one,
        &JSON,
        tools,
        runs.min(5),
    );
    server::measure_many(&one, &ours);
    let mpl = scratch.path().join("mpl");
    copy(&corpora.join("mpl"), &mpl);
    extract(&ours, &mpl);
    compare("report --json, mpl", &mpl, &MPL, tools, runs);
    growth::measure(scratch.path(), tools, 3);
    warm(&corpus, &scratch.path().join("warm"), &ours, runs);
    let watched = scratch.path().join("resident");
    resident(&corpus, &watched, runs);
    server::measure(&watched, &ours, runs);
}

/// A project described by flags, as those of before the configuration file are.
const JSON: [&str; 9] = [
    "--spec-pattern",
    "specs/**/*.toml",
    "--source-pattern",
    "quic*/**/*.rs",
    "--require-tests",
    "false",
    "--no-cargo",
    "--json",
    "../out.json",
];
/// A project in Markdown and another language.
const MPL: [&str; 17] = [
    "--spec-pattern",
    "compliance/**/*.toml",
    "--source-pattern",
    "AwsCryptographicMaterialProviders/dafny/**/src/**/*.dfy",
    "--source-pattern",
    "AwsCryptographicMaterialProviders/dafny/**/test/**/*.dfy",
    "--source-pattern",
    "AwsCryptographicMaterialProviders/dafny/**/Model/**/*.smithy",
    "--source-pattern",
    "AwsCryptographicMaterialProviders/compliance_exceptions/**/*.txt",
    "--source-pattern",
    "(# //=,# //#).github/workflows/duvet.yaml",
    "--require-tests",
    "false",
    "--no-cargo",
    "--json",
    "../out.json",
];
/// A configured project: snapshot, JSON and HTML.
const ALL: [&str; 0] = [];

/// Times and memory of both tools, one run of each in turn. Ours has no cache to go by.
fn compare(name: &str, folder: &Path, flags: &[&str], tools: [Option<&Path>; 2], runs: usize) {
    let mut both = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for _ in 0..runs {
        for ((times, peaks), (tool, own)) in both.iter_mut().zip(tools.into_iter().zip([true, false])) {
            if let Some(tool) = tool {
                let mut flags = flags.to_vec();
                flags.extend(own.then_some("--no-cache"));
                let (time, peak) = run(tool, folder, &flags);
                times.push(time);
                peaks.push(peak);
            }
        }
    }
    let [(times, peaks), (public_times, public_peaks)] = both;
    line(name, "ms", &times, &public_times);
    line(&format!("memory of {name}"), "MB", &peaks, &public_peaks);
}

/// One report: wall time, and peak memory as the kernel counts it.
fn run(tool: &Path, folder: &Path, flags: &[&str]) -> (f64, f64) {
    let start = Instant::now();
    let mut child = Command::new(tool)
        .current_dir(folder)
        .arg("report")
        .args(flags)
        .env("CI", "false")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0.0f64;
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_mb(child.id()));
        std::thread::sleep(Duration::from_micros(300));
    }
    (milliseconds(start.elapsed()), peak)
}

fn peak_mb(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// A second run with nothing changed, from the cache on disk.
fn warm(corpus: &Path, root: &Path, ours: &Path, runs: usize) {
    copy(corpus, root);
    std::fs::create_dir(root.join(".duvet")).unwrap();
    run(ours, root, &JSON);
    let times: Vec<f64> = (0..runs).map(|_| run(ours, root, &JSON).0).collect();
    line("report --json, nothing changed", "ms", &times, &[]);
}

/// Requirement files of every specification of the second project, as its own script makes them.
fn extract(ours: &Path, root: &Path) {
    let mut folders = vec![PathBuf::from("aws-encryption-sdk-specification/framework")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap().map(Result::unwrap) {
            let name = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(name);
            } else if name.extension().is_some_and(|extension| extension == "md") {
                let mut command = Command::new(ours);
                command
                    .current_dir(root)
                    .args(["extract", "-o", "compliance", "-f", "markdown"]);
                assert!(command.arg(name).output().unwrap().status.success());
            }
        }
    }
}

/// The engine in memory: an unchanged snapshot, and one after one changed file.
fn resident(corpus: &Path, root: &Path, runs: usize) {
    copy(corpus, root);
    let mut config = Config::legacy();
    config.requirements = vec!["specs/**/*.toml".to_owned()];
    config.sources = vec![source_pattern("quic/**/*.rs").unwrap()];
    let project = Project {
        root: root.to_owned(),
        config,
        strict: false,
    };
    // Cookies of the watch are put there.
    std::fs::create_dir_all(root.join(".duvet")).unwrap();
    let mut engine = Engine::new(project, SystemTime::now).watching();
    line(
        "resident, first snapshot",
        "ms",
        &[time(|| drop(engine.snapshot()))],
        &[],
    );
    let idle: Vec<f64> = (0..runs * 10).map(|_| time(|| drop(engine.snapshot()))).collect();
    line("resident, nothing changed", "ms", &idle, &[]);
    let file = root.join("quic/s2n-quic/src/provider/address_token/default.rs");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut changed = Vec::new();
    for run in 0..runs * 4 {
        std::fs::write(&file, format!("{text}\n// {run}\n")).unwrap();
        changed.push(time(|| assert_eq!(engine.snapshot().files_read, 1)));
    }
    line("resident, one changed file", "ms", &changed, &[]);
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    milliseconds(start.elapsed())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn line(name: &str, unit: &str, ours: &[f64], public: &[f64]) {
    println!(
        "{}",
        serde_json::json!({ "name": name, "unit": unit, "ours": ours, "public": public })
    );
}

/// The sources many times over, in folders beside the first.
fn multiply(root: &Path, times: usize) {
    for index in 1..times {
        let folder = root.join(format!("quic{index}"));
        if !folder.exists() {
            copy(&root.join("quic"), &folder);
        }
    }
}

/// The same project with a configuration file that enables every output, and its texts where downloads are kept.
fn configure(project: &Path, to: &Path) {
    copy(&project.join("quic"), &to.join("quic"));
    let downloads = to.join(".duvet/specifications");
    copy(&project.join("specs"), &downloads);
    let mut config = String::from(
        "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"quic/**/*.rs\"\n\
         [report.html]\nenabled = true\n[report.json]\nenabled = true\n[report.snapshot]\nenabled = true\n",
    );
    let mut folders = vec![downloads.clone()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|e| e == "txt") => texts.push(path),
                _ => {}
            }
        }
    }
    texts.sort_unstable();
    for text in texts {
        let name = text.strip_prefix(&downloads).unwrap().with_extension("");
        config.push_str(&format!(
            "[[specification]]\nsource = \"https://{}\"\n",
            name.display()
        ));
    }
    std::fs::write(to.join(".duvet/config.toml"), config).unwrap();
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
