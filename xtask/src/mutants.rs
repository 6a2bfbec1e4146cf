//! The mutation probe: small faults are put into the code that must not be wrong, one at a time, and the tests have to notice.
//!
//! What is probed is a table of areas; cargo-mutants makes the faults and runs the tests of the crates an area names. It works in a
//! worktree of its own, on what is committed, and shares the libraries that are built already. A fault that no test notices is a
//! survivor: it gets a test, or a row with the reason in `docs/mutants.tsv`. The figures are written to `docs/mutants.md`.

mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use report::Figures;

/// Of the faults that can be built, so many must be noticed, in percent.
const MIN_CAUGHT_PERCENT: usize = 90;
/// A test run that takes longer than this fell into an endless loop: the fault was noticed.
const TIMEOUT_SECONDS: &str = "120";

struct Area {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    /// Whose tests have to notice.
    tests: &'static [&'static str],
}

const AREAS: &[Area] = &[
    Area {
        name: "refusals",
        package: "refusal",
        files: &["crates/refusal/src/lib.rs", "crates/refusal/src/table.rs"],
        tests: &["refusal"],
    },
    Area {
        name: "uri",
        package: "mcp-protocol",
        files: &["crates/mcp-protocol/src/uri.rs"],
        tests: &["mcp-protocol"],
    },
    Area {
        name: "schema",
        package: "mcp-protocol",
        files: &["crates/mcp-protocol/src/schema/*.rs"],
        tests: &["mcp-protocol"],
    },
    Area {
        name: "permissions",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/permission.rs"],
        tests: &["spexus-domain", "spexus-service"],
    },
    Area {
        name: "links",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/link.rs"],
        tests: &["spexus-domain", "spexus-service"],
    },
    Area {
        name: "deletion",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/deletion.rs"],
        tests: &["spexus-domain", "spexus-service"],
    },
    Area {
        name: "tokens",
        package: "spexus-service",
        files: &["crates/spexus-service/src/account/token.rs"],
        tests: &["spexus-service", "spexus-http"],
    },
    Area {
        name: "batch",
        package: "spexus-service",
        files: &["crates/spexus-service/src/batch.rs"],
        tests: &["spexus-service", "spexus-http"],
    },
    Area {
        name: "writer",
        package: "spexus-store",
        files: &["crates/spexus-store/src/writer.rs"],
        tests: &["spexus-store"],
    },
    Area {
        name: "ledger",
        package: "spexus-store",
        files: &["crates/spexus-store/src/chain.rs"],
        tests: &["spexus-store"],
    },
    Area {
        name: "dispatch",
        package: "mcp-server",
        files: &[
            "crates/mcp-server/src/dispatch.rs",
            "crates/mcp-server/src/dispatch/*.rs",
        ],
        tests: &["mcp-server"],
    },
    Area {
        name: "sessions",
        package: "mcp-server",
        files: &["crates/mcp-server/src/server/session_table.rs"],
        tests: &["mcp-server"],
    },
    Area {
        name: "roots",
        package: "mcp-server",
        files: &[
            "crates/mcp-server/src/roots.rs",
            "crates/mcp-server/src/root_dirs.rs",
        ],
        tests: &["mcp-server"],
    },
    Area {
        name: "matching",
        package: "duvet",
        files: &["crates/duvet/src/matching.rs", "crates/duvet/src/matching/*.rs"],
        tests: &["duvet"],
    },
    Area {
        name: "status",
        package: "duvet",
        files: &["crates/duvet/src/status.rs"],
        tests: &["duvet"],
    },
];

/// Probes the named areas, or all; false when too much survives or a survivor has no reason.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<bool> {
    if let Some(name) = names
        .iter()
        .find(|name| AREAS.iter().all(|area| area.name != **name))
    {
        let known: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
        bail!("no area is called {name}; there are {}", known.join(", "));
    }
    let reasons = report::reasons(&fs::read_to_string(root.join("docs/mutants.tsv"))?)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let tree = Worktree::new(root, &target.join("mutants"))?;
    let mut all = BTreeMap::new();
    for area in AREAS {
        if names.is_empty() || names.contains(&area.name) {
            let figures = probe(area, &tree, &target)?;
            println!("{:<12} {}", area.name, figures.line());
            all.insert(area.name, figures);
        }
    }
    let path = root.join("docs/mutants.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let order: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
    fs::write(&path, report::page(&before, &order, &all, &reasons))?;
    let problems = report::problems(&all, &reasons, MIN_CAUGHT_PERCENT);
    problems.iter().for_each(|problem| println!("{problem}"));
    Ok(problems.is_empty())
}

fn probe(area: &Area, tree: &Worktree, target: &Path) -> Result<Figures> {
    let output = target.join("mutants").join(area.name);
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "mutants",
            "--in-place",
            "--no-shuffle",
            "--colors=never",
            "--timeout",
            TIMEOUT_SECONDS,
        ])
        .args(["--package", area.package, "--output"])
        .arg(&output)
        .args(area.tests.iter().flat_map(|package| ["--test-package", *package]))
        .args(area.files.iter().flat_map(|file| ["--file", *file]))
        .env("CARGO_TARGET_DIR", target)
        .current_dir(&tree.path);
    let status = cargo
        .status()
        .context("cargo mutants; `source .ci/provide` has it")?;
    // 2: something was missed, 3: something took too long. Both are findings, not failures of the probe.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "cargo mutants failed in {}: {status}",
        area.name
    );
    Figures::read(&output.join("mutants.out"))
}

/// What is committed, beside the repository, for faults to be put into.
struct Worktree {
    path: PathBuf,
    root: PathBuf,
}

impl Worktree {
    fn new(root: &Path, folder: &Path) -> Result<Self> {
        let path = folder.join("tree");
        fs::create_dir_all(folder)?;
        let worktree = Self {
            path,
            root: root.to_owned(),
        };
        worktree.remove();
        let mut git = Command::new("git");
        git.args(["worktree", "add", "--detach", "--force"])
            .arg(&worktree.path);
        ensure!(
            git.current_dir(root).status()?.success(),
            "git worktree add failed"
        );
        Ok(worktree)
    }

    fn remove(&self) {
        let mut git = Command::new("git");
        git.args(["worktree", "remove", "--force"]).arg(&self.path);
        // There may be none.
        let _ = git.current_dir(&self.root).output();
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        self.remove();
    }
}
