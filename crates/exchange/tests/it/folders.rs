//! The folders of real projects: read, and an edit of one thing touches nothing else.

use std::fs;
use std::path::Path;

use exchange::SourceLevel;
use exchange::folder::{FolderFormat, edit, read};
use exchange::xml::Edits;
use test_support::corpora;

fn files(folder: &Path, found: &mut Vec<(String, FolderFormat, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if let Some(format) = FolderFormat::of(&path.display().to_string()) {
            found.push((
                path.display().to_string(),
                format,
                fs::read_to_string(&path).unwrap(),
            ));
        }
    }
}

#[test]
fn real_folders_are_read_and_an_edit_touches_one_thing() {
    let Some(root) = corpora() else { return };
    let root = root.join("spec-folders");
    let mut all = Vec::new();
    files(&root, &mut all);
    let (mut statements, mut criteria, mut edited) = (0, 0, 0);
    for (path, format, text) in &all {
        let items = read(path, text, *format);
        let mut ids: Vec<&str> = items.iter().map(|placed| placed.item.id.as_str()).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{path}: {ids:?}");
        for (number, placed) in items.iter().enumerate() {
            match placed.item.level {
                SourceLevel::Statement => statements += 1,
                SourceLevel::Criterion => criteria += 1,
                SourceLevel::Group | SourceLevel::Section => continue,
            }
            let mut same = Edits::default();
            edit(
                placed,
                text,
                Some(&placed.item.title),
                Some(&placed.item.text),
                &mut same,
            );
            assert_eq!(&same.apply(text), text, "{path} {}", placed.item.id);

            let mut edits = Edits::default();
            edit(
                placed,
                text,
                None,
                Some("The system SHALL say something else.\n\nAnd more."),
                &mut edits,
            );
            let written = edits.apply(text);
            let again = read(path, &written, *format);
            edited += 1;
            assert_eq!(
                &written[..placed.place.text.start],
                &text[..placed.place.text.start],
                "{path}"
            );
            assert!(written.ends_with(&text[placed.place.text.end..]), "{path}");
            // A criterion of several paragraphs is no list entry any more; what stands before it is as it was.
            let kept = if placed.item.level == SourceLevel::Criterion {
                number
            } else {
                items.len()
            };
            for (old, new) in items.iter().zip(&again).take(kept) {
                if old.item.id != placed.item.id {
                    assert_eq!(
                        (&old.item.title, &old.item.text),
                        (&new.item.title, &new.item.text),
                        "{path} {}",
                        placed.item.id
                    );
                }
            }
        }
    }
    println!(
        "{} files, {statements} requirements, {criteria} criteria, {edited} edits",
        all.len()
    );
    assert!(statements > 400 && criteria > 400, "{statements} {criteria}");
}

#[track_caller]
fn check(path: &str, text: &str, expect: &[(&str, &str, &str)]) {
    let format = FolderFormat::of(path).unwrap();
    let items = read(path, text, format);
    let found: Vec<(&str, &str, &str)> = items
        .iter()
        .map(|placed| {
            (
                placed.item.id.as_str(),
                placed.item.title.as_str(),
                placed.item.text.as_str(),
            )
        })
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn spec_kit_has_stories_and_numbered_requirements() {
    let text = "# Feature Specification: Login\r\n\r\n### User Story 1 - Sign in (Priority: P1)\r\n\r\nAs a user.\r\n\r\n**Acceptance Scenarios**:\r\n\r\n1. **Given** a, **When** b, **Then** c\r\n\r\n## Requirements\r\n\r\n### Functional Requirements\r\n\r\n- **FR-001**: System MUST sign in.\r\n  Within 2 s.\r\n- **FR-002**: System MUST sign out.\r\n\r\n- **SC-001**: 99 %.\r\n";
    check(
        "a/specs/001-login/spec.md",
        text,
        &[
            ("speckit:001-login", "Feature Specification: Login", ""),
            (
                "speckit:001-login/story-1",
                "User Story 1 - Sign in (Priority: P1)",
                "As a user.\n\n**Acceptance Scenarios**:\n\n1. **Given** a, **When** b, **Then** c",
            ),
            (
                "speckit:001-login/requirements",
                "Feature Specification: Login",
                "",
            ),
            (
                "speckit:001-login/FR-001",
                "FR-001",
                "System MUST sign in.\n  Within 2 s.",
            ),
            ("speckit:001-login/FR-002", "FR-002", "System MUST sign out."),
            ("speckit:001-login/SC-001", "SC-001", "99 %."),
        ],
    );
}

#[test]
fn a_heading_in_a_fence_is_none_and_a_name_that_stands_twice_is_numbered() {
    let text = "# a\n### Requirement: One\nX SHALL y.\n```\n### Requirement: None\n```\n#### Scenario: s\n- **WHEN** z\n### Requirement: One\n";
    check(
        "openspec/specs/a/spec.md",
        text,
        &[
            ("openspec:a", "a", ""),
            ("openspec:a/requirements", "a", ""),
            (
                "openspec:a/One",
                "One",
                "X SHALL y.\n```\n### Requirement: None\n```\n#### Scenario: s\n- **WHEN** z",
            ),
            ("openspec:a/One#2", "One", ""),
        ],
    );
}
