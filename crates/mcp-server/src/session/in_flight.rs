//! The requests of one connection or session that are being served.
//!
//! A request is claimed exactly once: by its own work when it is done, by a cancel, or by a drain. Who claims it
//! decides what is answered, and nobody else may answer any more. Servers and proxies keep theirs in the same table.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_protocol::{Outcome, RpcError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::Session;
use super::outbox::Outbox;
use super::sink::MessageSink;

/// A request in flight, as the table of them sees it.
pub trait Identified: Send + Sync {
    /// Its id, as the client wrote it.
    fn id(&self) -> &str;
    /// The bytes it holds.
    fn weight(&self) -> usize;
}

/// A request being served, as its session, the subscription broker and its task see it.
pub(crate) trait RunningRequest: Identified + std::fmt::Debug {
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

/// In-flight table: the requests without an answer, by id.
#[derive(Debug)]
pub struct InFlight<T: Identified + ?Sized> {
    calls: Mutex<HashSet<Entry<T>>>,
    /// Calls whose answer has not been handed over yet; falls after the claim.
    live: AtomicUsize,
    bytes: AtomicUsize,
    fewer: Notify,
}

impl<T: Identified + ?Sized> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            live: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            fewer: Notify::new(),
        }
    }
}

impl<T: Identified + ?Sized> InFlight<T> {
    /// Enters a call; false when one with this id is being served already.
    pub fn enter(&self, call: Arc<T>) -> bool {
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
    pub fn claim(&self, id: &str) -> Option<Arc<T>> {
        self.lock().take(id).map(|entry| entry.0)
    }

    /// Takes out this very call, and not a later one with its id; false when somebody else did.
    pub fn claim_this(&self, call: &Arc<T>) -> bool {
        let mut calls = self.lock();
        let is_there = calls
            .get(call.id())
            .is_some_and(|there| std::ptr::addr_eq(Arc::as_ptr(&there.0), Arc::as_ptr(call)));
        is_there && calls.remove(call.id())
    }

    /// Takes all calls out.
    pub fn claim_all(&self) -> Vec<Arc<T>> {
        self.lock().drain().map(|entry| entry.0).collect()
    }

    /// Takes out those a test holds for.
    pub fn claim_those(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let taken = self
            .lock()
            .extract_if(|entry| which(&*entry.0))
            .collect::<Vec<_>>();
        taken.into_iter().map(|entry| entry.0).collect()
    }

    /// The claimed call's answer, if any, is handed over.
    pub fn leave(&self, weight: usize) {
        self.bytes.fetch_sub(weight, Ordering::AcqRel);
        self.live.fetch_sub(1, Ordering::AcqRel);
        self.fewer.notify_waiters();
    }

    /// How many have no answer yet, claimed or not.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    /// What they hold together.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    /// Waits until fewer than `count` are left.
    pub async fn below(&self, count: usize) {
        loop {
            let mut fewer = pin!(self.fewer.notified());
            fewer.as_mut().enable();
            if self.len() < count {
                return;
            }
            fewer.await;
        }
    }

    /// Waits until all have left, no longer than this, and no longer than somebody reads; false when some are left.
    pub async fn drained(&self, outbox: &Outbox, limit: Duration) -> bool {
        tokio::select! {
            drained = tokio::time::timeout(limit, self.below(1)) => drained.is_ok(),
            () = outbox.closed() => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Entry<T>>> {
        self.calls.lock()
    }
}

/// A call that is found by its id.
#[derive(Debug)]
struct Entry<T: ?Sized>(Arc<T>);

impl<T: Identified + ?Sized> Borrow<str> for Entry<T> {
    fn borrow(&self) -> &str {
        self.0.id()
    }
}

impl<T: Identified + ?Sized> Hash for Entry<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id().hash(state);
    }
}

impl<T: Identified + ?Sized> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.id() == other.0.id()
    }
}

impl<T: Identified + ?Sized> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Asked(&'static str, usize);

    impl Identified for Asked {
        fn id(&self) -> &str {
            self.0
        }

        fn weight(&self) -> usize {
            self.1
        }
    }

    #[test]
    fn a_request_is_claimed_once() {
        let table = InFlight::default();
        let request = Arc::new(Asked("1", 10));
        assert!(table.enter(request.clone()) && !table.enter(request.clone()));
        assert_eq!((table.len(), table.bytes()), (1, 10));
        assert!(table.claim("1").is_some() && !table.claim_this(&request));
        assert_eq!(
            (table.len(), table.bytes()),
            (1, 10),
            "it counts until it is answered"
        );
        table.leave(request.weight());
        assert_eq!((table.len(), table.bytes()), (0, 0));
        assert!(table.enter(Arc::new(Asked("1", 0))));
        assert!(
            !table.claim_this(&request),
            "an old request does not answer for a new one with its id"
        );
        assert_eq!(table.claim_those(|_| true).len(), 1);
    }
}
