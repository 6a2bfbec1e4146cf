//! The connection pool of a SQLite file.

use crate::engine::Param;
use crate::error::{Error, Result};
use crate::sqlite::{Sql, SqliteConnectOptions, SqliteConnection, SqliteRow, StatementResult};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// A pool of up to so many connections, opened when they are first needed, last in first out.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    options: SqliteConnectOptions,
    /// Idle connections, the last used on top: its cache is the warmest.
    idle: Mutex<Vec<SqliteConnection>>,
    permits: Arc<Semaphore>,
    size: u32,
    acquire_timeout: Duration,
    closed: watch::Sender<bool>,
}

impl ConnectionPool {
    pub(crate) fn new(options: SqliteConnectOptions, size: u32, acquire_timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            options,
            idle: Mutex::new(Vec::new()),
            permits: Arc::new(Semaphore::new(size as usize)),
            size,
            acquire_timeout,
            closed: watch::Sender::new(false),
        })
    }

    /// A connection, for as long as the guard lives.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<PooledConnection> {
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => tokio::time::timeout(self.acquire_timeout, self.permits.clone().acquire_owned())
                .await
                .map_err(|_| Error::Unavailable("all connections are in use".into()))?
                .map_err(|_| Error::Unavailable("the store is closed".into()))?,
        };
        let idle = self.lock().pop();
        let conn = match idle {
            Some(conn) => conn,
            None => self.options.open()?,
        };
        Ok(PooledConnection {
            conn: Some(conn),
            pool: self.clone(),
            _permit: permit,
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
        let all_permits = self.permits.acquire_many(self.size).await;
        self.permits.close();
        drop(all_permits);
        self.lock().clear();
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock()
    }
}

/// A guard: a connection that goes back to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    /// `None` once it is not worth keeping.
    conn: Option<SqliteConnection>,
    pool: Arc<ConnectionPool>,
    /// Given back after the connection, so that whoever waits for it finds one.
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    pub(crate) fn rows(
        &self,
        sql: &Sql,
        params: &[Param],
        limit: usize,
        until: Option<Instant>,
    ) -> StatementResult<Vec<SqliteRow>> {
        self.opened()?.rows(sql, params, limit, until)
    }

    pub(crate) fn run(&self, sql: &Sql, params: &[Param], until: Option<Instant>) -> StatementResult<u64> {
        self.opened()?.run(sql, params, until)
    }

    pub(crate) fn script(&self, sql: &str, until: Option<Instant>) -> StatementResult<()> {
        self.opened()?.script(sql, until)
    }

    pub(crate) fn opened(&self) -> Result<&SqliteConnection> {
        let gone = || Error::Broken("a connection was used after its end".into());
        self.conn.as_ref().ok_or_else(gone)
    }

    /// Ends the connection, and with it whatever transaction is open on it.
    pub(crate) fn discard(&mut self) {
        self.conn = None;
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        // One in the middle of a transaction must not go to somebody else.
        if let Some(conn) = self.conn.take().filter(SqliteConnection::is_clean) {
            self.pool.lock().push(conn);
        }
    }
}
