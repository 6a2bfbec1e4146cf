//! Two real projects, compared with what the public tool writes for them.

use crate::scratch::Scratch;
use duvet::analysis::{Analysis, Project};
use duvet::citation::Kind;
use duvet::config::{Config, source_pattern};
use duvet::extraction::{self, Language};
use duvet::memo::Memo;
use duvet::pipeline::analyse;
use duvet::report::{json_v1, json_v2, snapshot};
use duvet::specification::extract::Mode;
use duvet::specification::keyword::Level;
use duvet::specification::{Format, Specification};
use std::path::Path;
use test_support::corpora;

pub(crate) fn s2n_quic(root: &Path) -> Project {
    let mut config = Config::legacy();
    config.requirements = vec!["specs/**/*.toml".to_owned()];
    config.sources = vec![source_pattern("quic/**/*.rs").unwrap()];
    Project {
        root: root.to_owned(),
        config,
        strict: false,
    }
}

pub(crate) fn mpl(root: &Path) -> Project {
    let mut config = Config::legacy();
    config.requirements = vec!["compliance/**/*.toml".to_owned()];
    config.sources = [
        "AwsCryptographicMaterialProviders/dafny/**/src/**/*.dfy",
        "AwsCryptographicMaterialProviders/dafny/**/test/**/*.dfy",
        "AwsCryptographicMaterialProviders/dafny/**/Model/**/*.smithy",
        "AwsCryptographicMaterialProviders/compliance_exceptions/**/*.txt",
        "TestVectorsAwsCryptographicMaterialProviders/compliance_exceptions/**/*.txt",
        "(# //=,# //#).github/workflows/duvet.yaml",
        "TestVectorsAwsCryptographicMaterialProviders/dafny/**/src/**/*.dfy",
    ]
    .iter()
    .map(|pattern| source_pattern(pattern).unwrap())
    .collect();
    Project {
        root: root.to_owned(),
        config,
        strict: false,
    }
}

/// Writes the requirement files that `duvet extract -o compliance` would.
pub(crate) fn extract_mpl(scratch: &Scratch) {
    let framework = "aws-encryption-sdk-specification/framework";
    for folder in [framework.to_owned(), format!("{framework}/aws-kms")] {
        for entry in std::fs::read_dir(scratch.path(&folder))
            .unwrap()
            .map(Result::unwrap)
        {
            let file = entry.file_name().into_string().unwrap();
            if !file.ends_with(".md") {
                continue;
            }
            let name = format!("{folder}/{file}");
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let specification = Specification::parse(&name, text, Some(Format::Markdown));
            for (file, text) in extraction::files(&name, &specification, Mode::Compat, Language::Toml) {
                scratch.write(&format!("compliance/{}/{file}", extraction::folder(&name)), text);
            }
        }
    }
}

fn check(analysis: &Analysis, expected: &Path, name: &str) {
    let wanted = std::fs::read_to_string(expected.join(format!("{name}.snapshot.txt"))).unwrap();
    let got = snapshot::render(analysis);
    let first = got.lines().zip(wanted.lines()).find(|(a, b)| a != b);
    assert!(got == wanted, "{name}: snapshots differ, first at {first:?}");
    let wanted = std::fs::read(expected.join(format!("{name}.report.json"))).unwrap();
    let got = json_v1::render(analysis, json_v1::Links::default());
    assert!(got == wanted, "{name}: the version 1 report differs");
}

/// The version 2 report against the BLAKE3 hash of the one that the public tool 0.4.3 wrote for the same project.
fn check_v2(analysis: &Analysis, root: &Path, hash: &str) {
    let report = json_v2::render(analysis, json_v1::Links::default(), root);
    assert_eq!(blake3::hash(&report).to_hex().as_str(), hash);
}

fn levels(analysis: &Analysis) -> [usize; 3] {
    [Level::Must, Level::Should, Level::May]
        .map(|level| analysis.requirements.iter().filter(|r| r.level == level).count())
}

//= specs/duvet.md#compatibility
//= type=test
//# The text snapshot MUST be byte-identical to the one the public tool writes for the same project.
//= specs/duvet.md#compatibility
//= type=test
//# The version 1 JSON report MUST be equal as a value to the one the public tool writes.
//= specs/duvet.md#compatibility
//= type=test
//# The version 2 JSON report MUST carry the ids of the public tool, so that reports of both can be merged.
#[test]
fn s2n_quic_is_reported_as_the_public_tool_reports_it() {
    let Some(corpora) = corpora() else { return };
    let analysis = analyse(&s2n_quic(&corpora.join("s2n-quic")), &mut Memo::default());
    assert_eq!(analysis.entries.len(), 2425);
    assert_eq!(analysis.specifications.len(), 43);
    assert_eq!(levels(&analysis), [457, 205, 172]);
    assert_eq!(
        analysis
            .requirements
            .iter()
            .filter(|r| r.coverage.is_uncited())
            .count(),
        220
    );
    check(&analysis, &corpora.join("expected"), "s2n-quic");
    check_v2(
        &analysis,
        &corpora.join("s2n-quic"),
        "6e55d90b6bb86a86aff33aa9f803502363347a59d8e28ccddb576d1f487072c9",
    );
}

#[test]
fn mpl_is_extracted_and_reported_as_the_public_tool_does() {
    let Some(corpora) = corpora() else { return };
    let scratch = Scratch::copy_of(&corpora.join("mpl"));
    extract_mpl(&scratch);
    let analysis = analyse(&mpl(scratch.root()), &mut Memo::default());
    assert_eq!(analysis.entries.len(), 1996);
    assert_eq!(analysis.requirements.len(), 1190);
    check(&analysis, &corpora.join("expected"), "mpl");
    check_v2(
        &analysis,
        scratch.root(),
        "2ef93d2a55fd514361d75611bd5e7ae6350b86c12bda27bf4a85f81708d6ec75",
    );
}

/// The counts of facts/duvet.md: citations with a quote that are exact, normalised, and found with one edit only.
#[test]
fn drift_is_found_where_the_public_tool_is_silent() {
    let Some(corpora) = corpora() else { return };
    let analysis = analyse(&s2n_quic(&corpora.join("s2n-quic")), &mut Memo::default());
    let mut counts = std::collections::BTreeMap::new();
    for entry in analysis
        .entries
        .iter()
        .filter(|entry| entry.annotation().kind != Kind::Spec)
    {
        *counts.entry(entry.matched().grade.name()).or_insert(0) += 1;
    }
    println!("{counts:?}");
    assert!(counts["drifted"] >= 125, "{counts:?}");
    assert!(
        !counts.contains_key("missing") && !counts.contains_key("moved"),
        "{counts:?}"
    );
}

/// Every file of the corpora as a source and as a specification of both kinds: nothing panics.
#[test]
fn nothing_in_the_corpora_makes_a_reader_panic() {
    let Some(corpora) = corpora() else { return };
    let mut folders = vec![corpora];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
            if text.len() > 1 << 20 {
                continue;
            }
            feed(&text);
            count += 1;
        }
    }
    assert!(count > 600, "only {count} files");
}

fn feed(text: &str) {
    use duvet::citation::{CommentStyle, comment, toml};
    let name: std::sync::Arc<str> = "file".into();
    for (meta, content) in [("//=", "//#"), ("#", "-"), ("*=", "*#")] {
        let style = CommentStyle {
            meta: meta.to_owned(),
            content: content.to_owned(),
        };
        let source = comment::Source {
            name: &name,
            text,
            style: &style,
            default_kind: Kind::Implementation,
        };
        let _ = comment::extract(source);
    }
    let _ = toml::extract(&name, text);
    for format in [Format::Ietf, Format::Markdown] {
        let specification = Specification::parse("file", text.into(), Some(format));
        for mode in [Mode::Compat, Mode::V2] {
            let _ = extraction::files("file", &specification, mode, Language::Toml);
        }
    }
}
