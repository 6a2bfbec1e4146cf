//! How long one statement may take, wherever it runs.

use crate::error::{Error, Result};
use refusal::{Code, Refusal};
use std::time::{Duration, Instant};

/// How long a statement on a file may run on the thread that asks; after that it gets a thread of its own.
const MAX_HERE: Duration = Duration::from_millis(50);

/// What a trip to the server may take beyond the time the server itself gives to a statement.
const TRIP: Duration = Duration::from_secs(2);

/// The limits of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// What each statement may take.
    pub(crate) statement: Option<Duration>,
    /// When the last of them must have ended.
    pub(crate) end_by: Option<Instant>,
    /// Whether a statement that takes long may be asked again elsewhere; what writes may not.
    pub(crate) may_move: bool,
}

impl Limit {
    /// For reading: each statement may take so long, and moves to a thread of its own when it does.
    pub(crate) fn of_reader(max_statement_ms: u64) -> Self {
        Self {
            may_move: true,
            ..Self::of_writer(max_statement_ms)
        }
    }

    /// For the writer, whose statements run where they are asked.
    pub(crate) fn of_writer(max_statement_ms: u64) -> Self {
        Self {
            statement: (max_statement_ms > 0).then(|| Duration::from_millis(max_statement_ms)),
            end_by: None,
            may_move: false,
        }
    }

    /// When a statement that begins now must have ended; refused where the time is over already.
    pub(crate) fn until(&self, now: Instant) -> Result<Option<Instant>> {
        let own = self.statement.map(|limit| now + limit);
        match (own, self.end_by) {
            (_, Some(end)) if now >= end => Err(too_long()),
            (Some(own), Some(end)) => Ok(Some(own.min(end))),
            (own, end) => Ok(own.or(end)),
        }
    }

    /// When a statement that begins now on this thread must have ended, and whether that is the end of it.
    pub(crate) fn here(&self) -> Result<(Option<Instant>, bool)> {
        let now = Instant::now();
        let until = self.until(now)?;
        let move_at = now + MAX_HERE;
        match until {
            until if !self.may_move => Ok((until, true)),
            Some(until) if until <= move_at => Ok((Some(until), true)),
            _ => Ok((Some(move_at), false)),
        }
    }

    /// How long the answer of a server is waited for.
    pub(crate) fn trip(&self) -> Result<Option<Duration>> {
        if self.end_by.is_some() {
            self.until(Instant::now())?;
        }
        Ok(self.statement.map(|limit| limit + TRIP))
    }
}

/// What is said of a statement that took too long.
//= specs/spexus-store.md#time
//# A statement that takes longer than its limit MUST be interrupted and refused with TIMEOUT.
pub(crate) fn too_long() -> Error {
    Refusal::new(
        Code::Timeout,
        "the database needed more time for this than it may take",
    )
    .hint("Ask for less: a smaller page, a narrower filter, fewer operations at once.")
    .into()
}
