//! How well texts are completed, against a model that knows nothing but how often each word comes.

use super::row::{Row, Target};
use super::sample::{self, Pair};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let program = [
        "run",
        "--profile",
        super::PROFILE,
        "--quiet",
        "-p",
        "spexus-complete",
        "--example",
        "completion-accuracy",
        "--",
        "specs",
    ];
    let output = Command::new("cargo").args(program).output()?;
    ensure!(output.status.success(), "completion-accuracy failed");
    let mut rows = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let found: Value = serde_json::from_str(line)?;
        rows.extend(of_texts(&found)?);
    }
    Ok(rows)
}

fn of_texts(found: &Value) -> Result<[Row; 3]> {
    let texts = found["texts"].as_str().context("which texts")?;
    let figure = |name: &str| found[name].as_f64().with_context(|| name.to_owned());
    let pair = |name: &str, scale: f64| -> Result<Pair> {
        let (ours, bare) = (
            figure(name)? * scale,
            figure(&format!("baseline_{name}"))? * scale,
        );
        Ok(Pair {
            ours: sample::of([ours]),
            bare: sample::of([bare]),
            ratio: sample::of([ours / bare]),
        })
    };
    let name = |what: &str| format!("{what} of held-back {texts} texts ÷ the commonest words");
    Ok([
        Row::ratio(
            name("first guesses"),
            "%",
            &pair("top_1", 100.0)?,
            Target::AtLeast(2.0),
        ),
        Row::ratio(
            name("first five guesses"),
            "%",
            &pair("top_5", 100.0)?,
            Target::AtLeast(1.5),
        ),
        Row::ratio(
            name("perplexity"),
            "words",
            &pair("perplexity", 1.0)?,
            Target::AtMost(0.5),
        ),
    ])
}
