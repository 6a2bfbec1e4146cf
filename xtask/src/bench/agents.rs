//! What agents pay: the tokens of ten tasks, by Spexus and by others from their registries. Tokens do not depend on how fast the machine
//! is, so the program is built quickly; the tasks and the calls are in `.ci/agents`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

/// Builds the program and runs the tasks; prints the table of `docs/agents.md` and writes `target/bench/agents.json`.
pub(super) fn run(root: &Path) -> Result<bool> {
    let built = Command::new("cargo")
        .args(["build", "--quiet", "--package", "spexus", "--bin", "spexus"])
        .current_dir(root)
        .status()
        .context("cargo build")?;
    if !built.success() {
        return Ok(false);
    }
    let target = super::target_folder()?;
    std::fs::create_dir_all(target.join("bench"))?;
    let ran = Command::new(root.join(".ci/agents/run"))
        .env("SPEXUS", target.join("debug/spexus"))
        .env("OUT", target.join("bench/agents.json"))
        .status()
        .context(".ci/agents/run")?;
    Ok(ran.success())
}
