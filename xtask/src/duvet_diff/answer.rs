//! What a tool answers about a project: the exit code of every command, and all files they leave.

use super::hash;
use super::plan::{Plan, Step};
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) struct Answer {
    /// Whether each command passed; after the first that did not, none is run.
    passed: Vec<bool>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Which tool is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Public,
}

/// Runs a tool over a project in a folder of its own.
pub(super) fn of(tool: &Path, side: Side, plan: &Plan, folder: &Path) -> Result<Answer> {
    let _ = std::fs::remove_dir_all(folder);
    // Both tools see the same folder name: some answers hold it.
    let root = folder.join("project");
    for (name, text) in &plan.files {
        write(&root, name, text)?;
    }
    let mut passed = Vec::new();
    for step in &plan.steps {
        if let Some((name, text)) = &step.before {
            write(&root, name, text)?;
        }
        let is_strict = side == Side::Ours && plan.is_strict;
        passed.push(run(tool, step, is_strict, &root, folder)?);
        if passed.last() == Some(&false) {
            break;
        }
    }
    let mut files = BTreeMap::new();
    collect(&root, "", &mut files)?;
    Ok(Answer { passed, files })
}

fn write(root: &Path, name: &str, text: &str) -> Result<()> {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    Ok(std::fs::write(path, text)?)
}

fn run(tool: &Path, step: &Step, is_strict: bool, root: &Path, folder: &Path) -> Result<bool> {
    let output = Command::new(tool)
        .args(&step.arguments)
        .args(["--compat", "strict"].iter().filter(|_| is_strict))
        .current_dir(root)
        .env("CI", "false")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .with_context(|| tool.display().to_string())?;
    std::fs::write(folder.join("stderr.txt"), &output.stderr)?;
    Ok(output.status.success())
}

/// Every file but the page, which is another one on purpose, and what is kept for a later run.
fn collect(root: &Path, folder: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = format!("{folder}{}", entry.file_name().to_string_lossy());
        if name.ends_with(".html") || name.ends_with(".duvet/cache") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(root, &format!("{name}/"), files)?;
        } else {
            let bytes = comparable(&name, std::fs::read(entry.path())?);
            files.insert(name, bytes);
        }
    }
    Ok(())
}

/// What is held against each other: `init` writes comments and blank lines in our own way and ignores our cache too.
fn comparable(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    let is_kept = |line: &&str| match name {
        ".duvet/config.toml" => !line.is_empty() && !line.starts_with('#'),
        ".duvet/.gitignore" => *line != "cache/",
        _ => true,
    };
    if !matches!(name, ".duvet/config.toml" | ".duvet/.gitignore") {
        return bytes;
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(is_kept).collect();
    lines.join("\n").into_bytes()
}

impl Answer {
    /// Whether every command gave an answer.
    pub(super) fn is_whole(&self) -> bool {
        self.passed.iter().all(|passed| *passed)
    }

    /// What differs from the public tool's answer, in words; where that stops, ours has to stop as well.
    pub(super) fn differences(&self, public: &Self, plan: &Plan) -> Vec<String> {
        let mut found = Vec::new();
        if self.passed != public.passed {
            found.push(format!("passed {:?}, public {:?}", self.passed, public.passed));
        }
        if !public.is_whole() && !plan.is_strict {
            return found;
        }
        for (name, bytes) in &public.files {
            match self.files.get(name) {
                Some(own) if own == bytes => {}
                Some(_) => found.push(format!("{name} differs")),
                None => found.push(format!("{name} is missing")),
            }
        }
        let more = self.files.keys().filter(|name| !public.files.contains_key(*name));
        found.extend(more.map(|name| format!("{name} is too many")));
        found
    }

    /// The answer in lines: the commands, and one line per file with its hash.
    pub(super) fn record(&self, number: u64, plan: &Plan) -> String {
        let words = self.passed.iter().map(|passed| match passed {
            true => "answered",
            false => "stopped",
        });
        let words: Vec<&str> = words.collect();
        let mut lines = format!(
            "{number}\t{}\t{}\t{:016x}\n",
            plan.name,
            words.join(","),
            plan_hash(plan)
        );
        if self.is_whole() || plan.is_strict {
            for (name, bytes) in &self.files {
                let is_given = |(given, text): &(String, String)| {
                    given == name && comparable(name, text.clone().into_bytes()) == *bytes
                };
                let is_given = plan.files.iter().any(is_given);
                if !is_given {
                    lines.push_str(&format!("{number}\t{name}\t{:016x}\n", hash(bytes)));
                }
            }
        }
        lines
    }

    /// What differs from recorded lines.
    pub(super) fn differs_from(&self, number: u64, plan: &Plan, expected: &[&str]) -> Vec<String> {
        let own = self.record(number, plan);
        let own: Vec<&str> = own.lines().collect();
        if own.first().map(|line| line.rsplit('\t').next())
            != expected.first().map(|line| line.rsplit('\t').next())
        {
            return vec!["the generator changed; record again".to_owned()];
        }
        let theirs = expected
            .iter()
            .filter(|line| !own.contains(line))
            .map(|line| format!("public: {line}"));
        let ours = own
            .iter()
            .filter(|line| !expected.contains(line))
            .map(|line| format!("ours: {line}"));
        theirs.chain(ours).collect()
    }
}

/// Names the project and what is done with it: a generator that changed makes recorded answers void.
fn plan_hash(plan: &Plan) -> u64 {
    let file = |(name, text): &(String, String)| format!("{name}\0{text}\0");
    let files = plan.files.iter().map(file);
    let steps = plan.steps.iter().map(|step| {
        let before = step.before.as_ref().map(file).unwrap_or_default();
        format!("{}\0{before}", step.arguments.join(" "))
    });
    let text: Vec<String> = files.chain(steps).collect();
    hash(format!("{}{}", text.concat(), plan.is_strict).as_bytes())
}
