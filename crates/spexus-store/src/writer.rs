//! The one writer. Every change of a process goes through one queue and one connection: jobs that wait together run one
//! after the other in one transaction and are made durable by one flush. A job that fails is undone alone; nobody hears
//! "done" before the flush.

use crate::chain::Head;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::pulse::Pulse;
use crate::tx::{Actor, Mark, Tx};
use crate::{Clock, pool::Pool};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use spexus_domain::Timestamp;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Taken at the start of every PostgreSQL write, so that the chain has one end whatever the number of nodes.
pub(crate) const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(75327)";

/// Jobs that share one transaction at most.
const MAX_BATCH_JOBS: usize = 256;

/// How long a write waits for another node's before it is refused.
const MAX_LOCK_WAIT_MS: u64 = 5_000;

/// How long a node may sit in the middle of a write before PostgreSQL takes its lock away; a node whose machine
/// vanished would otherwise stop all others.
const MAX_IDLE_IN_WRITE_MS: u64 = 60_000;

/// How long the beginning of a write may take in all; a server behind a dead network answers nothing, ever.
const MAX_BEGIN: Duration = Duration::from_secs(15);

/// Sends jobs to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
    stop: watch::Sender<bool>,
    stopped: watch::Receiver<()>,
}

impl Writer {
    /// Starts the writer; it ends when it is closed or the last sender is gone, and the queue is empty.
    pub(crate) fn start(
        pool: Pool,
        pulse: Arc<Pulse>,
        clock: Clock,
        max_queued_writes: usize,
    ) -> Result<Self> {
        let (queue, jobs) = mpsc::channel(max_queued_writes.max(1));
        let (stop, stopping) = watch::channel(false);
        let (running, stopped) = watch::channel(());
        let engine = pool.engine();
        let work = async move {
            run(jobs, stopping, pool, pulse, clock).await;
            drop(running);
        };
        match engine {
            Engine::Sqlite => on_its_own_thread(work)?,
            Engine::Postgres => drop(tokio::spawn(work)),
        }
        Ok(Self { queue, stop, stopped })
    }

    /// Runs a job inside the next transaction and answers after the flush.
    pub(crate) async fn write<T, F>(&self, actor: Actor, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (job, answered) = TypedJob::boxed(actor, work);
        self.queue.try_send(job).map_err(|error| match error {
            //= specs/spexus-store.md#writes
            //# Writes beyond the limit of the queue MUST be refused with QUEUE_CAP_EXCEEDED.
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

    /// Jobs that wait for their turn.
    pub(crate) fn queued(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes no more jobs, and returns when those already taken are done.
    pub(crate) async fn close(&self) {
        self.stop.send_replace(true);
        let mut stopped = self.stopped.clone();
        while stopped.changed().await.is_ok() {}
    }
}

/// SQLite works on the thread that asks, and a commit waits for the disk: no request may have to wait behind that.
fn on_its_own_thread(work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let unable = |error: std::io::Error| Error::Unavailable(format!("the writer cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(unable)?;
    let thread = std::thread::Builder::new().name("spexus-writer".into());
    thread
        .spawn(move || runtime.block_on(work))
        .map(drop)
        .map_err(unable)
}

fn shutting_down() -> Refusal {
    Refusal::new(Code::ServerShuttingDown, "the server is stopping")
}

/// A job without its type: what the queue holds.
pub(crate) trait Job: Send {
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

pub(crate) struct TypedJob<T, F> {
    actor: Actor,
    work: F,
    answer: oneshot::Sender<Result<T>>,
}

impl<T, F> TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    /// A job, and where its answer will be.
    pub(crate) fn boxed(actor: Actor, work: F) -> (Box<dyn Job>, oneshot::Receiver<Result<T>>) {
        let (answer, answered) = oneshot::channel();
        (Box::new(Self { actor, work, answer }), answered)
    }
}

impl<T, F> Job for TypedJob<T, F>
where
    T: Send + 'static,
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
{
    fn run<'t>(self: Box<Self>, tx: &'t mut Tx, now: Timestamp) -> BoxFuture<'t, Done> {
        Box::pin(async move {
            let Self { actor, work, answer } = *self;
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

async fn run(
    mut jobs: mpsc::Receiver<Box<dyn Job>>,
    mut stopping: watch::Receiver<bool>,
    pool: Pool,
    pulse: Arc<Pulse>,
    clock: Clock,
) {
    let mut held = None;
    while let Some(first) = next(&mut jobs, &mut stopping).await {
        match open(held.take(), &pool).await {
            Err(error) => first.refuse(error),
            Ok(mut tx) => match batch(first, &mut jobs, &mut tx, &pulse, &clock).await {
                Ok(()) => held = Some(tx),
                Err(_) => tx.conn.abandon(),
            },
        }
    }
}

/// The next job; once the writer is told to stop, only those already in the queue.
async fn next(
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
    stopping: &mut watch::Receiver<bool>,
) -> Option<Box<dyn Job>> {
    tokio::select! {
        job = jobs.recv() => job,
        //= specs/spexus-store.md#writes
        //# Writes that were accepted before the store was closed MUST be carried out.
        () = told_to_stop(stopping) => {
            jobs.close();
            jobs.recv().await
        }
    }
}

async fn told_to_stop(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// A transaction that has begun. The connection is kept between batches; when it died meanwhile, a new one takes its
/// place and nobody notices.
async fn open(held: Option<Tx>, pool: &Pool) -> Result<Tx> {
    //= specs/spexus-store.md#writes
    //# A connection that died before a write began MUST NOT cost that write.
    if let Some(mut tx) = held {
        match begin_in_time(&mut tx).await {
            Ok(()) => return Ok(tx),
            Err(error) if tx.conn.is_alive().await => return Err(error),
            Err(_) => tx.conn.abandon(),
        }
    }
    let mut tx = Tx::new(pool.acquire().await?);
    match begin_in_time(&mut tx).await {
        Ok(()) => Ok(tx),
        Err(error) => {
            tx.conn.abandon();
            Err(error)
        }
    }
}

/// One transaction: the first job and all that wait behind it. An error means that the connection cannot be trusted.
async fn batch(
    first: Box<dyn Job>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
    tx: &mut Tx,
    pulse: &Pulse,
    clock: &Clock,
) -> Result<()> {
    let mut batch = Batch::new(tx);
    let mut next = Some(first);
    let mut taken = 0;
    let mut ran = Ok(());
    while let Some(job) = next.take() {
        taken += 1;
        ran = batch.run(job, clock()).await;
        //= specs/spexus-store.md#writes
        //# Writes that wait together SHOULD share one transaction.
        if ran.is_ok() && taken < MAX_BATCH_JOBS {
            next = jobs.try_recv().ok();
        }
    }
    let outcome = match ran {
        Ok(()) => batch.end(pulse).await,
        lost => lost,
    };
    //= specs/spexus-store.md#writes
    //# A write MUST be acknowledged only after it is durable.
    for done in batch.kept {
        (done.answer)(outcome.clone());
    }
    outcome
}

/// What the second job of a transaction is undone to, and every later one.
const PROTECT: &str = "SAVEPOINT job";
const PROTECT_NEXT: &str = "RELEASE SAVEPOINT job;SAVEPOINT job";

/// A transaction with the jobs that will stand when it is committed.
struct Batch<'t> {
    tx: &'t mut Tx,
    kept: Vec<Done>,
    /// Whether there is a savepoint.
    protected: bool,
    /// What there was beside the database before the last job.
    before: Mark,
}

impl<'t> Batch<'t> {
    fn new(tx: &'t mut Tx) -> Self {
        let before = tx.mark();
        Self {
            tx,
            kept: Vec::new(),
            protected: false,
            before,
        }
    }

    /// Runs one job. An error means the transaction itself is lost.
    async fn run(&mut self, job: Box<dyn Job>, now: Timestamp) -> Result<()> {
        if let Err(error) = self.protect().await {
            job.refuse(error.clone());
            return Err(error);
        }
        self.before = self.tx.mark();
        let done = job.run(self.tx, now).await;
        if done.keep {
            self.kept.push(done);
            return Ok(());
        }
        let undone = self.undo().await;
        (done.answer)(Ok(()));
        undone
    }

    /// Makes sure that the next job can be undone alone. The first one can without: there is nothing else to keep.
    async fn protect(&mut self) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let sql = if self.protected { PROTECT_NEXT } else { PROTECT };
        self.protected = true;
        self.tx.conn.script(sql).await
    }

    /// Undoes the last job, which is not among those kept.
    async fn undo(&mut self) -> Result<()> {
        //= specs/spexus-store.md#writes
        //# A write that fails or panics MUST change nothing, and MUST NOT change the outcome of others in the same transaction.
        self.tx.reset(self.before);
        if !self.kept.is_empty() {
            return self.tx.conn.script("ROLLBACK TO SAVEPOINT job").await;
        }
        self.tx.conn.script("ROLLBACK").await?;
        begin(self.tx).await
    }

    /// Commits what is kept.
    async fn end(&mut self, pulse: &Pulse) -> Result<()> {
        if self.kept.is_empty() {
            return self.tx.conn.script("ROLLBACK").await;
        }
        commit(self.tx, pulse).await
    }
}

async fn begin_in_time(tx: &mut Tx) -> Result<()> {
    tokio::time::timeout(MAX_BEGIN, begin(tx))
        .await
        .unwrap_or_else(|_| Err(Error::Unavailable("a write could not begin in time".into())))
}

/// Begins, takes the lock and reads the end of the chain, in one trip to a server.
async fn begin(tx: &mut Tx) -> Result<()> {
    //= specs/spexus-store.md#several-processes
    //# Writers of several processes on one database MUST keep one chain and one series of numbers.
    let head = match tx.conn.engine() {
        Engine::Sqlite => {
            tx.conn.run("BEGIN IMMEDIATE", vec![]).await?;
            Head::read(&mut tx.conn).await?
        }
        // The isolation is said because a server may have another default, under which the end of the chain would be
        // read as it was before the lock was ours.
        Engine::Postgres => {
            let sql = format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {MAX_LOCK_WAIT_MS}; \
                 SET LOCAL idle_in_transaction_session_timeout = {MAX_IDLE_IN_WRITE_MS}; {POSTGRES_LOCK}; {}",
                Head::SELECT
            );
            let rows = tx.conn.script_rows(sql).await?;
            Head::of(rows.iter().find(|row| row.has("seq")))?
        }
    };
    tx.set_head(head);
    Ok(())
}

/// Makes it durable and tells everyone.
async fn commit(tx: &mut Tx, pulse: &Pulse) -> Result<()> {
    match tx.conn.engine() {
        Engine::Sqlite => tx.conn.run("COMMIT", vec![]).await.map(drop)?,
        // PostgreSQL answers COMMIT with success also where a statement failed before and everything is undone; the
        // statement in front of it fails in that case and keeps us from saying "done".
        Engine::Postgres => {
            let sql = format!("SELECT pg_notify('spexus', '{}'); COMMIT", tx.head().seq);
            tx.conn.script(sql).await?;
        }
    }
    tx.committed();
    pulse.committed(tx.base(), tx.head().seq, tx.touched_accounts());
    Ok(())
}
