//! `cargo xtask results LOG`: whether every test the catalogue names ran and passed.
//!
//! The catalogue is written from comments; a test that is never run, or is ignored, would prove nothing. CI hands the
//! output of `cargo test` to this, so that what `docs/catalogue.md` says of results is true of every commit that landed.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::criteria::{self, Mark};
use crate::tree::Tree;

pub(crate) fn run(root: &Path, log: &str) -> Result<bool> {
    let log = std::fs::read_to_string(log).with_context(|| log.to_owned())?;
    let marks = criteria::marks(&Tree::read(root)?);
    let faults = faults(&marks, &log);
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("{} marks stand at tests that passed", marks.len());
    }
    Ok(faults.is_empty())
}

/// Names of marked tests that did not pass, each once, with where the mark stands.
fn faults(marks: &[Mark], log: &str) -> Vec<String> {
    let outcomes = outcomes(log);
    let mut faults = BTreeMap::new();
    for mark in marks.iter().filter(|mark| mark.path.ends_with(".rs")) {
        let problem = match outcomes.get(mark.test.as_str()) {
            None => "did not run",
            Some(false) => "did not pass",
            Some(true) => continue,
        };
        faults
            .entry(&mark.test)
            .or_insert_with(|| format!("{}:{}: `{}` {problem}", mark.path, mark.line, mark.test));
    }
    faults.into_values().collect()
}

/// By name: whether all tests of that name passed. A test that runs on two engines has the engine as its last part.
fn outcomes(log: &str) -> BTreeMap<&str, bool> {
    let mut outcomes = BTreeMap::new();
    for line in log.lines() {
        let Some((path, outcome)) = line
            .strip_prefix("test ")
            .and_then(|line| line.split_once(" ... "))
        else {
            continue;
        };
        let path = path.trim_end_matches(" - should panic");
        for name in path.rsplit("::").take(2) {
            let passed = outcomes.entry(name).or_insert(true);
            *passed &= outcome.starts_with("ok");
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_run_or_pass_is_named() {
        let tree = Tree::from([(
            "crates/a/tests/it.rs",
            "// proves 000 R1.1\n#[test]\nfn one() {}\n// proves 000 R1.2\n#[test]\nfn two() {}\n// proves 000 R1.3\n#[test]\nfn three() {}\n",
        )]);
        let log = "running 3 tests\ntest a::one::sqlite ... ok\ntest a::one::postgres ... ok\ntest a::two ... FAILED\n";
        let found = faults(&criteria::marks(&tree), log);
        assert_eq!(
            found,
            [
                "crates/a/tests/it.rs:7: `three` did not run",
                "crates/a/tests/it.rs:4: `two` did not pass"
            ]
        );
    }

    #[test]
    fn one_engine_that_fails_is_a_failure() {
        let found =
            outcomes("test a::one::sqlite ... ok\ntest a::one::postgres ... FAILED\ntest b ... ignored\n");
        assert!(!found["one"] && !found["b"]);
    }
}
