//! The MCP runtime from outside: a driver talks to example servers over real pipes and sockets, beside the official SDK
//! and a bare axum route in the same round. The driver is `crates/mcp-server/examples/drive`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::row::{Row, Target};
use super::sample::{self, Pair, Sample};
use super::{PROFILE, target_folder};

/// The driver, and the servers it finds beside itself.
const EXAMPLES: [&str; 3] = ["drive", "echo", "rmcp_echo"];
/// How often everything is measured.
const ROUNDS: usize = 3;
/// Requests of one figure; the faster ones take several times as many.
const MESSAGES: &str = "200000";

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let built = Command::new("cargo")
        .args([
            "build",
            "--profile",
            PROFILE,
            "--quiet",
            "--package",
            "mcp-server",
        ])
        .args(EXAMPLES.map(|name| format!("--example={name}")))
        .status()
        .context("cargo build")?;
    ensure!(built.success(), "the examples of mcp-server do not build");
    let target = target_folder()?;
    let drive = target.join(PROFILE).join("examples/drive");
    let mut figures = Figures::default();
    for _ in 0..ROUNDS {
        figures.add(&round(&drive, &target.join("mcp-round.json"))?)?;
    }
    figures.rows()
}

fn round(drive: &Path, file: &Path) -> Result<Value> {
    let done = Command::new(drive)
        .args(["--messages", MESSAGES, "--json"])
        .arg(file)
        .output()
        .context("the driver does not start")?;
    ensure!(
        done.status.success(),
        "the driver failed: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let text = fs::read_to_string(file)?;
    fs::remove_file(file)?;
    serde_json::from_str(&text).context("the driver's figures")
}

/// What the rounds measured, by name.
#[derive(Default)]
struct Figures(BTreeMap<String, Vec<f64>>);

impl Figures {
    fn add(&mut self, round: &Value) -> Result<()> {
        for figure in round.as_array().context("a list of figures")? {
            let name = figure["name"].as_str().context("a figure has a name")?;
            let value = figure["value"].as_f64().context("a figure has a value")?;
            self.0.entry(name.to_owned()).or_default().push(value);
        }
        Ok(())
    }

    fn rows(&self) -> Result<Vec<Row>> {
        use Target::{AtLeast, AtMost};
        let alone = |name: &'static str, unit, target| {
            Ok::<_, anyhow::Error>(Row::alone(name, unit, self.sample(name)?, target))
        };
        let sdk = self.pair("stdio tools/call, one task each", "rmcp stdio tools/call")?;
        let http = self.pair("HTTP tools/call", "bare axum POST")?;
        let tools = self.pair("tools/call among 100,000 tools", "tools/call among 10 tools")?;
        let sessions = self.pair(
            "tools/call in one of 100,000 sessions",
            "tools/call in one of 10 sessions",
        )?;
        Ok(vec![
            alone("stdio ping", "/s", AtLeast(800_000.0))?,
            alone("stdio tools/call, ready tool inline", "/s", AtLeast(400_000.0))?,
            alone("stdio tools/call, one task each", "/s", AtLeast(150_000.0))?,
            Row::ratio("stdio tools/call, one task each ÷ rmcp", "/s", &sdk, AtLeast(5.0)),
            Row::ratio("HTTP tools/call ÷ bare axum POST", "/s", &http, AtLeast(0.75)),
            alone("HTTP batch of 100", "/s", AtLeast(400_000.0))?,
            alone("growth with 100,000 requests in flight", "MB", AtMost(10.0))?,
            alone("10,000 idle sessions", "MB", AtMost(20.0))?,
            alone("one idle session", "bytes", AtMost(2_048.0))?,
            Row::ratio(
                "tools/call among 100,000 tools ÷ among 10",
                "/s",
                &tools,
                AtLeast(0.7),
            ),
            Row::ratio(
                "tools/call in one of 100,000 sessions ÷ of 10",
                "/s",
                &sessions,
                AtLeast(0.7),
            ),
        ])
    }

    fn sample(&self, name: &str) -> Result<Sample> {
        Ok(sample::of(self.values(name)?.iter().copied()))
    }

    fn pair(&self, ours: &str, bare: &str) -> Result<Pair> {
        let rounds = self.values(ours)?.iter().zip(self.values(bare)?);
        Ok(Pair {
            ours: self.sample(ours)?,
            bare: self.sample(bare)?,
            ratio: sample::of(rounds.map(|(ours, bare)| ours / bare)),
        })
    }

    fn values(&self, name: &str) -> Result<&Vec<f64>> {
        self.0
            .get(name)
            .with_context(|| format!("the driver measures no {name:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pair_is_divided_round_by_round() {
        let mut figures = Figures::default();
        for (ours, bare) in [(50.0, 10.0), (8.0, 2.0), (60.0, 10.0)] {
            figures
                .add(&json!([{ "name": "ours", "value": ours }, { "name": "bare", "value": bare }]))
                .unwrap();
        }
        let pair = figures.pair("ours", "bare").unwrap();
        assert_eq!(
            (pair.ratio.low, pair.ratio.median, pair.ratio.high),
            (4.0, 5.0, 6.0)
        );
        assert!(figures.sample("nobody measured it").is_err());
    }
}
