//! The mutation probe: small faults are put into the code that must not be wrong, one at a time, and the tests have to notice.
//!
//! What is probed is a table of areas; cargo-mutants makes the faults. It works in a worktree of its own, on what is committed, and
//! builds into a folder of its own: cargo tells a fault's library from a good one by time alone, so in a shared folder the next
//! test of the repository could run with a fault in it. An area names its tests floor by floor, and a floor is only asked about
//! what the one below let through: most faults cost the building of one small crate. Each floor runs without a fault first, which must
//! succeed and says how long a run may take.
//!
//! A fault that no test notices is a survivor: it gets a test, which `--again` holds against the survivors of the last time alone, or
//! a row with the reason in `docs/mutants.tsv`. The figures are written to `docs/mutants.md`, with how many of an area's faults
//! were drawn: all of them, or with `--every N` each Nth.

mod report;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};

use report::Figures;

/// Of the faults that can be built, so many must be noticed, in percent.
const MIN_CAUGHT_PERCENT: usize = 90;
/// A run that takes so many times as long as without a fault fell into an endless loop: the fault was noticed.
const TIMEOUT_FACTOR: u64 = 5;
/// The least time a run gets, however short it is without a fault.
const MIN_TIMEOUT_SECONDS: u64 = 20;
/// What cargo-mutants puts in place of a function that returns a `Ruled`: it does not know that this is a `Result`, and none
/// of it can be built.
const NEVER_BUILT: &str = " with Ruled::";
/// The rules are the same on both engines, so the one that costs less is asked.
const WITHOUT_POSTGRES: &str = "not test(/postgres/)";
/// What counts steps on very large registries takes longer than all else together, and says nothing of what is answered.
const WITHOUT_EFFORT: &str = "not test(/100_000/)";
/// What the store only does on PostgreSQL.
const WITH_POSTGRES: &str = "test(/postgres/)";

struct Area {
    name: &'static str,
    package: &'static str,
    files: &'static [&'static str],
    /// Who has to notice, from the lowest floor up.
    tests: &'static [Tests],
}

/// Tests of one package, as nextest selects them.
struct Tests {
    package: &'static str,
    /// What of the package is built.
    targets: &'static [&'static str],
    selected: &'static str,
}

impl Tests {
    const fn all(package: &'static str) -> Self {
        Self::some(package, "all()")
    }

    const fn some(package: &'static str, selected: &'static str) -> Self {
        Self {
            package,
            targets: &[],
            selected,
        }
    }

    /// Those that stand in the library itself; nothing else is built.
    const fn unit(package: &'static str) -> Self {
        Self {
            targets: &["--lib"],
            ..Self::all(package)
        }
    }
}

const AREAS: &[Area] = &[
    Area {
        name: "refusals",
        package: "refusal",
        files: &["crates/refusal/src/lib.rs", "crates/refusal/src/table.rs"],
        tests: &[Tests::all("refusal")],
    },
    Area {
        name: "uri",
        package: "mcp-protocol",
        files: &["crates/mcp-protocol/src/uri.rs"],
        tests: &[Tests::all("mcp-protocol")],
    },
    Area {
        name: "schema",
        package: "mcp-protocol",
        files: &["crates/mcp-protocol/src/schema/*.rs"],
        tests: &[Tests::all("mcp-protocol")],
    },
    Area {
        name: "permissions",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/permission.rs"],
        tests: &[
            Tests::all("spexus-domain"),
            Tests::some("spexus-service", WITHOUT_POSTGRES),
        ],
    },
    Area {
        name: "links",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/link.rs"],
        tests: &[
            Tests::all("spexus-domain"),
            Tests::some("spexus-service", WITHOUT_POSTGRES),
        ],
    },
    Area {
        name: "deletion",
        package: "spexus-domain",
        files: &["crates/spexus-domain/src/deletion.rs"],
        tests: &[
            Tests::all("spexus-domain"),
            Tests::some("spexus-service", WITHOUT_POSTGRES),
        ],
    },
    Area {
        name: "tokens",
        package: "spexus-service",
        files: &["crates/spexus-service/src/account/token.rs"],
        tests: &[
            Tests::some("spexus-service", WITHOUT_POSTGRES),
            Tests::some("spexus-http", WITHOUT_POSTGRES),
        ],
    },
    Area {
        name: "batch",
        package: "spexus-service",
        files: &["crates/spexus-service/src/batch.rs"],
        tests: &[
            Tests::some("spexus-service", WITHOUT_POSTGRES),
            Tests::some("spexus-http", WITHOUT_POSTGRES),
        ],
    },
    Area {
        name: "writer",
        package: "spexus-store",
        files: &["crates/spexus-store/src/writer.rs"],
        tests: &[
            Tests::some("spexus-store", WITHOUT_POSTGRES),
            Tests::some("spexus-store", WITH_POSTGRES),
        ],
    },
    Area {
        name: "ledger",
        package: "spexus-store",
        files: &["crates/spexus-store/src/chain.rs"],
        tests: &[
            Tests::some("spexus-store", WITHOUT_POSTGRES),
            Tests::some("spexus-store", WITH_POSTGRES),
        ],
    },
    Area {
        name: "dispatch",
        package: "mcp-server",
        files: &[
            "crates/mcp-server/src/dispatch.rs",
            "crates/mcp-server/src/dispatch/*.rs",
        ],
        tests: &[Tests::some("mcp-server", WITHOUT_EFFORT)],
    },
    Area {
        name: "sessions",
        package: "mcp-server",
        files: &["crates/mcp-server/src/server/session_table.rs"],
        tests: &[Tests::some("mcp-server", WITHOUT_EFFORT)],
    },
    Area {
        name: "roots",
        package: "mcp-server",
        files: &[
            "crates/mcp-server/src/roots.rs",
            "crates/mcp-server/src/root_dirs.rs",
        ],
        tests: &[Tests::some("mcp-server", WITHOUT_EFFORT)],
    },
    Area {
        name: "matching",
        package: "duvet",
        files: &["crates/duvet/src/matching.rs", "crates/duvet/src/matching/*.rs"],
        tests: &[Tests::unit("duvet"), Tests::all("duvet")],
    },
    Area {
        name: "status",
        package: "duvet",
        files: &["crates/duvet/src/status.rs"],
        tests: &[Tests::unit("duvet"), Tests::all("duvet")],
    },
];

/// Probes the areas that are named, or all; false when too much survives or a survivor has no reason.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let (names, drawn) = parse(arguments)?;
    let reasons = report::reasons(&fs::read_to_string(root.join("docs/mutants.tsv"))?)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let probe = Probe::new(root, target.join("mutants"))?;
    let page = root.join("docs/mutants.md");
    let order: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
    let mut all = BTreeMap::new();
    for area in AREAS {
        if names.is_empty() || names.contains(&area.name) {
            let before = fs::read_to_string(&page).unwrap_or_default();
            let figures = match drawn {
                Drawn::Every(every) => probe.area(area, every)?,
                Drawn::Again => probe.again(area, &before)?,
            };
            println!("{:<12} {}", area.name, figures.line());
            all.insert(area.name, figures);
            fs::write(&page, report::page(&before, &order, &all, &reasons))?;
        }
    }
    let problems = report::problems(&all, &reasons, MIN_CAUGHT_PERCENT);
    problems.iter().for_each(|problem| println!("{problem}"));
    Ok(problems.is_empty())
}

/// Which faults are tried.
#[derive(Clone, Copy)]
enum Drawn {
    /// Each Nth.
    Every(usize),
    /// Those that survived the last time.
    Again,
}

/// `[AREA…] [--every N | --again]`
fn parse(arguments: &[String]) -> Result<(Vec<&str>, Drawn)> {
    let (mut names, mut drawn) = (Vec::new(), Drawn::Every(1));
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--every" {
            let number = words.next().context("--every needs a number")?;
            let every = number.parse().context("--every needs a number")?;
            ensure!(every > 0, "--every 0 would draw nothing");
            drawn = Drawn::Every(every);
        } else if word == "--again" {
            drawn = Drawn::Again;
        } else if AREAS.iter().any(|area| area.name == word) {
            names.push(word);
        } else {
            let known: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
            bail!("no area is called {word}; there are {}", known.join(", "));
        }
    }
    Ok((names, drawn))
}

struct Probe {
    tree: Worktree,
    /// Where everything of the probe is kept.
    folder: PathBuf,
}

impl Probe {
    fn new(root: &Path, folder: PathBuf) -> Result<Self> {
        let tree = Worktree::new(root, &folder)?;
        Ok(Self { tree, folder })
    }

    fn area(&self, area: &Area, every: usize) -> Result<Figures> {
        let first = ["--sharding=round-robin".to_owned(), format!("--shard=0/{every}")];
        let mut figures = Figures::drawn(every);
        self.floors(area, &mut figures, Some(&first))?;
        Ok(figures)
    }

    fn again(&self, area: &Area, page: &str) -> Result<Figures> {
        let survivors = fs::read_to_string(self.survivors(area)).unwrap_or_default();
        let mut figures = Figures::kept(page, area.name, &survivors)?;
        let tried = figures.tried();
        self.floors(area, &mut figures, None)?;
        ensure!(
            figures.tried() == tried,
            "{} was changed since it was probed: probe all of it",
            area.name
        );
        Ok(figures)
    }

    /// Floor after floor is asked about what survives; the first about what `first` draws, where that is given.
    fn floors(&self, area: &Area, figures: &mut Figures, first: Option<&[String]>) -> Result<()> {
        let mut first = first;
        for (floor, tests) in area.tests.iter().enumerate() {
            let output = self.folder.join("found").join(format!("{}-{floor}", area.name));
            let draw = match first.take() {
                Some(draw) => draw.to_owned(),
                None if figures.survivors().next().is_none() => break,
                None => {
                    self.leave_out_all_but(figures, area, &output.join("mutants.out"))?;
                    vec!["--iterate".to_owned()]
                }
            };
            fs::create_dir_all(&output)?;
            let mut cargo = self.faults_of(area);
            cargo
                .args(["--in-place", "--baseline=skip", "--colors=never", "--timeout"])
                .arg(self.without_a_fault(tests)?.to_string())
                .args(["--test-tool=nextest", "--test-package", tests.package])
                .args(tests.targets.iter().map(|target| format!("--cargo-arg={target}")))
                .args(arguments_of(tests).map(|argument| format!("--cargo-test-arg={argument}")))
                .arg("--output")
                .arg(&output)
                .args(draw);
            let status = cargo
                .status()
                .context("cargo mutants; `source .ci/provide` has it")?;
            // 2: something was missed, 3: something took too long. Both are findings, not failures of the probe.
            ensure!(
                matches!(status.code(), Some(0 | 2 | 3)),
                "cargo mutants failed in {}: {status}",
                area.name
            );
            figures.then(Figures::read(&output.join("mutants.out"))?);
            let survivors: Vec<&str> = figures.survivors().collect();
            fs::write(self.survivors(area), survivors.join("\n"))?;
        }
        Ok(())
    }

    /// Writes down all faults of an area but the survivors as known. Patterns would be simpler, but cargo-mutants tries faults of
    /// struct expressions whatever the patterns are.
    fn leave_out_all_but(&self, figures: &Figures, area: &Area, output: &Path) -> Result<()> {
        let listed = self.faults_of(area).arg("--list").output()?;
        ensure!(
            listed.status.success(),
            "cargo mutants --list failed in {}",
            area.name
        );
        let survivors: Vec<&str> = figures.survivors().collect();
        let listed = String::from_utf8(listed.stdout)?;
        let known: Vec<&str> = listed.lines().filter(|one| !survivors.contains(one)).collect();
        if output.exists() {
            fs::remove_dir_all(output)?;
        }
        fs::create_dir_all(output)?;
        fs::write(output.join("caught.txt"), known.join("\n"))?;
        Ok(())
    }

    fn faults_of(&self, area: &Area) -> Command {
        let mut cargo = self.cargo("mutants");
        cargo
            .args(["--exclude-re", NEVER_BUILT, "--package", area.package])
            .args(area.files.iter().flat_map(|file| ["--file", *file]));
        cargo
    }

    /// What the last probe of an area left, with the lines.
    fn survivors(&self, area: &Area) -> PathBuf {
        self.folder.join("found").join(format!("{}.survivors", area.name))
    }

    /// The tests must succeed as they are; says how many seconds they get with a fault.
    fn without_a_fault(&self, tests: &Tests) -> Result<u64> {
        let run = |more: &[&str]| {
            let mut cargo = self.cargo("nextest");
            cargo.args(["run", "--package", tests.package]);
            cargo.args(tests.targets).args(more);
            let status = cargo
                .status()
                .context("cargo nextest; `source .ci/provide` has it")?;
            ensure!(
                status.success(),
                "the tests of {} fail without a fault",
                tests.package
            );
            anyhow::Ok(())
        };
        run(&["--no-run"])?;
        let start = Instant::now();
        run(&arguments_of(tests))?;
        Ok((start.elapsed().as_secs() * TIMEOUT_FACTOR).max(MIN_TIMEOUT_SECONDS))
    }

    fn cargo(&self, command: &str) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .arg(command)
            .env("CARGO_TARGET_DIR", self.folder.join("build"))
            // Crates are built again for each fault, and each time but for a function they are what they were.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .current_dir(&self.tree.path);
        cargo
    }
}

fn arguments_of(tests: &Tests) -> [&'static str; 4] {
    // Tests wait more than they compute; the first that fails is enough.
    ["--test-threads=4", "--max-fail=1:immediate", "-E", tests.selected]
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
