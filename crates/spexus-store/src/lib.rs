//! Where everything is kept: one [`Store`] over SQLite or PostgreSQL.
//!
//! The decision that shaped this crate: all writes of a process go through one writer (`writer.rs`) that runs jobs which
//! wait together in one transaction, and every change and its row in the hash-chained `change` table commit together.
//! That gives one order of things to history, feeds and subscriptions, and makes many writers cheaper than one instead
//! of slower. Reads use their own connections and never wait for writes.
//!
//! Statements are written once, in the SQL both engines share, over the small face of [`engine`]; only the DDL's words,
//! full-text search and notification differ. Domain types go in and come out; an error is one of three branches
//! ([`Error`]). The crate knows no permissions and no HTTP; it does what the service layer has decided.

pub mod accounts;
pub mod audit;
pub mod backup;
pub mod baselines;
pub mod chain;
pub mod changes;
pub mod comments;
pub mod copy;
mod cursor;
pub mod engine;
mod error;
pub mod idempotency;
mod inside;
pub mod items;
pub mod links;
pub mod listing;
pub mod mcp_sessions;
#[cfg(test)]
mod plans;
mod pool;
pub mod projects;
pub mod prompts;
mod pulse;
pub mod report;
pub mod roots;
mod schema;
pub mod search;
pub mod settings;
mod shelf;
mod sqlite;
pub mod tokens;
pub mod transfer;
pub mod tree;
mod tx;
mod writer;

pub use engine::{Conn, Engine};
pub use error::{Error, Result};
pub use pool::Location;
pub use tx::{Actor, Tx};

use futures_util::future::BoxFuture;
use spexus_domain::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

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
    /// What an acknowledged write survives; SQLite only, PostgreSQL has its own setting.
    pub durability: Durability,
    /// Connections for reading.
    pub max_read_connections: u32,
    /// How long a request waits for a connection.
    pub acquire_timeout_ms: u64,
    /// Writes that may wait; more are refused.
    pub max_queued_writes: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::PowerLoss,
            max_read_connections: 4,
            acquire_timeout_ms: 5_000,
            max_queued_writes: 4_096,
        }
    }
}

/// The database. Cheap to clone; all clones share connections and the writer.
#[derive(Clone)]
pub struct Store {
    readers: pool::Pool,
    writing: pool::Pool,
    writer: writer::Writer,
    pulse: Arc<pulse::Pulse>,
    clock: Clock,
    location: Location,
    reads: Arc<AtomicU64>,
    /// The transaction in which everything happens, where one was opened.
    inside: Option<inside::Inside>,
}

impl Store {
    /// Opens a database, brings its tables up to date, and starts the writer. Tells whether it was empty.
    pub async fn open(location: &Location, options: &StoreOptions, clock: Clock) -> Result<(Self, bool)> {
        let writing = pool::Pool::for_writing(location, options).await?;
        let mut conn = writing.acquire().await?;
        let fresh = schema::prepare(&mut conn).await?;
        let head = chain::Head::read(&mut conn).await?;
        drop(conn);
        let readers = pool::Pool::for_reading(location, options).await?;
        let pulse = pulse::Pulse::new(head.seq);
        tokio::spawn(pulse::watch(pulse.clone(), readers.clone()));
        let writer = writer::Writer::start(
            writing.clone(),
            pulse.clone(),
            clock.clone(),
            options.max_queued_writes,
        )?;
        Ok((
            Self {
                readers,
                writing,
                writer,
                pulse,
                clock,
                location: location.clone(),
                reads: Arc::default(),
                inside: None,
            },
            fresh,
        ))
    }

    /// A connection for reading.
    pub async fn read(&self) -> Result<Conn> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match &self.inside {
            Some(inside) => inside.read().await,
            None => self.readers.acquire().await,
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
        let (inside, wishes) = inside::Inside::new();
        let holding = self.writer.write(actor, move |tx| Box::pin(wishes.serve(tx)));
        let store = Self {
            inside: Some(inside.clone()),
            ..self.clone()
        };
        let working = async move {
            let done = work(store).await;
            inside.end(keep && done.is_ok()).await;
            done
        };
        let (held, done) = futures_util::future::join(holding, working).await;
        // What the work says tells more than that its transaction ended before it.
        let done = done?;
        held.map(|()| done)
    }

    /// Whether everything happens in a transaction that is not over.
    pub fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// How often a connection for reading was asked for: what is answered from memory leaves it as it is.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
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
        match &self.inside {
            Some(inside) => inside.write(actor, job).await,
            None => self.writer.write(actor, job).await,
        }
    }

    /// Follows the number of the last change, also of those made by other processes.
    pub fn follow(&self) -> watch::Receiver<i64> {
        self.pulse.follow()
    }

    /// Follows the number of the last write to sessions of MCP clients, also by other processes.
    pub fn follow_sessions(&self) -> watch::Receiver<i64> {
        self.pulse.follow_sessions()
    }

    /// A number that differs from an earlier one when users, tokens or projects may have changed in between.
    pub fn accounts_generation(&self) -> u64 {
        self.pulse.accounts()
    }

    /// Which engine it is.
    pub fn engine(&self) -> Engine {
        self.readers.engine()
    }

    /// Where the database is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read().await?.one("SELECT 1 AS one", vec![]).await.map(drop)
    }

    /// How many writes wait for their turn.
    pub fn queued_writes(&self) -> usize {
        self.writer.queued()
    }

    /// Takes no more writes, finishes those that were accepted, and closes all connections.
    pub async fn close(self) {
        self.writer.close().await;
        self.writing.close().await;
        self.readers.close().await;
    }
}
