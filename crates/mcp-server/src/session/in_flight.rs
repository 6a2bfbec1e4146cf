//! The requests of one session that are being served.
//!
//! A request is claimed exactly once: by its own work when it is done, by a cancel, or by a drain. Who claims it
//! decides what is answered, and nobody else may answer any more.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_protocol::{Outcome, RpcError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::Session;
use super::sink::MessageSink;

/// A request being served, as its session, the subscription broker and its task see it.
pub(crate) trait RunningRequest: std::fmt::Debug + Send + Sync {
    /// Its id, as the client wrote it.
    fn id(&self) -> &str;
    /// Bytes of its parameters.
    fn weight(&self) -> usize;
    fn session(&self) -> &Arc<Session>;
    fn sink(&self) -> &MessageSink;
    /// Its handler is stopped; nothing is answered by that.
    fn cancel(&self);
    /// Whether it may end without a trace now that nobody waits for its answer: it only reads, or was not begun.
    fn can_be_abandoned(&self) -> bool;
    /// Stops a claimed request and answers it.
    fn end(&self, outcome: Result<Outcome, RpcError>);
    /// Lets a claimed request go without an answer.
    fn abandon(&self);
}

#[derive(Debug, Default)]
pub(crate) struct InFlight {
    calls: Mutex<HashSet<Entry>>,
    /// Calls whose answer has not been handed over yet; falls after the claim.
    live: AtomicUsize,
    bytes: AtomicUsize,
    fewer: Notify,
}

impl InFlight {
    /// Enters a call; false when one with this id is being served already.
    pub(crate) fn enter(&self, call: Arc<dyn RunningRequest>) -> bool {
        let weight = call.weight();
        let fresh = self.lock().insert(Entry(call));
        if fresh {
            self.live.fetch_add(1, Ordering::AcqRel);
            self.bytes.fetch_add(weight, Ordering::AcqRel);
        }
        fresh
    }

    // Fulfils 002 Req-Proto-002
    /// Takes a call out. Only the first to ask gets it.
    pub(crate) fn claim(&self, id: &str) -> Option<Arc<dyn RunningRequest>> {
        self.lock().take(id).map(|entry| entry.0)
    }

    /// Takes all calls out.
    pub(crate) fn claim_all(&self) -> Vec<Arc<dyn RunningRequest>> {
        self.lock().drain().map(|entry| entry.0).collect()
    }

    /// Takes out those a test holds for.
    pub(crate) fn claim_those(
        &self,
        which: impl Fn(&dyn RunningRequest) -> bool,
    ) -> Vec<Arc<dyn RunningRequest>> {
        let taken = self
            .lock()
            .extract_if(|entry| which(&*entry.0))
            .collect::<Vec<_>>();
        taken.into_iter().map(|entry| entry.0).collect()
    }

    /// The claimed call's answer, if any, is handed over.
    pub(crate) fn leave(&self, weight: usize) {
        self.bytes.fetch_sub(weight, Ordering::AcqRel);
        self.live.fetch_sub(1, Ordering::AcqRel);
        self.fewer.notify_waiters();
    }

    pub(crate) fn len(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    /// Waits until fewer than `count` are left.
    pub(crate) async fn below(&self, count: usize) {
        loop {
            let mut fewer = pin!(self.fewer.notified());
            fewer.as_mut().enable();
            if self.len() < count {
                return;
            }
            fewer.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Entry>> {
        self.calls.lock()
    }
}

/// A call that is found by its id.
#[derive(Debug)]
struct Entry(Arc<dyn RunningRequest>);

impl Borrow<str> for Entry {
    fn borrow(&self) -> &str {
        self.0.id()
    }
}

impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id().hash(state);
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

impl Eq for Entry {}
