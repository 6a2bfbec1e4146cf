//! A flag that work can look at or wait for. One lives in every running request, so it allocates nothing of its own.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct Cancel {
    raised: AtomicBool,
    waiters: Notify,
}

impl Cancel {
    // Fulfils 002 Req-Proto-007
    pub(crate) fn raise(&self) {
        self.raised.store(true, Ordering::Release);
        self.waiters.notify_waiters();
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    pub(crate) async fn raised(&self) {
        let mut waiting = pin!(self.waiters.notified());
        // Registered before looking, so that a flag raised in between is not missed.
        waiting.as_mut().enable();
        if !self.is_raised() {
            waiting.await;
        }
    }
}
