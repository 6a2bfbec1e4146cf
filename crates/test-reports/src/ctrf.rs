//! The Common Test Report Format, test by test: the list of tests is never held as a whole.

use crate::{Counted, ReportFault, TestOutcome, TestResult, mention};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;
use std::io::BufRead;

/// A test as the format has it; what is not needed is left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    status: String,
    #[serde(default)]
    duration: f64,
    #[serde(default)]
    suite: Value,
    #[serde(default)]
    file_path: Option<String>,
    #[serde(default)]
    flaky: bool,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    labels: Value,
    #[serde(default)]
    tags: Vec<Value>,
    #[serde(default)]
    extra: Value,
}

pub(crate) fn read(input: impl BufRead, out: &mut Counted<'_, '_>) -> Result<(), ReportFault> {
    let most = out.limits.max_report_bytes;
    let mut json = serde_json::Deserializer::from_reader(input.take(most));
    let mut state = State {
        out,
        has_tests: false,
        fault: None,
        number: 0,
    };
    let done = json.deserialize_map(Root(&mut state)).and_then(|()| json.end());
    if let Some(fault) = state.fault {
        return Err(fault);
    }
    match done {
        Ok(()) if state.has_tests => Ok(()),
        Ok(()) => Err(ReportFault::new(
            1,
            "this is no CTRF report: it has no results with tests",
        )),
        Err(error) => {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
            Err(ReportFault::new(
                line,
                format!("it is no CTRF report: {}", plain(&error)),
            ))
        }
    }
}

/// What serde says, without the place, which is told beside it.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

struct State<'s, 'a, 'b> {
    out: &'s mut Counted<'a, 'b>,
    has_tests: bool,
    /// A fault of ours, which serde's errors cannot carry.
    fault: Option<ReportFault>,
    number: u64,
}

struct Root<'r, 's, 'a, 'b>(&'r mut State<'s, 'a, 'b>);

impl<'de> Visitor<'de> for Root<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with results")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "results" => map.next_value_seed(Results(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Results<'r, 's, 'a, 'b>(&'r mut State<'s, 'a, 'b>);

impl<'de> DeserializeSeed<'de> for Results<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Results<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with tests")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "tests" => map.next_value_seed(Tests(self.0))?,
                "summary" => {
                    let summary: Value = map.next_value()?;
                    let start = summary.get("start").and_then(Value::as_i64);
                    self.0.out.summary.began = start.map(|milliseconds| milliseconds.to_string());
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Tests<'r, 's, 'a, 'b>(&'r mut State<'s, 'a, 'b>);

impl<'de> DeserializeSeed<'de> for Tests<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tests<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tests: A) -> Result<(), A::Error> {
        self.0.has_tests = true;
        while let Some(entry) = tests.next_element::<Entry>()? {
            self.0.number += 1;
            let given = test(entry, self.0.number).and_then(|test| self.0.out.give(test));
            if let Err(fault) = given {
                let error = A::Error::custom(&fault.problem);
                self.0.fault = Some(fault);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The place of a test in the list stands for its line: JSON is often a single one.
fn test(entry: Entry, number: u64) -> Result<TestResult, ReportFault> {
    let line = u32::try_from(number).unwrap_or(u32::MAX);
    let outcome = match entry.status.as_str() {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed,
        "skipped" | "pending" => TestOutcome::Skipped,
        "other" => TestOutcome::Error,
        status => {
            let problem = format!("test {number} has the status {status:?}, which CTRF does not know");
            return Err(ReportFault::new(line, problem));
        }
    };
    let mut mentions = Vec::new();
    for holder in [&entry.labels, &entry.extra] {
        for (name, value) in holder.as_object().into_iter().flatten() {
            for value in texts(value) {
                mention::of_property(name, value, &mut mentions);
            }
        }
    }
    for tag in entry.tags.iter().filter_map(Value::as_str) {
        mention::of_tag(tag, &mut mentions);
    }
    let suite = texts(&entry.suite).collect::<Vec<_>>().join(" > ");
    Ok(TestResult {
        class: suite.clone(),
        suite,
        name: entry.name,
        file: entry.file_path,
        outcome,
        is_flaky: entry.flaky && outcome == TestOutcome::Passed,
        duration_ms: if entry.duration.is_finite() {
            entry.duration.clamp(0.0, 1e15) as u64
        } else {
            0
        },
        message: entry.message.unwrap_or_default(),
        mentions,
        line,
    })
}

/// The texts of a value that is one or a list of them.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value
        .as_str()
        .into_iter()
        .chain(list.iter().filter_map(Value::as_str))
}
