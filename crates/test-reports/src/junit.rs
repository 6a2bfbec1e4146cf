//! JUnit XML: what ctest, gtest, lit, nextest, pytest, surefire, jest and the others write. There is no standard; what they share
//! is suites with cases, and that a case which says nothing passed.

use crate::xml::{Attributes, XmlEvent, XmlReader};
use crate::{Counted, ReportFault, TestOutcome, TestResult, mention};
use std::io::BufRead;

/// A suite that is open.
struct OpenSuite {
    name: String,
    line: u32,
    announced: Option<u64>,
    listed: u64,
}

/// A case that is open, and how deep it stands.
struct OpenCase {
    test: TestResult,
    depth: usize,
    /// Whether a try before the last one failed.
    has_failed_before: bool,
}

pub(crate) fn read(input: impl BufRead, out: &mut Counted<'_, '_>) -> Result<(), ReportFault> {
    let mut xml = XmlReader::new(input, out.limits)?;
    let mut suites: Vec<OpenSuite> = Vec::new();
    let mut case: Option<OpenCase> = None;
    let mut property: Option<String> = None;
    let mut is_root = true;
    loop {
        let event = xml.next()?;
        let line = xml.line();
        match event {
            XmlEvent::Eof => return Ok(()),
            XmlEvent::Start {
                name,
                attributes,
                is_empty,
            } => {
                if std::mem::take(&mut is_root) && !matches!(name.as_str(), "testsuites" | "testsuite") {
                    return Err(ReportFault::new(
                        line,
                        format!("this is no JUnit report: it begins with <{name}>"),
                    ));
                }
                if out.summary.began.is_none() {
                    out.summary.began = attributes.get("timestamp").map(str::to_owned);
                }
                match (name.as_str(), &mut case) {
                    ("testsuite", None) => {
                        let suite = open_suite(&attributes, line);
                        match is_empty {
                            true => close_suite(suite, out),
                            false => suites.push(suite),
                        }
                    }
                    ("testcase", None) => {
                        let suite = suites.last_mut();
                        let suite_name = suite.as_ref().map_or("", |suite| &suite.name);
                        let opened = open_case(suite_name, &attributes, line, xml.depth());
                        if let Some(suite) = suite {
                            suite.listed += 1;
                        }
                        match is_empty {
                            true => out.give(close_case(opened))?,
                            false => case = Some(opened),
                        }
                    }
                    ("testcase", Some(_)) => {
                        return Err(ReportFault::new(line, "a <testcase> stands inside of another"));
                    }
                    ("property", Some(open)) => {
                        let named = attributes.text("name");
                        match attributes.get("value") {
                            Some(value) => mention::of_property(named, value, &mut open.test.mentions),
                            None if !is_empty => property = Some(named.to_owned()),
                            None => {}
                        }
                    }
                    (name, Some(open)) => note_outcome(open, name, &attributes),
                    _ => {}
                }
            }
            XmlEvent::Text(text) => {
                if let Some(open) = &mut case {
                    match &property {
                        Some(named) => mention::of_property(named, &text, &mut open.test.mentions),
                        None if open.test.message.is_empty() && says_why(open, xml.depth()) => {
                            open.test.message = text.trim().to_owned();
                        }
                        None => {}
                    }
                }
            }
            XmlEvent::End { name } => match name.as_str() {
                "testsuite" if case.is_none() => {
                    if let Some(suite) = suites.pop() {
                        close_suite(suite, out);
                    }
                }
                "testcase" => {
                    if let Some(open) = case.take() {
                        out.give(close_case(open))?;
                    }
                }
                "property" => property = None,
                _ => {}
            },
        }
    }
}

fn open_suite(attributes: &Attributes, line: u32) -> OpenSuite {
    OpenSuite {
        name: attributes.text("name").to_owned(),
        line,
        announced: attributes.number("tests"),
        listed: 0,
    }
}

/// A suite that announces more than it lists was cut short, or its runner counts otherwise: worth a note, because the tests that
/// are missing did not run.
fn close_suite(suite: OpenSuite, out: &mut Counted<'_, '_>) {
    if let Some(announced) = suite.announced
        && announced != suite.listed
        && suite.listed > 0
    {
        let (name, listed) = (&suite.name, suite.listed);
        out.note(
            suite.line,
            format!("the suite {name:?} announces {announced} tests and lists {listed}"),
        );
    }
}

fn open_case(suite: &str, attributes: &Attributes, line: u32, depth: usize) -> OpenCase {
    OpenCase {
        test: TestResult {
            suite: suite.to_owned(),
            class: attributes.text("classname").to_owned(),
            name: attributes.text("name").to_owned(),
            file: attributes
                .get("file")
                .filter(|file| !file.is_empty())
                .map(str::to_owned),
            outcome: by_status(attributes),
            is_flaky: false,
            duration_ms: attributes.milliseconds("time"),
            message: String::new(),
            mentions: Vec::new(),
            line,
        },
        depth,
        has_failed_before: false,
    }
}

/// What gtest and ctest say in attributes.
fn by_status(attributes: &Attributes) -> TestOutcome {
    let status = attributes.text("status").to_ascii_lowercase();
    let result = attributes.text("result").to_ascii_lowercase();
    match (status.as_str(), result.as_str()) {
        ("notrun" | "disabled" | "skipped" | "ignored", _) | (_, "suppressed" | "skipped") => {
            TestOutcome::Skipped
        }
        ("fail" | "failed" | "failure", _) | (_, "failed") => TestOutcome::Failed,
        ("error", _) => TestOutcome::Error,
        _ => TestOutcome::Passed,
    }
}

/// An element inside a case that says what became of it.
fn note_outcome(open: &mut OpenCase, name: &str, attributes: &Attributes) {
    let outcome = match name {
        "failure" => TestOutcome::Failed,
        "error" => TestOutcome::Error,
        "skipped" => TestOutcome::Skipped,
        // Tries before the last one, as surefire and nextest write them.
        "rerunFailure" | "rerunError" | "flakyFailure" | "flakyError" => {
            open.has_failed_before = true;
            return;
        }
        _ => return,
    };
    open.test.outcome = open.test.outcome.max(outcome);
    if open.test.message.is_empty() {
        open.test.message = attributes.text("message").to_owned();
    }
}

/// Whether a text directly below an outcome says why.
fn says_why(open: &OpenCase, depth: usize) -> bool {
    open.test.outcome != TestOutcome::Passed && depth == open.depth + 1
}

fn close_case(open: OpenCase) -> TestResult {
    let mut test = open.test;
    test.is_flaky = open.has_failed_before && test.outcome == TestOutcome::Passed;
    test
}
