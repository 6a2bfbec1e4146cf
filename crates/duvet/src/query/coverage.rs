//! Did the tests run, and did they run the code they claim to test?
//!
//! An annotation stands above the code it is about. Its target is the first line below it that is neither blank nor a
//! comment; the coverage report says whether that line, or the first one after it that can run at all, was executed.

use super::{Check, Filter, Finding, Neighbours, Verdict, finding, verdict};
use crate::analysis::Analysis;
use crate::citation::{Annotation, Kind};
use std::collections::{BTreeMap, HashMap};

/// How far below an annotation its first line of code that can run is looked for.
const MAX_TARGET_DISTANCE_LINES: u32 = 12;

/// The form of a coverage report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageFormat {
    /// JaCoCo's XML.
    JacocoXml,
    /// LCOV's tracefile.
    Lcov,
}

/// Hits by file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    files: HashMap<String, BTreeMap<u32, u64>>,
}

impl Coverage {
    /// Adds a report. Reports of several test runs add up.
    pub fn add(&mut self, text: &str, format: CoverageFormat) {
        match format {
            CoverageFormat::JacocoXml => self.add_jacoco(text),
            CoverageFormat::Lcov => self.add_lcov(text),
        }
    }

    fn hit(&mut self, file: &str, line: u32, hits: u64) {
        *self
            .files
            .entry(file.to_owned())
            .or_default()
            .entry(line)
            .or_default() += hits;
    }

    fn add_lcov(&mut self, text: &str) {
        let mut file = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("SF:") {
                name.trim().clone_into(&mut file);
            } else if let Some((number, hits)) =
                line.strip_prefix("DA:").and_then(|rest| rest.split_once(','))
            {
                let hits = hits
                    .split(',')
                    .next()
                    .and_then(|hits| hits.trim().parse().ok())
                    .unwrap_or(0);
                if let Ok(number) = number.trim().parse() {
                    self.hit(&file, number, hits);
                }
            }
        }
    }

    /// `<package name>`, `<sourcefile name>` and `<line nr ci>` are all that is needed of the format.
    fn add_jacoco(&mut self, text: &str) {
        let (mut package, mut file) = (String::new(), String::new());
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap_or_default();
            if tag.starts_with("package ") {
                package = attribute(tag, "name").unwrap_or_default().to_owned();
            } else if tag.starts_with("sourcefile ") {
                let name = attribute(tag, "name").unwrap_or_default();
                file = if package.is_empty() {
                    name.to_owned()
                } else {
                    format!("{package}/{name}")
                };
            } else if tag.starts_with("line ") {
                let number = attribute(tag, "nr").and_then(|n| n.parse().ok());
                let hits = attribute(tag, "ci").and_then(|n| n.parse().ok()).unwrap_or(0);
                if let Some(number) = number {
                    self.hit(&file, number, hits);
                }
            }
        }
    }

    /// Whether the code below an annotation ran; `None` when the report knows no such code.
    fn ran(&self, annotation: &Annotation) -> Option<bool> {
        let lines = self.lines(&annotation.source)?;
        let from = annotation.last_line + 1;
        let (_, hits) = lines.range(from..from + MAX_TARGET_DISTANCE_LINES).next()?;
        Some(*hits > 0)
    }

    /// Reports name files from other folders than ours; the longest common end decides.
    fn lines(&self, source: &str) -> Option<&BTreeMap<u32, u64>> {
        let is_end = |long: &str, short: &str| {
            long == short || long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/'))
        };
        let known = self
            .files
            .iter()
            .filter(|(file, _)| is_end(source, file) || is_end(file, source));
        known.max_by_key(|(file, _)| file.len()).map(|(_, lines)| lines)
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let at = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[at..].split('"').next()
}

pub(super) fn run(analysis: &Analysis, check: Check, filter: &Filter, runs: Option<&Coverage>) -> Verdict {
    let empty = Coverage::default();
    let runs = runs.unwrap_or(&empty);
    let mut findings: Vec<Finding> = Vec::new();
    let (mut total, mut passed) = (0, 0);
    let neighbours = Neighbours::new(analysis);
    for (id, entry) in analysis
        .citations()
        .filter(|(_, entry)| entry.annotation().kind == Kind::Test)
    {
        if entry.matched().pieces.is_empty() || !filter.accepts(analysis, id) {
            continue;
        }
        let ran = runs.ran(entry.annotation()) == Some(true);
        if check == Check::ExecutedCoverage && !ran {
            continue;
        }
        total += 1;
        let problem = if ran {
            of_implementations(analysis, id, &neighbours, runs)
        } else {
            Some("the test did not run")
        };
        match problem {
            Some(problem) => findings.push(finding(analysis, id, problem, &[id], None)),
            None => passed += 1,
        }
    }
    let failed = findings.len();
    verdict(
        check,
        vec![
            ("Total tests", total),
            ("Executed with their code", passed),
            ("Failed", failed),
        ],
        findings,
    )
}

fn of_implementations(
    analysis: &Analysis,
    test: u32,
    neighbours: &Neighbours<'_>,
    runs: &Coverage,
) -> Option<&'static str> {
    let tested = neighbours.of(test, Kind::Implementation);
    if tested.is_empty() {
        return Some("nothing implements what the test tests");
    }
    let all_ran = tested
        .iter()
        .all(|id| runs.ran(analysis.annotation(*id)) == Some(true));
    (!all_ran).then_some("the code the test is about did not run")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(source: &str, last_line: u32) -> Annotation {
        Annotation {
            source: source.into(),
            last_line,
            ..Annotation::default()
        }
    }

    #[test]
    fn jacoco_and_lcov_tell_the_same() {
        let jacoco = "<report><package name=\"com/x\"><sourcefile name=\"A.java\"><line nr=\"12\" mi=\"0\" ci=\"3\"/>\
            <line nr=\"20\" mi=\"2\" ci=\"0\"/></sourcefile></package></report>";
        let lcov = "SF:/build/src/com/x/A.java\nDA:12,3\nDA:20,0\nend_of_record\n";
        for (text, format) in [(jacoco, CoverageFormat::JacocoXml), (lcov, CoverageFormat::Lcov)] {
            let mut coverage = Coverage::default();
            coverage.add(text, format);
            let ran = |line: u32| coverage.ran(&annotation("src/com/x/A.java", line));
            assert_eq!(
                (ran(10), ran(15), ran(40)),
                (Some(true), Some(false), None),
                "{format:?}"
            );
            assert_eq!(coverage.ran(&annotation("src/com/y/A.java", 10)), None);
        }
    }

    #[test]
    fn broken_reports_are_no_panic() {
        let mut coverage = Coverage::default();
        coverage.add("<line nr= ci=\"<<sourcefile", CoverageFormat::JacocoXml);
        coverage.add("SF:\nDA:x,\nDA:\n", CoverageFormat::Lcov);
    }
}
