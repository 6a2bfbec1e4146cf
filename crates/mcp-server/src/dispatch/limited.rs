//! Work within its time: done, cancelled, or late with what is known of it.

use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Either;
use refusal::Refusal;

use crate::server::context::Call;
use crate::server::overrun::LateOutcome;

/// How work came to its end.
pub(super) enum Ended {
    Done,
    Cancelled,
    Late(Refusal),
}

/// Does the work of a request until it is done, cancelled or late. It is dropped when it is late, unless something of it is
/// being kept: then its outcome is waited for.
//= specs/mcp-server.md#tools
//# A request that is told that it took too long MUST have changed nothing, then or later, unless it is told that the outcome
//# is not known.
pub(super) async fn run(
    call: &Call,
    work: impl Future<Output = ()> + Send,
    timeout: Option<Duration>,
) -> Ended {
    // What only reads can be dropped at any time.
    let new_claim = call.core.new_claim.as_ref().filter(|_| !call.only_reads);
    let claim = new_claim.map(|make| make());
    let mut work = pin!(match &claim {
        Some(claim) => Either::Left(claim.scope(work.boxed())),
        None => Either::Right(work),
    });
    let limit = timeout.unwrap_or(Duration::MAX);
    let late = async {
        match timeout {
            Some(limit) => call.waits.worked_for(limit).await,
            None => std::future::pending().await,
        }
    };
    if let Some(ended) = until(call, work.as_mut(), late).await {
        return ended;
    }
    let outcome = match &claim {
        Some(claim) if !claim.give_up() => {
            let longer = tokio::time::sleep(call.core.settings.limits.outcome_wait());
            if let Some(ended) = until(call, work, longer).await {
                return ended;
            }
            LateOutcome::Unknown
        }
        Some(_) => LateOutcome::NothingDone,
        None if call.only_reads => LateOutcome::NothingDone,
        None => LateOutcome::Untold,
    };
    Ended::Late(outcome.refusal(limit))
}

/// `None` when the time is over before the work.
async fn until(
    call: &Call,
    work: Pin<&mut (impl Future<Output = ()> + Send)>,
    late: impl Future<Output = ()>,
) -> Option<Ended> {
    tokio::select! {
        biased;
        () = work => Some(Ended::Done),
        () = call.cancel.cancelled() => Some(Ended::Cancelled),
        () = late => None,
    }
}
