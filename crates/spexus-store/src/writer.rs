//! The one writer. Every change of a process goes through one queue and one connection: jobs that wait together run one
//! after the other in one transaction and are made durable by one flush. A job that fails is undone alone; nobody hears
//! "done" before the flush.

use crate::chain::Head;
use crate::engine::{Conn, Engine, params};
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::tx::{Actor, Tx};
use crate::{Clock, pool::Pool};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Taken at the start of every PostgreSQL write, so that the chain has one end whatever the number of nodes.
pub(crate) const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(75327)";

/// Jobs that share one transaction at most.
const MAX_BATCH_JOBS: usize = 256;

/// Sends jobs to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    /// Starts the writer; it ends when the last sender is gone and the queue is empty.
    pub(crate) fn start(pool: Pool, pulse: Arc<Pulse>, clock: Clock, max_queued_writes: usize) -> Self {
        let (queue, jobs) = mpsc::channel(max_queued_writes);
        tokio::spawn(run(jobs, pool, pulse, clock));
        Self { queue }
    }

    /// Runs a job inside the next transaction and answers after the flush.
    pub(crate) async fn write<T, F>(&self, actor: Actor, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(TypedJob { actor, work, answer });
        self.queue.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Refused(Refusal::new(
                Code::QueueCapExceeded,
                "too many writes are waiting",
            )),
            mpsc::error::TrySendError::Closed(_) => Error::Refused(shutting_down()),
        })?;
        answered
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("the writer stopped".into())))
    }
}

fn shutting_down() -> Refusal {
    Refusal::new(Code::ServerShuttingDown, "the server is stopping")
}

/// A job without its type: what the queue holds.
trait Job: Send {
    /// Does the work. The answer is sent by what it returns, once the fate of the transaction is known.
    fn run<'t>(self: Box<Self>, tx: &'t mut Tx) -> BoxFuture<'t, Done>;
    /// Answers without having done anything.
    fn refuse(self: Box<Self>, error: Error);
}

/// Work done, waiting for the commit.
struct Done {
    keep: bool,
    answer: Box<dyn FnOnce(Result<()>) + Send>,
}

struct TypedJob<T, F> {
    actor: Actor,
    work: F,
    answer: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    fn run<'t>(self: Box<Self>, tx: &'t mut Tx) -> BoxFuture<'t, Done> {
        Box::pin(async move {
            let Self { actor, work, answer } = *self;
            tx.begin_job(actor);
            let result = match AssertUnwindSafe(async { work(tx).await }).catch_unwind().await {
                Ok(result) => result,
                Err(_) => Err(Error::Broken("a write panicked".into())),
            };
            let keep = result.is_ok() && !tx.is_discarded();
            let answer = Box::new(move |commit: Result<()>| {
                let result = result.and_then(|value| commit.map(|()| value));
                // The client may have gone away; the work stands either way.
                let _ = answer.send(result);
            });
            Done { keep, answer }
        })
    }

    fn refuse(self: Box<Self>, error: Error) {
        let _ = self.answer.send(Err(error));
    }
}

async fn run(mut jobs: mpsc::Receiver<Box<dyn Job>>, pool: Pool, pulse: Arc<Pulse>, clock: Clock) {
    while let Some(first) = jobs.recv().await {
        match pool.acquire().await {
            Err(error) => first.refuse(error),
            Ok(conn) => batch(first, &mut jobs, conn, &pulse, &clock).await,
        }
    }
}

/// One transaction: the first job and all that wait behind it.
async fn batch(
    first: Box<dyn Job>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
    conn: Conn,
    pulse: &Pulse,
    clock: &Clock,
) {
    let mut tx = Tx::new(conn, clock());
    if let Err(error) = begin(&mut tx).await {
        let _ = tx.conn.script("ROLLBACK").await;
        return first.refuse(error);
    }
    let mut kept: Vec<Done> = Vec::new();
    let mut next = Some(first);
    let mut taken = 0;
    let mut broken = None;
    while let Some(job) = next.take() {
        taken += 1;
        match step(job, &mut tx, !kept.is_empty()).await {
            Ok(Some(done)) => kept.push(done),
            Ok(None) => {}
            Err(error) => broken = Some(error),
        }
        if broken.is_none() && taken < MAX_BATCH_JOBS {
            next = jobs.try_recv().ok();
        }
    }
    let outcome = match broken {
        Some(error) => Err(error),
        None if kept.is_empty() => tx.conn.script("ROLLBACK").await,
        None => commit(&mut tx, pulse).await,
    };
    if outcome.is_err() {
        let _ = tx.conn.script("ROLLBACK").await;
    }
    for done in kept {
        (done.answer)(outcome.clone());
    }
}

/// Runs one job; `Some` when it waits for the commit. An error means the transaction itself is lost.
async fn step(job: Box<dyn Job>, tx: &mut Tx, others: bool) -> Result<Option<Done>> {
    let before = tx.mark();
    // The first job needs no savepoint: when it fails, there is nothing else to keep.
    if others && let Err(error) = tx.conn.script("SAVEPOINT job").await {
        job.refuse(error.clone());
        return Err(error);
    }
    let done = job.run(tx).await;
    if done.keep {
        if others {
            tx.conn.script("RELEASE SAVEPOINT job").await?;
        }
        return Ok(Some(done));
    }
    tx.reset(before);
    let undone = if others {
        tx.conn
            .script("ROLLBACK TO SAVEPOINT job; RELEASE SAVEPOINT job")
            .await
    } else {
        match tx.conn.script("ROLLBACK").await {
            Ok(()) => begin(tx).await,
            Err(error) => Err(error),
        }
    };
    (done.answer)(Ok(()));
    undone.map(|()| None)
}

async fn begin(tx: &mut Tx) -> Result<()> {
    match tx.conn.engine() {
        Engine::Sqlite => tx.conn.script("BEGIN IMMEDIATE").await?,
        Engine::Postgres => {
            tx.conn.script("BEGIN").await?;
            tx.conn.run(POSTGRES_LOCK, params![]).await?;
        }
    }
    let head = Head::read(&mut tx.conn).await?;
    tx.set_head(head);
    Ok(())
}

async fn commit(tx: &mut Tx, pulse: &Pulse) -> Result<()> {
    if tx.conn.engine() == Engine::Postgres {
        tx.conn
            .run(
                "SELECT pg_notify('spexus', $1)",
                params![tx.head().seq.to_string()],
            )
            .await?;
    }
    tx.conn.script("COMMIT").await?;
    pulse.committed(tx.head().seq, tx.touched_accounts());
    Ok(())
}
