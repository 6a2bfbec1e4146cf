//! Repository chores, as `cargo xtask COMMAND`.
//!
//! What a reviewer would say twice is said by a program the third time: `tidy` holds the house rules, `gen` writes the
//! references that can be derived from code, `bench` measures what we promise, `soak` breaks things and counts, `mutants` asks whether the tests would notice, `dist` makes the
//! release archive, `results` holds the
//! catalogue against what the tests said, and `ci` runs what CI runs. The decision
//! that shaped it: rules and generators look at a [`tree::Tree`], the repository as text in memory, so that each of them
//! is a plain function and its test is three lines.
//!
//! It knows the layout of the repository and nothing of the product, except for what the generators ask of it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for terminals"
)]

mod bench;
mod ci;
mod count;
mod criteria;
mod dist;
mod duvet_diff;
mod generate;
mod http;
mod instructions;
mod mutants;
mod results;
mod rust;
mod soak;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy                      check the house rules
  gen [--check] [NAME…]     write the generated references, or fail when one is out of date
  bench [--strict] [NAME…]  run the benchmark suites; --strict fails on a missed target
  count [TREE…]             size and shape of product code, one column for each tree
  dist [--built FOLDER] [--output FOLDER]
                            the release archive with sums, licences and a bill of materials, the same bytes each time
  soak --kills N --engine sqlite|postgres
                            write while servers, databases, disks and clocks fail; count what was lost
  instructions BEFORE [AFTER]
                            what requests cost one or two builds of the product, counted by Callgrind
  mutants [AREA…] [--every N | --again]
                            put faults into code that must not be wrong, each Nth of them or those that survived; the
                            tests have to notice
  duvet-diff --public PATH  our duvet beside the public one on generated projects; --recorded in CI
  results LOG [STEPS]       check that every test, and every script, the catalogue names ran and passed
  ci                        run what CI runs";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("xtask: {why:#}");
            ExitCode::FAILURE
        }
    }
}

/// `Ok(false)` when the chore ran and found something to complain about, which it has printed.
fn run(arguments: &[String]) -> Result<bool> {
    match arguments
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        Some(("dist", rest)) => return dist::run(&root(), rest),
        Some(("soak", rest)) => return soak::run(&root(), rest),
        Some(("count", rest)) => return count::run(&root(), rest),
        Some(("mutants", rest)) => return mutants::run(&root(), rest),
        Some(("instructions", rest)) => return instructions::run(rest),
        Some(("duvet-diff", rest)) => return duvet_diff::run(&root(), rest),
        _ => {}
    }
    let (flags, names): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .skip(1)
        .map(String::as_str)
        .partition(|a| a.starts_with('-'));
    match (arguments.first().map(String::as_str), flags.as_slice()) {
        (Some("tidy"), []) => tidy::run(&root()),
        (Some("gen"), []) => generate::write(&root(), &names),
        (Some("gen"), ["--check"]) => generate::check(&root(), &names),
        (Some("bench"), []) => bench::run(&root(), &names, bench::Missed::Shown),
        (Some("bench"), ["--strict"]) => bench::run(&root(), &names, bench::Missed::Fails),
        (Some("results"), []) if (1..=2).contains(&names.len()) => {
            results::run(&root(), names[0], names.get(1).copied())
        }
        (Some("ci"), []) => ci::run(&root()),
        _ => {
            eprintln!("{USAGE}");
            Ok(false)
        }
    }
}

/// The repository: the one cargo runs us in, which may not be the one we were built in when worktrees share a target.
fn root() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let here = Path::new(&here);
    here.parent().unwrap_or(here).to_owned()
}
