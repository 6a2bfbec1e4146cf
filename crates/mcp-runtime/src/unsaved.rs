//! The sessions whose record is behind: collected, and written together a moment later.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::core::Core;

#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    ids: Mutex<Vec<Box<str>>>,
    some: Notify,
}

impl Unsaved {
    pub(crate) fn add(&self, id: Box<str>) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        self.some.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<Box<str>> {
        std::mem::take(&mut *self.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets the task that saves look up; it ends when its server is gone.
    pub(crate) fn wake(&self) {
        self.some.notify_one();
    }
}

/// Saves what has gathered, a while after there is something, until the server is gone.
pub(crate) async fn save_always(core: Weak<Core>, unsaved: Arc<Unsaved>, pause: Duration) {
    loop {
        unsaved.some.notified().await;
        if core.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(pause).await;
        let Some(core) = core.upgrade() else { return };
        core.sessions.save(&core).await;
    }
}
