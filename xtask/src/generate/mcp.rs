//! The MCP reference: printed by an example of `spexus-mcp` that makes every call it shows. Chores stay small by running it
//! instead of being built with the whole product.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tree::Tree;

const PROGRAM: &str = "mcp-reference";

pub(super) fn make(_: &Tree) -> Result<String> {
    let program = beside_us()?;
    // Where everything was built together it is there; a lone `cargo xtask` builds it.
    if !program.exists() {
        let built = Command::new("cargo")
            .args([
                "build",
                "--quiet",
                "--package",
                "spexus-mcp",
                "--example",
                PROGRAM,
            ])
            .status()
            .context("cargo build")?;
        if !built.success() {
            bail!("{PROGRAM} could not be built");
        }
    }
    let output = Command::new(&program)
        .output()
        .with_context(|| program.display().to_string())?;
    if !output.status.success() {
        bail!("{PROGRAM} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn beside_us() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.with_file_name("examples").join(PROGRAM))
}
