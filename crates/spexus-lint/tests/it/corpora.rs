//! Real folders: what share of acceptance criteria is taken apart, how often a real specification is warned of.

use std::fs;
use std::path::{Path, PathBuf};

use spexus_lint::ears::SlotKind;
use spexus_lint::{Options, Tier, check, parse, passages};
use test_support::corpora;

fn files(folder: &Path, name: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, name, found),
            false if path.ends_with(name) => found.push(path),
            false => {}
        }
    }
}

/// The numbered lines below `#### Acceptance Criteria`.
fn criteria(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            inside = line.to_lowercase().contains("acceptance criteria");
        } else if inside && line.starts_with(|c: char| c.is_ascii_digit()) {
            let start = line.find(' ').unwrap_or(0);
            found.push(line[start..].trim().to_owned());
        }
    }
    found
}

#[test]
fn acceptance_criteria_of_kiro_are_taken_apart() {
    let Some(root) = corpora() else { return };
    let root = root.join("spec-folders");
    let mut paths = Vec::new();
    files(&root, "requirements.md", &mut paths);
    let all: Vec<String> = paths
        .iter()
        .flat_map(|path| criteria(&fs::read_to_string(path).unwrap()))
        .collect();
    let failed: Vec<&String> = all
        .iter()
        .filter(|criterion| !is_taken_apart(criterion))
        .collect();
    let share = 1.0 - failed.len() as f64 / all.len() as f64;
    println!(
        "{} criteria, {:.2} % taken apart; not: {failed:#?}",
        all.len(),
        share * 100.0
    );
    assert!(all.len() > 400, "{}", all.len());
    assert!(share >= 0.99, "{share}");
}

/// All slots of the form its first word announces, and the response not empty.
fn is_taken_apart(criterion: &str) -> bool {
    let parsed = parse(criterion);
    let Some(ears) = parsed.first().and_then(|sentence| sentence.ears.as_ref()) else {
        return false;
    };
    let first = criterion
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let condition = match first.as_str() {
        "when" => Some(SlotKind::Event),
        "while" => Some(SlotKind::State),
        "where" => Some(SlotKind::Feature),
        "if" => Some(SlotKind::Unwanted),
        _ => None,
    };
    ears.is_whole() && condition.is_none_or(|kind| ears.slot(kind).is_some())
}

#[test]
fn real_specifications_are_seldom_warned_of() {
    let Some(root) = corpora() else { return };
    let root = root.join("spec-folders");
    let mut paths = Vec::new();
    files(&root, "spec.md", &mut paths);
    let live = |path: &PathBuf| !path.components().any(|part| part.as_os_str() == "changes");
    let options = Options {
        least: Tier::Warning,
        ..Options::default()
    };
    let (mut requirements, mut warnings) = (0, 0);
    let mut by_rule = std::collections::BTreeMap::<&str, usize>::new();
    for path in paths.iter().filter(|path| live(path)) {
        let text = fs::read_to_string(path).unwrap();
        requirements += text
            .lines()
            .filter(|line| line.starts_with("### Requirement:"))
            .count();
        for passage in passages(&text) {
            for finding in check(passage.text, &options) {
                warnings += 1;
                *by_rule.entry(finding.name).or_default() += 1;
                if std::env::var_os("SHOW").is_some() {
                    println!("{} | {}", finding.message, passage.text);
                }
            }
        }
    }
    let each = warnings as f64 / requirements as f64;
    println!("{requirements} requirements, {warnings} warnings, {each:.3} each: {by_rule:?}");
    assert!(requirements > 400, "{requirements}");
    assert!(each <= 0.3, "{each}");
}
