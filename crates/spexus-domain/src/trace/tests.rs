//! What could make an item look verified that is not: each a row.

use super::fold::{KnownItem, ProjectFold, RunWorth};
use super::record::{CoverageRecord, MarkRole, RecordedOutcome, SourceMark, TestRecord};
use super::{ItemTrace, Rung, TestStanding, TraceFlag};
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

const ITEM: Uuid = Uuid::from_u128(1);

/// One push after the other, each folded onto what the one before came to.
struct World {
    known: KnownItem,
    marks: Vec<SourceMark>,
    results: Vec<(RunWorth, TestRecord)>,
    coverage: Vec<CoverageRecord>,
    trace: ItemTrace,
}

impl World {
    fn new() -> Self {
        Self {
            known: KnownItem {
                label: "REQ-1".into(),
                text: "Adding\n\nIt *must* add\nup.".into(),
                ..KnownItem::default()
            },
            marks: Vec::new(),
            results: Vec::new(),
            coverage: Vec::new(),
            trace: ItemTrace::default(),
        }
    }

    fn code(mut self) -> Self {
        self.marks.push(mark(MarkRole::Code, "src/add.rs", &[]));
        self
    }

    fn claim(mut self, name: &str) -> Self {
        self.marks.push(mark(MarkRole::Test, "src/lib.rs", &[name]));
        self
    }

    fn ran(self, class: &str, name: &str, outcome: RecordedOutcome) -> Self {
        self.ran_as(RunWorth::Counts, class, name, outcome)
    }

    fn ran_as(mut self, worth: RunWorth, class: &str, name: &str, outcome: RecordedOutcome) -> Self {
        self.results.push((worth, result(class, name, outcome)));
        self
    }

    fn mentioning(mut self, class: &str, name: &str, outcome: RecordedOutcome) -> Self {
        let mut record = result(class, name, outcome);
        record.ids.push(("REQ-1".into(), "requirement".into()));
        self.results.push((RunWorth::Counts, record));
        self
    }

    fn covered(mut self, test: &str, lines: (u32, u32)) -> Self {
        self.coverage.push(CoverageRecord {
            test: test.into(),
            file: "/build/machine/src/add.rs".into(),
            ran: vec![lines],
        });
        self
    }

    /// The state at a commit; what was pushed for it is gone for the next.
    fn at(mut self, commit: &str) -> Self {
        let known = KnownItem {
            before: self.trace.clone(),
            ..self.known.clone()
        };
        let ids = HashMap::from([("REQ-1".to_owned(), ITEM)]);
        let mut fold = ProjectFold::new(commit, BTreeMap::from([(ITEM, known)]), ids);
        for mark in &self.marks {
            fold.mark(mark.clone());
        }
        for (worth, record) in self.results.drain(..) {
            fold.result(worth, &record);
        }
        for record in self.coverage.drain(..) {
            fold.coverage(&record);
        }
        self.trace = fold.finish().remove(&ITEM).unwrap_or_default().trace;
        self
    }

    fn without_marks(mut self) -> Self {
        self.marks.clear();
        self
    }
}

fn mark(role: MarkRole, path: &str, names: &[&str]) -> SourceMark {
    SourceMark {
        id: "REQ-1".into(),
        role,
        path: path.into(),
        line: 10,
        end_line: 20,
        symbol: "f".into(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        hash: "h".into(),
        quote: String::new(),
        by: "citation".into(),
    }
}

fn result(class: &str, name: &str, outcome: RecordedOutcome) -> TestRecord {
    TestRecord {
        suite: class.into(),
        class: class.into(),
        name: name.into(),
        outcome,
        message: String::new(),
        ids: Vec::new(),
    }
}

use RecordedOutcome::{Error, Failed, Flaky, Passed, Skipped};

fn claimed() -> World {
    World::new().code().claim("pkg::tests::adds")
}

fn passed() -> World {
    claimed().ran("pkg", "tests::adds", Passed).at("a")
}

//= specs/spexus-service.md#evidence
//= type=test
//# The state of an item MUST be the lowest rung that all its tests stand on.
#[test]
fn each_rung_is_reached_by_what_it_takes_and_by_nothing_else() {
    assert_eq!(World::new().at("a").trace.state, Rung::None);
    assert_eq!(World::new().code().at("a").trace.state, Rung::Cited);
    assert_eq!(claimed().at("a").trace.state, Rung::Claimed);
    assert_eq!(
        claimed().ran("pkg", "tests::adds", Failed).at("a").trace.state,
        Rung::Ran
    );
    assert_eq!(passed().trace.state, Rung::Passed);
    assert_eq!(passed().trace.flags, []);
    let aggregate = claimed()
        .ran("pkg", "tests::adds", Passed)
        .covered("", (12, 12))
        .at("a");
    assert_eq!(
        (aggregate.trace.state, aggregate.trace.flags),
        (Rung::Passed, vec![TraceFlag::Covered])
    );
    let bound = claimed()
        .ran("pkg", "tests::adds", Passed)
        .covered("tests::adds", (12, 12))
        .at("a");
    assert_eq!(bound.trace.state, Rung::Executed);
    let elsewhere = claimed()
        .ran("pkg", "tests::adds", Passed)
        .covered("tests::adds", (21, 40))
        .at("a");
    assert_eq!(elsewhere.trace.state, Rung::Passed);
    let of_another = claimed()
        .ran("pkg", "tests::adds", Passed)
        .covered("tests::divides", (12, 12))
        .at("a");
    assert_eq!(of_another.trace.state, Rung::Passed);
    let mut sentence = World::new();
    sentence.marks.push(mark(MarkRole::Sentence, "spec.md", &[]));
    assert_eq!(sentence.at("a").trace.state, Rung::Specified);
    assert_eq!(
        World::new().mentioning("c", "t", Passed).at("a").trace.state,
        Rung::Passed
    );
}

/// The faults that could make something look verified, each with the flag it must show.
#[test]
fn nothing_looks_verified_that_is_not() {
    let two = || claimed().claim("pkg::tests::adds_more");
    let row = |name: &'static str, world: World, flag: Option<TraceFlag>| (name, world.trace, flag);
    let rows = vec![
        row(
            "vanished",
            passed().ran("pkg", "tests::other", Passed).at("b"),
            Some(TraceFlag::Vanished),
        ),
        row(
            "vanished by a property",
            World::new()
                .mentioning("c", "t", Passed)
                .at("a")
                .ran("c", "u", Passed)
                .at("b"),
            Some(TraceFlag::Vanished),
        ),
        row(
            "renamed, with its mark",
            passed()
                .without_marks()
                .code()
                .claim("pkg::tests::sums")
                .ran("pkg", "tests::sums", Passed)
                .at("b"),
            Some(TraceFlag::Vanished),
        ),
        row(
            "skipped",
            claimed().ran("pkg", "tests::adds", Skipped).at("a"),
            Some(TraceFlag::Skipped),
        ),
        row(
            "one of two skipped",
            two()
                .ran("pkg", "tests::adds", Passed)
                .ran("pkg", "tests::adds_more", Skipped)
                .at("a"),
            Some(TraceFlag::Skipped),
        ),
        row(
            "ignored, so not in the report",
            two().ran("pkg", "tests::adds", Passed).at("a"),
            None,
        ),
        row("wrong commit", passed().at("b"), Some(TraceFlag::Stale)),
        row(
            "dirty tree",
            claimed()
                .ran_as(RunWorth::Dirty, "pkg", "tests::adds", Passed)
                .at("a"),
            Some(TraceFlag::Stale),
        ),
        row(
            "an agent's word",
            claimed()
                .ran_as(RunWorth::Reported, "pkg", "tests::adds", Passed)
                .at("a"),
            None,
        ),
        row(
            "wrong suite",
            claimed().ran("other", "tests::adds", Passed).at("a"),
            None,
        ),
        row(
            "failed",
            claimed().ran("pkg", "tests::adds", Failed).at("a"),
            Some(TraceFlag::Failed),
        ),
        row(
            "could not end",
            claimed().ran("pkg", "tests::adds", Error).at("a"),
            Some(TraceFlag::Failed),
        ),
        row(
            "flaky",
            claimed().ran("pkg", "tests::adds", Flaky).at("a"),
            Some(TraceFlag::Failed),
        ),
        row(
            "retried until it passed",
            claimed()
                .ran("pkg", "tests::adds", Failed)
                .ran("pkg", "tests::adds", Passed)
                .at("a"),
            Some(TraceFlag::Failed),
        ),
        row(
            "one value of several failed",
            claimed()
                .ran("pkg", "tests::adds[1]", Passed)
                .ran("pkg", "tests::adds[2]", Failed)
                .at("a"),
            Some(TraceFlag::Failed),
        ),
        row(
            "two tests of that name",
            World::new()
                .claim("adds")
                .ran("x", "adds", Passed)
                .ran("y", "adds", Passed)
                .at("a"),
            None,
        ),
        row(
            "two marks of that name",
            {
                let mut world = World::new().claim("a::adds");
                world.marks.push(mark(MarkRole::Test, "src/b.rs", &["b::adds"]));
                world.ran("", "adds", Passed).at("a")
            },
            None,
        ),
    ];
    for (name, trace, flag) in rows {
        assert!(trace.state < Rung::Passed, "{name}: {trace:?}");
        assert!(!trace.weakest.is_empty(), "{name}");
        match flag {
            Some(flag) => assert!(trace.flags.contains(&flag), "{name}: {:?}", trace.flags),
            None => assert_eq!(trace.flags, [], "{name}"),
        }
    }
}

//= specs/spexus-service.md#evidence
//= type=test
//# An item whose text changed after tests claimed it MUST NOT stand higher than claimed until somebody confirms it.
#[test]
fn a_text_that_changed_is_suspect_and_so_is_a_quote_that_is_not_there() {
    let mut edited = claimed();
    edited.known.is_text_changed = true;
    let edited = edited.ran("pkg", "tests::adds", Passed).at("a").trace;
    assert_eq!(
        (edited.state, edited.flags, edited.moved),
        (
            Rung::Claimed,
            vec![TraceFlag::Stale, TraceFlag::Suspect],
            vec!["the text of REQ-1".to_owned()]
        )
    );
    let quoting = |quote: &str| {
        let mut world = claimed();
        world.marks[0].quote = quote.into();
        world.ran("pkg", "tests::adds", Passed).at("a").trace
    };
    assert_eq!(quoting("It must add up.").state, Rung::Passed);
    assert_eq!(quoting("It must divide.").state, Rung::Claimed);
}

//= specs/spexus-service.md#evidence
//= type=test
//# A test that was in an earlier run of its suite and is not in the last one MUST keep its item from standing higher than claimed.
#[test]
fn a_test_that_is_gone_is_missed_until_it_is_back() {
    let gone = passed()
        .without_marks()
        .code()
        .ran("pkg", "tests::other", Passed)
        .at("b");
    assert_eq!(gone.trace.tests[0].standing, TestStanding::Vanished);
    let still = gone.ran("pkg", "tests::other", Passed).at("c");
    assert_eq!(still.trace.tests[0].standing, TestStanding::Vanished);
    let back = still
        .claim("pkg::tests::adds")
        .ran("pkg", "tests::adds", Passed)
        .at("d");
    assert_eq!((back.trace.state, back.trace.tests.len()), (Rung::Passed, 1));
}

#[test]
fn a_mark_that_was_taken_away_is_no_gap_while_its_test_still_runs() {
    let world = passed()
        .without_marks()
        .code()
        .ran("pkg", "tests::adds", Passed)
        .at("b");
    assert_eq!((world.trace.state, world.trace.tests.len()), (Rung::Cited, 0));
}

//= specs/spexus-service.md#evidence
//= type=test
//# What ran at another commit, on a working tree with changes, or by an agent's word alone MUST be shown and MUST NOT raise a state.
#[test]
fn what_does_not_count_is_shown() {
    for (worth, standing) in [
        (RunWorth::Dirty, TestStanding::Dirty),
        (RunWorth::Reported, TestStanding::Reported),
    ] {
        let trace = claimed()
            .ran_as(worth, "pkg", "tests::adds", Passed)
            .at("a")
            .trace;
        assert_eq!((trace.state, trace.tests[0].standing), (Rung::Claimed, standing));
        let both = claimed()
            .ran_as(worth, "pkg", "tests::adds", Failed)
            .ran("pkg", "tests::adds", Passed)
            .at("a");
        assert_eq!(
            both.trace.state,
            Rung::Passed,
            "a run that counts stands for itself"
        );
    }
}

//= specs/spexus-service.md#evidence
//= type=test
//# A name that fits several tests MUST NOT raise a state.
#[test]
fn the_whole_name_wins_over_a_part_of_it() {
    let world = World::new().claim("a::tests::adds");
    let world = world
        .ran("a", "tests::adds", Passed)
        .ran("b", "tests::adds", Failed)
        .at("a");
    assert_eq!(world.trace.state, Rung::Passed);
    let short = World::new()
        .claim("adds")
        .ran("x", "adds", Passed)
        .ran("y", "adds", Passed)
        .at("a");
    assert_eq!(short.trace.tests[0].standing, TestStanding::Ambiguous);
}

//= specs/spexus-service.md#evidence
//= type=test
//# Code below a citation, and a sentence an item comes from, that changed since somebody read it with the item MUST be told as
//# suspect, by its place, until somebody confirms it; a file that only moved MUST NOT.
#[test]
fn code_and_sentences_that_moved_are_suspect_until_somebody_reads_them() {
    let again = |mut world: World, edit: fn(&mut World)| {
        edit(&mut world);
        world.ran("pkg", "tests::adds", Passed).at("b")
    };
    let edited = again(passed(), |world| world.marks[0].hash = "other".into());
    let suspect = vec![TraceFlag::Stale, TraceFlag::Suspect];
    assert_eq!(
        (
            edited.trace.state,
            &edited.trace.flags,
            edited.trace.moved.as_slice()
        ),
        (
            Rung::Passed,
            &suspect,
            &["the code of f at src/add.rs:10".to_owned()][..]
        )
    );
    assert!(edited.trace.weakest.contains("spexus trace confirm"));
    // Neither another run nor another edit makes it read.
    let still = again(edited, |world| world.marks[0].hash = "third".into());
    assert_eq!(still.trace.flags, suspect);
    let back = again(still, |world| world.marks[0].hash = "h".into());
    assert_eq!((back.trace.flags, back.trace.moved.len()), (vec![], 0));
    let moved = again(passed(), |world| world.marks[0].path = "src/sum.rs".into());
    assert_eq!(moved.trace.flags, []);
    let moved_and_edited = again(passed(), |world| {
        (world.marks[0].path, world.marks[0].hash) = ("src/sum.rs".into(), "other".into());
    });
    assert_eq!(moved_and_edited.trace.flags, suspect);
    let mut confirmed = moved_and_edited;
    confirmed.trace.confirm();
    assert_eq!(again(confirmed, |_| {}).trace.flags, []);
    let mut sentence = claimed();
    sentence.marks.push(mark(MarkRole::Sentence, "spec.md", &[]));
    sentence.marks[2].quote = "It must add.".into();
    let sentence = sentence.ran("pkg", "tests::adds", Passed).at("a");
    let edited = again(sentence, |world| world.marks[2].quote = "It must add up.".into());
    assert_eq!(
        (edited.trace.flags, edited.trace.moved),
        (suspect, vec!["the sentence at spec.md:10".to_owned()])
    );
}

/// An agent's word neither raises a state nor makes a test forgotten that is gone.
#[test]
fn a_report_by_an_agent_does_not_hide_that_a_test_is_gone() {
    let world = World::new()
        .mentioning("c", "t", Passed)
        .mentioning("c", "u", Passed)
        .at("a");
    let mut word = result("c", "t", Passed);
    word.ids.push(("REQ-1".into(), "requirement".into()));
    let mut told = world.mentioning("c", "u", Passed);
    told.results.push((RunWorth::Reported, word));
    let told = told.at("b");
    assert_eq!(told.trace.state, Rung::Claimed);
    let after = told.mentioning("c", "u", Passed).at("c");
    assert_eq!(
        (after.trace.state, after.trace.flags),
        (Rung::Claimed, vec![TraceFlag::Vanished])
    );
}
