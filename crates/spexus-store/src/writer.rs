//! The writers, with group commit. Every change of a process goes through a queue and a connection: jobs that wait together run
//! one after the other in one transaction and are made durable by one flush. A job that fails is rolled back alone, to its
//! savepoint; nobody hears "done" before the flush.
//!
//! SQLite has one writer. On PostgreSQL the first one writes anywhere, and a few others write each in the projects of their
//! lane (`lane.rs`); the database sees to it that none of them, of whatever process, writes where another does.
//!
//! Everything here has a limit, because everybody waits behind it: for its turn each job has its own time from its
//! arrival, a job that nobody waits for is not done, and a connection that does not answer is given up.

use crate::change_broadcast::ChangeBroadcast;
use crate::engine::{Engine, Row};
use crate::error::{Error, Result};
use crate::job::{FinishedJob, Job, JobClass, QueueTicket, TypedJob, queue_timeout};
use crate::lane::Lane;
use crate::ledger_head::{Head, LedgerHead, hash};
use crate::tx::{Actor, Mark, Tx};
use crate::{Clock, StoreOptions, pool::Pool, schema};
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use spexus_domain::Timestamp;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// Jobs that share one group commit at most.
const MAX_GROUP_JOBS: usize = 256;

/// How long a transaction takes further jobs; those in it wait for its end.
const MAX_GROUP_TIME: Duration = Duration::from_millis(250);

/// By how much a node may stay silent longer than a transaction may take, before PostgreSQL takes its lock away.
const SILENCE_MARGIN: Duration = Duration::from_secs(1);

/// How long work of an operator may be silent in between, which reads from elsewhere what it writes.
const MAX_SILENCE_OF_MAINTENANCE: Duration = Duration::from_secs(60);

/// How long the connection may lie idle and still be written on without asking it first.
const MAX_UNTESTED_IDLE: Duration = Duration::from_secs(1);

//= specs/spexus-store.md#time
//# A connection on which nothing is answered MUST be given up within a bounded time.
/// How long it may take to answer when it is asked; a server behind a dead network answers nothing, ever.
const MAX_PING: Duration = Duration::from_secs(1);

/// What a round trip to the server may take beyond what the server itself allows.
const ROUND_TRIP: Duration = Duration::from_secs(2);

/// How long the answer to COMMIT is waited for.
const MAX_COMMIT: Duration = Duration::from_secs(10);

/// How long the writer's work may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From the arrival of a job to its beginning.
    wait: Duration,
    write: Duration,
    transaction: Duration,
}

impl Limits {
    fn of(options: &StoreOptions) -> Self {
        Self {
            wait: Duration::from_millis(options.max_write_wait_ms),
            write: Duration::from_millis(options.max_write_ms),
            transaction: Duration::from_millis(options.max_transaction_ms),
        }
    }

    fn of_job(&self, class: JobClass) -> Option<Duration> {
        match class {
            JobClass::Short => Some(self.write),
            JobClass::MultiStep => Some(self.transaction),
            JobClass::Maintenance => None,
        }
    }

    //= specs/spexus-store.md#time
    //# A node that goes silent in the middle of a write MUST lose its place as the writer within a few seconds.
    /// How long a node may say nothing in the middle of a write: one whose machine vanished would otherwise stop all others.
    /// With the default limits others wait longer than that, so that they need not be refused.
    fn of_silence(&self, class: JobClass) -> Duration {
        match class {
            JobClass::Short | JobClass::MultiStep => self.transaction + SILENCE_MARGIN,
            JobClass::Maintenance => MAX_SILENCE_OF_MAINTENANCE,
        }
    }
}

/// Sends jobs to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    /// A queue for each writer; the first one writes anywhere.
    queues: Arc<[mpsc::UnboundedSender<Queued>]>,
    /// How many jobs may wait in all queues together.
    places: Arc<Semaphore>,
    max_queued: usize,
    stop: watch::Sender<bool>,
    stopped: watch::Receiver<()>,
    limits: Limits,
}

/// A job in a queue, with its place there.
struct Queued {
    job: Box<dyn Job>,
    lane: Lane,
    _place: OwnedSemaphorePermit,
}

impl Writer {
    /// Starts the writers; they end when they are closed or the last sender is gone, and their queues are empty.
    pub(crate) fn start(
        pool: Pool,
        broadcast: Arc<ChangeBroadcast>,
        clock: Clock,
        options: &StoreOptions,
    ) -> Result<Self> {
        let limits = Limits::of(options);
        let (stop, stopping) = watch::channel(false);
        let (running, stopped) = watch::channel(());
        let running = Arc::new(running);
        let engine = pool.engine();
        let write_loop = Arc::new(WriteLoop {
            pool,
            broadcast,
            clock,
            limits,
        });
        let mut queues = Vec::new();
        for _ in 0..writers(engine, options) {
            let (queue, jobs) = mpsc::unbounded_channel();
            queues.push(queue);
            let (write_loop, stopping, running) = (write_loop.clone(), stopping.clone(), running.clone());
            let work = async move {
                write_loop.run(jobs, stopping).await;
                drop(running);
            };
            match engine {
                Engine::Sqlite => on_its_own_thread(work)?,
                Engine::Postgres => drop(tokio::spawn(work)),
            }
        }
        let max_queued = options.max_queued_writes.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self {
            queues: queues.into(),
            places: Arc::new(Semaphore::new(max_queued)),
            max_queued,
            stop,
            stopped,
            limits,
        })
    }

    /// Runs a job inside the next transaction and answers after the flush.
    pub(crate) async fn write<T, F>(&self, actor: Actor, class: JobClass, lane: Lane, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let ticket = QueueTicket::new(self.limits.wait);
        let (job, mut answered) = TypedJob::boxed(actor, class, Some(ticket.clone()), work);
        self.queue(job, lane)?;
        //= specs/spexus-store.md#time
        //# A write that did not begin within its time MUST be refused then, whatever waits before it, and MUST leave no trace.
        let begun = tokio::time::timeout_at(ticket.start_deadline().into(), &mut answered);
        let answer = match begun.await {
            Ok(answer) => answer,
            Err(_) if ticket.leave() => return Err(queue_timeout(self.limits.wait)),
            Err(_) => answered.await,
        };
        answer.unwrap_or_else(|_| Err(Error::Unavailable("the writer stopped".into())))
    }

    fn queue(&self, job: Box<dyn Job>, lane: Lane) -> Result<()> {
        //= specs/spexus-store.md#writes
        //# Writes beyond the limit of the queue MUST be refused with QUEUE_CAP_EXCEEDED.
        let place = self.places.clone().try_acquire_owned();
        let full = |_| {
            Error::Refused(Refusal::new(
                Code::QueueCapExceeded,
                "too many writes are waiting",
            ))
        };
        let queued = Queued {
            job,
            lane,
            _place: place.map_err(full)?,
        };
        let queue = self.queues.get(lane.of(self.queues.len()));
        let sent = queue.and_then(|queue| queue.send(queued).ok());
        sent.ok_or_else(|| Error::Refused(shutting_down()))
    }

    /// Whether projects have writers of their own.
    pub(crate) fn has_lanes(&self) -> bool {
        self.queues.len() > 1
    }

    /// How long a job may take.
    pub(crate) fn limit(&self, class: JobClass) -> Option<Duration> {
        self.limits.of_job(class)
    }

    /// Jobs in the queue.
    pub(crate) fn queued(&self) -> usize {
        self.max_queued - self.places.available_permits()
    }

    /// Takes no more jobs, and returns when those already taken are done.
    pub(crate) async fn close(&self) {
        self.stop.send_replace(true);
        let mut stopped = self.stopped.clone();
        while stopped.changed().await.is_ok() {}
    }
}

/// How many writers there are.
pub(crate) fn writers(engine: Engine, options: &StoreOptions) -> u32 {
    match engine {
        Engine::Sqlite => 1,
        Engine::Postgres => 1 + options.max_project_writers,
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

/// The loop that takes jobs off the queue and commits them in groups.
struct WriteLoop {
    pool: Pool,
    broadcast: Arc<ChangeBroadcast>,
    clock: Clock,
    limits: Limits,
}

/// The connection between two transactions, idle since then.
struct IdleConnection {
    tx: Tx,
    since: Instant,
}

impl WriteLoop {
    async fn run(&self, mut jobs: mpsc::UnboundedReceiver<Queued>, mut stopping: watch::Receiver<bool>) {
        let mut idle = None;
        let mut carried = None;
        loop {
            let job = match carried.take() {
                None => next(&mut jobs, &mut stopping).await,
                carried => carried,
            };
            let Some((first, lane)) = job else { return };
            if !first.is_awaited(Instant::now()) {
                first.refuse(queue_timeout(self.limits.wait));
                continue;
            }
            let mut tx = match self.open(idle.take(), first.class(), lane).await {
                Ok(tx) => tx,
                Err(error) => {
                    first.refuse(error);
                    continue;
                }
            };
            let outcome;
            (outcome, carried) = self.group((first, lane), &mut jobs, &mut tx).await;
            match outcome {
                Ok(()) => {
                    let since = Instant::now();
                    idle = Some(IdleConnection { tx, since });
                }
                Err(_) => tx.conn.abandon(),
            }
        }
    }

    /// A transaction that has begun. The connection is kept between batches; when it died meanwhile, a new one takes its
    /// place and nobody notices. One on which a transaction could not begin is given up: what is open on it goes with it.
    async fn open(&self, idle: Option<IdleConnection>, class: JobClass, lane: Lane) -> Result<Tx> {
        let started = Instant::now();
        if let Some(IdleConnection { mut tx, since }) = idle {
            if since.elapsed() > MAX_UNTESTED_IDLE && !tx.conn.answers_within(MAX_PING).await {
                tx.conn.abandon();
            } else {
                match self.begin(&mut tx, class, lane).await {
                    Ok(()) => return Ok(tx),
                    Err(error) => {
                        tx.conn.abandon();
                        //= specs/spexus-store.md#writes
                        //# A connection that died before a write began MUST NOT cost that write.
                        let is_final = matches!(error, Error::Refused(_));
                        if is_final || started.elapsed() >= self.limits.wait {
                            return Err(error);
                        }
                    }
                }
            }
        }
        let mut tx = Tx::new(self.pool.acquire().await?);
        match self.begin(&mut tx, class, lane).await {
            Ok(()) => Ok(tx),
            Err(error) => {
                tx.conn.abandon();
                Err(error)
            }
        }
    }

    async fn begin(&self, tx: &mut Tx, class: JobClass, lane: Lane) -> Result<()> {
        tokio::time::timeout(
            self.limits.wait + ROUND_TRIP,
            begin(tx, &self.limits, class, lane),
        )
        .await
        .unwrap_or_else(|_| Err(Error::Unavailable("a write could not begin in time".into())))
    }

    /// One group commit: the first job and all that wait behind it; and the job that is to have the next one for itself. An
    /// error means that the connection cannot be trusted.
    async fn group(
        &self,
        (first, lane): Placed,
        jobs: &mut mpsc::UnboundedReceiver<Queued>,
        tx: &mut Tx,
    ) -> (Result<()>, Option<Placed>) {
        let started = Instant::now();
        let mut group = GroupCommit::new(tx, self.limits, lane);
        let mut next = Some((first, lane));
        let mut taken = 0;
        let mut ran = Ok(());
        let shares = |(job, its): &mut Placed| job.class() == JobClass::Short && *its == lane;
        while let Some((job, _)) = next.take_if(|job| taken == 0 || shares(job)) {
            taken += 1;
            let shares = job.class() == JobClass::Short;
            ran = group.run(job, (self.clock)()).await;
            //= specs/spexus-store.md#writes
            //# Writes that wait together SHOULD share one transaction.
            if ran.is_ok() && shares && taken < MAX_GROUP_JOBS && started.elapsed() < MAX_GROUP_TIME {
                next = jobs.try_recv().ok().map(Queued::take);
            }
        }
        let outcome = match ran {
            Ok(()) => group.end(&self.broadcast).await,
            lost => lost,
        };
        //= specs/spexus-store.md#writes
        //# A write MUST be acknowledged only after it is durable.
        for done in group.finished {
            (done.answer)(outcome.clone());
        }
        (outcome, next)
    }
}

/// A job and where it writes.
type Placed = (Box<dyn Job>, Lane);

impl Queued {
    /// Takes the job out of the queue, where others may have its place.
    fn take(self) -> Placed {
        (self.job, self.lane)
    }
}

/// The next job; once the writer is told to stop, only those already in the queue.
async fn next(
    jobs: &mut mpsc::UnboundedReceiver<Queued>,
    stopping: &mut watch::Receiver<bool>,
) -> Option<Placed> {
    let job = tokio::select! {
        job = jobs.recv() => job,
        //= specs/spexus-store.md#writes
        //# Writes that were accepted before the store was closed MUST be carried out.
        () = stop_requested(stopping) => {
            jobs.close();
            jobs.recv().await
        }
    };
    job.map(Queued::take)
}

async fn stop_requested(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// The savepoint the second job of a group is rolled back to, and every later one.
const FIRST_SAVEPOINT: &str = "SAVEPOINT job";
const NEXT_SAVEPOINT: &str = "RELEASE SAVEPOINT job;SAVEPOINT job";

/// A group commit: one transaction with the jobs that will stand when it is committed.
struct GroupCommit<'t> {
    tx: &'t mut Tx,
    finished: Vec<FinishedJob>,
    /// Whether there is a savepoint.
    has_savepoint: bool,
    /// What there was beside the database before the last job.
    before: Mark,
    limits: Limits,
    lane: Lane,
}

impl<'t> GroupCommit<'t> {
    fn new(tx: &'t mut Tx, limits: Limits, lane: Lane) -> Self {
        let before = tx.mark();
        Self {
            tx,
            finished: Vec::new(),
            has_savepoint: false,
            before,
            limits,
            lane,
        }
    }

    /// Runs one job. An error means the transaction itself is lost.
    async fn run(&mut self, job: Box<dyn Job>, now: Timestamp) -> Result<()> {
        let begun = Instant::now();
        if !job.take(begun) {
            job.refuse(queue_timeout(self.limits.wait));
            return Ok(());
        }
        if let Err(error) = self.set_savepoint().await {
            job.refuse(error.clone());
            return Err(error);
        }
        self.before = self.tx.mark();
        let limit = self.limits.of_job(job.class());
        self.tx.conn.set_deadline(limit.map(|limit| begun + limit));
        self.tx.set_step_limit(self.limits.transaction);
        let done = job.run(self.tx, now).await;
        self.tx.conn.set_deadline(None);
        if done.keep {
            self.finished.push(done);
            return Ok(());
        }
        let undone = self.undo().await;
        (done.answer)(Ok(()));
        undone
    }

    /// Makes sure that the next job can be undone alone. The first one can without: there is nothing else to keep.
    async fn set_savepoint(&mut self) -> Result<()> {
        if self.finished.is_empty() {
            return Ok(());
        }
        let sql = if self.has_savepoint {
            NEXT_SAVEPOINT
        } else {
            FIRST_SAVEPOINT
        };
        self.has_savepoint = true;
        self.tx.conn.script(sql).await
    }

    /// Undoes the last job, which is not among the finished ones.
    async fn undo(&mut self) -> Result<()> {
        //= specs/spexus-store.md#writes
        //# A write that fails or panics MUST change nothing, and MUST NOT change the outcome of others in the same transaction.
        self.tx.reset(self.before);
        // SQLite ends the whole transaction when it has to interrupt a statement that writes; then there is nothing to
        // go back to, and nothing of the others was committed either.
        let lost = |error| Error::Unavailable(format!("a transaction was lost: {error}"));
        if !self.finished.is_empty() {
            return self
                .tx
                .conn
                .script("ROLLBACK TO SAVEPOINT job")
                .await
                .map_err(lost);
        }
        self.tx.conn.script("ROLLBACK").await.map_err(lost)?;
        begin(self.tx, &self.limits, JobClass::Short, self.lane).await
    }

    /// Commits the finished jobs.
    async fn end(&mut self, broadcast: &ChangeBroadcast) -> Result<()> {
        if self.finished.is_empty() {
            return self.tx.conn.script("ROLLBACK").await;
        }
        commit(self.tx, broadcast, self.lane).await
    }
}

/// Begins, takes the locks of its lane and reads where the history ends there, in one trip to a server.
async fn begin(tx: &mut Tx, limits: &Limits, class: JobClass, lane: Lane) -> Result<()> {
    //= specs/spexus-store.md#several-processes
    //# Writers of several processes on one database MUST keep every ledger whole and one series of numbers.
    let rows = match tx.conn.engine() {
        Engine::Sqlite => {
            tx.conn.run("BEGIN IMMEDIATE", vec![]).await?;
            tx.conn.all(Head::SELECT_TO_WRITE, vec![]).await?
        }
        // The isolation is said because a server may have another default, under which the end of the history would be
        // read as it was before the lock was ours.
        Engine::Postgres => {
            let sql = format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {}; \
                 SET LOCAL idle_in_transaction_session_timeout = {}; {}",
                limits.wait.as_millis(),
                limits.of_silence(class).as_millis(),
                lane.begin()
            );
            tx.conn.script_rows(sql).await?
        }
    };
    let row = rows.iter().find(|row| row.has("version"));
    let row = row.ok_or_else(|| Error::Broken("the database has no version".into()))?;
    //= specs/spexus-store.md#schema
    //# A write MUST be refused when another process has meanwhile brought the database to a newer version.
    schema::refuse_newer(row.int("version")?)?;
    let last = row.opt_int("seq")?.map(|_| row);
    let head = Head::of(last)?;
    match tx.conn.engine() {
        Engine::Sqlite => tx.begin_behind(head),
        Engine::Postgres => {
            let own = last.map(ledger_head).transpose()?;
            tx.begin_in(lane, head, own, row.int("shared_rev")?);
        }
    }
    Ok(())
}

fn ledger_head(row: &Row) -> Result<LedgerHead> {
    Ok(LedgerHead {
        number: row.int("number")?,
        hash: hash(row, "hash")?,
        at: row.time("at")?,
    })
}

/// Makes it durable and tells everyone.
async fn commit(tx: &mut Tx, broadcast: &ChangeBroadcast, lane: Lane) -> Result<()> {
    let sent = match tx.conn.engine() {
        Engine::Sqlite => tx.conn.run("COMMIT", vec![]).await.map(drop),
        // PostgreSQL answers COMMIT with success also where a statement failed before and everything is undone; the
        // statement in front of it fails in that case and keeps us from saying "done".
        Engine::Postgres => {
            let share = match tx.share_change() {
                true => "UPDATE installation SET shared_rev = shared_rev + 1; ",
                false => "",
            };
            let say = match lane {
                Lane::Installation => "SELECT pg_notify('spexus', '')",
                // PostgreSQL lets only one transaction at a time commit that says something, until it is on the disk. So
                // writes beside others are told of afterwards.
                Lane::Project(_) => "SELECT 1",
            };
            let sql = format!("{share}{say}; COMMIT");
            tokio::time::timeout(MAX_COMMIT, tx.conn.script(sql))
                .await
                .unwrap_or_else(|_| Err(Error::Unavailable("COMMIT was not answered".into())))
        }
    };
    //= specs/spexus-store.md#time
    //# When the connection is lost after COMMIT was sent, the writes of that transaction MUST be told that their outcome is not
    //# known.
    sent.map_err(|error| match tx.conn.is_lost() {
        true => Error::OutcomeUnknown(error.to_string()),
        false => error,
    })?;
    tx.committed();
    let (seq, accounts) = (tx.head().seq, tx.touched_accounts());
    match tx.shared_rev() {
        None => broadcast.committed(tx.base(), seq, accounts),
        Some(rev) => {
            let alone_up_to = (lane == Lane::Installation).then_some(seq);
            broadcast.committed_beside_others(rev, accounts, alone_up_to);
        }
    }
    Ok(())
}
