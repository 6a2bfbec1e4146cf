//! Connections to a SQLite file, lent and taken back. sqlx's own pool asks every connection that comes back whether it is
//! alive, in a task of its own: a trip to SQLite's thread for each read, which doubles what a small one costs. A file
//! beside the process does not go away, so here nobody asks; a connection whose thread has ended says so itself and is not kept.

use crate::error::Result;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Error, SqliteConnection};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Up to so many connections, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Shelf {
    connect: SqliteConnectOptions,
    /// Those nobody has, the last used on top: its cache is the warmest.
    idle: Mutex<Vec<SqliteConnection>>,
    places: Arc<Semaphore>,
    size: u32,
    acquire_timeout: Duration,
    closed: watch::Sender<bool>,
}

impl Shelf {
    pub(crate) fn new(connect: SqliteConnectOptions, size: u32, acquire_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            connect,
            idle: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(size as usize)),
            size,
            acquire_timeout,
            closed: watch::Sender::new(false),
        })
    }

    /// One of them, for as long as the loan lives.
    pub(crate) async fn lend(self: &Arc<Self>) -> Result<Loan> {
        let waited = tokio::time::timeout(self.acquire_timeout, self.places.clone().acquire_owned()).await;
        let place = waited
            .map_err(|_| Error::PoolTimedOut)?
            .map_err(|_| Error::PoolClosed)?;
        let idle = self.lock().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.connect.connect().await?,
        };
        Ok(Loan {
            conn: Some(conn),
            shelf: self.clone(),
            _place: place,
        })
    }

    /// Waits until it is closed.
    pub(crate) async fn closed(&self) {
        // An error means that nobody is left who could close it.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Waits until all are back, and closes them.
    pub(crate) async fn close(&self) {
        self.closed.send_replace(true);
        let all_back = self.places.acquire_many(self.size).await;
        self.places.close();
        drop(all_back);
        let idle = std::mem::take(&mut *self.lock());
        for conn in idle {
            // There is nothing left to lose on a connection for which nothing is open.
            let _ = conn.close().await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that goes back to its shelf.
#[derive(Debug)]
pub(crate) struct Loan {
    /// `None` once it is not worth keeping.
    conn: Option<SqliteConnection>,
    shelf: Arc<Shelf>,
    /// Given back after the connection, so that whoever waits for it finds one.
    _place: OwnedSemaphorePermit,
}

impl Loan {
    pub(crate) fn conn(&mut self) -> std::result::Result<&mut SqliteConnection, Error> {
        self.conn.as_mut().ok_or(Error::WorkerCrashed)
    }

    /// Ends the connection, and with it whatever transaction is open on it.
    pub(crate) fn discard(&mut self) {
        self.conn = None;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.shelf.lock().push(conn);
        }
    }
}
