//! A job of the writer: what is to be done, for whom, how long they wait for it to begin, and how long it may take.

use crate::deadline::Claim;
use crate::error::{Error, Result};
use crate::tx::{Actor, Tx};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use spexus_domain::Timestamp;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a job may hold the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// As long as any write.
    Short,
    /// A transaction of many steps, with a limit of its own; it shares no transaction with others.
    Together,
    /// As long as it takes: work of an operator on a whole database. It shares no transaction either.
    Long,
}

/// A job without its type: what the queue holds.
pub(crate) trait Job: Send {
    /// Whether anybody still waits for it.
    fn is_wanted(&self, now: Instant) -> bool;
    /// Whether it is still to be done. From then on it is the writer's, and whoever asked waits for its outcome.
    fn take(&self, now: Instant) -> bool;
    /// How long it may hold the writer.
    fn hold(&self) -> Hold;
    /// Does the work. The answer is sent by what it returns, once the fate of the transaction is known.
    fn run<'t>(self: Box<Self>, tx: &'t mut Tx, now: Timestamp) -> BoxFuture<'t, Done>;
    /// Answers without having done anything.
    fn refuse(self: Box<Self>, error: Error);
}

/// Work done, waiting for the commit.
pub(crate) struct Done {
    pub(crate) keep: bool,
    pub(crate) answer: Box<dyn FnOnce(Result<()>) + Send>,
}

/// The place of a job in the queue, shared by whoever waits and the writer.
#[derive(Debug)]
pub(crate) struct Turn {
    state: AtomicU8,
    /// When it must have begun.
    begin_by: Instant,
    /// The request it belongs to.
    claim: Option<Arc<Claim>>,
}

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const LEFT: u8 = 2;

impl Turn {
    pub(crate) fn new(wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU8::new(WAITING),
            begin_by: Instant::now() + wait,
            claim: Claim::current(),
        })
    }

    pub(crate) fn begin_by(&self) -> Instant {
        self.begin_by
    }

    /// Leaves the queue, unless the job has begun.
    pub(crate) fn leave(&self) -> bool {
        self.turn_to(LEFT)
    }

    fn is_wanted(&self, now: Instant) -> bool {
        let given_up = || self.claim.as_ref().is_some_and(|claim| claim.is_given_up());
        self.state.load(Ordering::Acquire) == WAITING && now < self.begin_by && !given_up()
    }

    fn take(&self, now: Instant) -> bool {
        self.is_wanted(now) && self.turn_to(TAKEN)
    }

    fn keep(&self) -> bool {
        self.claim.as_ref().is_none_or(|claim| claim.keep())
    }

    fn turn_to(&self, state: u8) -> bool {
        self.state
            .compare_exchange(WAITING, state, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

pub(crate) struct TypedJob<T, F> {
    actor: Actor,
    work: F,
    answer: oneshot::Sender<Result<T>>,
    /// `None` inside a transaction that has begun: there it is the transaction that is waited for.
    turn: Option<Arc<Turn>>,
    hold: Hold,
}

impl<T, F> TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    /// A job, and where its answer will be.
    pub(crate) fn boxed(
        actor: Actor,
        hold: Hold,
        turn: Option<Arc<Turn>>,
        work: F,
    ) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>) {
        let (answer, answered) = oneshot::channel();
        let job = Self {
            actor,
            work,
            answer,
            turn,
            hold,
        };
        (Box::new(job), answered)
    }
}

impl<T, F> Job for TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    //= specs/spexus-store.md#time
    //# A write whose caller left before it began MUST NOT be worked for.
    fn is_wanted(&self, now: Instant) -> bool {
        !self.answer.is_closed() && self.turn.as_ref().is_none_or(|turn| turn.is_wanted(now))
    }

    fn take(&self, now: Instant) -> bool {
        !self.answer.is_closed() && self.turn.as_ref().is_none_or(|turn| turn.take(now))
    }

    fn hold(&self) -> Hold {
        self.hold
    }

    fn run<'t>(self: Box<Self>, tx: &'t mut Tx, now: Timestamp) -> BoxFuture<'t, Done> {
        Box::pin(async move {
            let Self {
                actor,
                work,
                answer,
                turn,
                ..
            } = *self;
            tx.begin_job(actor, now);
            tx.conn.take_failed();
            let result = match AssertUnwindSafe(async { work(tx).await }).catch_unwind().await {
                // PostgreSQL undoes a transaction in which anything failed, so nobody may go on as if nothing had.
                Ok(Ok(_)) if tx.conn.take_failed() => {
                    Err(Error::Broken("a write went on after a statement failed".into()))
                }
                Ok(result) => result,
                Err(_) => Err(Error::Broken("a write panicked".into())),
            };
            //= specs/spexus-store.md#time
            //# A write whose caller left before it was finished MUST leave no trace.
            // The last moment at which it can be undone alone. From here on it is committed with the others, and whoever
            // waits for it waits for the outcome.
            let wanted = || !answer.is_closed() && turn.is_none_or(|turn| turn.keep());
            let keep = result.is_ok() && !tx.is_discarded() && wanted();
            let answer = Box::new(move |commit: Result<()>| {
                let result = result.and_then(|value| commit.map(|()| value));
                // The client may have gone away; what is committed stands either way.
                let _ = answer.send(result);
            });
            Done { keep, answer }
        })
    }

    fn refuse(self: Box<Self>, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}

/// What a write is told that did not get its turn.
pub(crate) fn waited_too_long(wait: Duration) -> Error {
    let message = format!(
        "the write waited {} ms for its turn; nothing was done",
        wait.as_millis()
    );
    Refusal::new(Code::DependencyUnavailable, message)
        .hint("Other writes took long; try again in a moment.")
        .fact("outcome", "nothing_done")
        .into()
}
