//! Which lines ran, in each form.

use std::io::BufReader;
use test_reports::{CoverageForm, FileCoverage, ReportFault, ReportLimits, read_coverage};

fn read(form: CoverageForm, text: &str) -> Result<Vec<FileCoverage>, ReportFault> {
    let mut files = Vec::new();
    let input = BufReader::with_capacity(7, text.as_bytes());
    read_coverage(form, input, &ReportLimits::default(), &mut |file| {
        files.push(file)
    })?;
    Ok(files)
}

fn file(name: &str, ran: &[(u32, u32)], lines: u32) -> FileCoverage {
    FileCoverage {
        file: name.into(),
        ran: ran.to_vec(),
        lines,
    }
}

#[test]
fn lcov_gives_ranges_of_lines_that_ran() {
    let text =
        "TN:\nSF:/a/src/lib.rs\nDA:1,5\nDA:2,5,abc\nDA:4,0\nDA:5,1\nend_of_record\nSF:b.rs\nend_of_record\n";
    let found = read(CoverageForm::Lcov, text).unwrap();
    assert_eq!(
        found,
        [file("/a/src/lib.rs", &[(1, 2), (5, 5)], 4), file("b.rs", &[], 0)]
    );
    let fault = read(CoverageForm::Lcov, "SF:a\nDA:1,1\n").unwrap_err();
    assert_eq!(fault.to_string(), "line 2: the report ends inside of a");
    assert_eq!(read(CoverageForm::Lcov, "SF:a\nDA:x\n").unwrap_err().line, 2);
    assert_eq!(read(CoverageForm::Lcov, "hello\n").unwrap_err().line, 1);
}

#[test]
fn cobertura_puts_the_classes_of_one_file_together() {
    let text = r#"<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "http://x/coverage-04.dtd">
        <coverage><packages><package><classes>
        <class filename="a.py"><methods><method><lines><line number="1" hits="1"/></lines></method></methods>
        <lines><line number="1" hits="1"/><line number="2" hits="0"/></lines></class>
        <class filename="a.py"><lines><line number="3" hits="2"/></lines></class></classes></package></packages></coverage>"#;
    assert_eq!(
        read(CoverageForm::Cobertura, text).unwrap(),
        [file("a.py", &[(1, 1), (3, 3)], 3)]
    );
}

#[test]
fn jacoco_counts_a_line_of_which_any_instruction_ran() {
    let text = r#"<report name="x"><package name="com/x"><sourcefile name="A.java">
        <line nr="3" mi="0" ci="2"/><line nr="4" mi="2" ci="0"/></sourcefile></package></report>"#;
    assert_eq!(
        read(CoverageForm::Jacoco, text).unwrap(),
        [file("com/x/A.java", &[(3, 3)], 2)]
    );
}

#[test]
fn llvm_cov_fills_the_lines_between_two_segments() {
    let text = r#"{"data": [{"files": [{"filename": "a.rs", "segments":
        [[1, 1, 1, true, true, false], [4, 2, 0, true, true, false], [5, 1, 0, false, false, false]]}]}], "type": "x"}"#;
    assert_eq!(
        read(CoverageForm::LlvmCov, text).unwrap(),
        [file("a.rs", &[(1, 4)], 4)]
    );
}
