//! The answers of one batch, gathered in any order and sent as one array.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::outlet::Outlet;

#[derive(Debug)]
pub(crate) struct Batch {
    outlet: Outlet,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Requests still without an answer, and one for the reader until it has read the whole batch.
    open: usize,
    text: Vec<u8>,
}

impl Batch {
    pub(crate) fn new(outlet: Outlet) -> Self {
        Self {
            outlet,
            state: Mutex::new(State {
                open: 1,
                text: vec![b'['],
            }),
        }
    }

    /// One more request runs and will answer later.
    pub(crate) fn expect(&self) {
        self.lock().open += 1;
    }

    /// An answer that was ready when its request was read.
    pub(crate) fn add_ready(&self, answer: &[u8]) {
        self.lock().add(answer);
    }

    /// An answer that was expected.
    pub(crate) fn add(&self, answer: &[u8]) {
        let mut state = self.lock();
        state.add(answer);
        self.close_one(state);
    }

    /// An expected answer will not come; or the reader is through.
    pub(crate) fn skip(&self) {
        self.close_one(self.lock());
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
            self.outlet.finish(text, None);
        } else if let Outlet::Stream(stream) = &self.outlet {
            stream.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
