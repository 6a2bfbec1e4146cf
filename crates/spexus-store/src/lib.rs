//! Where everything is kept: one [`Store`] over SQLite or PostgreSQL.
//!
//! The decision that shaped this crate: all writes of a process go through one writer (`writer.rs`) that runs jobs which
//! wait together in one transaction (group commit), and every change and its row in its project's hash-chained ledger commit together.
//! That gives one order of things to history, feeds and subscriptions, and makes many writers cheaper than one instead
//! of slower. Reads use their own connections and never wait for writes.
//!
//! Statements are written once, in the SQL both engines share, over the small face of [`engine`]; only the DDL's words,
//! full-text search and notification differ. Domain types go in and come out; an error is one of three branches
//! ([`Error`]). The crate knows no permissions and no HTTP; it does what the service layer has decided.

pub mod accounts;
pub mod apps;
mod arrival;
pub mod audit;
pub mod audit_days;
pub mod audit_verification;
pub mod backup;
pub mod baselines;
pub mod carry;
pub mod chain;
mod change_broadcast;
pub mod changes;
mod checkpointed_ends;
pub mod checkpoints;
pub mod comments;
mod connect;
pub mod copy;
mod cursor;
pub mod deadline;
pub mod deletion;
mod derived_tables;
pub mod differences;
pub mod directory;
pub mod dropped_segments;
pub mod engine;
mod error;
pub mod evidence;
mod fold;
pub mod groups;
pub mod idempotency;
#[cfg(test)]
mod interrupts;
pub mod items;
mod job;
mod kept_state;
mod lane;
pub mod leases;
pub mod ledger_head;
pub mod ledger_origin;
mod ledger_walk;
pub mod links;
pub mod listing;
pub mod logins;
pub mod mcp_sessions;
pub mod members;
mod moment;
mod nested_transaction;
#[cfg(test)]
mod plans;
mod pool;
mod present_rows;
pub mod projects;
pub mod prompts;
pub mod recording;
mod reference_prefix;
pub mod replay;
pub mod report;
pub mod reviews;
pub mod roots;
mod row_digests;
mod row_seals;
pub mod saved_views;
mod schema;
pub mod scratch_copy;
mod sealed_rows;
pub mod search;
pub mod segments;
pub mod server;
pub mod settings;
mod snapshot;
mod sqlite;
pub mod staging;
pub mod state_verdict;
mod statement;
mod tables;
pub mod tokens;
pub mod trace;
pub mod trace_steps;
pub mod trace_whole;
pub mod transfer;
pub mod tree;
mod tx;
pub mod verification;
mod witness;
mod writer;

pub use engine::{Conn, Engine};
pub use error::{Error, Result};
pub use pool::Location;
pub use tx::{Actor, Tx};

use change_broadcast::ChangeBroadcast;
use futures_util::future::{BoxFuture, Either, select};
use job::JobClass;
use lane::Lane;
use nested_transaction::NestedTransaction;
use pool::Pool;
use snapshot::{SnapshotHandle, SnapshotPermit, SnapshotPermits};
use spexus_domain::{Timestamp, Uuid};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use writer::Writer;

/// Where the time comes from; tests bring their own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The power going out: every commit is flushed to the disk before it is answered.
    #[default]
    PowerLoss,
    /// The process or its host program crashing; the last moments before a power loss may be gone.
    ProcessCrash,
}

/// How the store works.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whether an empty database is given tables and one of an older version is brought up to date; else it is refused.
    pub may_prepare: bool,
    /// What an acknowledged write survives; SQLite only, PostgreSQL has its own setting.
    pub durability: Durability,
    /// Connections for reading.
    pub max_read_connections: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout_ms: u64,
    /// Connections kept for looking up tokens, readiness and news, so that long reads never keep them waiting.
    pub max_lookup_connections: u32,
    /// How long one statement may take; 0 for as long as it takes.
    pub max_statement_ms: u64,
    /// Connections for writing to projects side by side, beside the one that writes anywhere; PostgreSQL only. With 0 there is
    /// one writer for everything.
    pub max_project_writers: u32,
    /// Writes that may wait; more are refused.
    pub max_queued_writes: usize,
    /// How long a write waits for its turn before it is refused.
    pub max_write_wait_ms: u64,
    /// How long one write may hold the writer.
    pub max_write_ms: u64,
    /// How long a transaction of many steps may hold the writer.
    pub max_transaction_ms: u64,
    /// How long nothing may be heard of a large import before it counts as dead and what it left is swept.
    pub max_import_silence_ms: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            may_prepare: true,
            durability: Durability::PowerLoss,
            max_read_connections: 4,
            acquire_timeout_ms: 5_000,
            max_lookup_connections: 2,
            max_statement_ms: 25_000,
            max_project_writers: 4,
            max_queued_writes: 4_096,
            max_write_wait_ms: 5_000,
            max_write_ms: 15_000,
            max_transaction_ms: 2_000,
            max_import_silence_ms: 60_000,
        }
    }
}

/// The database: one shared handle. All clones share connection pools and the writer.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
    /// The transaction in which everything happens, or the snapshot at which everything is read, where there is one.
    scope: Scope,
}

/// What reads and writes of a handle happen in.
#[derive(Clone)]
enum Scope {
    /// Each read has a connection, each write a transaction of its own.
    Alone,
    /// One transaction for all of them.
    Transaction(NestedTransaction),
    /// One moment for all reads; no writes.
    Snapshot(SnapshotHandle),
}

struct Shared {
    readers: Pool,
    /// A few connections that long reads cannot take.
    lookups: Pool,
    writing: Pool,
    writer: Writer,
    broadcast: Arc<ChangeBroadcast>,
    clock: Clock,
    location: Location,
    reads: AtomicU64,
    max_import_silence: Duration,
    snapshots: SnapshotPermits,
    spare_connections: usize,
}

impl Store {
    /// Opens a database, brings its tables up to date, and starts the writer. Tells whether it was empty.
    pub async fn open(location: &Location, options: &StoreOptions, clock: Clock) -> Result<(Self, bool)> {
        let writing = Pool::for_writing(location, options).await?;
        let mut conn = writing.acquire().await?;
        let fresh = schema::prepare(&mut conn, Some(location), options.may_prepare).await?;
        arrival::go_on_behind_the_last(&mut conn).await?;
        let arrived = arrival::look(&mut conn).await?;
        match conn.engine() {
            Engine::Sqlite => drop(conn),
            // Whoever writes takes a new one: what lies in the pool may die there unnoticed.
            Engine::Postgres => conn.abandon(),
        }
        let readers = Pool::for_reading(location, options, options.max_read_connections)?;
        let lookups = Pool::for_reading(location, options, options.max_lookup_connections.max(1))?;
        let broadcast = ChangeBroadcast::new(arrived);
        tokio::spawn(change_broadcast::follow_other_processes(
            broadcast.clone(),
            lookups.clone(),
        ));
        let writer = Writer::start(writing.clone(), broadcast.clone(), clock.clone(), options)?;
        let shared = Shared {
            readers,
            lookups,
            writing,
            writer,
            broadcast,
            clock,
            location: location.clone(),
            reads: AtomicU64::new(0),
            max_import_silence: Duration::from_millis(options.max_import_silence_ms),
            snapshots: SnapshotPermits::new(options.max_read_connections, options.acquire_timeout_ms),
            spare_connections: usize::try_from(options.max_read_connections / 2).unwrap_or(1),
        };
        let store = Self {
            shared: Arc::new(shared),
            scope: Scope::Alone,
        };
        Ok((store, fresh))
    }

    /// A connection for reading.
    pub async fn read(&self) -> Result<Conn> {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        match &self.scope {
            Scope::Transaction(transaction) => transaction.read().await,
            Scope::Snapshot(snapshot) => snapshot.read().await,
            Scope::Alone => self.shared.readers.acquire().await,
        }
    }

    /// A connection for a look-up by key that everything else waits for, such as that of a token. There are a few for
    /// this, whatever else is read.
    //= specs/spexus-store.md#time
    //# Reads that take long MUST NOT keep look-ups of tokens, the question whether the database answers and news of changes
    //# waiting.
    pub async fn look_up(&self) -> Result<Conn> {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        match &self.scope {
            Scope::Transaction(transaction) => transaction.read().await,
            Scope::Snapshot(_) | Scope::Alone => self.shared.lookups.acquire().await,
        }
    }

    /// Runs work with a store whose reads and writes all happen in one transaction, and ends it: with an error, or where
    /// `keep` is not wanted, nothing of it stands. All other writes wait meanwhile, so the work must not wait for
    /// anything but this store.
    //= specs/spexus-store.md#writes
    //# Reads and writes that are done together MUST see each other and MUST stand or fall together.
    pub async fn together<T, F, Fut>(&self, actor: Actor, keep: bool, work: F) -> Result<T>
    where
        F: FnOnce(Store) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        match &self.scope {
            Scope::Transaction(outer) => {
                return part(outer, keep, Box::pin(work(self.clone()))).await;
            }
            Scope::Snapshot(_) => return Err(only_reads()),
            Scope::Alone => {}
        }
        let (transaction, commands) = NestedTransaction::new();
        let writer = &self.shared.writer;
        let limit = writer.limit(JobClass::MultiStep);
        let holding = writer.write(actor, JobClass::MultiStep, Lane::Installation, move |tx| {
            Box::pin(commands.serve(tx, limit))
        });
        let store = self.in_transaction(transaction.clone());
        // On the heap: it is as large as everything that is done in it.
        let working = Box::pin(async move {
            let done = work(store).await;
            transaction.end(keep && done.is_ok()).await;
            done
        });
        let holding = pin!(holding);
        let explained = |error| nested_transaction::explain_timeout(error, limit);
        let (held, done) = match select(holding, working).await {
            // What was done is undone already; whatever goes on would only hold the connection.
            Either::Left((Err(error), _)) => return Err(explained(error)),
            Either::Left((held, working)) => (held, working.await),
            Either::Right((done, holding)) => (holding.await, done),
        };
        match (done, held) {
            // A step that came too late only knows that the transaction is over, not why.
            (_, Err(error)) if nested_transaction::is_timeout(&error) => Err(explained(error)),
            // What the work says tells more than how its transaction ended.
            (done, held) => {
                let done = done.map_err(explained)?;
                held.map(|()| done)
            }
        }
    }

    /// The same store, but everything happens in a transaction.
    fn in_transaction(&self, transaction: NestedTransaction) -> Self {
        Self {
            shared: self.shared.clone(),
            scope: Scope::Transaction(transaction),
        }
    }

    /// Runs work with a store that only reads, and reads everything at one moment. Nobody waits for it but those who want
    /// to do the same, of whom there may be half as many as connections for reading.
    //= specs/spexus-store.md#reads
    //# Reads that are done together MUST see one moment, and MUST NOT make a write wait.
    pub async fn snapshot<T, F, Fut>(&self, owner: Uuid, work: F) -> Result<T>
    where
        F: FnOnce(Store) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let shared = &self.shared;
        let (snapshot, mut held) = shared.snapshots.hold(owner, &shared.readers).await?;
        let store = Self {
            shared: shared.clone(),
            scope: Scope::Snapshot(snapshot),
        };
        let done = tokio::select! {
            biased;
            done = work(store) => done,
            () = held.serve() => Err(Error::Unavailable("what was read together is over".into())),
        };
        held.end().await;
        done
    }

    /// A permit to hold a connection for reading for as long as it takes.
    pub(crate) async fn snapshot_permit(&self, owner: Uuid) -> Result<SnapshotPermit> {
        self.shared.snapshots.acquire(owner).await
    }

    /// The connections for reading.
    pub(crate) fn readers(&self) -> &Pool {
        &self.shared.readers
    }

    /// How many connections one long read may take without leaving others too few.
    pub(crate) fn spare_connections(&self) -> usize {
        self.shared.spare_connections
    }

    /// Whether everything happens in a transaction or snapshot that is not over.
    pub fn is_in_transaction(&self) -> bool {
        !matches!(self.scope, Scope::Alone)
    }

    /// How often a connection for reading was asked for: what is answered from memory leaves it as it is.
    pub fn reads(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    /// Runs a job in the next write transaction; answers when it is durable. A job that returns an error changes
    /// nothing.
    //= specs/spexus-http.md#refusals
    //# A refused request MUST leave no trace in the data.
    pub async fn write<T, F>(&self, actor: Actor, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.write_as(JobClass::Short, actor, job).await
    }

    /// Like `write`, for work in one project: on PostgreSQL writes of other projects go on beside it. Work that turns out to
    /// write elsewhere is undone and done again where it may.
    //= specs/spexus-store.md#several-processes
    //# A write that turns out to concern more than the project it was begun in MUST be undone and done again alone.
    pub async fn write_in<T, F>(&self, project_id: Uuid, actor: Actor, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Clone + Send + 'static,
    {
        if !self.has_lanes() {
            return self.write(actor, job).await;
        }
        let writer = &self.shared.writer;
        let (first, lane) = (job.clone(), Lane::Project(project_id));
        let in_its_lane = writer.write(actor.clone(), JobClass::Short, lane, move |tx| {
            Box::pin(async move {
                let done = first(tx).await;
                if tx.take_strayed() {
                    tx.discard();
                    return Ok(None);
                }
                done.map(Some)
            })
        });
        match in_its_lane.await? {
            Some(done) => Ok(done),
            None => self.write(actor, job).await,
        }
    }

    /// Like `write`, for work of an operator on a whole database: it may take as long as it takes, and all other writes
    /// wait meanwhile.
    pub async fn write_long<T, F>(&self, actor: Actor, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        self.write_as(JobClass::Maintenance, actor, job).await
    }

    async fn write_as<T, F>(&self, class: JobClass, actor: Actor, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        match &self.scope {
            Scope::Transaction(transaction) => transaction.write(actor, job).await,
            Scope::Snapshot(_) => Err(only_reads()),
            Scope::Alone => {
                self.shared
                    .writer
                    .write(actor, class, Lane::Installation, job)
                    .await
            }
        }
    }

    /// Whether a write that names its project goes on beside those of other projects.
    pub fn has_lanes(&self) -> bool {
        !self.is_in_transaction() && self.shared.writer.has_lanes()
    }

    /// Follows the number of the last change, also of those made by other processes.
    pub fn follow(&self) -> watch::Receiver<i64> {
        self.shared.broadcast.follow()
    }

    /// Follows the number of the last write to sessions of MCP clients, also by other processes.
    pub fn follow_sessions(&self) -> watch::Receiver<i64> {
        self.shared.broadcast.follow_sessions()
    }

    /// A number that differs from an earlier one when users, tokens or projects may have changed in between.
    pub fn accounts_generation(&self) -> u64 {
        self.shared.broadcast.accounts()
    }

    /// Which engine it is.
    pub fn engine(&self) -> Engine {
        self.shared.readers.engine()
    }

    /// Where the database is.
    pub fn location(&self) -> &Location {
        &self.shared.location
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.look_up()
            .await?
            .one("SELECT 1 AS one", vec![])
            .await
            .map(drop)
    }

    /// How many writes wait for their turn.
    pub fn queued_writes(&self) -> usize {
        self.shared.writer.queued()
    }

    /// Takes no more writes, finishes those that were accepted, and closes all connections.
    pub async fn close(self) {
        let shared = &self.shared;
        shared.writer.close().await;
        shared.writing.close().await;
        shared.readers.close().await;
        shared.lookups.close().await;
    }
}

/// Work within a transaction that is undone alone when it fails, or where nothing of it is to be kept.
async fn part<T>(outer: &NestedTransaction, keep: bool, work: impl Future<Output = Result<T>>) -> Result<T> {
    outer.begin().await?;
    let done = work.await;
    outer.end(keep && done.is_ok()).await;
    done
}

fn only_reads() -> Error {
    Error::Broken("a snapshot cannot be written to".into())
}
