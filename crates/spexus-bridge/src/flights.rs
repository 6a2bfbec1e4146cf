//! The requests of the host that are under way. Each is claimed once, by its answer, by a cancel or by the end, and
//! whoever claims it decides its one answer.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_protocol::{RpcError, Version};
use mcp_server::lines::id_of_cut;
use refusal::{Code, Refusal};
use tokio::sync::Notify;

/// Where an answer goes.
#[derive(Clone, Debug)]
pub(crate) enum Sink {
    /// A line of its own.
    Line,
    /// The answer to a batch, which is written when it is complete.
    Batch(Arc<Gather>),
}

/// One request under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) id: Box<str>,
    pub(crate) sink: Sink,
    /// Whether it only listens, and ends when the host goes.
    pub(crate) listens: bool,
    /// Whether the backend must be told when it is cancelled.
    pub(crate) in_session: bool,
    weight: usize,
    cancelled: Notify,
}

impl Flight {
    pub(crate) fn new(id: &str, sink: Sink, listens: bool, in_session: bool, weight: usize) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            sink,
            listens,
            in_session,
            weight,
            cancelled: Notify::new(),
        })
    }

    /// Makes whoever works on it stop.
    pub(crate) fn cancel(&self) {
        self.cancelled.notify_one();
    }

    /// Done when it was cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.notified().await;
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    under_way: Mutex<HashMap<Box<str>, Arc<Flight>>>,
    /// Those whose answer the host does not have yet, claimed or not.
    live: AtomicUsize,
    bytes: AtomicUsize,
    left: Notify,
}

impl Flights {
    /// False when a request with this id is under way.
    pub(crate) fn enter(&self, flight: &Arc<Flight>) -> bool {
        let mut under_way = self.lock();
        if under_way.contains_key(&flight.id) {
            return false;
        }
        under_way.insert(flight.id.clone(), flight.clone());
        self.live.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(flight.weight, Ordering::Relaxed);
        true
    }

    /// Takes this very request out; false when somebody else did.
    pub(crate) fn finish(&self, flight: &Arc<Flight>) -> bool {
        let mut under_way = self.lock();
        let is_there = under_way
            .get(&flight.id)
            .is_some_and(|there| Arc::ptr_eq(there, flight));
        if is_there {
            under_way.remove(&flight.id);
        }
        is_there
    }

    /// Takes out the request with this id.
    pub(crate) fn claim(&self, id: &str) -> Option<Arc<Flight>> {
        self.lock().remove(id)
    }

    /// Takes out all requests a test holds for.
    pub(crate) fn claim_all(&self, which: impl Fn(&Flight) -> bool) -> Vec<Arc<Flight>> {
        let mut under_way = self.lock();
        let claimed = under_way.extract_if(|_, flight| which(flight));
        claimed.map(|(_, flight)| flight).collect()
    }

    /// The host has the answer of a claimed request, or needs none.
    pub(crate) fn leave(&self, flight: &Flight) {
        self.bytes.fetch_sub(flight.weight, Ordering::Relaxed);
        self.live.fetch_sub(1, Ordering::AcqRel);
        self.left.notify_waiters();
    }

    pub(crate) fn len(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    /// What the requests hold together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits until fewer than this many are under way.
    pub(crate) async fn below(&self, count: usize) {
        loop {
            let mut left = pin!(self.left.notified());
            left.as_mut().enable();
            if self.len() < count {
                return;
            }
            left.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Flight>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answers to the requests of one batch.
#[derive(Debug)]
pub(crate) struct Gather {
    state: Mutex<(usize, Vec<u8>)>,
    max_bytes: usize,
}

impl Gather {
    /// Waits for this many messages to be dealt with, and holds no more than this many bytes of answers.
    pub(crate) fn new(expected: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::new((expected, Vec::new())),
            max_bytes,
        }
    }

    /// One message is dealt with, with an answer or without; the whole line when it was the last.
    pub(crate) fn put(&self, answer: Option<&[u8]>, version: Version) -> Option<Vec<u8>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (expected, texts) = &mut *state;
        if let Some(answer) = answer {
            texts.push(if texts.is_empty() { b'[' } else { b',' });
            match texts.len() + answer.len() > self.max_bytes {
                false => texts.extend_from_slice(answer),
                true => texts.extend_from_slice(&self.left_out(answer, version)),
            }
        }
        *expected = expected.saturating_sub(1);
        if *expected > 0 || texts.is_empty() {
            return None;
        }
        texts.push(b']');
        Some(std::mem::take(texts))
    }

    /// What stands for an answer that does not fit; one that is smaller says more than that.
    fn left_out(&self, answer: &[u8], version: Version) -> Vec<u8> {
        let id = id_of_cut(answer).unwrap_or("null");
        let message = format!(
            "the answers of this array are larger than {} bytes together, and the answer to this request was left out",
            self.max_bytes
        );
        let refusal = Refusal::new(Code::MessageTooLarge, message)
            .hint("The request was carried out. Ask for its answer alone, or with fewer others.");
        let instead = RpcError::from(refusal).answer(id, version);
        if answer.len() <= instead.len() {
            answer.to_vec()
        } else {
            instead
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_claimed_once() {
        let flights = Flights::default();
        let flight = Flight::new("1", Sink::Line, false, true, 10);
        assert!(flights.enter(&flight) && !flights.enter(&flight));
        assert_eq!((flights.len(), flights.bytes()), (1, 10));
        assert!(flights.claim("1").is_some() && !flights.finish(&flight));
        assert_eq!(
            (flights.len(), flights.bytes()),
            (1, 10),
            "it counts until it is answered"
        );
        flights.leave(&flight);
        assert_eq!((flights.len(), flights.bytes()), (0, 0));
        let again = Flight::new("1", Sink::Line, false, true, 0);
        assert!(flights.enter(&again));
        assert!(
            !flights.finish(&flight),
            "an old request does not answer for a new one with its id"
        );
        assert_eq!(flights.claim_all(|_| true).len(), 1);
    }

    #[test]
    fn a_batch_is_answered_when_all_of_it_is_dealt_with() {
        let version = Version::V2025_03_26;
        let gather = Gather::new(3, 100);
        assert_eq!(gather.put(Some(b"1"), version), None);
        assert_eq!(gather.put(None, version), None);
        assert_eq!(gather.put(Some(b"2"), version).as_deref(), Some(&b"[1,2]"[..]));
        assert_eq!(
            Gather::new(1, 100).put(None, version),
            None,
            "only notifications are not answered at all"
        );
    }

    //= specs/spexus-bridge.md#limits
    //= type=test
    //# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
    #[test]
    fn an_answer_that_does_not_fit_into_its_batch_is_replaced() {
        let large = |id: u8| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{}"}}}}"#,
                "x".repeat(5_000)
            )
        };
        let gather = Gather::new(3, 6_000);
        gather.put(Some(large(1).as_bytes()), Version::V2025_03_26);
        gather.put(Some(large(2).as_bytes()), Version::V2025_03_26);
        let all = gather
            .put(Some(large(3).as_bytes()), Version::V2025_03_26)
            .unwrap();
        let all: serde_json::Value = serde_json::from_slice(&all).unwrap();
        assert_eq!(all[0]["result"]["text"].as_str().map(str::len), Some(5_000));
        assert_eq!(
            (&all[1]["id"], &all[1]["error"]["code"]),
            (&2.into(), &1068.into())
        );
        assert_eq!(
            (&all[2]["id"], &all[2]["error"]["code"]),
            (&3.into(), &1068.into())
        );
    }
}
