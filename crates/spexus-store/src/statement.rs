//! Statement timeouts, wherever the statement runs.

use crate::error::{Error, Result};
use refusal::{Code, Refusal};
use std::time::{Duration, Instant};

/// How long a statement on a file may run inline, on the thread that asks; after that it moves to a blocking thread.
const MAX_INLINE: Duration = Duration::from_millis(50);

/// What a round trip to the server may take beyond the time the server itself gives to a statement.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// Statement timeout and deadline of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StatementLimits {
    /// What each statement may take.
    pub(crate) statement: Option<Duration>,
    /// The deadline of the last of them.
    pub(crate) deadline: Option<Instant>,
    /// Whether a statement that takes long may be asked again elsewhere; what writes may not.
    pub(crate) may_move: bool,
}

impl StatementLimits {
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
            deadline: None,
            may_move: false,
        }
    }

    /// The deadline of a statement that begins now; refused where the time is over already.
    pub(crate) fn deadline_of_statement(&self, now: Instant) -> Result<Option<Instant>> {
        let own = self.statement.map(|limit| now + limit);
        match (own, self.deadline) {
            (_, Some(end)) if now >= end => Err(statement_timeout()),
            (Some(own), Some(end)) => Ok(Some(own.min(end))),
            (own, end) => Ok(own.or(end)),
        }
    }

    /// The deadline of a statement that begins now on this thread, and whether it is the final one.
    pub(crate) fn inline_deadline(&self) -> Result<(Option<Instant>, bool)> {
        let now = Instant::now();
        let until = self.deadline_of_statement(now)?;
        let move_at = now + MAX_INLINE;
        match until {
            until if !self.may_move => Ok((until, true)),
            Some(until) if until <= move_at => Ok((Some(until), true)),
            _ => Ok((Some(move_at), false)),
        }
    }

    /// How long the answer of a server is waited for.
    pub(crate) fn round_trip_timeout(&self) -> Result<Option<Duration>> {
        if self.deadline.is_some() {
            self.deadline_of_statement(Instant::now())?;
        }
        Ok(self.statement.map(|limit| limit + ROUND_TRIP))
    }
}

/// What is said of a statement that took too long.
//= specs/spexus-store.md#time
//# A statement that takes longer than its limit MUST be interrupted and refused with TIMEOUT.
pub(crate) fn statement_timeout() -> Error {
    Refusal::new(
        Code::Timeout,
        "the database needed more time for this than it may take",
    )
    .hint("Ask for less: a smaller page, a narrower filter, fewer operations at once.")
    .into()
}
