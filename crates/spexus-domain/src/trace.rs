//! Evidence: how far an item has come on the way from its text to a test that ran, and which link of that way is the weakest.
//!
//! The state is derived from what was pushed, never typed in. It is the lowest rung that all tests of an item stand on: one test
//! that was skipped is enough to keep it down, because a requirement is not half verified. What is known of another commit, of
//! a working tree with changes, or by an agent's word alone is shown and raises nothing.

mod demand;
pub mod fold;
pub mod ground;
pub mod identity;
pub mod keys;
mod ladder;
mod moved;
mod reading;
pub mod record;
#[cfg(test)]
mod tests;

pub use demand::{EvidenceDemand, Standing};
pub use ladder::{ItemStanding, derive};
pub use reading::{ItemReading, read_again};

use crate::{Ruled, nearest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The rungs of the ladder, lowest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// Nothing is known of it.
    #[default]
    None,
    /// It comes from a sentence of a specification.
    Specified,
    /// Code cites it.
    Cited,
    /// A test says that it shows it.
    Claimed,
    /// The test ran.
    Ran,
    /// The test passed.
    Passed,
    /// The test that passed ran the code that cites it.
    Executed,
    /// A person or a signed run stands for it.
    Affirmed,
}

impl Rung {
    /// All of them, lowest first.
    pub const ALL: [Rung; 8] = [
        Rung::None,
        Rung::Specified,
        Rung::Cited,
        Rung::Claimed,
        Rung::Ran,
        Rung::Passed,
        Rung::Executed,
        Rung::Affirmed,
    ];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Rung::None => "none",
            Rung::Specified => "specified",
            Rung::Cited => "cited",
            Rung::Claimed => "claimed",
            Rung::Ran => "ran",
            Rung::Passed => "passed",
            Rung::Executed => "executed",
            Rung::Affirmed => "affirmed",
        }
    }

    /// Reads a rung by name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&Rung::ALL, |rung| rung.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, Rung::ALL.iter().map(|rung| rung.name())))
    }
}

/// What stands beside the rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TraceFlag {
    /// A test of it failed, or passed only when it was tried again.
    Failed,
    /// A test of it was skipped.
    Skipped,
    /// A test of it was in an earlier run of its suite, and its suite ran without it.
    Vanished,
    /// What is known is of another commit, of a working tree with changes, or of something that moved since.
    Stale,
    /// Its text, its code or its sentence changed since somebody read them together, and nobody said that it still holds.
    Suspect,
    /// Some test ran the code that cites it, and nobody knows which.
    Covered,
    /// Somebody took it out of the gate for a while.
    Waived,
}

impl TraceFlag {
    /// All of them, worst first.
    pub const ALL: [TraceFlag; 7] = [
        TraceFlag::Failed,
        TraceFlag::Skipped,
        TraceFlag::Vanished,
        TraceFlag::Stale,
        TraceFlag::Suspect,
        TraceFlag::Covered,
        TraceFlag::Waived,
    ];

    /// As it stands in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            TraceFlag::Failed => "failed",
            TraceFlag::Skipped => "skipped",
            TraceFlag::Vanished => "vanished",
            TraceFlag::Stale => "stale",
            TraceFlag::Suspect => "suspect",
            TraceFlag::Covered => "covered",
            TraceFlag::Waived => "waived",
        }
    }
}

/// What is known of a test now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestStanding {
    /// It passed at the commit that was scanned last.
    Passed,
    /// It failed there.
    Failed,
    /// It could not run to its end there.
    Error,
    /// It was skipped there.
    Skipped,
    /// It failed there and passed when it was tried again.
    Flaky,
    /// No run of it was pushed.
    NotRun,
    /// It was in an earlier run of its suite, which ran there without it.
    Vanished,
    /// It ran at another commit.
    Stale,
    /// It ran on a working tree with changes that are in no commit.
    Dirty,
    /// An agent says that it ran.
    Reported,
    /// Its name fits several tests of the run, so that nobody knows which one it is.
    Ambiguous,
}

/// A test that says it shows an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedTest {
    /// Its name, as its runner or its source has it.
    pub name: String,
    /// What is known of it now.
    pub standing: TestStanding,
    /// The suite it ran in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// The commit it ran at.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// The file it is written in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The line of the mark there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// What made it a test of the item: a citation, a mark, a property of a report.
    pub by: String,
    /// What it said when it did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether it ran the code that cites the item.
    #[serde(default, skip_serializing_if = "is_false")]
    pub executed: bool,
    /// The words its mark quotes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

impl TracedTest {
    /// A test of which no run was pushed.
    fn not_run(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            standing: TestStanding::NotRun,
            suite: String::new(),
            commit: String::new(),
            path: String::new(),
            line: 0,
            by: String::new(),
            message: String::new(),
            executed: false,
            quote: String::new(),
        }
    }
}

/// Code that cites an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedSpan {
    /// The file.
    pub path: String,
    /// The line of the citation.
    pub line: u32,
    /// The last line of the code it stands above.
    pub end_line: u32,
    /// What is defined there, where that can be told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// The hash of that code.
    pub hash: String,
    /// The words it quotes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// Whether those words stand in the item's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote_found: Option<bool>,
    /// Whether a test of the item that passed ran it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub executed: bool,
    /// Whether some test ran it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub covered: bool,
    /// The hash of the code that somebody read with the item, where it is another now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub was: String,
}

/// A sentence of a specification that an item comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TracedSentence {
    /// The file of the specification.
    pub path: String,
    /// The line.
    pub line: u32,
    /// The sentence.
    pub text: String,
    /// What it said when somebody read it with the item, where it says something else now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub was: String,
}

/// What a person says about the evidence of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReviewKind {
    /// Its tests still show its text, which changed, and tests that are gone are not missed.
    Confirmed,
    /// It is what it should be, as it is.
    Affirmed,
    /// It may stand below the gate for a while.
    Waived,
}

impl ReviewKind {
    /// All of them.
    pub const ALL: [ReviewKind; 3] = [ReviewKind::Confirmed, ReviewKind::Affirmed, ReviewKind::Waived];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            ReviewKind::Confirmed => "confirmed",
            ReviewKind::Affirmed => "affirmed",
            ReviewKind::Waived => "waived",
        }
    }

    /// Reads a kind by name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        nearest::find(&ReviewKind::ALL, |kind| kind.name(), text)
            .copied()
            .ok_or_else(|| nearest::miss(field, text, ReviewKind::ALL.iter().map(|kind| kind.name())))
    }
}

/// Where an item stands, and what that rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ItemTrace {
    /// The rung it stands on.
    pub state: Rung,
    /// What stands beside that.
    pub flags: Vec<TraceFlag>,
    /// The weakest link, and what to do about it; empty when there is nothing to do.
    pub weakest: String,
    /// The tests that say they show it.
    pub tests: Vec<TracedTest>,
    /// The code that cites it.
    pub spans: Vec<TracedSpan>,
    /// The sentences it comes from.
    pub sentences: Vec<TracedSentence>,
    /// What moved since somebody read it with the rest: the text, code, a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
}

impl ItemTrace {
    /// What an affirmation is about: the code and the tests as they are. Where either changes it has to be given again.
    pub fn fingerprint(&self) -> String {
        let mut parts: Vec<String> = self
            .spans
            .iter()
            .map(|span| format!("code {}", span.hash))
            .collect();
        parts.extend(self.tests.iter().map(|test| format!("test {}", test.name)));
        parts.sort_unstable();
        blake3::hash(parts.join("\n").as_bytes()).to_hex()[..32].to_owned()
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}
