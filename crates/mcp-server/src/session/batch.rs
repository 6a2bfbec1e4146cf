//! The answers of one batch, gathered in any order and sent as one array.
//!
//! The array as a whole has the limit of one answer. Once it is reached, what is still to be answered says so instead
//! of what was asked for, and what has not begun does not begin.

use parking_lot::{Mutex, MutexGuard};

use refusal::{Code, Refusal};

use crate::session::sink::MessageSink;
use mcp_protocol::RpcError;

#[derive(Debug)]
pub(crate) struct Batch {
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

    /// One more request runs and will answer later.
    pub(crate) fn expect(&self) {
        self.lock().open += 1;
    }

    /// Whether nothing but refusals fits any more.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full
    }

    /// An answer that was ready when its request was read; `refused` makes one that says it does not fit.
    pub(crate) fn add_ready(&self, answer: &[u8], refused: impl FnOnce(RpcError) -> Vec<u8>) {
        let mut state = self.lock();
        self.put(&mut state, answer, refused);
    }

    /// An answer that was expected.
    pub(crate) fn add(&self, answer: &[u8], refused: impl FnOnce(RpcError) -> Vec<u8>) {
        let mut state = self.lock();
        self.put(&mut state, answer, refused);
        self.close_one(state);
    }

    /// An expected answer will not come; or the reader is through.
    pub(crate) fn skip(&self) {
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

impl State {
    fn add(&mut self, answer: &[u8]) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        self.text.extend_from_slice(answer);
    }
}
