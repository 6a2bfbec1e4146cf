//! Reports of test runners and coverage tools, read as they stream past.
//!
//! Every runner writes its own dialect: JUnit XML has no standard and a dozen writers, CTRF and TAP have one each, Robot
//! has its own tree; LCOV, Cobertura, JaCoCo and llvm-cov say which lines ran. Here they become two shapes: a
//! [`TestResult`] for each test and a [`FileCoverage`] for each file.
//!
//! The decision that shaped this crate: **a report is hostile until it is read**. It is read in one pass, with memory that
//! does not grow with it; documents that bring their own entities are refused, because that is how a kilobyte becomes a
//! gigabyte; and what cannot be read is a [`ReportFault`] with its line, never a panic and never a report that is silently
//! shorter. What is merely odd, such as a suite that announces eight tests and lists one, is a note beside the results.
//!
//! The crate refuses to know what a requirement is: it gives the ids that a report names as they stand there.

pub mod coverage;
mod ctrf;
mod junit;
mod mention;
mod robot;
mod tap;
mod xml;

pub use coverage::{CoverageForm, FileCoverage, read_coverage};
pub use mention::Mention;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::BufRead;

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestOutcome {
    /// It ran, and what it asked for held.
    Passed,
    /// It did not run, or is not meant to hold yet.
    Skipped,
    /// It ran, and what it asked for did not hold.
    Failed,
    /// It could not run to its end.
    Error,
}

impl TestOutcome {
    /// The word in answers.
    pub const fn name(self) -> &'static str {
        match self {
            TestOutcome::Passed => "passed",
            TestOutcome::Skipped => "skipped",
            TestOutcome::Failed => "failed",
            TestOutcome::Error => "error",
        }
    }
}

/// One test of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// The innermost suite it stands in.
    pub suite: String,
    /// The class, module or binary its runner names; may be empty.
    pub class: String,
    /// Its name.
    pub name: String,
    /// The file it is written in, where the report says so.
    pub file: Option<String>,
    /// What became of it in the end.
    pub outcome: TestOutcome,
    /// Whether it failed before it passed.
    pub is_flaky: bool,
    /// How long it ran.
    pub duration_ms: u64,
    /// What it said when it did not pass, cut.
    pub message: String,
    /// The ids it names.
    pub mentions: Vec<Mention>,
    /// The line of the report it stands in.
    pub line: u32,
}

/// How many tests came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that could not run to their end.
    pub errors: u64,
    /// Tests that were skipped.
    pub skipped: u64,
}

impl OutcomeCounts {
    /// Counts one more.
    pub fn add(&mut self, outcome: TestOutcome) {
        let count = match outcome {
            TestOutcome::Passed => &mut self.passed,
            TestOutcome::Failed => &mut self.failed,
            TestOutcome::Error => &mut self.errors,
            TestOutcome::Skipped => &mut self.skipped,
        };
        *count += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.passed + self.failed + self.errors + self.skipped
    }
}

/// Why a report cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFault {
    /// The line, from one.
    pub line: u32,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for ReportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl ReportFault {
    pub(crate) fn new(line: u32, problem: impl Into<String>) -> Self {
        Self {
            line,
            problem: problem.into(),
        }
    }
}

/// What a report came to, beside its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportSummary {
    /// How many tests came to what.
    pub counts: OutcomeCounts,
    /// When it says the run began, as it stands there.
    pub began: Option<String>,
    /// What is odd about it, though it can be read.
    pub notes: Vec<ReportFault>,
}

/// The forms of reports of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    /// JUnit XML in any of its dialects.
    Junit,
    /// The Common Test Report Format.
    Ctrf,
    /// The Test Anything Protocol.
    Tap,
    /// What Robot Framework writes.
    Robot,
}

impl ReportForm {
    /// All of them.
    pub const ALL: [ReportForm; 4] = [
        ReportForm::Junit,
        ReportForm::Ctrf,
        ReportForm::Tap,
        ReportForm::Robot,
    ];

    /// The word for it in commands and answers.
    pub const fn name(self) -> &'static str {
        match self {
            ReportForm::Junit => "junit",
            ReportForm::Ctrf => "ctrf",
            ReportForm::Tap => "tap",
            ReportForm::Robot => "robot",
        }
    }
}

/// How much of a report is read.
#[derive(Clone, Copy, Debug)]
pub struct ReportLimits {
    /// The whole of it.
    pub max_report_bytes: u64,
    /// Tests of one report.
    pub max_tests: u64,
    /// Elements inside each other.
    pub max_depth: usize,
    /// A name or an attribute; what is longer is cut.
    pub max_value_bytes: usize,
    /// The words of a test that did not pass; what is longer is cut.
    pub max_message_chars: usize,
    /// Notes; further ones are counted, not told.
    pub max_notes: usize,
}

impl Default for ReportLimits {
    fn default() -> Self {
        Self {
            max_report_bytes: 4 << 30,
            max_tests: 10_000_000,
            max_depth: 200,
            max_value_bytes: 16 << 10,
            max_message_chars: 400,
            max_notes: 100,
        }
    }
}

/// What takes each test as it comes.
pub type TestSink<'a> = dyn FnMut(TestResult) + 'a;

/// Reads a report of tests to its end and gives each test as it comes. With a fault, what was given before it is not the
/// whole report, and nothing should be made of it.
pub fn read_tests(
    form: ReportForm,
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut TestSink<'_>,
) -> Result<ReportSummary, ReportFault> {
    let mut counted = Counted {
        summary: ReportSummary::default(),
        limits,
        sink,
        more_notes: 0,
    };
    match form {
        ReportForm::Junit => junit::read(input, &mut counted),
        ReportForm::Robot => robot::read(input, &mut counted),
        ReportForm::Ctrf => ctrf::read(input, &mut counted),
        ReportForm::Tap => tap::read(input, &mut counted),
    }?;
    let more = counted.more_notes;
    if more > 0 {
        let line = counted.summary.notes.last().map_or(1, |note| note.line);
        let note = ReportFault::new(line, format!("{more} further oddities are not listed"));
        counted.summary.notes.push(note);
    }
    Ok(counted.summary)
}

/// Counts tests on their way to whoever wants them.
pub(crate) struct Counted<'a, 'b> {
    pub(crate) summary: ReportSummary,
    pub(crate) limits: &'a ReportLimits,
    sink: &'a mut TestSink<'b>,
    more_notes: u64,
}

impl Counted<'_, '_> {
    pub(crate) fn give(&mut self, mut test: TestResult) -> Result<(), ReportFault> {
        let given = self.summary.counts.total();
        if given >= self.limits.max_tests {
            let problem = format!("more than {} tests in one report", self.limits.max_tests);
            return Err(ReportFault::new(test.line, problem));
        }
        if test.name.is_empty() {
            self.note(test.line, "a test without a name");
        }
        test.message = cut(&test.message, self.limits.max_message_chars);
        self.summary.counts.add(test.outcome);
        (self.sink)(test);
        Ok(())
    }

    pub(crate) fn note(&mut self, line: u32, problem: impl Into<String>) {
        if self.summary.notes.len() < self.limits.max_notes {
            self.summary.notes.push(ReportFault::new(line, problem));
        } else {
            self.more_notes += 1;
        }
    }
}

/// The beginning of a text, in whole characters.
fn cut(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
