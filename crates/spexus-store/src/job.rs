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

/// The class of a job: how long it may hold the writer, and whether it shares a group commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobClass {
    /// As long as any write.
    Short,
    /// A transaction of many steps, with a limit of its own; it shares no transaction with others.
    MultiStep,
    /// As long as it takes: work of an operator on a whole database. It shares no transaction either.
    Maintenance,
}

/// A job without its type: what the queue holds.
pub(crate) trait Job: Send {
    /// Whether anybody still waits for it.
    fn is_awaited(&self, now: Instant) -> bool;
    /// Whether it is still to be done. From then on it is the writer's, and whoever asked waits for its outcome.
    fn take(&self, now: Instant) -> bool;
    /// How long it may hold the writer.
    fn class(&self) -> JobClass;
    /// Does the work. The answer is sent by what it returns, once the fate of the transaction is known.
    fn run<'t>(self: Box<Self>, tx: &'t mut Tx, now: Timestamp) -> BoxFuture<'t, FinishedJob>;
    /// Answers without having done anything.
    fn refuse(self: Box<Self>, error: Error);
}

/// A job that was run and waits for the commit.
pub(crate) struct FinishedJob {
    pub(crate) keep: bool,
    pub(crate) answer: Box<dyn FnOnce(Result<()>) + Send>,
}

/// The ticket of a job in the queue, shared by whoever waits and the writer.
#[derive(Debug)]
pub(crate) struct QueueTicket {
    state: AtomicU8,
    /// The deadline by which it must have begun.
    start_deadline: Instant,
    /// The request it belongs to.
    claim: Option<Arc<Claim>>,
}

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const LEFT: u8 = 2;

impl QueueTicket {
    pub(crate) fn new(wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU8::new(WAITING),
            start_deadline: Instant::now() + wait,
            claim: Claim::current(),
        })
    }

    pub(crate) fn start_deadline(&self) -> Instant {
        self.start_deadline
    }

    /// Leaves the queue, unless the job has begun.
    pub(crate) fn leave(&self) -> bool {
        self.move_to(LEFT)
    }

    fn is_awaited(&self, now: Instant) -> bool {
        let given_up = || self.claim.as_ref().is_some_and(|claim| claim.is_given_up());
        self.state.load(Ordering::Acquire) == WAITING && now < self.start_deadline && !given_up()
    }

    fn take(&self, now: Instant) -> bool {
        self.is_awaited(now) && self.move_to(TAKEN)
    }

    fn keep(&self) -> bool {
        self.claim.as_ref().is_none_or(|claim| claim.keep())
    }

    fn move_to(&self, state: u8) -> bool {
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
    ticket: Option<Arc<QueueTicket>>,
    class: JobClass,
}

impl<T, F> TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    /// A job, and where its answer will be.
    pub(crate) fn boxed(
        actor: Actor,
        class: JobClass,
        ticket: Option<Arc<QueueTicket>>,
        work: F,
    ) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>) {
        let (answer, answered) = oneshot::channel();
        let job = Self {
            actor,
            work,
            answer,
            ticket,
            class,
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
    fn is_awaited(&self, now: Instant) -> bool {
        !self.answer.is_closed() && self.ticket.as_ref().is_none_or(|ticket| ticket.is_awaited(now))
    }

    fn take(&self, now: Instant) -> bool {
        !self.answer.is_closed() && self.ticket.as_ref().is_none_or(|ticket| ticket.take(now))
    }

    fn class(&self) -> JobClass {
        self.class
    }

    fn run<'t>(self: Box<Self>, tx: &'t mut Tx, now: Timestamp) -> BoxFuture<'t, FinishedJob> {
        Box::pin(async move {
            let Self {
                actor,
                work,
                answer,
                ticket,
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
            let wanted = || !answer.is_closed() && ticket.is_none_or(|ticket| ticket.keep());
            let keep = result.is_ok() && !tx.is_discarded() && wanted();
            let answer = Box::new(move |commit: Result<()>| {
                let result = result.and_then(|value| commit.map(|()| value));
                // The client may have gone away; what is committed stands either way.
                let _ = answer.send(result);
            });
            FinishedJob { keep, answer }
        })
    }

    fn refuse(self: Box<Self>, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}

/// What a write is told whose queue deadline passed.
pub(crate) fn queue_timeout(wait: Duration) -> Error {
    let message = format!(
        "the write waited {} ms for its turn; nothing was done",
        wait.as_millis()
    );
    Refusal::new(Code::DependencyUnavailable, message)
        .hint("Other writes took long; try again in a moment.")
        .fact("outcome", "nothing_done")
        .into()
}
