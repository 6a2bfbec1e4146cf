//! `cargo xtask results LOG [STEPS]`: whether every test and every script the catalogue names ran and passed.
//!
//! The catalogue is written from comments; a test that is never run, or is ignored, would prove nothing. CI hands the
//! output of `cargo test` to this, and what the steps after it printed, so that what `docs/catalogue.md` says of results
//! is true of every commit that landed. A script says of itself what it has shown, when it has: `proved ID FILE`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::criteria::{self, Mark};
use crate::tree::Tree;

/// Marks of tests are held against the log of the tests, and those of scripts against what the steps printed when that
/// is given.
pub(crate) fn run(root: &Path, log: &str, steps: Option<&str>) -> Result<bool> {
    let read = |path: &str| std::fs::read_to_string(path).with_context(|| path.to_owned());
    let marks = criteria::marks(&Tree::read(root)?);
    let mut faults = faults(&marks, &read(log)?);
    let (tests, scripts): (Vec<&Mark>, Vec<&Mark>) = marks.iter().partition(|mark| is_test(mark));
    if let Some(steps) = steps {
        faults.extend(script_faults(&scripts, &read(steps)?));
    }
    for fault in &faults {
        println!("{fault}");
    }
    if faults.is_empty() {
        println!("{} marks stand at tests that passed", tests.len());
        if steps.is_some() {
            println!("{} marks stand in scripts that ran to that point", scripts.len());
        }
    }
    Ok(faults.is_empty())
}

fn is_test(mark: &Mark) -> bool {
    mark.path.ends_with(".rs")
}

/// Names of marked tests that did not pass, each once, with where the mark stands.
fn faults(marks: &[Mark], log: &str) -> Vec<String> {
    let outcomes = outcomes(log);
    let mut faults = BTreeMap::new();
    for mark in marks.iter().filter(|mark| is_test(mark)) {
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

/// Marks in scripts that said nothing of what they stand for.
fn script_faults(marks: &[&Mark], steps: &str) -> Vec<String> {
    let proved: BTreeSet<&str> = steps
        .lines()
        .filter_map(|line| line.trim().strip_prefix("proved "))
        .collect();
    let told = |mark: &Mark| proved.contains(format!("{} {}", mark.id, mark.test).as_str());
    let silent = marks.iter().filter(|mark| !told(mark));
    let sentence = |mark: &&Mark| {
        let (path, line, id, test) = (&mark.path, mark.line, &mark.id, &mark.test);
        format!("{path}:{line}: no step printed `proved {id} {test}`")
    };
    silent.map(sentence).collect()
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
    fn a_script_that_did_not_get_to_its_mark_is_named() {
        let tree = Tree::from([
            (
                ".ci/mcp/apps.py",
                "# proves 000 R1.1, 000 R1.2: both\n# proves 000 R1.3\n",
            ),
            (".ci/mcp/asks.mjs", "  // proves 000 R1.1\n"),
        ]);
        let marks = criteria::marks(&tree);
        let marks: Vec<&Mark> = marks.iter().collect();
        let steps =
            "ok: something\n  proved 000 R1.1 apps.py\nproved 000 R1.2 apps.py\nproved 000 R1.3 other.py\n";
        assert_eq!(
            script_faults(&marks, steps),
            [
                ".ci/mcp/apps.py:2: no step printed `proved 000 R1.3 apps.py`",
                ".ci/mcp/asks.mjs:1: no step printed `proved 000 R1.1 asks.mjs`",
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
