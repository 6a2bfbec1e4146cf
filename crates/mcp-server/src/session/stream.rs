//! A stream of events that can be read again from the middle.
//!
//! Messages of one HTTP request (or of a session, for those no request asked for) are numbered and kept for a while.
//! A reader follows by number, so a client that lost its connection goes on where it was, and whoever writes never has
//! to know whether anybody reads.

use std::collections::VecDeque;
use std::pin::pin;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::limits::Limits;

/// A message on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) text: Bytes,
    pub(crate) position: LogPosition,
}

/// Position of a message in the change log of its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// All that happened up to here was told before it.
    pub(crate) mark: u64,
    /// Whether it can be replayed from the change log.
    pub(crate) replayable: bool,
}

impl From<Bytes> for Event {
    fn from(text: Bytes) -> Self {
        Self {
            text,
            position: LogPosition::default(),
        }
    }
}

impl Event {
    fn len(&self) -> usize {
        self.text.len()
    }
}

#[derive(Debug)]
pub(crate) struct EventStream {
    state: Mutex<State>,
    grown: Notify,
    read: Notify,
    max_events: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the first event kept. Numbers start at 1: 0 is the event that opens a stream.
    first: u64,
    events: VecDeque<Event>,
    /// The last number handed to the current reader.
    seen: u64,
    /// Bytes of the events kept, and of those no reader has seen.
    bytes: usize,
    unseen_bytes: usize,
    readers: usize,
    /// A first reader is on its way, and must find everything.
    is_awaited: bool,
    finished: bool,
    status: Option<u16>,
    /// True when something other than the answer was sent.
    streamed: bool,
    /// Counts how often readers were sent away.
    epoch: u64,
}

/// What a reader finds next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The event with this number.
    Event(u64, Event),
    /// Nothing more will come.
    End,
}

/// What a stream begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The answer itself, with its HTTP status: nothing was streamed before it.
    Answer(Bytes, Option<u16>),
    /// Something else; the answer will come in the stream.
    Stream,
    /// Nothing: it ended without an answer.
    Nothing,
}

impl EventStream {
    /// A stream whose reader is on its way; afterwards it keeps as much as the limits allow.
    pub(crate) fn for_replay(limits: &Limits) -> Self {
        let stream = Self::new(limits.max_replay_events, limits.max_replay_bytes);
        stream.lock().is_awaited = true;
        stream
    }

    pub(crate) fn new(max_events: usize, max_bytes: usize) -> Self {
        Self {
            state: Mutex::new(State {
                first: 1,
                ..State::default()
            }),
            grown: Notify::new(),
            read: Notify::new(),
            max_events: max_events.max(2),
            max_bytes,
        }
    }

    pub(crate) fn push(&self, event: impl Into<Event>) {
        let event = event.into();
        let mut state = self.lock();
        if !state.finished {
            state.streamed = true;
            state.add(event, self.max_events, self.max_bytes);
        }
        drop(state);
        self.grown.notify_waiters();
    }

    /// Adds an event unless a reader is too far behind.
    pub(crate) fn offer(&self, event: impl Into<Event>) -> bool {
        let room = !self.lock().is_full(self.max_events, self.max_bytes);
        if room {
            self.push(event);
        }
        room
    }

    /// Adds an event, but not once more while nobody reads: a client that never comes would let them pile up.
    pub(crate) fn offer_once(&self, event: Event) -> bool {
        let state = self.lock();
        let known = state.readers == 0 && state.events.iter().any(|kept| kept.text == event.text);
        drop(state);
        known || self.offer(event)
    }

    pub(crate) fn finish(&self, answer: Bytes, status: Option<u16>) {
        let mut state = self.lock();
        if !state.finished {
            state.add(answer.into(), self.max_events, self.max_bytes);
            state.finished = true;
            state.status = status;
        }
        drop(state);
        self.grown.notify_waiters();
    }

    /// Ends without an answer.
    pub(crate) fn close(&self) {
        self.lock().finished = true;
        self.grown.notify_waiters();
        self.read.notify_waiters();
    }

    /// Waits while a reader is attached, or on its way, and too far behind. Without a reader the oldest events give way.
    pub(crate) async fn room(&self) {
        loop {
            let mut read = pin!(self.read.notified());
            read.as_mut().enable();
            if !self.lock().is_full(self.max_events, self.max_bytes) {
                return;
            }
            read.await;
        }
    }

    /// Waits for the first message, or for the end without one.
    pub(crate) async fn first(&self) -> First {
        loop {
            let mut grown = pin!(self.grown.notified());
            grown.as_mut().enable();
            {
                let state = self.lock();
                if state.streamed {
                    return First::Stream;
                }
                if state.finished {
                    return match state.events.back() {
                        Some(answer) => First::Answer(answer.text.clone(), state.status),
                        None => First::Nothing,
                    };
                }
            }
            grown.await;
        }
    }

    /// The event after number `after`, for a reader of this epoch.
    pub(crate) async fn next(&self, after: u64, epoch: u64) -> Next {
        loop {
            let mut grown = pin!(self.grown.notified());
            grown.as_mut().enable();
            if self.lock().epoch != epoch {
                return Next::End;
            }
            if let Some(next) = self.look(after) {
                return next;
            }
            grown.await;
        }
    }

    /// A reader comes; it stays as long as the epoch it is given lasts.
    pub(crate) fn attach(&self) -> u64 {
        let mut state = self.lock();
        state.readers += 1;
        state.is_awaited = false;
        state.epoch
    }

    /// The reader that was on its way will not come.
    pub(crate) fn expect_nobody(&self) {
        self.lock().is_awaited = false;
        self.read.notify_waiters();
    }

    /// Sends all readers away; they may come back and go on.
    pub(crate) fn hang_up(&self) {
        let mut state = self.lock();
        state.epoch += 1;
        state.streamed = true;
        drop(state);
        self.grown.notify_waiters();
    }

    pub(crate) fn detach(&self) {
        let mut state = self.lock();
        state.readers = state.readers.saturating_sub(1);
        drop(state);
        self.read.notify_waiters();
    }

    pub(crate) fn is_read(&self) -> bool {
        self.lock().readers > 0
    }

    /// What no reader has seen, oldest first.
    pub(crate) fn unread(&self) -> Vec<Event> {
        let state = self.lock();
        state.events.iter().skip(state.seen_kept()).cloned().collect()
    }

    /// Forgets what no reader has seen and the history can tell again.
    pub(crate) fn forget_unread(&self) {
        let mut state = self.lock();
        let seen = state.seen_kept();
        let unread = state.events.split_off(seen);
        for event in unread {
            if event.position.replayable {
                state.bytes -= event.len();
                state.unseen_bytes -= event.len();
            } else {
                state.events.push_back(event);
            }
        }
    }

    fn look(&self, after: u64) -> Option<Next> {
        let mut state = self.lock();
        let at = (after + 1).max(state.first);
        let found = usize::try_from(at - state.first)
            .ok()
            .and_then(|i| state.events.get(i).cloned());
        match found {
            Some(event) => {
                state.see(at);
                drop(state);
                self.read.notify_waiters();
                Some(Next::Event(at, event))
            }
            None if state.finished => Some(Next::End),
            None => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Adds an event. The oldest give way, but not one that a reader still has before it.
    fn add(&mut self, event: Event, max_events: usize, max_bytes: usize) {
        self.bytes += event.len();
        self.unseen_bytes += event.len();
        self.events.push_back(event);
        while (self.events.len() > max_events || self.bytes > max_bytes)
            && self.events.len() > 1
            && (!self.has_reader() || self.first <= self.seen)
        {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            if self.first > self.seen {
                self.unseen_bytes -= oldest.len();
            }
            self.first += 1;
        }
    }

    /// How many of the events kept a reader has seen.
    fn seen_kept(&self) -> usize {
        let seen = (self.seen + 1).saturating_sub(self.first);
        usize::try_from(seen).map_or(self.events.len(), |seen| seen.min(self.events.len()))
    }

    fn see(&mut self, at: u64) {
        while self.seen < at {
            self.seen += 1;
            let index = self
                .seen
                .checked_sub(self.first)
                .and_then(|i| usize::try_from(i).ok());
            if let Some(event) = index.and_then(|i| self.events.get(i)) {
                self.unseen_bytes -= event.len();
            }
        }
    }

    /// Whether somebody reads, or is about to.
    fn has_reader(&self) -> bool {
        self.readers > 0 || self.is_awaited
    }

    /// Full means: somebody reads, and has so much before it that more should wait.
    fn is_full(&self, max_events: usize, max_bytes: usize) -> bool {
        let last = self.first + self.events.len() as u64 - 1;
        let behind =
            last.saturating_sub(self.seen) >= max_events as u64 - 1 || self.unseen_bytes >= max_bytes;
        !self.finished && self.has_reader() && behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &'static str) -> Event {
        Bytes::from_static(text.as_bytes()).into()
    }

    fn again(text: &'static str) -> Event {
        let position = LogPosition {
            mark: 7,
            replayable: true,
        };
        Event {
            text: Bytes::from_static(text.as_bytes()),
            position,
        }
    }

    #[tokio::test]
    async fn what_the_history_can_tell_again_is_forgotten_unread() {
        let stream = EventStream::new(10, 1_000);
        for one in [again("a"), event("b"), again("c"), event("d")] {
            assert!(stream.offer_once(one));
        }
        assert_eq!(stream.next(0, 0).await, Next::Event(1, again("a")));
        assert_eq!(stream.unread(), [event("b"), again("c"), event("d")]);
        stream.forget_unread();
        assert_eq!(stream.unread(), [event("b"), event("d")]);
        assert_eq!(stream.next(2, 0).await, Next::Event(3, event("d")));
        assert_eq!(
            stream.next(0, 0).await,
            Next::Event(1, again("a")),
            "what was seen stays"
        );
    }

    #[tokio::test]
    async fn a_reader_goes_on_where_it_was() {
        let stream = EventStream::new(10, 1_000);
        for text in ["a", "b", "c"] {
            stream.push(event(text));
        }
        stream.finish(event("end").text, None);
        assert_eq!(stream.next(0, 0).await, Next::Event(1, event("a")));
        assert_eq!(stream.next(2, 0).await, Next::Event(3, event("c")));
        assert_eq!(stream.next(3, 0).await, Next::Event(4, event("end")));
        assert_eq!(stream.next(4, 0).await, Next::End);
    }

    #[tokio::test]
    async fn an_answer_alone_is_no_stream() {
        let plain = EventStream::new(10, 1_000);
        plain.finish(event("answer").text, Some(404));
        assert_eq!(
            plain.first().await,
            First::Answer(event("answer").text, Some(404))
        );
        let streamed = EventStream::new(10, 1_000);
        streamed.push(event("progress"));
        streamed.finish(event("answer").text, None);
        assert_eq!(streamed.first().await, First::Stream);
        let empty = EventStream::new(10, 1_000);
        empty.close();
        assert_eq!(empty.first().await, First::Nothing);
    }

    #[tokio::test]
    async fn a_slow_reader_is_waited_for_and_an_absent_one_is_not() {
        let stream = EventStream::new(3, 1_000);
        (0..5).for_each(|_| stream.push(event("old")));
        assert_eq!(
            stream.next(0, 0).await,
            Next::Event(3, event("old")),
            "the oldest gave way"
        );
        stream.attach();
        while stream.offer(event("new")) {}
        let waiting = async {
            stream.room().await;
            "room"
        };
        let reading = async {
            stream.next(4, 0).await;
            "read"
        };
        tokio::join!(waiting, reading);
        while stream.offer(event("new")) {}
        stream.detach();
        stream.room().await;
    }

    /// A handler that says much before anyone can read lost the beginning of it.
    //= specs/mcp-server.md#http-transport
    //= type=test
    //# What a request says before its client can read MUST NOT be lost; whoever says more than is kept MUST wait for the client.
    #[tokio::test]
    async fn what_is_said_before_the_first_reader_comes_waits_for_it() {
        let limits = Limits {
            max_replay_events: 4,
            ..Limits::default()
        };
        let stream = EventStream::for_replay(&limits);
        let saying = async {
            for _ in 0..10 {
                stream.room().await;
                stream.push(event("said"));
            }
            stream.finish(event("end").text, None);
        };
        let reading = async {
            assert_eq!(stream.first().await, First::Stream);
            let epoch = stream.attach();
            let (mut at, mut heard) = (0, 0);
            while let Next::Event(number, _) = stream.next(at, epoch).await {
                assert_eq!(number, at + 1, "none is missing");
                (at, heard) = (number, heard + 1);
            }
            heard
        };
        assert_eq!(tokio::join!(saying, reading).1, 11);
        let left = EventStream::for_replay(&limits);
        while left.offer(event("said")) {}
        left.expect_nobody();
        left.room().await;
    }

    #[tokio::test]
    async fn bytes_count_as_well_as_events() {
        let stream = EventStream::new(100, 10);
        (0..5).for_each(|_| stream.push(event("12345")));
        assert_eq!(
            stream.next(0, 0).await,
            Next::Event(4, event("12345")),
            "ten bytes are kept"
        );
        stream.attach();
        assert!(stream.offer(event("12345")), "five bytes are before the reader");
        assert!(!stream.offer(event("12345")), "ten are enough");
        stream.push(event("12345"));
        assert_eq!(
            stream.next(4, 0).await,
            Next::Event(5, event("12345")),
            "nothing before a reader is lost"
        );
        assert_eq!(stream.next(6, 0).await, Next::Event(7, event("12345")));
    }
}
