//! The answers of document 004, on a real project and on a broken one.

use crate::corpora::s2n_quic;
use crate::scratch::Scratch;
use duvet::engine::{Engine, Snapshot};
use duvet::requirement_index::{
    Denied, RequirementIndex, get_citation_context, list_invalid_citations, search_requirements,
    validate_citation,
};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};
use test_support::corpora;

/// The corpus is read once for all tests here.
fn real() -> Option<(PathBuf, Arc<Snapshot>)> {
    static SNAPSHOT: OnceLock<Arc<Snapshot>> = OnceLock::new();
    let root = corpora()?.join("s2n-quic");
    let snapshot = SNAPSHOT.get_or_init(|| Engine::new(s2n_quic(&root), SystemTime::now).snapshot());
    Some((root, Arc::clone(snapshot)))
}

#[test]
fn lists_have_the_numbers_of_the_corpus() {
    let Some((_, snapshot)) = real() else { return };
    let requirement_index = RequirementIndex::new(&snapshot);
    assert_eq!(requirement_index.specifications().len(), 43);
    assert_eq!(snapshot.analysis.requirements.len(), 834);
    // 220 statements of 213 requirements.
    assert_eq!(requirement_index.list_uncited_requirements().len(), 213);
    assert_eq!(list_invalid_citations(&requirement_index).len(), 136);
    let quic = requirement_index.find_specification("rfc9000").unwrap();
    let entry = requirement_index.specification(quic);
    assert_eq!(
        entry.name,
        "RFC 9000: QUIC: A UDP-Based Multiplexed and Secure Transport"
    );
    assert_eq!(entry.url, "https://www.rfc-editor.org/rfc/rfc9000");
    assert!(
        entry
            .description
            .starts_with("This document defines the core of the QUIC transport protocol.")
    );
    assert_eq!(requirement_index.sections(quic).len(), 217);
    // The corpus states 23 sentences twice, once for each of their keywords: one requirement, one path.
    assert_eq!(requirement_index.requirements().len(), 811);
    for index in snapshot.distinct() {
        let first = &snapshot.analysis.requirements[index];
        for other in snapshot.statements(index) {
            let other = &snapshot.analysis.requirements[*other];
            assert_eq!(other.coverage, first.coverage);
            assert!(other.level <= first.level, "the strongest stands for all");
        }
    }
    let first = &requirement_index.get_prioritized_requirements()[0];
    assert_eq!((first.level, first.status), ("MUST", "partially_implemented"));
    assert!(first.todo_count > 0);
}

#[test]
fn every_requirement_is_found_below_its_section_and_by_its_path() {
    let Some((_, snapshot)) = real() else { return };
    let requirement_index = RequirementIndex::new(&snapshot);
    for specification in 0..requirement_index.specifications().len() {
        for section in 0..requirement_index.sections(specification).len() {
            for requirement in requirement_index.section_requirements(specification, section) {
                let status = requirement_index.requirement_status(&requirement.full_path);
                assert_eq!(status.len(), 1, "{}", requirement.full_path);
                assert_eq!(status[0].identifier, requirement.identifier);
            }
        }
    }
    let citations = requirement_index.citations();
    assert!(
        citations
            .iter()
            .all(|citation| requirement_index.find_citation(&citation.id).is_some())
    );
}

#[test]
fn specifications_are_resolved_by_every_spelling() {
    let Some((_, snapshot)) = real() else { return };
    let requirement_index = RequirementIndex::new(&snapshot);
    for url in [
        "https://www.rfc-editor.org/rfc/rfc9000",
        "https://datatracker.ietf.org/doc/html/rfc9000",
        "https://tools.ietf.org/html/rfc9000#section-2",
        "rfc9000",
    ] {
        assert_eq!(
            requirement_index.resolve_spec_id(url).as_deref(),
            Ok("rfc9000"),
            "{url}"
        );
    }
    assert!(
        requirement_index
            .resolve_spec_id("https://www.rfc-editor.org/rfc/rfc2324")
            .is_err()
    );
    assert_eq!(
        requirement_index.resolve_spec_id("RFC 9000").as_deref(),
        Ok("rfc9000")
    );
    let problem = requirement_index.resolve_spec_id("RFC 90O0").unwrap_err();
    assert!(problem.contains("did you mean `rfc9000`"), "{problem}");
}

// proves 004 §6b
#[test]
fn citations_are_judged_before_they_are_written() {
    let Some((_, snapshot)) = real() else { return };
    let requirement_index = RequirementIndex::new(&snapshot);
    let url = "https://www.rfc-editor.org/rfc/rfc9000";
    let sentence = "A QUIC endpoint MUST NOT reuse a stream ID within a connection.";
    for block in [
        format!("//= {url}#section-2.1"),
        format!("{url}#2.1"),
        format!("  //= {url}#section-2.1\n  //# {sentence}"),
        format!("##= {url}#section-2.1\n##= type=test\n##% {sentence}"),
        format!("*= https://datatracker.ietf.org/doc/html/rfc9000#section-2.1\n*# {sentence}"),
        format!("# //= {url}#section-2.1\n# //# {sentence}"),
    ] {
        let answer = validate_citation(&requirement_index, &block);
        assert!(answer.valid, "{block}: {answer:?}");
        assert_eq!(
            answer.requirements.len(),
            usize::from(block.contains("MUST")),
            "{block}"
        );
    }
    let judge = |text: &str| validate_citation(&requirement_index, text);
    let drifted = judge(&format!(
        "//= {url}#section-2.1\n//# A QUIC endpoint MUST reuse a stream ID within a connection."
    ));
    assert_eq!(
        (drifted.valid, drifted.suggestion.as_deref()),
        (false, Some(sentence))
    );
    assert_eq!(
        judge(&format!("//= {url}#section-2.2\n//# {sentence}")).grade,
        Some("moved")
    );
    assert!(
        judge(&format!("//= {url}#section-2.11"))
            .error
            .unwrap()
            .contains("no section")
    );
    assert!(
        judge("//= https://nowhere/spec#section-1")
            .error
            .unwrap()
            .contains("no specification")
    );
    assert!(judge("//= invalid").error.unwrap().contains("names no section"));
    assert!(judge("").error.is_some() && judge("//=").error.is_some());
}

#[test]
fn searches_find_words_and_phrases_best_first() {
    let Some((_, snapshot)) = real() else { return };
    let requirement_index = RequirementIndex::new(&snapshot);
    let found = search_requirements(&requirement_index, "stream ID reuse");
    assert!(found[0].text.contains("reuse a stream ID"), "{found:?}");
    let phrase = search_requirements(&requirement_index, "\"connection error of type\" 0-RTT");
    assert!(phrase[0].text.contains("0-RTT"), "{phrase:?}");
    let has_phrase = |text: &str| text.contains("connection error of type");
    assert!(phrase.iter().all(|r| has_phrase(&r.text)), "{phrase:?}");
    assert_eq!(search_requirements(&requirement_index, "zebra").len(), 0);
    assert_eq!(search_requirements(&requirement_index, " \" ").len(), 0);
}

// proves 004 §6d
#[test]
fn only_sources_of_the_project_are_opened() {
    let source = ["fn a() {", "//= specs/x.md#x", "//# It MUST y.", "}", ""].join("\n");
    let scratch = Scratch::new(&[
        (
            ".duvet/config.toml",
            "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.json\"\n[[source]]\npattern = \"src/*.rs\"\n[[specification]]\nsource = \"specs/x.md\"\n",
        ),
        ("specs/x.md", "# X\n\nIt MUST y.\n"),
        ("src/a.rs", &source),
        ("secret.txt", "secret"),
    ]);
    let snapshot =
        Engine::of_folder(scratch.root().to_owned(), Box::new(|_| None), SystemTime::now).snapshot();
    let requirement_index = RequirementIndex::new(&snapshot);
    let context = |id: &str| get_citation_context(&requirement_index, scratch.root(), id, 1);
    let found = context("src/a.rs:2").unwrap();
    assert_eq!(
        found.context,
        ["fn a() {", "//= specs/x.md#x", "//# It MUST y.", "}"]
    );
    assert_eq!(found.comment_text, "//= specs/x.md#x\n//# It MUST y.");
    assert_eq!(context("src/../secret.txt:1"), Err(Denied::Traversal));
    assert_eq!(context("secret.txt:1"), Err(Denied::Outside));
    assert_eq!(context("/etc/passwd:1"), Err(Denied::Outside));
    assert_eq!(context("src/a.rs:3"), Err(Denied::Unknown));
}

/// Not a measurement, but no answer may be a scan gone wrong.
#[test]
fn answers_are_quick() {
    let Some((_, snapshot)) = real() else { return };
    let start = Instant::now();
    let requirement_index = RequirementIndex::new(&snapshot);
    let _ = (
        requirement_index.get_prioritized_requirements(),
        requirement_index.citations(),
        search_requirements(&requirement_index, "stream"),
    );
    let _ = list_invalid_citations(&requirement_index);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}
