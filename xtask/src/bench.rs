//! Benchmarks of what we promise: named suites whose rows are ratios within one run.
//!
//! Absolute figures say as much about the machine and its neighbours as about us, so a row sets our figure against a
//! bare one measured in the same breath: [`sample::alternate`] runs both in turn, many times, and takes the median. To
//! add a suite, write a `fn() -> Result<Vec<Row>>` in a file of its own and name it in [`SUITES`].

mod agents;
mod completion;
mod duvet;
mod mcp;
mod rest;
mod row;
mod sample;
mod spexus_mcp;
mod trace;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use row::Row;

/// What is measured is built like what is shipped.
const PROFILE: &str = "dist";

/// What a missed target does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    /// It is shown.
    Shown,
    /// It is shown, and the command fails.
    Fails,
}

struct Suite {
    name: &'static str,
    run: fn() -> Result<Vec<Row>>,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "floor",
        run: floor,
    },
    Suite {
        name: "rest",
        run: rest::suite,
    },
    Suite {
        name: "spexus-mcp",
        run: spexus_mcp::suite,
    },
    Suite {
        name: "duvet",
        run: duvet::suite,
    },
    Suite {
        name: "mcp",
        run: mcp::suite,
    },
    Suite {
        name: "web",
        run: web::suite,
    },
    Suite {
        name: "trace",
        run: trace::suite,
    },
    Suite {
        name: "completion",
        run: completion::suite,
    },
];

/// Runs the named suites, or all; false when targets were missed and that matters.
pub(crate) fn run(root: &Path, names: &[&str], missed: Missed) -> Result<bool> {
    // Needs registries of other languages, so it runs only when it is named.
    if names == ["agents"] {
        return agents::run(root);
    }
    if cfg!(debug_assertions) {
        return as_shipped(root, names, missed);
    }
    if let Some(name) = names
        .iter()
        .find(|name| SUITES.iter().all(|suite| suite.name != **name))
    {
        bail!("no suite is called {name}");
    }
    let mut all_met = true;
    for suite in SUITES
        .iter()
        .filter(|suite| names.is_empty() || names.contains(&suite.name))
    {
        let rows = (suite.run)().with_context(|| suite.name)?;
        print!("{}", row::table(suite.name, &rows));
        write(suite.name, &rows)?;
        all_met &= rows.iter().all(Row::is_met);
    }
    Ok(all_met || missed == Missed::Shown)
}

/// The measuring side must be as fast as the measured one.
fn as_shipped(root: &Path, names: &[&str], missed: Missed) -> Result<bool> {
    let mut cargo = Command::new("cargo");
    cargo.args([
        "run",
        "--profile",
        PROFILE,
        "--quiet",
        "--package",
        "xtask",
        "--",
        "bench",
    ]);
    if missed == Missed::Fails {
        cargo.arg("--strict");
    }
    let status = cargo
        .args(names)
        .current_dir(root)
        .status()
        .context("cargo run")?;
    Ok(status.success())
}

fn write(suite: &str, rows: &[Row]) -> Result<()> {
    let folder = target_folder()?.join("bench");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{suite}.json"));
    let text = serde_json::to_string_pretty(&row::json(suite, rows))?;
    fs::write(&path, text + "\n").with_context(|| path.display().to_string())
}

/// Where this program was built, wherever the target folder is: `target/dist/xtask`.
fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    program
        .ancestors()
        .nth(2)
        .map(Path::to_owned)
        .context("the program stands in the target folder")
}

/// What the measuring itself costs: the smallest difference any other row can mean something at.
fn floor() -> Result<Vec<Row>> {
    let rate = || Ok(1.0 / seconds_per_turn(|number| number));
    let loops = sample::alternate(15, rate, rate)?;
    let clock = sample::of((0..15).map(|_| seconds_per_turn(|_| Instant::now()) * 1e9));
    Ok(vec![
        Row::ratio("the same loop twice", "/s", &loops, row::Target::AtLeast(0.8)),
        Row::alone("reading the clock", "ns", clock, row::Target::AtMost(1000.0)),
    ])
}

fn seconds_per_turn<T>(work: impl Fn(u32) -> T) -> f64 {
    const TURNS: u32 = 1_000_000;
    let start = Instant::now();
    for turn in 0..TURNS {
        std::hint::black_box(work(turn));
    }
    start.elapsed().as_secs_f64() / f64::from(TURNS)
}
