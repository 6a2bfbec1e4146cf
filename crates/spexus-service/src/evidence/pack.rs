//! From reports and marks to the documents a push keeps. Reports stream past; what is kept of a test is its name and what became of it.

use serde::{Deserialize, Serialize};
use spexus_domain::trace::record::{CoverageRecord, PartKind, RecordedOutcome, SourceMark, TestRecord};
use spexus_domain::{Code, Refusal, Ruled};
use std::collections::BTreeSet;
use std::io::BufRead;
use test_reports::{
    CoverageForm, FileCoverage, OutcomeCounts, ReportFault, ReportForm, ReportLimits, TestOutcome,
    TestResult, read_coverage, read_tests,
};
use utoipa::ToSchema;

/// Bytes of one document; a push has as many as it takes.
const PART_BYTES: usize = 256 << 10;

/// Bytes of all documents of one push.
const MAX_PUSH_BYTES: usize = 1 << 30;

/// Ids that one push may name.
const MAX_IDS: usize = 500_000;

/// What a source of evidence is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceForm {
    /// A report of tests.
    Tests(ReportForm),
    /// Lines that ran, in this test or in some.
    Coverage(CoverageForm, String),
}

impl SourceForm {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            SourceForm::Tests(form) => form.name(),
            SourceForm::Coverage(form, _) => form.name(),
        }
    }

    /// Reads a form by name; only coverage may be of one test.
    pub fn parse(field: &str, name: &str, test: Option<&str>) -> Ruled<Self> {
        let names = || {
            ReportForm::ALL
                .map(ReportForm::name)
                .into_iter()
                .chain(CoverageForm::ALL.map(CoverageForm::name))
        };
        if let Some(form) = CoverageForm::ALL.into_iter().find(|form| form.name() == name) {
            return Ok(Self::Coverage(form, test.unwrap_or_default().to_owned()));
        }
        let Some(form) = ReportForm::ALL.into_iter().find(|form| form.name() == name) else {
            return Err(spexus_domain::nearest::miss(field, name, names()));
        };
        match test {
            Some(_) => Err(Refusal::field(
                Code::InvalidParams,
                "test",
                "only coverage is of one test",
                "leave it out",
            )),
            None => Ok(Self::Tests(form)),
        }
    }
}

/// A report that is pushed.
pub struct EvidenceSource {
    /// What people call it: its file.
    pub name: String,
    /// What it is.
    pub form: SourceForm,
    /// What it says.
    pub input: Box<dyn BufRead + Send>,
}

/// What one report came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PushedSource {
    /// What people call it.
    pub name: String,
    /// What it is.
    pub form: String,
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that could not run to their end.
    pub errors: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// Files of which it says what ran.
    pub files: u64,
    /// What is odd about it, with the line.
    pub notes: Vec<String>,
}

/// What is known of a push beside its documents. It is kept as JSON, and the digest covers it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PushHead {
    pub(super) command: String,
    pub(super) sources: Vec<PushedSource>,
    /// How many marks the tree has.
    pub(super) marks: u64,
    /// Every id that is named, by reports and marks.
    pub(super) ids: BTreeSet<String>,
}

/// The documents of a push.
#[derive(Default)]
pub(super) struct Packed {
    pub(super) head: PushHead,
    pub(super) parts: Vec<(PartKind, String)>,
    bytes: usize,
    open: Option<(PartKind, String)>,
}

impl Packed {
    /// Reads all sources to their ends. The first that cannot be read refuses them all.
    //= specs/spexus-service.md#evidence
    //# A push of which any report cannot be read MUST be refused as a whole, with the report, the line and what is wrong there.
    pub(super) fn read(sources: Vec<EvidenceSource>, marks: Option<Vec<SourceMark>>) -> Ruled<Self> {
        let mut packed = Self::default();
        for source in sources {
            packed.source(source)?;
        }
        for mut mark in marks.into_iter().flatten() {
            packed.name(&mark.id)?;
            // A tree that was scanned elsewhere may have its own slashes.
            mark.path = mark.path.replace('\\', "/");
            packed.head.marks += 1;
            packed.line(PartKind::Marks, &mark)?;
        }
        packed.close();
        Ok(packed)
    }

    fn source(&mut self, source: EvidenceSource) -> Ruled<()> {
        let limits = ReportLimits::default();
        let mut pushed = PushedSource {
            name: source.name,
            form: source.form.name().to_owned(),
            passed: 0,
            failed: 0,
            errors: 0,
            skipped: 0,
            files: 0,
            notes: Vec::new(),
        };
        // What cannot be kept ends the reading; the reader itself knows nothing of it.
        let mut kept: Ruled<()> = Ok(());
        match source.form {
            SourceForm::Tests(form) => {
                let read = read_tests(form, source.input, &limits, &mut |test| {
                    if kept.is_ok() {
                        kept = self.test(test);
                    }
                });
                let summary = read.map_err(|fault| unreadable(&pushed, &fault))?;
                let OutcomeCounts {
                    passed,
                    failed,
                    errors,
                    skipped,
                } = summary.counts;
                (pushed.passed, pushed.failed, pushed.errors, pushed.skipped) =
                    (passed, failed, errors, skipped);
                pushed.notes = summary.notes.iter().map(ToString::to_string).collect();
            }
            SourceForm::Coverage(form, test) => {
                let mut files = 0;
                let read = read_coverage(form, source.input, &limits, &mut |file| {
                    files += 1;
                    if kept.is_ok() {
                        kept = self.covered(&test, file);
                    }
                });
                read.map_err(|fault| unreadable(&pushed, &fault))?;
                pushed.files = files;
            }
        }
        kept?;
        self.head.sources.push(pushed);
        Ok(())
    }

    fn test(&mut self, test: TestResult) -> Ruled<()> {
        for mention in &test.mentions {
            self.name(&mention.id)?;
        }
        let record = TestRecord {
            outcome: match (test.outcome, test.is_flaky) {
                (TestOutcome::Passed, true) => RecordedOutcome::Flaky,
                (TestOutcome::Passed, false) => RecordedOutcome::Passed,
                (TestOutcome::Skipped, _) => RecordedOutcome::Skipped,
                (TestOutcome::Failed, _) => RecordedOutcome::Failed,
                (TestOutcome::Error, _) => RecordedOutcome::Error,
            },
            suite: test.suite,
            class: test.class,
            name: test.name,
            message: test.message,
            ids: test
                .mentions
                .into_iter()
                .map(|mention| (mention.id, mention.by))
                .collect(),
        };
        self.line(PartKind::Tests, &record)
    }

    /// Files of other machines have their own slashes; which of ours they are is found by their ends.
    fn covered(&mut self, test: &str, file: FileCoverage) -> Ruled<()> {
        if file.ran.is_empty() {
            return Ok(());
        }
        let record = CoverageRecord {
            test: test.to_owned(),
            file: file.file.replace('\\', "/"),
            ran: file.ran,
        };
        self.line(PartKind::Coverage, &record)
    }

    fn name(&mut self, id: &str) -> Ruled<()> {
        if !self.head.ids.contains(id) {
            if self.head.ids.len() >= MAX_IDS {
                return Err(too_large(format!("more than {MAX_IDS} ids are named")));
            }
            self.head.ids.insert(id.to_owned());
        }
        Ok(())
    }

    /// Adds a line to the document of its kind that is being written.
    fn line(&mut self, kind: PartKind, value: &impl Serialize) -> Ruled<()> {
        let text = serde_json::to_string(value).map_err(|error| {
            Refusal::new(
                Code::InternalError,
                format!("a record cannot be written: {error}"),
            )
        })?;
        self.bytes += text.len() + 1;
        if self.bytes > MAX_PUSH_BYTES {
            return Err(too_large(format!(
                "what is pushed is larger than {MAX_PUSH_BYTES} bytes"
            )));
        }
        if self
            .open
            .as_ref()
            .is_some_and(|(open, body)| *open != kind || body.len() + text.len() > PART_BYTES)
        {
            self.close();
        }
        let (_, body) = self.open.get_or_insert_with(|| (kind, String::new()));
        body.push_str(&text);
        body.push('\n');
        Ok(())
    }

    fn close(&mut self) {
        self.parts.extend(self.open.take());
    }
}

fn too_large(problem: String) -> Refusal {
    Refusal::field(
        Code::MessageTooLarge,
        "reports",
        problem,
        "several smaller pushes for the same commit",
    )
}

fn unreadable(source: &PushedSource, fault: &ReportFault) -> Refusal {
    let problem = format!("{}, {fault}", source.name);
    Refusal::field(
        Code::InvalidParams,
        "reports",
        problem,
        format!("a report in the form {}", source.form),
    )
    .hint("Nothing of the push was kept. Make the report again, or leave it out.")
    .fact("line", fault.line)
}
