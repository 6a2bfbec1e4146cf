//! From what is known of an item to the rung it stands on and the words for its weakest link.

use super::{ItemTrace, Rung, TestStanding, TraceFlag, TracedTest};

/// What is known of an item beside its tests, its code and its sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemStanding {
    /// Whether its text changed after tests claimed it, or words that are quoted do not stand there.
    pub is_suspect: bool,
    /// Whether its text changed after tests claimed it.
    pub is_text_moved: bool,
    /// Whether somebody stands for it as it is.
    pub is_affirmed: bool,
}

/// The rung of one test.
fn rung_of(test: &TracedTest, is_suspect: bool) -> Rung {
    match test.standing {
        _ if is_suspect => Rung::Claimed,
        TestStanding::Passed if test.executed => Rung::Executed,
        TestStanding::Passed => Rung::Passed,
        TestStanding::Failed | TestStanding::Error | TestStanding::Flaky => Rung::Ran,
        TestStanding::Skipped
        | TestStanding::NotRun
        | TestStanding::Vanished
        | TestStanding::Stale
        | TestStanding::Dirty
        | TestStanding::Reported
        | TestStanding::Ambiguous => Rung::Claimed,
    }
}

fn flag_of(standing: TestStanding) -> Option<TraceFlag> {
    match standing {
        TestStanding::Failed | TestStanding::Error | TestStanding::Flaky => Some(TraceFlag::Failed),
        TestStanding::Skipped => Some(TraceFlag::Skipped),
        TestStanding::Vanished => Some(TraceFlag::Vanished),
        TestStanding::Stale | TestStanding::Dirty => Some(TraceFlag::Stale),
        TestStanding::Passed | TestStanding::NotRun | TestStanding::Reported | TestStanding::Ambiguous => {
            None
        }
    }
}

/// Fills in the rung, the flags and the weakest link of an item from its tests, code and sentences.
//= specs/spexus-service.md#evidence
//# The state of an item MUST be the lowest rung that all its tests stand on.
pub fn derive(label: &str, trace: &mut ItemTrace, standing: ItemStanding) {
    let lowest = trace
        .tests
        .iter()
        .map(|test| (rung_of(test, standing.is_suspect), test))
        .min_by_key(|(rung, _)| *rung);
    let (mut state, weakest) = match lowest {
        Some((rung, test)) => (rung, of_test(label, rung, test, standing)),
        None if !trace.spans.is_empty() => (
            Rung::Cited,
            format!(
                "No test claims {label}. Mark one with `//= spexus:{label}` and `//= type=test`, or name {label} in its report."
            ),
        ),
        None if !trace.sentences.is_empty() => (
            Rung::Specified,
            format!("No code cites {label}. Quote it beside the code that fulfils it: `//= spexus:{label}`."),
        ),
        None => (
            Rung::None,
            format!(
                "Nothing cites {label}. Quote it beside the code that fulfils it, `//= spexus:{label}`, or name it in a test."
            ),
        ),
    };
    let mut weakest = weakest;
    if state == Rung::Executed
        && let Some(span) = trace.spans.iter().find(|span| !span.executed)
    {
        state = Rung::Passed;
        weakest = format!(
            "No passing test of {label} ran {}:{}. Push coverage of one test with --lcov TEST=FILE.",
            span.path, span.line
        );
    }
    if state >= Rung::Passed
        && let Some(moved) = trace.moved.first()
    {
        weakest = format!(
            "{moved} changed since somebody read it with {label}. Read both, and say that it still holds: `spexus trace confirm {label} --why …`."
        );
    }
    if state >= Rung::Passed && standing.is_affirmed {
        (state, weakest) = (Rung::Affirmed, String::new());
    }
    let mut flags: Vec<TraceFlag> = trace
        .tests
        .iter()
        .filter_map(|test| flag_of(test.standing))
        .collect();
    let beside = [
        (TraceFlag::Stale, !trace.moved.is_empty()),
        (TraceFlag::Suspect, standing.is_suspect || !trace.moved.is_empty()),
        (TraceFlag::Covered, trace.spans.iter().any(|span| span.covered)),
    ];
    flags.extend(
        beside
            .into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(flag, _)| flag),
    );
    flags.sort_unstable();
    flags.dedup();
    (trace.state, trace.flags, trace.weakest) = (state, flags, weakest);
}

fn of_test(label: &str, rung: Rung, test: &TracedTest, standing: ItemStanding) -> String {
    let name = &test.name;
    if standing.is_suspect && !standing.is_text_moved {
        return format!(
            "Words that are quoted for {label} do not stand in it. Read both, and quote it as it is."
        );
    }
    if standing.is_suspect {
        return format!(
            "The text of {label} changed after {name} claimed it. Read both, and say that it still holds: `spexus trace confirm {label} --why …`."
        );
    }
    let commit = short(&test.commit);
    match (test.standing, rung) {
        (TestStanding::Failed, _) => {
            format!("The test {name} failed at {commit}. Mend it, or what it found.")
        }
        (TestStanding::Error, _) => format!("The test {name} could not run to its end at {commit}. See why."),
        (TestStanding::Flaky, _) => format!(
            "The test {name} failed at {commit} and passed when it was tried again. Find out why it does both."
        ),
        (TestStanding::Skipped, _) => format!("The test {name} was skipped at {commit}. Let it run."),
        (TestStanding::NotRun, _) => format!(
            "The test {name} is in no report that was pushed. Run it, and push its report; runners leave ignored tests out."
        ),
        (TestStanding::Vanished, _) => format!(
            "The test {name} was in the suite {:?} and is gone. Bring it back, or say that it is not missed: `spexus trace confirm {label} --why …`.",
            test.suite
        ),
        (TestStanding::Stale, _) => format!(
            "The test {name} ran at {commit}, which is not the commit that is traced now. Run it there, and push its report."
        ),
        (TestStanding::Dirty, _) => format!(
            "The test {name} ran on a working tree with changes that are in no commit. Run it on a clean one."
        ),
        (TestStanding::Reported, _) => format!(
            "That the test {name} ran is an agent's word. Let CI push its report with a token for evidence."
        ),
        (TestStanding::Ambiguous, _) => {
            format!("Several tests of the run could be {name}. Let the report name its class or module.")
        }
        (TestStanding::Passed, Rung::Executed) => {
            format!("Nobody stands for {label} yet. Review it: `spexus trace affirm {label} --why …`.")
        }
        (TestStanding::Passed, _) => format!(
            "Nobody knows whether {name} ran the code that cites {label}. Push coverage of that test alone with --lcov TEST=FILE."
        ),
    }
}

/// The beginning of a commit, as people read it.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
