//! Whole projects of the differential harness, mutated: nothing panics, outputs are what they were the second time, and
//! where `DUVET_PUBLIC` names the public tool and both find nothing wrong, both write the same bytes.
#![no_main]

use duvet::analysis::{Analysis, Project};
use duvet::diagnostic::Severity;
use duvet::report::json_v1::{self, Links};
use duvet::report::{html, json_v2, lcov, snapshot};
use duvet::memo::Memo;
use duvet::pipeline::analyse;
use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod generated;

/// A number, and then five bytes for each change: which file, where, what.
fn mutated(data: &[u8]) -> Option<Vec<(String, String)>> {
    let (number, changes) = data.split_first_chunk::<2>()?;
    let mut files = generated::files(u64::from(u16::from_le_bytes(*number)));
    for change in changes.chunks_exact(5).take(16) {
        // The configuration stays: what it may say is the business of another target.
        let texts: Vec<usize> = (0..files.len()).filter(|i| !files[*i].0.ends_with("config.toml")).collect();
        let text = &mut files[texts[usize::from(change[0]) % texts.len()]].1;
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % (text.len() + 1);
        let at = text.floor_char_boundary(at);
        match change[3] % 4 {
            0 => text.insert(at, char::from(change[4])),
            1 => drop(text.get(at..).and_then(|rest| rest.chars().next()).map(|_| text.remove(at))),
            2 => text.insert_str(at, WORDS[usize::from(change[4]) % WORDS.len()]),
            _ => text.truncate(text.ceil_char_boundary(at.max(1))),
        }
    }
    Some(files)
}

const WORDS: &[&str] = &[
    "\n", "\n\n", ". ", " MUST NOT ", "\n# ", "\n## ", "\n- ", "`", "```\n", "'''", "\"", "#", "=", "\t", "  ",
    "type=test", "é", "\u{0}", "\r\n", "[[spec]]\n", "{#x}", "1.  ", "\u{c}", "&amp;", "](", "<!--",
];

fn project(root: &Path) -> Project {
    let path = Path::new(".duvet/config.toml");
    let text = std::fs::read_to_string(root.join(path)).unwrap();
    let (config, _) = duvet::config::parse(".duvet/config.toml", &text, &|_| None);
    Project {
        root: root.to_owned(),
        config: config.beside(path),
        strict: false,
    }
}

struct Outputs {
    v1: Vec<u8>,
    v2: Vec<u8>,
    snapshot: String,
    is_clean: bool,
}

fn outputs(root: &Path) -> Outputs {
    let project = project(root);
    let analysis: Analysis = analyse(&project, &mut Memo::default());
    let links = Links {
        blob: project.config.blob_link.as_deref(),
        issue: project.config.issue_link.as_deref(),
    };
    html::render(&analysis, &html::Options::default());
    lcov::render(&analysis);
    duvet::fix::fix(root, &analysis);
    duvet::fix::side_by_side(&analysis);
    Outputs {
        v1: json_v1::render(&analysis, links),
        v2: json_v2::render(&analysis, links, root),
        snapshot: snapshot::render(&analysis),
        is_clean: !analysis.diagnostics.iter().any(|found| found.severity == Severity::Error),
    }
}

/// What the public tool writes; nothing when it stops.
fn public(tool: &Path, root: &Path) -> Option<(Vec<u8>, Vec<u8>, String)> {
    let status = Command::new(tool)
        .args(["report", "--json", "v1.json", "--json-v2", "v2.json"])
        .current_dir(root)
        .env("CI", "false")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let read = |name: &str| std::fs::read(root.join(name)).ok();
    let text = String::from_utf8(read(".duvet/snapshot.txt").unwrap_or_default()).ok()?;
    status.success().then_some((read("v1.json")?, read("v2.json")?, text))
}

fuzz_target!(|data: &[u8]| {
    let Some(files) = mutated(data) else { return };
    let root: PathBuf = std::env::temp_dir().join(format!("duvet-fuzz-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    for (name, text) in &files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (first, again) = (outputs(&root), outputs(&root));
    assert!(first.v1 == again.v1 && first.v2 == again.v2 && first.snapshot == again.snapshot);
    serde_json::from_slice::<serde_json::Value>(&first.v1).unwrap();
    let Some(tool) = std::env::var_os("DUVET_PUBLIC").filter(|_| first.is_clean) else { return };
    if let Some((v1, v2, snapshot)) = public(Path::new(&tool), &root) {
        assert!(v1 == first.v1, "version 1 differs in {}", root.display());
        assert!(v2 == first.v2, "version 2 differs in {}", root.display());
        assert!(snapshot.is_empty() || snapshot == first.snapshot, "the snapshot differs in {}", root.display());
    }
});
