//! Cancellation token: a flag that work can look at or wait for. One lives in every running request, so it allocates nothing of its own.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct CancellationToken {
    cancelled: AtomicBool,
    waiters: Notify,
}

impl CancellationToken {
    // Fulfils 002 Req-Proto-007
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.waiters.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) async fn cancelled(&self) {
        let mut waiting = pin!(self.waiters.notified());
        // Registered before looking, so that a cancellation in between is not missed.
        waiting.as_mut().enable();
        if !self.is_cancelled() {
            waiting.await;
        }
    }
}
