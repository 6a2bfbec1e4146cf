//! Connections to a SQLite file, lent and taken back.

use crate::engine::Param;
use crate::error::{Error, Result};
use crate::sqlite::{File, Opened, Outcome, SqliteRow};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Up to so many connections, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Shelf {
    file: File,
    /// Those nobody has, the last used on top: its cache is the warmest.
    idle: Mutex<Vec<Opened>>,
    places: Arc<Semaphore>,
    size: u32,
    acquire_timeout: Duration,
    closed: watch::Sender<bool>,
}

impl Shelf {
    pub(crate) fn new(file: File, size: u32, acquire_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            file,
            idle: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(size as usize)),
            size,
            acquire_timeout,
            closed: watch::Sender::new(false),
        })
    }

    /// One of them, for as long as the loan lives.
    pub(crate) async fn lend(self: &Arc<Self>) -> Result<Loan> {
        let place = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => tokio::time::timeout(self.acquire_timeout, self.places.clone().acquire_owned())
                .await
                .map_err(|_| Error::Unavailable("all connections are in use".into()))?
                .map_err(|_| Error::Unavailable("the store is closed".into()))?,
        };
        let idle = self.lock().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.file.open()?,
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
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Opened>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that goes back to its shelf.
#[derive(Debug)]
pub(crate) struct Loan {
    /// `None` once it is not worth keeping.
    conn: Option<Opened>,
    shelf: Arc<Shelf>,
    /// Given back after the connection, so that whoever waits for it finds one.
    _place: OwnedSemaphorePermit,
}

impl Loan {
    pub(crate) fn rows(
        &self,
        sql: &str,
        params: &[Param],
        limit: usize,
        until: Option<Instant>,
    ) -> Outcome<Vec<SqliteRow>> {
        self.opened()?.rows(sql, params, limit, until)
    }

    pub(crate) fn run(&self, sql: &str, params: &[Param], until: Option<Instant>) -> Outcome<u64> {
        self.opened()?.run(sql, params, until)
    }

    pub(crate) fn script(&self, sql: &str, until: Option<Instant>) -> Outcome<()> {
        self.opened()?.script(sql, until)
    }

    pub(crate) fn opened(&self) -> Result<&Opened> {
        let gone = || Error::Broken("a connection was used after its end".into());
        self.conn.as_ref().ok_or_else(gone)
    }

    /// Ends the connection, and with it whatever transaction is open on it.
    pub(crate) fn discard(&mut self) {
        self.conn = None;
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // One in the middle of a transaction must not go to somebody else.
        if let Some(conn) = self.conn.take().filter(Opened::is_clean) {
            self.shelf.lock().push(conn);
        }
    }
}
