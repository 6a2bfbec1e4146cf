//! What a tool answers about a project: exit code, snapshot, JSON of both versions, requirement files.

use super::hash;
use super::project::Project;
use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) struct Answer {
    pub(super) code: Option<i32>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Runs a tool over a project in a folder of its own.
pub(super) fn of(tool: &Path, project: &Project, folder: &Path) -> Result<Answer> {
    let _ = std::fs::remove_dir_all(folder);
    // Both tools see the same folder name: some answers hold it.
    let root = folder.join("project");
    for (name, text) in &project.files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        std::fs::write(path, text)?;
    }
    let output = Command::new(tool)
        .args(["report", "--json", "v1.json", "--json-v2", "v2.json"])
        .current_dir(&root)
        .env("CI", "false")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .with_context(|| tool.display().to_string())?;
    std::fs::write(folder.join("stderr.txt"), &output.stderr)?;
    let mut files = BTreeMap::new();
    for name in ["v1.json", "v2.json", ".duvet/snapshot.txt"] {
        if let Ok(bytes) = std::fs::read(root.join(name)) {
            files.insert(name.to_owned(), bytes);
        }
    }
    collect(&root, ".duvet/requirements", &mut files)?;
    Ok(Answer {
        code: output.status.code(),
        files,
    })
}

fn collect(root: &Path, folder: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        return Ok(());
    };
    for entry in entries {
        let entry = entry?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(root, &name, files)?;
        } else {
            files.insert(name, std::fs::read(entry.path())?);
        }
    }
    Ok(())
}

impl Answer {
    /// What differs from the public tool's answer, in words; nothing when that gave none and ours failed as well.
    pub(super) fn differences(&self, public: &Self) -> Vec<String> {
        if !public.passed() {
            return match self.passed() {
                true => vec![format!(
                    "the public tool stops with {:?}, ours passes",
                    public.code
                )],
                false => Vec::new(),
            };
        }
        let mut found = Vec::new();
        if self.code != public.code {
            found.push(format!("exit {:?}, public {:?}", self.code, public.code));
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

    /// The answer in lines: project, exit code, and one line per file with its hash.
    pub(super) fn record(&self, number: u64, project: &Project) -> String {
        let code = if self.passed() { "answered" } else { "stopped" };
        let mut lines = format!("{number}\t{code}\t{:016x}\n", project_hash(project));
        if self.passed() {
            for (name, bytes) in &self.files {
                lines.push_str(&format!("{number}\t{name}\t{:016x}\n", hash(bytes)));
            }
        }
        lines
    }

    /// What differs from recorded lines.
    pub(super) fn differs_from(&self, number: u64, project: &Project, expected: &[&str]) -> Vec<String> {
        let own = self.record(number, project);
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

/// Names the project: a generator that changed makes recorded answers void.
fn project_hash(project: &Project) -> u64 {
    let text: Vec<String> = project
        .files
        .iter()
        .map(|(name, text)| format!("{name}\0{text}\0"))
        .collect();
    hash(text.concat().as_bytes())
}
