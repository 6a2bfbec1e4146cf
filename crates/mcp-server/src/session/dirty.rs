//! Write-behind of sessions: those whose record is dirty are collected, and written together a moment later.

use parking_lot::Mutex;

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(crate) struct DirtySessions {
    ids: Mutex<Vec<Box<str>>>,
    some: Notify,
}

impl DirtySessions {
    pub(crate) fn add(&self, id: Box<str>) {
        self.ids.lock().push(id);
        self.some.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<Box<str>> {
        std::mem::take(&mut *self.ids.lock())
    }

    /// Waits until there is something to save, or the server is gone.
    pub(crate) async fn wait(&self) {
        self.some.notified().await;
    }

    /// Lets the task that saves look up; it ends when its server is gone.
    pub(crate) fn wake(&self) {
        self.some.notify_one();
    }
}
