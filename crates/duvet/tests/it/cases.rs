//! Whole projects as texts: the files before, the commands, and what they leave behind.
//!
//! A case is a file of `tests/cases`. Its parts begin with a line `=== WORD REST`: `file NAME` is there before, `run
//! ARGUMENTS` runs the command, and `exit`, `stdout`, `stderr` and `after NAME` say what that run gave and left. A part
//! `after` of a file that must not exist is `absent NAME`. `DUVET_BLESS=1` writes what the runs give into the cases; the
//! difference is then read by a person.

use crate::command::run;
use crate::scratch::Scratch;
use std::fmt::Write;
use std::path::{Path, PathBuf};

struct Part<'a> {
    word: &'a str,
    rest: &'a str,
    body: &'a str,
}

fn parts(text: &str) -> (&str, Vec<Part<'_>>) {
    let mut pieces = text.split("\n=== ");
    let head = pieces.next().unwrap_or_default();
    let part = |piece| -> Part<'_> {
        let piece: &str = piece;
        let (title, body) = piece.split_once('\n').unwrap_or((piece, ""));
        let (word, rest) = title.split_once(' ').unwrap_or((title, ""));
        Part { word, rest, body }
    };
    (head, pieces.map(part).collect())
}

/// Arguments between blanks; a part in single quotes is one.
fn arguments(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (index, piece) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            found.push(piece);
        } else {
            found.extend(piece.split_whitespace());
        }
    }
    found
}

/// The case as it should be, by what the runs give.
fn played(text: &str) -> String {
    let (head, parts) = parts(text);
    let scratch = Scratch::new(&[]);
    let mut out = head.to_owned();
    let mut last = None;
    for part in parts {
        let _ = write!(out, "\n=== {}", part.word);
        if part.word != "exit" && !part.rest.is_empty() {
            let _ = write!(out, " {}", part.rest);
        }
        let output = || last.as_ref().expect("a run comes first");
        let body = match part.word {
            "file" => {
                scratch.write(part.rest, format!("{}\n", part.body));
                part.body.to_owned()
            }
            "run" => {
                last = Some(run(&scratch, &arguments(part.rest), &[("CI", "false")]));
                part.body.to_owned()
            }
            "exit" => {
                let output: &std::process::Output = output();
                let _ = write!(out, " {}", output.status.code().unwrap_or(-1));
                part.body.to_owned()
            }
            "stdout" => shown(&output().stdout),
            "stderr" => shown(&output().stderr),
            "after" => match std::fs::read(scratch.path(part.rest)) {
                Ok(bytes) => shown(&bytes),
                Err(_) => "(there is no such file)".to_owned(),
            },
            "absent" if scratch.path(part.rest).exists() => "(it is there)".to_owned(),
            "absent" => part.body.to_owned(),
            other => panic!("no part of a case is called {other}"),
        };
        let _ = write!(out, "\n{body}");
    }
    out
}

fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

//= specs/duvet.md#unmapped-code
//= type=test
//# A function with no citation inside it or in the comments above it MUST be listed.
//= specs/duvet.md#fix
//= type=test
//# A stale citation MUST be shown with its old and its new text side by side when asked for.
//= specs/duvet.md#nothing-lost
//= type=test
//# A query about a specification or a section that is not there MUST fail.
//= specs/duvet.md#merge
//= type=test
//# A report of another shape MUST be refused, and every bucket MUST be in the merged one.
#[test]
fn every_case_is_played_as_it_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "case"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 10, "{}", cases.len());
    let mut wrong = String::new();
    for case in cases {
        let text = std::fs::read_to_string(&case).unwrap();
        let played = played(&text);
        if played == text {
            continue;
        }
        if std::env::var_os("DUVET_BLESS").is_some() {
            std::fs::write(&case, played).unwrap();
            continue;
        }
        let diff = similar::TextDiff::from_lines(text.as_str(), &played);
        let _ = writeln!(wrong, "{}\n{}", case.display(), diff.unified_diff());
    }
    assert!(wrong.is_empty(), "{wrong}");
}
