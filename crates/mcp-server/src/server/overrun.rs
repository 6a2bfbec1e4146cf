//! What may be said of work whose time is over. Work that is dropped leaves nothing behind only where whoever writes knows
//! of it, and what is being kept cannot be taken back; so a server that writes gives each request a claim on its work.

use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use std::time::Duration;

/// Knows whether the work of one request may still be dropped.
pub trait WorkClaim: Send + Sync {
    /// The work, inside of what tells those who write whose it is.
    fn scope<'a>(&self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, ()>;

    /// Gives the work up, so that nothing of it will be kept. False when something of it is being kept: then its outcome
    /// is waited for.
    fn give_up(&self) -> bool;
}

/// Makes the claim of a request.
pub(crate) type NewClaim = dyn Fn() -> Box<dyn WorkClaim> + Send + Sync;

/// What is known of work whose time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LateOutcome {
    /// Nothing was changed, and nothing will be.
    NothingDone,
    /// Something is being kept, and its outcome did not come.
    Unknown,
    /// The server does not keep claims.
    Untold,
}

impl LateOutcome {
    /// The answer for a request that took longer than so long.
    pub(crate) fn refusal(self, limit: Duration) -> Refusal {
        let late = format!("the request took longer than {} ms", limit.as_millis());
        match self {
            Self::NothingDone => Refusal::new(Code::Timeout, format!("{late}; nothing was changed"))
                .fact("outcome", "nothing_done"),
            Self::Unknown => {
                let message = format!("{late}; what it writes may have been done or not");
                Refusal::new(Code::Timeout, message)
                    .hint("Look whether it is there before you send it again.")
                    .fact("outcome", "unknown")
            }
            Self::Untold => Refusal::new(Code::Timeout, late),
        }
    }
}
