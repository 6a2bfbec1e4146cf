//! Inputs that make the public tool panic or give up: ours reports them and goes on.

use crate::scratch::Scratch;
use duvet::analysis::{Analysis, Project};
use duvet::config::{Config, SourcePattern, SpecificationSource};
use duvet::diagnostic::{Code, Diagnostic, text};
use duvet::memo::Memo;
use duvet::pipeline::analyse;
use duvet::report::{json_v1, json_v2, lcov, snapshot};

const SPECIFICATION: &str = "# X\n\n## A\n\nThe server MUST do a. It MAY do b.\n\n## Empty\n\n## B\n\nThe client SHOULD wait 10 seconds.\n";

fn project(scratch: &Scratch) -> Project {
    let mut config = Config::standard();
    config.sources = vec![SourcePattern::new("src/**/*.rs")];
    config.specifications = vec![SpecificationSource {
        source: "specs/x.md".to_owned(),
        format: None,
    }];
    Project {
        root: scratch.root().to_owned(),
        config,
        strict: false,
    }
}

/// Every output is written whatever the input, and good citations count beside bad ones.
fn probe(source: impl AsRef<[u8]>) -> (Scratch, Analysis) {
    let scratch = Scratch::new(&[
        ("specs/x.md", SPECIFICATION),
        ("src/good.rs", "//= specs/x.md#a\n//# The server MUST do a.\n"),
    ]);
    scratch.write("src/bad.rs", source);
    let analysis = analyse(&project(&scratch), &mut Memo::default());
    assert!(snapshot::render(&analysis).contains("TEXT[!MUST,implementation]: The server MUST do a."));
    let json: serde_json::Value =
        serde_json::from_slice(&json_v1::render(&analysis, json_v1::Links::default())).unwrap();
    assert!(json["annotations"].as_array().unwrap().len() >= 4);
    assert!(!json_v2::render(&analysis, json_v1::Links::default(), scratch.root()).is_empty());
    assert!(!lcov::render(&analysis).is_empty());
    (scratch, analysis)
}

fn found(analysis: &Analysis) -> Vec<(Code, &str, u32)> {
    analysis
        .diagnostics
        .iter()
        .map(|d: &Diagnostic| (d.code, d.file.as_str(), d.start.line))
        .collect()
}

//= specs/duvet.md#tolerance
//= type=test
//# A fault in one input MUST NOT keep the report from being written.
#[test]
fn citation_of_a_section_without_text_is_reported() {
    let (_scratch, analysis) = probe("//= specs/x.md#empty\n//# anything\n");
    assert_eq!(found(&analysis), [(Code::QuoteMissing, "src/bad.rs", 1)]);
}

//= specs/duvet.md#tolerance
//= type=test
//# A citation of an unknown section MUST be reported with the nearest section the specification has.
#[test]
fn unknown_sections_come_with_the_nearest() {
    let (_scratch, analysis) = probe("//= specs/x.md#emty\n//# anything\n");
    assert_eq!(found(&analysis), [(Code::SectionUnknown, "src/bad.rs", 1)]);
    assert_eq!(
        analysis.diagnostics[0].suggestion.as_deref(),
        Some("specs/x.md#empty")
    );
}

//= specs/duvet.md#matching
//= type=test
//# Each citation MUST be graded exact, normalised, ambiguous, drifted, moved or missing.
#[test]
fn drifted_moved_and_missing_quotes_are_told_apart() {
    let check = |quote: &str, code: Code, suggestion: Option<&str>| {
        let (_scratch, analysis) = probe(format!("//= specs/x.md#b\n//# {quote}\n"));
        assert_eq!(found(&analysis), [(code, "src/bad.rs", 1)], "{quote}");
        assert_eq!(
            analysis.diagnostics[0].suggestion.as_deref(),
            suggestion,
            "{quote}"
        );
    };
    let sentence = Some("The client SHOULD wait 10 seconds.");
    check(
        "The client SHOULD wait 16 seconds.",
        Code::QuoteMeaningChanged,
        sentence,
    );
    check("The clint SHOULD wait 10 seconds.", Code::QuoteDrifted, sentence);
    check("The clients SHOULD wait 10 second.", Code::QuoteDrifted, sentence);
    check(
        "the client should wait 10 seconds.",
        Code::QuoteMeaningChanged,
        sentence,
    );
    check("The server MUST do a.", Code::QuoteMoved, Some("specs/x.md#a"));
    check("Something else entirely.", Code::QuoteMissing, None);
}

#[test]
fn bad_metadata_does_not_hide_good_citations() {
    let (_scratch, analysis) =
        probe("//= specs/x.md#a\n//= colour=red\n//# x\n\n//= https://h/?a=b#c\n//# x\n");
    assert_eq!(
        found(&analysis),
        [
            (Code::MetaUnknownKey, "src/bad.rs", 2),
            (Code::MetaUnknownKey, "src/bad.rs", 5)
        ]
    );
}

//= specs/duvet.md#tolerance
//= type=test
//# A file that is not UTF-8 MUST be reported at the first bad byte and read as far as it is text.
#[test]
fn files_that_are_not_utf8_are_read_as_far_as_they_are() {
    let (_scratch, analysis) = probe(b"//= specs/x.md#a\n//# It MAY do b.\n\xff\xfe\n".as_slice());
    assert_eq!(found(&analysis), [(Code::FileNotUtf8, "src/bad.rs", 3)]);
    assert!(snapshot::render(&analysis).contains("TEXT[!MAY,implementation]"));
}

#[test]
fn bad_toml_is_reported_and_the_rest_is_read() {
    let (scratch, _) = probe("");
    scratch.write(".duvet/todos/bad.toml", "target = \"specs/x.md#b\"\n[[todo]]\nquote = \n[[todo]]\nquote = \"The client SHOULD wait 10 seconds.\"\nflavour = 1\n[[exception]]\nquote = \"q\"\n");
    let analysis = analyse(&project(&scratch), &mut Memo::default());
    let codes: Vec<_> = found(&analysis)
        .into_iter()
        .map(|(code, _, line)| (code, line))
        .collect();
    assert!(
        codes.contains(&(Code::TomlInvalid, 3)) && codes.contains(&(Code::TomlUnknownKey, 6)),
        "{codes:?}"
    );
    assert!(
        codes.iter().any(|(code, _)| *code == Code::TomlMissingKey),
        "{codes:?}"
    );
    assert!(snapshot::render(&analysis).contains("TEXT[!SHOULD,todo]"));
}

//= specs/duvet.md#tolerance
//= type=test
//# A requirement file left over from an earlier extraction MUST be reported as stale and not as a broken citation.
#[test]
fn renamed_sections_leave_stale_files_not_failures() {
    let (scratch, _) = probe("");
    scratch.write(
        ".duvet/requirements/specs/x/old.toml",
        "target = \"specs/x.md#old\"\n[[spec]]\nlevel = \"MUST\"\nquote = \"It MUST old.\"\n",
    );
    let analysis = analyse(&project(&scratch), &mut Memo::default());
    assert_eq!(
        found(&analysis),
        [(Code::RequirementStale, ".duvet/requirements/specs/x/old.toml", 2)]
    );
}

#[test]
fn missing_specifications_and_empty_patterns_are_reported() {
    let (scratch, _) = probe("//= specs/nowhere.md#a\n//# q\n");
    let mut project = project(&scratch);
    project.config.sources.push(SourcePattern::new("lib/**/*.rs"));
    project.config.sources.push(SourcePattern::new("lib/[.rs"));
    let analysis = analyse(&project, &mut Memo::default());
    let codes: Vec<_> = found(&analysis).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(
        codes,
        [
            Code::PatternInvalid,
            Code::PatternEmpty,
            Code::SpecificationMissing
        ]
    );
}

#[test]
fn equal_sentences_are_one_requirement_and_the_first_is_marked() {
    let scratch = Scratch::new(&[
        ("specs/x.md", "# X\n\nIt MUST y. It MUST y.\n"),
        ("src/a.rs", "//= specs/x.md#x\n//# It MUST y.\n"),
    ]);
    let analysis = analyse(&project(&scratch), &mut Memo::default());
    assert_eq!(analysis.requirements.len(), 1);
    assert_eq!(found(&analysis), [(Code::QuoteAmbiguous, "src/a.rs", 1)]);
    assert_eq!(analysis.matched(1).pieces.len(), 1);
}

//= specs/duvet.md#tolerance
//= type=test
//# Findings MUST be available as text with an excerpt of the source, as JSON and as SARIF.
#[test]
fn findings_show_the_lines_in_question() {
    let (_scratch, analysis) = probe("fn x() {}\n//= specs/x.md#emty\n//# anything\n");
    let diagnostics: Vec<_> = analysis.diagnostics.iter().collect();
    let mut text = String::new();
    text::render(&mut text, &diagnostics, text::Paint::default());
    let expected = "error[section-unknown]: `specs/x.md` has no section `emty`\n  --> src/bad.rs:2:1\n    2 | //= specs/x.md#emty\n    \
        3 | //# anything\n  = help: did you mean `#empty`?\n  = write: specs/x.md#empty\n\n";
    assert_eq!(text, expected);
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let scratch = Scratch::new(&[("specs/x.md", SPECIFICATION)]);
    let reading = duvet::source::Reading::Requirements.into();
    let facts = duvet::source::read(
        scratch.root(),
        &duvet::source::Input {
            name: "gone.toml".into(),
            reading,
        },
        None,
    );
    assert_eq!(facts.diagnostics[0].code, Code::FileUnreadable);
}
