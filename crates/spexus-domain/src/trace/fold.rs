//! From everything that is known at one commit to where each item stands: marks are put together with results by name, results with
//! coverage, and both with what was known before, so that a test which is gone is missed.
//!
//! Results pass by one at a time; only those that some mark, some id or some earlier state asks for are kept.

use super::identity::{TestName, leaf_of};
use super::ladder::{ItemStanding, derive};
use super::record::{CoverageRecord, MarkRole, RecordedOutcome, SourceMark, TestRecord};
use super::{ItemTrace, TestStanding, TracedSentence, TracedSpan, TracedTest};
use std::collections::{BTreeMap, HashMap, HashSet};
use uuid::Uuid;

/// An item that evidence is about.
#[derive(Clone, Debug, Default)]
pub struct KnownItem {
    /// What people call it.
    pub label: String,
    /// Its title and its description.
    pub text: String,
    /// Where it stood.
    pub before: ItemTrace,
    /// Whether its text changed since its claims were confirmed.
    pub is_text_changed: bool,
    /// The fingerprint of the evidence that somebody affirmed for the text as it is.
    pub affirmed: Option<String>,
}

/// How much a run is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunWorth {
    /// An agent says so.
    Reported,
    /// It was made on a working tree with changes.
    Dirty,
    /// It was made at the commit that is traced.
    Counts,
}

/// Something in a source that claims an item, and what was found for it.
struct Claim {
    item: Uuid,
    mark: SourceMark,
    names: Vec<TestName>,
    hits: Vec<Hit>,
    is_ambiguous: bool,
}

/// A result that fits.
#[derive(Clone)]
struct Hit {
    worth: RunWorth,
    outcome: RecordedOutcome,
    name: String,
    parts: TestName,
    suite: String,
    message: String,
}

/// A test that names an item itself.
struct Mentioned {
    by: String,
    hits: Vec<Hit>,
}

/// Everything that is known at one commit, as it comes together.
#[derive(Default)]
pub struct ProjectFold {
    commit: String,
    items: BTreeMap<Uuid, KnownItem>,
    traces: BTreeMap<Uuid, ItemTrace>,
    ids: HashMap<String, Uuid>,
    claims: Vec<Claim>,
    by_leaf: HashMap<String, Vec<usize>>,
    mentioned: BTreeMap<(Uuid, String), Mentioned>,
    /// Results that some item had before, by their names now.
    seen_again: HashSet<String>,
    awaited: HashSet<String>,
    suites: HashSet<String>,
    bound: Vec<CoverageRecord>,
    /// Items of which a mark quotes words that do not stand there.
    misquoted: HashSet<Uuid>,
    /// Files of the marks, longest first, for coverage that was made on another machine.
    files: Vec<String>,
}

impl ProjectFold {
    /// Begins at a commit, with the items that are named anywhere or have a state, and what each id means.
    pub fn new(commit: &str, items: BTreeMap<Uuid, KnownItem>, ids: HashMap<String, Uuid>) -> Self {
        let earlier = items.values().flat_map(|item| &item.before.tests);
        let awaited = earlier
            .filter(|test| !test.suite.is_empty())
            .map(|test| test.name.clone());
        Self {
            commit: commit.to_owned(),
            awaited: awaited.collect(),
            items,
            ids,
            ..Self::default()
        }
    }

    /// A mark of the sources at this commit.
    pub fn mark(&mut self, mark: SourceMark) {
        let Some(item) = self.ids.get(&mark.id).copied() else {
            return;
        };
        let text = self.items.get(&item).map_or("", |known| known.text.as_str());
        let quote_found = (!mark.quote.is_empty()).then(|| holds_quote(text, &mark.quote));
        if quote_found == Some(false) && mark.role != MarkRole::Sentence {
            self.misquoted.insert(item);
        }
        let trace = self.traces.entry(item).or_default();
        match mark.role {
            MarkRole::Code => {
                self.files.push(mark.path.clone());
                trace.spans.push(TracedSpan {
                    path: mark.path,
                    line: mark.line,
                    end_line: mark.end_line,
                    symbol: mark.symbol,
                    hash: mark.hash,
                    quote: mark.quote,
                    quote_found,
                    executed: false,
                    covered: false,
                });
            }
            MarkRole::Sentence => trace.sentences.push(TracedSentence {
                path: mark.path,
                line: mark.line,
                text: mark.quote,
            }),
            MarkRole::Test => {
                let names: Vec<TestName> = mark.names.iter().map(|name| TestName::parse(name)).collect();
                let index = self.claims.len();
                let mut leaves: Vec<&str> = names.iter().map(TestName::leaf).collect();
                leaves.dedup();
                for leaf in leaves {
                    self.by_leaf.entry(leaf.to_owned()).or_default().push(index);
                }
                self.claims.push(Claim {
                    item,
                    mark,
                    names,
                    hits: Vec::new(),
                    is_ambiguous: false,
                });
            }
        }
    }

    /// A result of a run at this commit.
    pub fn result(&mut self, worth: RunWorth, record: &TestRecord) {
        if worth == RunWorth::Counts && !self.suites.contains(&record.suite) {
            self.suites.insert(record.suite.clone());
        }
        let leaf = leaf_of(&record.name).replace('-', "_");
        let is_asked_for = self.by_leaf.contains_key(&leaf);
        let name = match self.awaited.is_empty() && !is_asked_for && record.ids.is_empty() {
            true => return,
            false => full_name(record),
        };
        if worth == RunWorth::Counts && self.awaited.contains(&name) {
            self.seen_again.insert(name.clone());
        }
        if !is_asked_for && record.ids.is_empty() {
            return;
        }
        let hit = Hit {
            worth,
            outcome: record.outcome,
            parts: TestName::of_result(&record.class, &record.name),
            name,
            suite: record.suite.clone(),
            message: record.message.clone(),
        };
        if is_asked_for {
            self.hit_claims(&leaf, &hit);
        }
        for (id, by) in &record.ids {
            if let Some(item) = self.ids.get(id) {
                let mentioned = self.mentioned.entry((*item, hit.name.clone()));
                let mentioned = mentioned.or_insert_with(|| Mentioned {
                    by: by.clone(),
                    hits: Vec::new(),
                });
                mentioned.hits.push(hit.clone());
            }
        }
    }

    //= specs/spexus-service.md#evidence
    //# A name that fits several tests MUST NOT raise a state.
    /// Gives a result to the claims whose name it has. Where claims of several tests fit, those that have all of its name win; where
    /// that leaves several, nobody knows.
    fn hit_claims(&mut self, leaf: &str, hit: &Hit) {
        let candidates = self.by_leaf.get(leaf).cloned().unwrap_or_default();
        let fits = |index: &usize, whole: bool| {
            let names = &self.claims[*index].names;
            names.iter().any(|name| {
                if whole {
                    *name == hit.parts
                } else {
                    name.fits(&hit.parts)
                }
            })
        };
        let mut fitting: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|index| fits(index, true))
            .collect();
        if fitting.is_empty() {
            fitting = candidates
                .iter()
                .copied()
                .filter(|index| fits(index, false))
                .collect();
        }
        let test_of = |index: usize| (&self.claims[index].mark.path, &self.claims[index].mark.names);
        let tests: HashSet<_> = fitting.iter().map(|index| test_of(*index)).collect();
        let is_ambiguous = tests.len() > 1;
        for index in fitting {
            let claim = &mut self.claims[index];
            claim.is_ambiguous |= is_ambiguous;
            claim.hits.push(hit.clone());
        }
    }

    /// Lines that ran at this commit.
    pub fn coverage(&mut self, record: &CoverageRecord) {
        if self.files.is_empty() {
            return;
        }
        self.files
            .sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.files.dedup();
        let is_of = |file: &&String| {
            let rest = record.file.strip_suffix(file.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let Some(file) = self.files.iter().find(is_of).cloned() else {
            return;
        };
        if !record.test.is_empty() {
            self.bound.push(CoverageRecord {
                file,
                ..record.clone()
            });
            return;
        }
        let spans = self.traces.values_mut().flat_map(|trace| &mut trace.spans);
        for span in spans.filter(|span| span.path == file) {
            span.covered |= ran(span, &record.ran);
        }
    }

    /// Where each item stands.
    pub fn finish(mut self) -> BTreeMap<Uuid, ItemTrace> {
        for claim in std::mem::take(&mut self.claims) {
            let before = self.items.get(&claim.item).map(|known| &known.before);
            let test = self.claimed(&claim, before);
            self.traces.entry(claim.item).or_default().tests.push(test);
        }
        for ((item, name), mentioned) in std::mem::take(&mut self.mentioned) {
            let tests = &mut self.traces.entry(item).or_default().tests;
            if !tests.iter().any(|test| test.name == name) {
                tests.push(judged(&mentioned.hits, mentioned.by, &self.commit));
            }
        }
        let items = std::mem::take(&mut self.items);
        for (id, known) in &items {
            self.miss(*id, &known.before);
        }
        let mut found = std::mem::take(&mut self.traces);
        for (id, trace) in &mut found {
            self.execute(trace);
            let known = items.get(id);
            let (label, standing) = match known {
                Some(known) => (
                    known.label.as_str(),
                    standing_of(known, trace, self.misquoted.contains(id)),
                ),
                None => ("it", ItemStanding::default()),
            };
            trace
                .tests
                .sort_by(|a, b| (&a.name, &a.path, a.line).cmp(&(&b.name, &b.path, b.line)));
            trace
                .spans
                .sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
            derive(label, trace, standing);
        }
        found
    }

    fn claimed(&self, claim: &Claim, before: Option<&ItemTrace>) -> TracedTest {
        let named = claim
            .mark
            .names
            .first()
            .cloned()
            .unwrap_or_else(|| claim.mark.symbol.clone());
        let mut test = match claim.hits.is_empty() {
            false => judged(&claim.hits, claim.mark.by.clone(), &self.commit),
            true => self.unheard(claim, before).unwrap_or_else(|| TracedTest {
                name: named,
                standing: TestStanding::NotRun,
                suite: String::new(),
                commit: String::new(),
                path: String::new(),
                line: 0,
                by: claim.mark.by.clone(),
                message: String::new(),
                executed: false,
            }),
        };
        let mut fitting: Vec<&TestName> = claim.hits.iter().map(|hit| &hit.parts).collect();
        fitting.dedup();
        let whole = fitting.iter().any(|parts| claim.names.contains(parts));
        if claim.is_ambiguous || (fitting.len() > 1 && !whole) {
            test.standing = TestStanding::Ambiguous;
        }
        (test.path, test.line) = (claim.mark.path.clone(), claim.mark.line);
        test
    }

    /// A test of a claim that has no result now and had one before.
    fn unheard(&self, claim: &Claim, before: Option<&ItemTrace>) -> Option<TracedTest> {
        let earlier = before?.tests.iter().find(|test| {
            let parts = TestName::parse(&test.name);
            !test.suite.is_empty() && claim.names.iter().any(|name| name.fits(&parts))
        })?;
        Some(self.gone_or_stale(earlier))
    }

    //= specs/spexus-service.md#evidence
    //# A test that was in an earlier run of its suite and is not in the last one MUST keep its item from standing higher than claimed.
    fn gone_or_stale(&self, earlier: &TracedTest) -> TracedTest {
        let standing = match self.suites.contains(&earlier.suite) {
            true => TestStanding::Vanished,
            false => TestStanding::Stale,
        };
        TracedTest {
            standing,
            executed: false,
            message: String::new(),
            ..earlier.clone()
        }
    }

    /// Tests an item had and has no more. One that still runs was taken from it on purpose: its mark is gone from the source.
    fn miss(&mut self, id: Uuid, before: &ItemTrace) {
        for earlier in before.tests.iter().filter(|test| !test.suite.is_empty()) {
            let now = self.traces.get(&id).map_or(&[][..], |trace| &trace.tests);
            if now.iter().any(|test| test.name == earlier.name) || self.seen_again.contains(&earlier.name) {
                continue;
            }
            let missed = self.gone_or_stale(earlier);
            self.traces.entry(id).or_default().tests.push(missed);
        }
    }

    /// Puts coverage of single tests together with the tests that passed.
    fn execute(&self, trace: &mut ItemTrace) {
        for test in trace
            .tests
            .iter_mut()
            .filter(|test| test.standing == TestStanding::Passed)
        {
            let name = TestName::parse(&test.name);
            let records = self
                .bound
                .iter()
                .filter(|record| TestName::parse(&record.test).fits(&name));
            for record in records {
                for span in trace.spans.iter_mut().filter(|span| span.path == record.file) {
                    if ran(span, &record.ran) {
                        span.executed = true;
                        test.executed = true;
                    }
                }
            }
        }
    }
}

fn ran(span: &TracedSpan, ranges: &[(u32, u32)]) -> bool {
    ranges
        .iter()
        .any(|(first, last)| *first <= span.end_line && *last >= span.line)
}

/// The name people see: the class in front, unless the name says it already.
fn full_name(record: &TestRecord) -> String {
    let (class, name) = (&record.class, &record.name);
    match class.is_empty() || class == name || name.starts_with(&format!("{class}.")) {
        true => name.clone(),
        false => format!("{class}::{name}"),
    }
}

//= specs/spexus-service.md#evidence
//# What ran at another commit, on a working tree with changes, or by an agent's word alone MUST be shown and MUST NOT raise a state.
/// What all results of a test at one commit come to. One that failed and passed is flaky whichever came first.
fn judged(hits: &[Hit], by: String, commit: &str) -> TracedTest {
    let worth = hits
        .iter()
        .map(|hit| hit.worth)
        .max()
        .unwrap_or(RunWorth::Reported);
    let counting: Vec<&Hit> = hits.iter().filter(|hit| hit.worth == worth).collect();
    let mut by_name: BTreeMap<&str, Vec<&Hit>> = BTreeMap::new();
    for hit in counting {
        by_name.entry(&hit.name).or_default().push(hit);
    }
    let each = by_name.values().map(|hits| {
        let has = |outcome| hits.iter().any(|hit| hit.outcome == outcome);
        let has_failed = has(RecordedOutcome::Failed) || has(RecordedOutcome::Error);
        let has_passed = has(RecordedOutcome::Passed) || has(RecordedOutcome::Flaky);
        let outcome = match (has_failed, has_passed) {
            (true, true) => RecordedOutcome::Flaky,
            (true, false) => hits
                .iter()
                .map(|hit| hit.outcome)
                .max()
                .unwrap_or(RecordedOutcome::Error),
            (false, true) if has(RecordedOutcome::Flaky) => RecordedOutcome::Flaky,
            (false, true) => RecordedOutcome::Passed,
            (false, false) => RecordedOutcome::Skipped,
        };
        (outcome, hits)
    });
    let (outcome, hits) = match each.max_by_key(|(outcome, _)| *outcome) {
        Some((outcome, hits)) => (outcome, hits.as_slice()),
        None => (RecordedOutcome::Skipped, &[][..]),
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
    TracedTest {
        name: hits.first().map(|hit| hit.name.clone()).unwrap_or_default(),
        standing,
        // What does not count leaves no trace that a later run could be held against.
        suite: match worth {
            RunWorth::Counts => hits.first().map(|hit| hit.suite.clone()).unwrap_or_default(),
            RunWorth::Dirty | RunWorth::Reported => String::new(),
        },
        commit: commit.to_owned(),
        path: String::new(),
        line: 0,
        by,
        message: said.map(|hit| hit.message.clone()).unwrap_or_default(),
        executed: false,
    }
}

/// A text that changed is suspect until somebody reads it again with its tests. A quote that does not stand there is suspect however it
/// came to that.
//= specs/spexus-service.md#evidence
//# An item whose text changed after tests claimed it MUST NOT stand higher than claimed until somebody confirms it.
fn standing_of(known: &KnownItem, trace: &ItemTrace, is_misquoted: bool) -> ItemStanding {
    ItemStanding {
        is_suspect: (known.is_text_changed && !trace.tests.is_empty()) || is_misquoted,
        is_affirmed: known
            .affirmed
            .as_ref()
            .is_some_and(|affirmed| *affirmed == trace.fingerprint()),
    }
}

/// Whether a quote stands in a text, whatever the blanks and the signs of Markdown between its words.
fn holds_quote(text: &str, quote: &str) -> bool {
    let plain = |text: &str| {
        let text = text.replace(['*', '_', '`'], "");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    plain(text).contains(&plain(quote))
}
