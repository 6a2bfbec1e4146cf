//! Our `duvet` beside the public one on projects nobody wrote: whatever the public tool answers, ours answers in the
//! same bytes.
//!
//! Every project follows from its number, so a difference is found again by the number alone, and the answers of the
//! public tool can be written down once (`--record`) and compared in CI without it (`--recorded`). Where the public tool
//! gives no answer (it stops), ours only has to fail too.

mod answer;
mod plan;
mod project;
mod text;

use answer::Side;
use anyhow::{Context as _, Result, bail, ensure};
use std::path::{Path, PathBuf};

const RECORDED: &str = "crates/duvet/tests/recorded/public-0.4.3.tsv";
/// Projects whose answers are written down.
const RECORDED_COUNT: u64 = 50;
/// Differences after which nobody reads on.
const MAX_SHOWN: usize = 12;

/// What was asked for: `[--public PATH] [--from N] [--count N] [--keep FOLDER] [--record | --recorded]`.
#[derive(Debug)]
struct Asked {
    public: Option<PathBuf>,
    from: u64,
    count: u64,
    keep: Option<PathBuf>,
    record: bool,
    recorded: bool,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let asked = parse(arguments)?;
    let ours = built(root)?;
    let scratch = asked
        .keep
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join(format!("duvet-diff-{}", std::process::id())));
    std::fs::create_dir_all(&scratch)?;
    let passed = if asked.recorded {
        compare_recorded(root, &ours, &scratch)
    } else {
        let public = asked
            .public
            .as_ref()
            .context("--public PATH names the public tool")?;
        if asked.record {
            record(root, public, &scratch)
        } else {
            compare(&ours, public, &asked, &scratch)
        }
    };
    if asked.keep.is_none() {
        let _ = std::fs::remove_dir_all(&scratch);
    }
    passed
}

fn compare(ours: &Path, public: &Path, asked: &Asked, scratch: &Path) -> Result<bool> {
    let (mut answered, mut differing) = (0, 0);
    for number in asked.from..asked.from + asked.count {
        let plan = plan::of(number);
        let theirs = answer::of(
            public,
            Side::Public,
            &plan,
            &scratch.join(format!("{number}-public")),
        )?;
        let own = answer::of(ours, Side::Ours, &plan, &scratch.join(format!("{number}-ours")))?;
        answered += u64::from(theirs.is_whole());
        let differences = own.differences(&theirs, &plan);
        if differences.is_empty() {
            for side in ["public", "ours"] {
                let _ = std::fs::remove_dir_all(scratch.join(format!("{number}-{side}")));
            }
            continue;
        }
        differing += 1;
        if differing <= MAX_SHOWN {
            let way = if plan.is_strict { ", strict" } else { "" };
            println!(
                "project {number} ({}{way}): {}",
                plan.name,
                differences.join("; ")
            );
        }
    }
    println!(
        "{} projects, {answered} answered by the public tool, {differing} differ",
        asked.count
    );
    Ok(differing == 0)
}

fn record(root: &Path, public: &Path, scratch: &Path) -> Result<bool> {
    let mut lines =
        String::from("# Answers of the public duvet 0.4.3; written by `cargo xtask duvet-diff --record`.\n");
    for number in 0..RECORDED_COUNT {
        let plan = plan::of(number);
        let theirs = answer::of(
            public,
            Side::Public,
            &plan,
            &scratch.join(format!("{number}-public")),
        )?;
        lines.push_str(&theirs.record(number, &plan));
    }
    let path = root.join(RECORDED);
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    std::fs::write(path, lines)?;
    Ok(true)
}

fn compare_recorded(root: &Path, ours: &Path, scratch: &Path) -> Result<bool> {
    let text = std::fs::read_to_string(root.join(RECORDED)).context(RECORDED)?;
    let mut differing = 0;
    for number in 0..RECORDED_COUNT {
        let plan = plan::of(number);
        let expected: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with(&format!("{number}\t")))
            .collect();
        ensure!(!expected.is_empty(), "project {number} was not recorded");
        let own = answer::of(ours, Side::Ours, &plan, &scratch.join(format!("{number}-ours")))?;
        let differences = own.differs_from(number, &plan, &expected);
        if !differences.is_empty() {
            differing += 1;
            println!("project {number}: {}", differences.join("; "));
        }
    }
    println!("{RECORDED_COUNT} recorded projects, {differing} differ");
    Ok(differing == 0)
}

/// Our tool as it was built last; building it here would build its dependencies in yet another way.
fn built(root: &Path) -> Result<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = folder.join("debug/duvet");
    ensure!(path.exists(), "build it first: cargo build --workspace --bins");
    Ok(path)
}

fn parse(arguments: &[String]) -> Result<Asked> {
    let mut asked = Asked {
        public: None,
        from: 0,
        count: 100,
        keep: None,
        record: false,
        recorded: false,
    };
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--public" => asked.public = Some(value()?.into()),
            "--from" => asked.from = value()?.parse()?,
            "--count" => asked.count = value()?.parse()?,
            "--keep" => asked.keep = Some(value()?.into()),
            "--record" => asked.record = true,
            "--recorded" => asked.recorded = true,
            other => bail!("unknown flag {other}"),
        }
    }
    Ok(asked)
}

/// FNV-1a: enough to tell two answers apart, and the same on every machine.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
