//! `cargo xtask dist`: the release archive, the same bytes from the same commit.
//!
//! The programs are built with the paths of this machine taken out of them; the archive holds them, the texts that must come along
//! (licences of everybody whose code is linked in, a bill of materials), and what installs it, in the order of their names and with the
//! time of the commit. Two builds differ only when what went in differs: `.ci/long reproduce` builds twice, in two places.

mod packages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use packages::Linked;

/// What is shipped.
const PROGRAMS: [&str; 2] = ["spexus", "duvet"];

/// Files of the repository that come along, by the names they get.
const FILES: [(&str, &str); 8] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    ("SECURITY.md", "SECURITY.md"),
    ("docs/operate.md", "operate.md"),
    ("packaging/install.sh", "install.sh"),
    ("packaging/spexus.service", "spexus.service"),
];

/// `dist [--built FOLDER] [--output FOLDER]`: with programs that were built before, or building them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<bool> {
    let (mut built, mut output) = (None, root.join("target/dist-archive"));
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} needs a folder"));
        match word.as_str() {
            "--built" => built = Some(PathBuf::from(value?)),
            "--output" => output = PathBuf::from(value?),
            _ => bail!("dist [--built FOLDER] [--output FOLDER]; there is no {word}"),
        }
    }
    let built = match built {
        Some(folder) => folder,
        None => build(root)?,
    };
    let linked = Linked::read(root, &PROGRAMS)?;
    let name = format!("spexus-{}-{}", linked.version(PROGRAMS[0])?, linked.target);
    let stage = output.join(&name);
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    fs::create_dir_all(&stage)?;
    for program in PROGRAMS {
        copy(&built.join(program), &stage.join(program))?;
    }
    for (from, to) in FILES {
        copy(&root.join(from), &stage.join(to))?;
    }
    fs::write(stage.join("THIRD-PARTY.txt"), linked.licences()?)?;
    fs::write(
        stage.join("sbom.cdx.json"),
        linked.bill_of_materials(PROGRAMS[0])?,
    )?;
    let archive = pack(root, &output, &name)?;
    println!("{}", archive.display());
    Ok(true)
}

/// Builds the programs with the names of this machine's folders replaced.
fn build(root: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .context("neither CARGO_HOME nor HOME is set")?;
    let flags = [
        format!("--remap-path-prefix={home}=/cargo"),
        format!("--remap-path-prefix={}=/spexus", root.display()),
    ];
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(root)
        .args(["build", "--locked", "--profile", "dist"])
        .args(PROGRAMS.iter().flat_map(|program| ["--package", program]))
        .env("CARGO_TARGET_DIR", &target)
        // A unit separator keeps folders with blanks whole.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0");
    ensure!(cargo.status()?.success(), "the programs could not be built");
    Ok(target.join("dist"))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

/// One archive with one order, one owner and one time, and its sum beside it.
fn pack(root: &Path, output: &Path, name: &str) -> Result<PathBuf> {
    let time = said(
        Command::new("git")
            .current_dir(root)
            .args(["log", "-1", "--format=%ct"]),
    )?;
    let archive = format!("{name}.tar.gz");
    let tar = Command::new("tar")
        .current_dir(output)
        .args([
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--format=ustar",
        ])
        .args(["--mode=u+rw,go+r-w,a-s", &format!("--mtime=@{}", time.trim())])
        .args(["--use-compress-program=gzip -n -9", "-cf", &archive, name])
        .status()?;
    ensure!(tar.success(), "the archive could not be written");
    let sum = said(Command::new("sha256sum").current_dir(output).arg(&archive))?;
    fs::write(output.join("SHA256SUMS"), sum)?;
    Ok(output.join(archive))
}

/// What a program printed.
fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}
