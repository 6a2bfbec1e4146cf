//! The answers of one batch, gathered in any order and sent as one array.
//!
//! The array as a whole has the limit of one answer. Once it is reached, what is still to be answered says so instead
//! of what was asked for, and what has not begun does not begin.

use parking_lot::{Mutex, MutexGuard};

use std::sync::Arc;

use refusal::{Code, Refusal};

use crate::session::outbox::Outbox;
use crate::session::sink::MessageSink;
use mcp_protocol::{RpcError, Version};

/// The answer to a JSON-RPC array: gathered until all of it is there, sent once.
#[derive(Debug)]
pub struct Batch {
    sink: MessageSink,
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests still without an answer, and one for the reader until it has read the whole batch.
    open: usize,
    text: Vec<u8>,
    /// An answer did not fit any more.
    is_full: bool,
}

impl Batch {
    pub(crate) fn new(sink: MessageSink, max_bytes: usize) -> Self {
        Self {
            sink,
            max_bytes,
            state: Mutex::new(State {
                open: 1,
                text: vec![b'['],
                is_full: false,
            }),
        }
    }

    /// One whose array becomes a line.
    pub fn on_line(outbox: Arc<Outbox>, max_bytes: usize) -> Self {
        Self::new(MessageSink::Line(outbox), max_bytes)
    }

    /// Refuses an array where the version has none, and one that is empty or too long.
    pub fn check(version: Option<Version>, messages: usize, max_messages: usize) -> Result<(), RpcError> {
        if let Some(version) = version.filter(|version| !version.has_batches()) {
            return Err(no_batches(version));
        }
        match messages {
            0 => Err(RpcError::invalid("the batch is empty")),
            count if count > max_messages => {
                let problem = format!("the batch has {count} messages, more than {max_messages}");
                Err(Refusal::new(Code::QueueCapExceeded, problem).into())
            }
            _ => Ok(()),
        }
    }

    /// One more request runs and will answer later.
    pub fn expect(&self) {
        self.lock().open += 1;
    }

    /// Whether nothing but refusals fits any more.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full
    }

    /// An answer that was ready when its request was read; `refused` makes one that says it does not fit.
    pub fn add_ready(&self, answer: &[u8], refused: impl FnOnce(RpcError) -> Vec<u8>) {
        let mut state = self.lock();
        self.put(&mut state, answer, refused);
    }

    /// An answer that was expected.
    pub fn add(&self, answer: &[u8], refused: impl FnOnce(RpcError) -> Vec<u8>) {
        let mut state = self.lock();
        self.put(&mut state, answer, refused);
        self.close_one(state);
    }

    /// An expected answer will not come; or the reader is through.
    pub fn skip(&self) {
        self.close_one(self.lock());
    }

    /// Why a request is not begun any more.
    pub(crate) fn not_begun(&self) -> RpcError {
        let refusal = self.too_large("this request was not carried out");
        refusal
            .hint("Send it again, in an array with fewer requests.")
            .into()
    }

    //= specs/mcp-server.md#messages
    //# The answer to a batch MUST NOT grow beyond the limit of an answer: what does not fit any more MUST be answered with 1068 instead.
    fn put(&self, state: &mut State, answer: &[u8], refused: impl FnOnce(RpcError) -> Vec<u8>) {
        state.is_full |= state.text.len() + answer.len() > self.max_bytes;
        match state.is_full {
            false => state.add(answer),
            true => {
                let refusal = self.too_large("the answer to this request was left out");
                let hint = "The request was carried out. Ask for its answer alone, or with fewer others.";
                let instead = refused(refusal.hint(hint).into());
                // What is smaller than the refusal, such as another refusal, says more than it.
                state.add(if answer.len() <= instead.len() {
                    answer
                } else {
                    &instead
                });
            }
        }
    }

    fn too_large(&self, so: &str) -> Refusal {
        let message = format!(
            "the answers of this array are larger than {} bytes together, and {so}",
            self.max_bytes
        );
        Refusal::new(Code::MessageTooLarge, message)
    }

    fn close_one(&self, mut state: MutexGuard<'_, State>) {
        state.open -= 1;
        if state.open > 0 {
            return;
        }
        let mut text = std::mem::take(&mut state.text);
        drop(state);
        if text.len() > 1 {
            text.push(b']');
            self.sink.finish(text, None);
        } else if let MessageSink::Stream(stream) = &self.sink {
            stream.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The error for an array where the version has none.
pub(crate) fn no_batches(version: Version) -> RpcError {
    RpcError::invalid(&format!("version {version} has no arrays of messages"))
}

impl State {
    fn add(&mut self, answer: &[u8]) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        self.text.extend_from_slice(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(max_bytes: usize) -> (Batch, Arc<Outbox>) {
        let outbox = Arc::new(Outbox::new(1 << 20));
        (Batch::on_line(outbox.clone(), max_bytes), outbox)
    }

    async fn written(outbox: &Outbox) -> String {
        outbox.close();
        let mut text = Vec::new();
        outbox.write_to(&mut text).await.unwrap();
        String::from_utf8(text).unwrap()
    }

    #[tokio::test]
    async fn a_batch_is_answered_when_all_of_it_is_dealt_with() {
        let (all, outbox) = batch(100);
        let whole = |_| panic!("it fits");
        all.add_ready(b"1", whole);
        all.expect();
        all.expect();
        all.skip();
        all.add(b"2", whole);
        all.skip();
        assert_eq!(written(&outbox).await, "[1,2]\n");
        let (only_notifications, outbox) = batch(100);
        only_notifications.skip();
        assert_eq!(written(&outbox).await, "");
    }

    //= specs/spexus-bridge.md#limits
    //= type=test
    //# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
    #[tokio::test]
    async fn an_answer_that_does_not_fit_into_its_batch_is_replaced() {
        let large = |id: u8| {
            let text = "x".repeat(5_000);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"{text}"}}}}"#)
        };
        let (all, outbox) = batch(6_000);
        for id in 1..=3 {
            let instead = |error: RpcError| error.answer(&id.to_string(), Version::V2025_03_26);
            all.add_ready(large(id).as_bytes(), instead);
        }
        all.skip();
        let all: serde_json::Value = serde_json::from_str(&written(&outbox).await).unwrap();
        assert_eq!(all[0]["result"]["text"].as_str().map(str::len), Some(5_000));
        for at in [1, 2] {
            assert_eq!(
                (&all[at]["id"], &all[at]["error"]["code"]),
                (&(at + 1).into(), &1068.into())
            );
        }
    }
}
