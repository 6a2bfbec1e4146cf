//! How long a request has waited for its client, so that a person who reads a form does not use up the time the server
//! has for its own work.

use std::pin::pin;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Waits {
    state: Mutex<State>,
    over: Notify,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Waits {
    /// Counts as waiting until the value is dropped. Several at once count once.
    pub(crate) fn begin(&self) -> Wait<'_> {
        let mut state = self.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        Wait(self)
    }

    /// Ends when the work itself, without the waits, has taken this long.
    //= specs/mcp-server.md#questions
    //# The time a request waits for the client's answer MUST NOT count as time it is served; the question's own limit counts.
    pub(crate) async fn worked_for(&self, limit: Duration) {
        let started = Instant::now();
        loop {
            let due = started.checked_add(limit.saturating_add(self.until_over().await));
            match due {
                Some(due) if due <= Instant::now() => return,
                Some(due) => tokio::time::sleep_until(due).await,
                // Longer than the clock reaches is never.
                None => std::future::pending().await,
            }
        }
    }

    /// The whole time of waiting, once nobody waits.
    async fn until_over(&self) -> Duration {
        loop {
            let mut over = pin!(self.over.notified());
            over.as_mut().enable();
            {
                let state = self.lock();
                if state.open == 0 {
                    return state.total;
                }
            }
            over.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// One wait.
pub(crate) struct Wait<'a>(&'a Waits);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            let waited = state.since.take().map(|since| since.elapsed());
            state.total += waited.unwrap_or_default();
            drop(state);
            self.0.over.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_the_work_itself_counts() {
        let waits = Waits::default();
        let before = Instant::now();
        let work = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            let (first, second) = (waits.begin(), waits.begin());
            tokio::time::sleep(Duration::from_secs(100)).await;
            drop(first);
            tokio::time::sleep(Duration::from_secs(10)).await;
            drop(second);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = waits.worked_for(Duration::from_secs(5)) => {}
            () = work => {}
        }
        assert_eq!(before.elapsed(), Duration::from_secs(115));
    }
}
