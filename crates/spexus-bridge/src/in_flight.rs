//! The requests of the host in flight. Each is claimed once, by its answer, by a cancel or by the end, and
//! whoever claims it decides its one answer.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_protocol::{RpcError, Version};
use mcp_server::lines::id_of_cut;
use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};
use tokio::sync::Notify;

/// Where an answer goes.
#[derive(Clone, Debug)]
pub(crate) enum AnswerSink {
    /// A line of its own.
    Line,
    /// The answer to a batch, which is written when it is complete.
    Batch(Arc<BatchAnswer>),
}

/// A request of the host in flight.
#[derive(Debug)]
pub(crate) struct InFlightRequest {
    pub(crate) id: Box<str>,
    pub(crate) sink: AnswerSink,
    /// Whether it only listens, and ends when the host goes.
    pub(crate) listens: bool,
    /// Whether the backend must be told when it is cancelled.
    pub(crate) in_session: bool,
    weight: usize,
    cancelled: Notify,
}

impl InFlightRequest {
    pub(crate) fn new(
        id: &str,
        sink: AnswerSink,
        listens: bool,
        in_session: bool,
        weight: usize,
    ) -> Arc<Self> {
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

/// The requests in flight, by id.
#[derive(Debug, Default)]
pub(crate) struct InFlightTable {
    requests: Mutex<HashMap<Box<str>, Arc<InFlightRequest>>>,
    /// Those whose answer the host does not have yet, claimed or not.
    live: AtomicUsize,
    bytes: AtomicUsize,
    left: Notify,
}

impl InFlightTable {
    /// False when a request with this id is under way.
    pub(crate) fn enter(&self, request: &Arc<InFlightRequest>) -> bool {
        let mut requests = self.lock();
        if requests.contains_key(&request.id) {
            return false;
        }
        requests.insert(request.id.clone(), request.clone());
        self.live.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(request.weight, Ordering::Relaxed);
        true
    }

    /// Takes this very request out; false when somebody else did.
    pub(crate) fn finish(&self, request: &Arc<InFlightRequest>) -> bool {
        let mut requests = self.lock();
        let is_there = requests
            .get(&request.id)
            .is_some_and(|there| Arc::ptr_eq(there, request));
        if is_there {
            requests.remove(&request.id);
        }
        is_there
    }

    /// Takes out the request with this id.
    pub(crate) fn claim(&self, id: &str) -> Option<Arc<InFlightRequest>> {
        self.lock().remove(id)
    }

    /// Takes out all requests a test holds for.
    pub(crate) fn claim_all(&self, which: impl Fn(&InFlightRequest) -> bool) -> Vec<Arc<InFlightRequest>> {
        let mut requests = self.lock();
        let claimed = requests.extract_if(|_, request| which(request));
        claimed.map(|(_, request)| request).collect()
    }

    /// The host has the answer of a claimed request, or needs none.
    pub(crate) fn leave(&self, request: &InFlightRequest) {
        self.bytes.fetch_sub(request.weight, Ordering::Relaxed);
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<InFlightRequest>>> {
        self.requests.lock()
    }
}

/// The answers to the requests of one batch, gathered into one line.
#[derive(Debug)]
pub(crate) struct BatchAnswer {
    state: Mutex<(usize, Vec<u8>)>,
    max_bytes: usize,
}

impl BatchAnswer {
    /// Waits for this many messages to be dealt with, and holds no more than this many bytes of answers.
    pub(crate) fn new(expected: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::new((expected, Vec::new())),
            max_bytes,
        }
    }

    /// One message is dealt with, with an answer or without; the whole line when it was the last.
    pub(crate) fn put(&self, answer: Option<&[u8]>, version: Version) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
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
        let table = InFlightTable::default();
        let request = InFlightRequest::new("1", AnswerSink::Line, false, true, 10);
        assert!(table.enter(&request) && !table.enter(&request));
        assert_eq!((table.len(), table.bytes()), (1, 10));
        assert!(table.claim("1").is_some() && !table.finish(&request));
        assert_eq!(
            (table.len(), table.bytes()),
            (1, 10),
            "it counts until it is answered"
        );
        table.leave(&request);
        assert_eq!((table.len(), table.bytes()), (0, 0));
        let again = InFlightRequest::new("1", AnswerSink::Line, false, true, 0);
        assert!(table.enter(&again));
        assert!(
            !table.finish(&request),
            "an old request does not answer for a new one with its id"
        );
        assert_eq!(table.claim_all(|_| true).len(), 1);
    }

    #[test]
    fn a_batch_is_answered_when_all_of_it_is_dealt_with() {
        let version = Version::V2025_03_26;
        let batch = BatchAnswer::new(3, 100);
        assert_eq!(batch.put(Some(b"1"), version), None);
        assert_eq!(batch.put(None, version), None);
        assert_eq!(batch.put(Some(b"2"), version).as_deref(), Some(&b"[1,2]"[..]));
        assert_eq!(
            BatchAnswer::new(1, 100).put(None, version),
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
        let batch = BatchAnswer::new(3, 6_000);
        batch.put(Some(large(1).as_bytes()), Version::V2025_03_26);
        batch.put(Some(large(2).as_bytes()), Version::V2025_03_26);
        let all = batch
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
