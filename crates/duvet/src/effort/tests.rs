//! Growth: four times the project is four times the work, and not sixteen times.

use crate::analysis::{Analysis, Project};
use crate::citation::CommentStyle;
use crate::config::{Config, SpecificationSource, source_pattern};
use crate::diagnostic::{Diagnostic, text};
use crate::memo::Memo;
use crate::pipeline::analyse;
use crate::query::{self, Check, Filter};
use crate::report::json_v1::{self, Links};
use crate::report::{html, json_v2, lcov, snapshot};
use std::fmt::Write;
use std::path::Path;

const SMALL: usize = 1_200;
const TIMES: usize = 4;
/// Sorting and binary search add a little to what is linear.
const MOST_GROWTH: f64 = 1.3;

/// A specification, the requirement files beside it and one source file.
struct Files {
    specification: String,
    source: String,
}

/// Everything a report does, from the files to all its outputs, and what is asked of it.
fn report(root: &Path) -> Analysis {
    let mut config = Config::legacy();
    config.sources = vec![source_pattern("*.rs").unwrap()];
    config.specifications = vec![SpecificationSource {
        source: "spec.md".to_owned(),
        format: None,
    }];
    config.requirements = vec![".duvet/requirements/**/*.toml".to_owned()];
    let project = Project {
        root: root.to_owned(),
        config,
        strict: false,
    };
    let analysis = analyse(&project, &mut Memo::default());
    let links = Links::default();
    json_v1::render(&analysis, links);
    json_v2::render(&analysis, links, root);
    html::render(&analysis, &html::Options::default());
    snapshot::render(&analysis);
    lcov::render(&analysis);
    let shown: Vec<&Diagnostic> = analysis.diagnostics.iter().collect();
    text::render(&mut String::new(), &shown, text::Paint::default());
    for check in [
        Check::Implementation,
        Check::Test,
        Check::Coverage,
        Check::Duplicates,
    ] {
        query::run(
            &analysis,
            check,
            &Filter::default(),
            None,
            &CommentStyle::default(),
        );
    }
    analysis
}

/// Runs the project at two sizes; `seen` looks at the larger one, so that the work was really done.
fn check(name: &str, project: impl Fn(usize) -> Files, seen: impl Fn(&Analysis) -> usize) {
    let run = |size: usize| {
        let folder = tempfile::tempdir().unwrap();
        let files = project(size);
        std::fs::write(folder.path().join("spec.md"), files.specification).unwrap();
        std::fs::write(folder.path().join("a.rs"), files.source).unwrap();
        let (analysis, steps) = super::of(|| report(folder.path()));
        assert_eq!(seen(&analysis), size, "{name}");
        steps as f64
    };
    let (small, large) = (run(SMALL), run(SMALL * TIMES));
    let growth = large / small / TIMES as f64;
    assert!(
        growth <= MOST_GROWTH,
        "{name}: {TIMES} times the size took {:.1} times the steps ({small} and {large})",
        large / small
    );
}

fn sentence(number: usize) -> String {
    format!("The endpoint MUST do thing {number} before it answers its peer.")
}

fn citation(out: &mut String, section: &str, quote: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "//= spec.md#{section}\n//# {quote}\nfn f() {{}}\n");
}

fn requirements(analysis: &Analysis) -> usize {
    analysis.requirements.len()
}

//= specs/duvet.md#growth
//= type=test
//# Four times as many requirements, sections, citations or missing quotes MUST NOT take more than about four times the work.
#[test]
fn requirements_of_one_section_are_not_compared_each_with_each() {
    check(
        "requirements on lines of their own",
        |size| {
            let mut files = Files {
                specification: "# One\n\n".to_owned(),
                source: String::new(),
            };
            for number in 0..size {
                files.specification += &(sentence(number) + "\n");
                citation(&mut files.source, "one", &sentence(number));
            }
            files
        },
        requirements,
    );
    check(
        "requirements in one line, and a quote of them all",
        |size| {
            let all: Vec<String> = (0..size).map(sentence).collect();
            let mut files = Files {
                specification: format!("# One\n\n{}\n", all.join(" ")),
                source: String::new(),
            };
            citation(&mut files.source, "one", &all.join(" "));
            all.iter()
                .for_each(|quote| citation(&mut files.source, "one", quote));
            files
        },
        requirements,
    );
    check(
        "a quote of the whole section",
        |size| {
            let all: Vec<String> = (0..size).map(sentence).collect();
            let mut files = Files {
                specification: format!("# One\n\n{}\n", all.join("\n\n")),
                source: String::new(),
            };
            citation(&mut files.source, "one", &all.join("\n//# "));
            files
        },
        requirements,
    );
}

#[test]
fn one_sentence_that_never_ends_is_read_once() {
    check(
        "keywords without a full stop",
        |size| Files {
            specification: format!("# One\n\n{}", "a client MUST go on\n".repeat(size)),
            source: "//= spec.md#one\nfn f() {}\n".repeat(size),
        },
        |analysis| analysis.citations().count(),
    );
}

#[test]
fn quotes_that_are_missing_are_not_compared_with_every_sentence() {
    let missing = |analysis: &Analysis| {
        let is_lost = |found: &&Diagnostic| found.file == "a.rs";
        analysis.diagnostics.iter().filter(is_lost).count()
    };
    let project = |quote: fn(usize) -> String| {
        move |size: usize| {
            let mut files = Files {
                specification: "# One\n\n".to_owned(),
                source: String::new(),
            };
            for number in 0..size {
                files.specification += &(sentence(number) + "\n\n");
                citation(&mut files.source, "one", &quote(number));
            }
            files
        }
    };
    check(
        "other words",
        project(|number| format!("Nobody at all MUST have {number} strange words in his house.")),
        missing,
    );
    check(
        "another number in the same words",
        project(|number| sentence(number + 7_000_000)),
        missing,
    );
    check(
        "the same words in another order",
        project(|number| format!("Thing {number} MUST be done by the endpoint.")),
        missing,
    );
}

#[test]
fn sections_are_found_by_name() {
    check(
        "sections of equal titles",
        |size| {
            let mut files = Files {
                specification: String::new(),
                source: String::new(),
            };
            for number in 0..size {
                files.specification += &format!("## Title\n\n{}\n\n", sentence(number));
                let id = if number == 0 {
                    "title".to_owned()
                } else {
                    format!("title-{number}")
                };
                citation(&mut files.source, &id, &sentence(number));
            }
            files
        },
        requirements,
    );
}

/// 2,000 unknown sections of 2,000 took 155 seconds.
#[test]
fn unknown_sections_are_not_compared_with_every_section() {
    let unknown = |analysis: &Analysis| {
        let is_unknown = |found: &&Diagnostic| found.code == crate::diagnostic::Code::SectionUnknown;
        analysis.diagnostics.iter().filter(is_unknown).count()
    };
    let project = |id: fn(usize) -> String| {
        move |size: usize| {
            let mut files = Files {
                specification: String::new(),
                source: String::new(),
            };
            for number in 0..size {
                files.specification += &format!("## Section about thing {number}\n\nText.\n\n");
                citation(&mut files.source, &id(number), "q");
            }
            files
        }
    };
    check(
        "slips",
        project(|number| format!("section-about-thng-{number}")),
        unknown,
    );
    check(
        "strangers",
        project(|number| format!("what-nobody-wrote-{number}-of")),
        unknown,
    );
}

#[test]
fn broken_citations_of_one_file_do_not_read_it_again() {
    check(
        "citations without a section",
        |size| Files {
            specification: "# One\n".to_owned(),
            source: "//= spec.md\n//= type=tset\n//# Nothing.\nfn f() {}\n".repeat(size),
        },
        |analysis| {
            let broken = analysis.diagnostics.iter().filter(|found| found.file == "a.rs");
            broken.count() / 2
        },
    );
}
