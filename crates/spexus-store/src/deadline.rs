//! How long somebody waits for what they asked for, and what may be said when the time is over.
//!
//! A write that is answered "too late" must not be carried out afterwards, and one that is being committed cannot be
//! taken back. So whoever waits and the writer agree through one word in memory: the request is given up, or its work
//! is kept, whichever came first.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How long the outcome of a commit is awaited once the time of its request is over.
const MAX_OUTCOME_WAIT: Duration = Duration::from_secs(30);

tokio::task_local! {
    static REQUEST: Arc<Claim>;
}

/// What is known of a request that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overrun {
    /// Nothing was written, and nothing will be.
    NothingDone,
    /// Something was written, or is about to be, and the answer did not come.
    OutcomeUnknown,
}

/// Runs the work of a request within a time. When the time is over it is dropped, unless something it wrote is being
/// committed: then the answer is waited for.
//= specs/spexus-store.md#time
//# A request that is told that it took too long MUST have written nothing, then or later, unless it is told that the outcome
//# is not known.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, Overrun> {
    let claim = Arc::new(Claim::default());
    let mut work = pin!(claim.scope(work));
    match tokio::time::timeout(limit, &mut work).await {
        Ok(done) => Ok(done),
        Err(_) if claim.give_up() => Err(Overrun::NothingDone),
        Err(_) => tokio::time::timeout(MAX_OUTCOME_WAIT, work)
            .await
            .map_err(|_| Overrun::OutcomeUnknown),
    }
}

/// Whether a request may still be given up; for those who keep its time themselves.
#[derive(Debug, Default)]
pub struct Claim(AtomicU8);

const OPEN: u8 = 0;
const KEPT: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Claim {
    /// The work of the request, which writes under this claim.
    pub fn scope<W: Future>(self: &Arc<Self>, work: W) -> impl Future<Output = W::Output> + use<W> {
        REQUEST.scope(self.clone(), work)
    }

    /// Gives the request up, so that nothing of it will be written. False when something of it is being kept.
    pub fn give_up(&self) -> bool {
        self.0
            .compare_exchange(OPEN, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The claim of the request that runs here, if it has a limit.
    pub(crate) fn current() -> Option<Arc<Self>> {
        REQUEST.try_with(Arc::clone).ok()
    }

    /// Says that the work will stand. It will not where the request was given up before.
    pub(crate) fn keep(&self) -> bool {
        let kept = |state| (state != GIVEN_UP).then_some(KEPT);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, kept)
            .is_ok()
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Acquire) == GIVEN_UP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-store.md#time
    //= type=test
    //# A request that is told that it took too long MUST have written nothing, then or later, unless it is told that the outcome
    //# is not known.
    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_waited_for_and_what_is_given_up_is_never_kept() {
        let limit = Duration::from_millis(10);
        let late = |keep: bool, extra: u64| {
            within(limit, async move {
                let claim = Claim::current().unwrap();
                assert!(!keep || claim.keep());
                tokio::time::sleep(Duration::from_millis(extra)).await;
                claim
            })
        };
        assert!(late(false, 5).await.is_ok());
        assert_eq!(late(false, 20).await.unwrap_err(), Overrun::NothingDone);
        assert!(late(true, 20).await.is_ok(), "its outcome is waited for");
        assert_eq!(late(true, 60_000).await.unwrap_err(), Overrun::OutcomeUnknown);
        let claim = Claim::default();
        assert!(claim.give_up() && !claim.keep() && claim.is_given_up());
        let claim = Claim::default();
        assert!(claim.keep() && claim.keep() && !claim.give_up());
    }
}
