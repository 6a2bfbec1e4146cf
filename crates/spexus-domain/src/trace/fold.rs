//! From everything that is known at one commit to where each item stands: marks are put together with results by name, results with
//! coverage, and both with what was known before, so that a test which is gone is missed.
//!
//! Results pass by one at a time; of each item only what it needs to be told again is kept, its ground. A later run of the same commit
//! goes on from there: it is given the items it can touch and its own results, and nothing else is read.

use super::ground::{Bound, Claim, EarlierTests, Hit, ItemGround, Mentioned};
use super::identity::{TestName, leaf_of};
use super::moved;
use super::reading::{ItemReading, read_again};
use super::record::{CoverageRecord, MarkRole, SourceMark, TestRecord};
use super::{ItemTrace, TestStanding, TracedSentence, TracedSpan, TracedTest};
use serde::{Deserialize, Serialize};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunWorth {
    /// An agent says so.
    #[serde(rename = "r")]
    Reported,
    /// It was made on a working tree with changes.
    #[serde(rename = "d")]
    Dirty,
    /// It was made at the commit that is traced.
    #[serde(rename = "c")]
    Counts,
}

/// An item as it comes together.
#[derive(Default)]
struct ItemFold {
    known: KnownItem,
    trace: ItemTrace,
    ground: ItemGround,
    is_resumed: bool,
}

/// Where an item stands, and what has to be kept to go on from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedItem {
    /// Where it stands.
    pub trace: ItemTrace,
    /// What the next run of the same commit goes on from.
    pub ground: ItemGround,
}

/// Everything that is known at one commit, as it comes together.
#[derive(Default)]
pub struct ProjectFold {
    commit: String,
    items: BTreeMap<Uuid, ItemFold>,
    ids: HashMap<String, Uuid>,
    by_leaf: HashMap<String, Vec<(Uuid, usize)>>,
    /// Items by the files of their marks.
    by_file: HashMap<String, Vec<Uuid>>,
    /// Results that some item had before, by their names now.
    seen_again: HashSet<String>,
    awaited: HashSet<String>,
    suites: HashSet<String>,
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
            items: items
                .into_iter()
                .map(|(id, known)| (id, ItemFold::new(known)))
                .collect(),
            ids,
            ..Self::default()
        }
    }

    /// Goes on where the run before ended: the suites that ran at this commit, and what is known of each item.
    pub fn resume(&mut self, suites: impl IntoIterator<Item = String>, grounds: Vec<(Uuid, ItemGround)>) {
        self.suites.extend(suites);
        for (item, ground) in grounds {
            for index in 0..ground.claims.len() {
                self.await_claim(item, index, &ground.claims[index]);
            }
            let Some(work) = self.items.get_mut(&item) else {
                continue;
            };
            work.resume(ground);
            for span in &work.trace.spans {
                self.by_file.entry(span.path.clone()).or_default().push(item);
            }
        }
    }

    fn await_claim(&mut self, item: Uuid, index: usize, claim: &Claim) {
        let names = claim.names();
        let mut leaves: Vec<&str> = names.iter().map(TestName::leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        for leaf in leaves {
            self.by_leaf
                .entry(leaf.to_owned())
                .or_default()
                .push((item, index));
        }
    }

    /// A mark of the sources at this commit.
    pub fn mark(&mut self, mark: SourceMark) {
        let Some(item) = self.ids.get(&mark.id).copied() else {
            return;
        };
        let Some(work) = self.items.get_mut(&item) else {
            return;
        };
        match mark.role {
            MarkRole::Code => {
                self.by_file.entry(mark.path.clone()).or_default().push(item);
                work.trace.spans.push(TracedSpan {
                    path: mark.path,
                    line: mark.line,
                    end_line: mark.end_line,
                    symbol: mark.symbol,
                    hash: mark.hash,
                    quote: mark.quote,
                    quote_found: None,
                    executed: false,
                    covered: false,
                    was: String::new(),
                });
            }
            MarkRole::Sentence => work.trace.sentences.push(TracedSentence {
                path: mark.path,
                line: mark.line,
                text: mark.quote,
                was: String::new(),
            }),
            MarkRole::Test => {
                let claim = Claim::new(mark);
                let index = work.ground.claims.len();
                work.ground.claims.push(claim.clone());
                self.await_claim(item, index, &claim);
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
        if self.awaited.is_empty() && !is_asked_for && record.ids.is_empty() {
            return;
        }
        let name = record.full_name();
        if worth == RunWorth::Counts && self.awaited.contains(&name) {
            self.seen_again.insert(name.clone());
        }
        if !is_asked_for && record.ids.is_empty() {
            return;
        }
        let hit = Hit::new(worth, record);
        if is_asked_for {
            self.hit_claims(&leaf, &hit);
        }
        for (id, by) in &record.ids {
            let Some(work) = self.ids.get(id).and_then(|item| self.items.get_mut(item)) else {
                continue;
            };
            let mentioned = work.ground.mentioned.entry(name.clone());
            let mentioned = mentioned.or_insert_with(|| Mentioned {
                by: by.clone(),
                hits: Vec::new(),
            });
            hit.join(&mut mentioned.hits);
        }
    }

    //= specs/spexus-service.md#evidence
    //# A name that fits several tests MUST NOT raise a state.
    /// Gives a result to the claims whose name it has. Where claims of several tests fit, those that have all of its name win; where
    /// that leaves several, nobody knows.
    fn hit_claims(&mut self, leaf: &str, hit: &Hit) {
        let candidates = self.by_leaf.get(leaf).cloned().unwrap_or_default();
        let parts = hit.parts();
        let named: Vec<(Uuid, usize, Vec<TestName>)> = candidates
            .into_iter()
            .filter_map(|(item, index)| Some((item, index, self.claim(item, index)?.names())))
            .collect();
        let whole = |names: &Vec<TestName>| names.contains(&parts);
        let part = |names: &Vec<TestName>| names.iter().any(|name| name.fits(&parts));
        let is_whole = named.iter().any(|(.., names)| whole(names));
        let fits = |names| if is_whole { whole(names) } else { part(names) };
        let fitting: Vec<(Uuid, usize)> = named
            .iter()
            .filter(|(.., names)| fits(names))
            .map(|(item, index, _)| (*item, *index))
            .collect();
        let tests: HashSet<_> = fitting
            .iter()
            .filter_map(|(item, index)| self.claim(*item, *index))
            .map(|claim| (&claim.path, &claim.names))
            .collect();
        let is_ambiguous = tests.len() > 1;
        for (item, index) in fitting {
            let claim = self
                .items
                .get_mut(&item)
                .map(|work| &mut work.ground.claims[index]);
            if let Some(claim) = claim {
                claim.is_ambiguous |= is_ambiguous;
                hit.join(&mut claim.hits);
            }
        }
    }

    fn claim(&self, item: Uuid, index: usize) -> Option<&Claim> {
        self.items.get(&item)?.ground.claims.get(index)
    }

    /// Lines that ran at this commit.
    pub fn coverage(&mut self, record: &CoverageRecord) {
        let Some(file) = ends_of_path(&record.file).find(|end| self.by_file.contains_key(*end)) else {
            return;
        };
        for item in self.by_file.get(file).into_iter().flatten() {
            let Some(work) = self.items.get_mut(item) else {
                continue;
            };
            let ItemFold { trace, ground, .. } = work;
            let spans = trace.spans.iter_mut();
            for span in spans.filter(|span| span.path == file && ran(span, &record.ran)) {
                match record.test.is_empty() {
                    true => span.covered = true,
                    false => {
                        ground.bound.insert(Bound {
                            test: record.test.clone(),
                            path: span.path.clone(),
                            line: span.line,
                        });
                    }
                }
            }
        }
    }

    /// The suites that ran at this commit.
    pub fn suites(&self) -> impl Iterator<Item = &String> {
        self.suites.iter()
    }

    /// Where each item stands of which anything is known.
    pub fn finish(mut self) -> BTreeMap<Uuid, FoldedItem> {
        let items = std::mem::take(&mut self.items);
        let found = items.into_iter().map(|(id, work)| (id, self.settle(work)));
        found.filter(|(_, found)| !found.trace.is_empty()).collect()
    }

    fn settle(&self, work: ItemFold) -> FoldedItem {
        let ItemFold {
            known,
            mut trace,
            ground,
            is_resumed,
        } = work;
        let before = EarlierTests::new(&known.before);
        let claims = ground.claims.iter();
        trace.tests = claims.map(|claim| self.claimed(claim, &before)).collect();
        let claimed: HashSet<&str> = trace.tests.iter().map(|test| test.name.as_str()).collect();
        let mentioned = ground.mentioned.iter();
        let mentioned = mentioned.filter(|(name, _)| !claimed.contains(name.as_str()));
        let mentioned: Vec<TracedTest> = mentioned
            .map(|(_, mentioned)| mentioned.judged(&before, &self.commit))
            .collect();
        trace.tests.extend(mentioned);
        self.miss(&mut trace, &known.before);
        execute(&mut trace, &ground);
        trace
            .tests
            .sort_by(|a, b| (&a.name, &a.path, a.line).cmp(&(&b.name, &b.path, b.line)));
        trace
            .spans
            .sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        if !is_resumed {
            moved::spans(&known.before.spans, &mut trace.spans);
            moved::sentences(&known.before.sentences, &mut trace.sentences);
        }
        let reading = ItemReading {
            label: &known.label,
            text: &known.text,
            is_text_changed: known.is_text_changed,
            affirmed: known.affirmed.as_deref(),
        };
        read_again(&mut trace, &reading);
        FoldedItem { trace, ground }
    }

    fn claimed(&self, claim: &Claim, before: &EarlierTests<'_>) -> TracedTest {
        let mut test = match claim.hits.is_empty() {
            false => claim.judged(before, &self.commit),
            true => self
                .unheard(claim, before)
                .unwrap_or_else(|| TracedTest::not_run(claim.name())),
        };
        if claim.is_ambiguous || claim.fits_several() {
            test.standing = TestStanding::Ambiguous;
        }
        test.by.clone_from(&claim.by);
        test.quote.clone_from(&claim.quote);
        (test.path, test.line) = (claim.path.clone(), claim.line);
        test
    }

    /// A test of a claim that has no result now and had one before.
    fn unheard(&self, claim: &Claim, before: &EarlierTests<'_>) -> Option<TracedTest> {
        let names = claim.names();
        let earlier = before.all().iter().find(|test| {
            let parts = TestName::parse(&test.name);
            !test.suite.is_empty() && names.iter().any(|name| name.fits(&parts))
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
            quote: String::new(),
            ..earlier.clone()
        }
    }

    /// Tests an item had and has no more. One that still runs was taken from it on purpose: its mark is gone from the source.
    fn miss(&self, trace: &mut ItemTrace, before: &ItemTrace) {
        let mut there: HashSet<&str> = trace.tests.iter().map(|test| test.name.as_str()).collect();
        let mut missed = Vec::new();
        for earlier in before.tests.iter().filter(|test| !test.suite.is_empty()) {
            if !self.seen_again.contains(&earlier.name) && there.insert(&earlier.name) {
                missed.push(self.gone_or_stale(earlier));
            }
        }
        trace.tests.extend(missed);
    }
}

impl ItemFold {
    fn new(known: KnownItem) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    fn resume(&mut self, ground: ItemGround) {
        self.ground = ground;
        self.is_resumed = true;
        self.trace.spans.clone_from(&self.known.before.spans);
        self.trace.sentences.clone_from(&self.known.before.sentences);
        for span in &mut self.trace.spans {
            span.executed = false;
        }
    }
}

/// Puts coverage of single tests together with the tests that passed.
fn execute(trace: &mut ItemTrace, ground: &ItemGround) {
    if ground.bound.is_empty() {
        return;
    }
    let bound = ground.bound.iter();
    let named: Vec<(TestName, &Bound)> = bound.map(|bound| (TestName::parse(&bound.test), bound)).collect();
    let passed = trace
        .tests
        .iter_mut()
        .filter(|test| test.standing == TestStanding::Passed);
    for test in passed {
        let name = TestName::parse(&test.name);
        for (_, bound) in named.iter().filter(|(bound, _)| bound.fits(&name)) {
            let is_bound = |span: &&mut TracedSpan| span.path == bound.path && span.line == bound.line;
            for span in trace.spans.iter_mut().filter(is_bound) {
                span.executed = true;
                test.executed = true;
            }
        }
    }
}

fn ran(span: &TracedSpan, ranges: &[(u32, u32)]) -> bool {
    ranges
        .iter()
        .any(|(first, last)| *first <= span.end_line && *last >= span.line)
}

/// A path and what remains of it without its first folders, longest first: coverage that was made on another machine names a file
/// by more folders than a mark does.
pub fn ends_of_path(path: &str) -> impl Iterator<Item = &str> {
    let behind = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path).chain(behind).filter(|end| !end.is_empty())
}
