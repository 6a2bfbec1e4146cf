//! What Robot Framework writes: suites in suites, tests with keywords, and a status at the end of each.

use crate::xml::{Attributes, XmlEvent, XmlReader};
use crate::{Counted, ReportFault, TestOutcome, TestResult, mention};
use std::io::BufRead;

/// A test that is open, and how deep it stands.
struct OpenTest {
    test: TestResult,
    depth: usize,
    has_status: bool,
}

/// What the text of an element inside a test is.
#[derive(Clone, Copy)]
enum Part {
    Documentation,
    Tag,
    Why,
}

pub(crate) fn read(input: impl BufRead, out: &mut Counted<'_, '_>) -> Result<(), ReportFault> {
    let mut xml = XmlReader::new(input, out.limits)?;
    // Names of suites, and the file of the innermost one that has any.
    let mut suites: Vec<(String, Option<String>)> = Vec::new();
    let mut test: Option<OpenTest> = None;
    let mut part: Option<Part> = None;
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
                if std::mem::take(&mut is_root) {
                    if name != "robot" {
                        let problem =
                            format!("this is no report of Robot Framework: it begins with <{name}>");
                        return Err(ReportFault::new(line, problem));
                    }
                    out.summary.began = attributes.get("generated").map(str::to_owned);
                }
                match (name.as_str(), &mut test) {
                    ("suite", None) if !is_empty && attributes.get("name").is_some() => {
                        let file = attributes.get("source").map(str::to_owned);
                        suites.push((attributes.text("name").to_owned(), file));
                    }
                    ("test", None) if !is_empty => {
                        test = Some(open_test(&suites, &attributes, line, xml.depth()))
                    }
                    ("status", Some(open)) if is_direct(open, xml.depth(), is_empty) => {
                        note_status(open, &attributes);
                        part = (!is_empty).then_some(Part::Why);
                    }
                    ("doc", Some(open)) if is_direct(open, xml.depth(), is_empty) => {
                        part = Some(Part::Documentation)
                    }
                    ("tag", Some(_)) => part = Some(Part::Tag),
                    _ => {}
                }
            }
            XmlEvent::Text(text) => {
                if let (Some(open), Some(part)) = (&mut test, part) {
                    match part {
                        Part::Documentation => mention::of_relations(&text, &mut open.test.mentions),
                        Part::Tag => mention::of_tag(text.trim(), &mut open.test.mentions),
                        Part::Why => open.test.message = text.trim().to_owned(),
                    }
                }
            }
            XmlEvent::End { name } => {
                part = None;
                match name.as_str() {
                    "suite" if test.is_none() => drop(suites.pop()),
                    "test" => {
                        if let Some(open) = test.take() {
                            if !open.has_status {
                                out.note(line, format!("the test {:?} has no status", open.test.name));
                            }
                            out.give(open.test)?;
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn open_test(
    suites: &[(String, Option<String>)],
    attributes: &Attributes,
    line: u32,
    depth: usize,
) -> OpenTest {
    let names: Vec<&str> = suites.iter().map(|(name, _)| name.as_str()).collect();
    OpenTest {
        test: TestResult {
            suite: names.join("."),
            class: names.join("."),
            name: attributes.text("name").to_owned(),
            file: suites.last().and_then(|(_, file)| file.clone()),
            // Until it says otherwise: a test that was cut off did not come to its end.
            outcome: TestOutcome::Error,
            is_flaky: false,
            duration_ms: 0,
            message: String::new(),
            mentions: Vec::new(),
            line,
        },
        depth,
        has_status: false,
    }
}

/// Keywords inside of a test have a status and a documentation too.
fn is_direct(open: &OpenTest, depth: usize, is_empty: bool) -> bool {
    depth + usize::from(is_empty) == open.depth + 1
}

fn note_status(open: &mut OpenTest, attributes: &Attributes) {
    open.has_status = true;
    open.test.outcome = match attributes.text("status") {
        "PASS" => TestOutcome::Passed,
        "SKIP" | "NOT RUN" => TestOutcome::Skipped,
        "FAIL" => TestOutcome::Failed,
        _ => TestOutcome::Error,
    };
    open.test.duration_ms = attributes.milliseconds("elapsed");
}
