//! What is kept of an item so that a later run of the same commit can go on from there: which tests its marks mean, what was heard of
//! each, and which of them ran its code.

use super::fold::RunWorth;
use super::identity::TestName;
use super::record::{RecordedOutcome, SourceMark, TestRecord};
use super::{ItemTrace, TestStanding, TracedTest};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The ground an item stands on, beside what is shown of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemGround {
    /// Tests its marks mean.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) claims: Vec<Claim>,
    /// Tests that name it themselves, by their names.
    #[serde(rename = "m", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) mentioned: BTreeMap<String, Mentioned>,
    /// Which tests ran which of its code.
    #[serde(rename = "b", default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) bound: BTreeSet<Bound>,
}

/// The tests an item had, by their names: there may be a hundred thousand of one.
pub(super) struct EarlierTests<'a> {
    all: &'a [TracedTest],
    by_name: HashMap<&'a str, &'a TracedTest>,
}

impl<'a> EarlierTests<'a> {
    pub(super) fn new(before: &'a ItemTrace) -> Self {
        Self {
            all: &before.tests,
            by_name: before
                .tests
                .iter()
                .rev()
                .map(|test| (test.name.as_str(), test))
                .collect(),
        }
    }

    pub(super) fn all(&self) -> &'a [TracedTest] {
        self.all
    }
}

/// Something in a source that claims an item, and what was heard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) names: Vec<String>,
    #[serde(rename = "s", default, skip_serializing_if = "String::is_empty")]
    symbol: String,
    #[serde(rename = "p")]
    pub(super) path: String,
    #[serde(rename = "l")]
    pub(super) line: u32,
    #[serde(rename = "q", default, skip_serializing_if = "String::is_empty")]
    pub(super) quote: String,
    #[serde(rename = "b")]
    pub(super) by: String,
    #[serde(rename = "a", default, skip_serializing_if = "super::is_false")]
    pub(super) is_ambiguous: bool,
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) hits: Vec<Hit>,
}

/// A test that names an item itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mentioned {
    #[serde(rename = "b")]
    pub(super) by: String,
    #[serde(rename = "h")]
    pub(super) hits: Vec<Hit>,
}

/// A test that ran code that cites the item.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Bound {
    #[serde(rename = "t")]
    pub(super) test: String,
    #[serde(rename = "p")]
    pub(super) path: String,
    #[serde(rename = "l")]
    pub(super) line: u32,
}

/// Everything that was heard of one test by runs of one worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hit {
    #[serde(rename = "w")]
    worth: RunWorth,
    #[serde(rename = "s", default, skip_serializing_if = "String::is_empty")]
    suite: String,
    #[serde(rename = "c", default, skip_serializing_if = "String::is_empty")]
    class: String,
    #[serde(rename = "n")]
    name: String,
    /// One bit for each outcome.
    #[serde(rename = "o")]
    outcomes: u8,
    #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
    message: String,
}

impl Hit {
    pub(super) fn new(worth: RunWorth, record: &TestRecord) -> Self {
        Self {
            worth,
            suite: record.suite.clone(),
            class: record.class.clone(),
            name: record.name.clone(),
            outcomes: 1 << record.outcome as u8,
            message: record.message.clone(),
        }
    }

    /// The name in parts.
    pub(super) fn parts(&self) -> TestName {
        TestName::of_result(&self.class, &self.name)
    }

    fn full_name(&self) -> String {
        super::record::full_name(&self.class, &self.name)
    }

    fn is_of(&self, other: &Hit) -> bool {
        (self.worth, &self.suite, &self.class, &self.name)
            == (other.worth, &other.suite, &other.class, &other.name)
    }

    /// Adds it to what was heard of the same test before.
    pub(super) fn join(&self, hits: &mut Vec<Hit>) {
        match hits.iter_mut().find(|hit| hit.is_of(self)) {
            Some(hit) => {
                hit.outcomes |= self.outcomes;
                if hit.message.is_empty() {
                    hit.message.clone_from(&self.message);
                }
            }
            None => hits.push(self.clone()),
        }
    }
}

impl Claim {
    pub(super) fn new(mark: SourceMark) -> Self {
        Self {
            names: mark.names,
            symbol: mark.symbol,
            path: mark.path,
            line: mark.line,
            quote: mark.quote,
            by: mark.by,
            is_ambiguous: false,
            hits: Vec::new(),
        }
    }

    /// The names runners may give the test.
    pub(super) fn names(&self) -> Vec<TestName> {
        self.names.iter().map(|name| TestName::parse(name)).collect()
    }

    /// What people call it.
    pub(super) fn name(&self) -> &str {
        self.names.first().unwrap_or(&self.symbol)
    }

    /// Whether what was heard is of several tests none of which has all of its name.
    pub(super) fn fits_several(&self) -> bool {
        let mut fitting: Vec<TestName> = self.hits.iter().map(Hit::parts).collect();
        fitting.dedup();
        let names = self.names();
        fitting.len() > 1 && !fitting.iter().any(|parts| names.contains(parts))
    }

    pub(super) fn judged(&self, before: &EarlierTests<'_>, commit: &str) -> TracedTest {
        judged(&self.hits, before, commit)
    }
}

impl Mentioned {
    pub(super) fn judged(&self, before: &EarlierTests<'_>, commit: &str) -> TracedTest {
        TracedTest {
            by: self.by.clone(),
            ..judged(&self.hits, before, commit)
        }
    }
}

//= specs/spexus-service.md#evidence
//# What ran at another commit, on a working tree with changes, or by an agent's word alone MUST be shown and MUST NOT raise a state.
/// What all results of a test at one commit come to. One that failed and passed is flaky whichever came first.
fn judged(hits: &[Hit], before: &EarlierTests<'_>, commit: &str) -> TracedTest {
    let worth = hits
        .iter()
        .map(|hit| hit.worth)
        .max()
        .unwrap_or(RunWorth::Reported);
    let mut by_name: BTreeMap<String, Vec<&Hit>> = BTreeMap::new();
    for hit in hits.iter().filter(|hit| hit.worth == worth) {
        by_name.entry(hit.full_name()).or_default().push(hit);
    }
    let each = by_name.iter().map(|(name, hits)| (outcome_of(hits), name, hits));
    let Some((outcome, name, hits)) = each.max_by_key(|(outcome, ..)| *outcome) else {
        return TracedTest::not_run("");
    };
    let standing = match (worth, outcome) {
        (RunWorth::Reported, _) => TestStanding::Reported,
        (RunWorth::Dirty, _) => TestStanding::Dirty,
        (RunWorth::Counts, RecordedOutcome::Passed) => TestStanding::Passed,
        (RunWorth::Counts, RecordedOutcome::Skipped) => TestStanding::Skipped,
        (RunWorth::Counts, RecordedOutcome::Flaky) => TestStanding::Flaky,
        (RunWorth::Counts, RecordedOutcome::Failed) => TestStanding::Failed,
        (RunWorth::Counts, RecordedOutcome::Error) => TestStanding::Error,
    };
    let said = hits.iter().find(|hit| !hit.message.is_empty());
    // What does not count leaves no trace that a later run could be held against, and takes none away.
    let earlier = before.by_name.get(name.as_str());
    let suite = match worth {
        RunWorth::Counts => hits.first().map(|hit| hit.suite.clone()),
        RunWorth::Dirty | RunWorth::Reported => earlier.map(|test| test.suite.clone()),
    };
    TracedTest {
        standing,
        suite: suite.unwrap_or_default(),
        commit: commit.to_owned(),
        message: said.map(|hit| hit.message.clone()).unwrap_or_default(),
        ..TracedTest::not_run(name)
    }
}

/// What the results of one name come to.
fn outcome_of(hits: &[&Hit]) -> RecordedOutcome {
    let outcomes = hits.iter().fold(0, |all, hit| all | hit.outcomes);
    let has = |outcome: RecordedOutcome| outcomes & (1 << outcome as u8) != 0;
    let has_failed = has(RecordedOutcome::Failed) || has(RecordedOutcome::Error);
    let has_passed = has(RecordedOutcome::Passed) || has(RecordedOutcome::Flaky);
    match (has_failed, has_passed) {
        (true, true) => RecordedOutcome::Flaky,
        (true, false) if has(RecordedOutcome::Error) => RecordedOutcome::Error,
        (true, false) => RecordedOutcome::Failed,
        (false, true) if has(RecordedOutcome::Flaky) => RecordedOutcome::Flaky,
        (false, true) => RecordedOutcome::Passed,
        (false, false) => RecordedOutcome::Skipped,
    }
}
