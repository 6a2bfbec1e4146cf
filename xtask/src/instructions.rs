//! What a request costs in instructions, counted by Callgrind: a figure that does not depend on what else the machine does.
//!
//! Each program serves a fresh copy of the same small database under valgrind, with one worker thread, first for a few
//! requests and then for many. The difference leaves out what starting and stopping cost. The wall time of the same
//! programs, run in turn without valgrind, stands beside it.

mod program;
mod request;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use program::Program;
use request::{REQUESTS, Request};

/// Rounds of wall time.
const ROUNDS: usize = 7;

/// `xtask instructions BEFORE [AFTER]`: one column for each program.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    ensure!(
        (1..=2).contains(&arguments.len()),
        "one or two programs to measure, for example target/dist/spexus"
    );
    let folder = tempfile::tempdir()?;
    let mut programs = Vec::new();
    for (number, path) in arguments.iter().enumerate() {
        let path = PathBuf::from(path);
        let path = path.canonicalize().with_context(|| path.display().to_string())?;
        programs.push(Program::prepare(&path, folder.path(), number)?);
    }
    println!(
        "{:<34} {:>13} {:>13} {:>7}   {:>9} {:>9} {:>7}",
        "", "instructions", "after", "ratio", "wall µs", "after", "ratio"
    );
    for request in REQUESTS {
        let counts = counts(&programs, request)?;
        let times = times(&programs, request)?;
        println!(
            "{:<34} {}   {}",
            request.name,
            columns(&counts, 13),
            columns(&times, 9)
        );
    }
    Ok(true)
}

fn counts(programs: &[Program], request: &Request) -> Result<Vec<f64>> {
    let each = |program: &Program| -> Result<f64> {
        let few = program.instructions(request, request.few)?;
        let many = program.instructions(request, request.few * 5)?;
        ensure!(
            many > few,
            "{}: {many} instructions for more requests, {few} for fewer",
            request.name
        );
        Ok((many - few) as f64 / (request.few * 4) as f64)
    };
    programs.iter().map(each).collect()
}

/// Medians over rounds in which each program has its turn.
fn times(programs: &[Program], request: &Request) -> Result<Vec<f64>> {
    let mut rounds = vec![Vec::new(); programs.len()];
    for _ in 0..ROUNDS {
        for (program, figures) in programs.iter().zip(&mut rounds) {
            figures.push(program.wall_microseconds(request)?);
        }
    }
    Ok(rounds.into_iter().map(median).collect())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn columns(figures: &[f64], width: usize) -> String {
    match figures {
        [before, after] => format!("{before:>width$.0} {after:>width$.0} {:>7.3}", after / before),
        [only] => format!("{only:>width$.0} {:>width$} {:>7}", "", ""),
        _ => String::new(),
    }
}

/// Where a program's database lies.
fn database(folder: &Path) -> PathBuf {
    folder.join("spexus.db")
}
