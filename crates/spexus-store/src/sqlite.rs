//! A SQLite file, spoken to on the thread that asks. A statement on a warm file takes some ten microseconds, which is
//! less than waking another thread to do it; the ones that may take long tell the scheduler first, so that nobody waits
//! behind them, and one that turns out to take long is interrupted and asked again on a thread of its own.

use crate::engine::Param;
use crate::error::{Error, Result};
use crate::shelf::Loan;
use crate::{Durability, StoreOptions};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, OpenFlags, Statement, ToSql};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Statements that stay prepared on each connection.
const PREPARED: usize = 256;

/// Steps of SQLite's machine between two looks at the clock: some hundred microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 4_000;

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only read.
    Read,
    /// Read and write what is there.
    Write,
    /// Make the file when there is none, and have it written ahead.
    Make,
}

/// How connections to one file are opened.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    access: Access,
    durability: Durability,
    patience: Duration,
}

impl File {
    pub(crate) fn new(path: PathBuf, access: Access, options: &StoreOptions) -> Self {
        Self {
            path,
            access,
            durability: options.durability,
            patience: Duration::from_millis(options.acquire_timeout_ms),
        }
    }

    pub(crate) fn open(&self) -> Result<Opened> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if self.access == Access::Make {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let conn = Connection::open_with_flags(&self.path, flags)?;
        conn.busy_timeout(self.patience)?;
        conn.set_prepared_statement_cache_capacity(PREPARED);
        // Else SQLite plans a statement anew whenever a LIMIT is bound, because another number might want another plan:
        // that was two thirds of a point read.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if self.access == Access::Make {
            conn.pragma_update(None, "journal_mode", "WAL")?;
        }
        let synchronous = match self.durability {
            Durability::PowerLoss => "FULL",
            Durability::ProcessCrash => "NORMAL",
        };
        conn.pragma_update(None, "synchronous", synchronous)?;
        conn.pragma_update(None, "foreign_keys", true)?;
        conn.pragma_update(None, "query_only", self.access == Access::Read)?;
        let watch = Arc::new(Watch::new());
        let seen = watch.clone();
        conn.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || seen.is_over()))?;
        Ok(Opened { conn, watch })
    }
}

/// A connection and what ends its statements.
#[derive(Debug)]
pub(crate) struct Opened {
    conn: Connection,
    watch: Arc<Watch>,
}

/// Why a statement has no answer.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Its time was over, or nobody waited any more.
    Interrupted,
    /// Anything else.
    Failed(Error),
}

/// What a statement on a file answers.
pub(crate) type Outcome<T> = std::result::Result<T, Asked>;

impl From<rusqlite::Error> for Asked {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => Asked::Interrupted,
            _ => Asked::Failed(error.into()),
        }
    }
}

impl From<Error> for Asked {
    fn from(error: Error) -> Self {
        Asked::Failed(error)
    }
}

impl Opened {
    /// The rows of an answer, up to so many.
    pub(crate) fn rows(
        &self,
        sql: &str,
        params: &[Param],
        limit: usize,
        until: Option<Instant>,
    ) -> Outcome<Vec<SqliteRow>> {
        self.watch.until(until);
        rows(&self.conn, sql, params, limit)
    }

    /// Runs a statement and tells how many rows it touched.
    pub(crate) fn run(&self, sql: &str, params: &[Param], until: Option<Instant>) -> Outcome<u64> {
        self.watch.until(until);
        run(&self.conn, sql, params)
    }

    /// Runs several statements without parameters.
    pub(crate) fn script(&self, sql: &str, until: Option<Instant>) -> Outcome<()> {
        self.watch.until(until);
        Ok(self.conn.execute_batch(sql)?)
    }

    /// Ends what somebody left open, before somebody else gets it.
    pub(crate) fn is_clean(&self) -> bool {
        self.conn.is_autocommit() || {
            self.watch.until(None);
            self.conn.execute_batch("ROLLBACK").is_ok()
        }
    }
}

/// Says when a statement has to end. SQLite asks it every few thousand steps.
#[derive(Debug)]
struct Watch {
    born: Instant,
    /// In nanoseconds since it was born.
    end: AtomicU64,
    /// The number of what is done aside, now or next.
    run: AtomicU64,
    /// The number of what nobody waits for.
    left: AtomicU64,
}

impl Watch {
    fn new() -> Self {
        Self {
            born: Instant::now(),
            end: AtomicU64::new(u64::MAX),
            run: AtomicU64::new(1),
            left: AtomicU64::new(0),
        }
    }

    fn until(&self, end: Option<Instant>) {
        let nanos = |end: Instant| end.saturating_duration_since(self.born).as_nanos() as u64;
        self.end.store(end.map_or(u64::MAX, nanos), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        self.left.load(Ordering::Relaxed) == self.run.load(Ordering::Relaxed)
            || (end != u64::MAX && self.born.elapsed().as_nanos() as u64 >= end)
    }
}

/// Interrupts what is done aside when whoever waits for it goes away.
struct Leave {
    watch: Arc<Watch>,
    run: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // What is over has given its number up, so nobody else's statement can be meant.
        self.watch.left.store(self.run, Ordering::Relaxed);
    }
}

/// Does something with a lent connection on a thread that may block. Whoever stops waiting interrupts it.
pub(crate) async fn aside<T: Send + 'static>(
    loan: Loan,
    work: impl FnOnce(&Loan) -> T + Send + 'static,
) -> Result<(Loan, T)> {
    let watch = loan.opened()?.watch.clone();
    let run = watch.run.load(Ordering::Relaxed);
    let _leave = Leave {
        watch: watch.clone(),
        run,
    };
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&loan);
        watch.run.fetch_add(1, Ordering::Relaxed);
        (loan, done)
    });
    done.await.map_err(|error| Error::Broken(error.to_string()))
}

/// How long a statement may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// One row by its key.
    Small,
    /// Nobody knows.
    Open,
}

/// Does something on this thread; where it may take long and others share the thread, they are moved away first.
pub(crate) fn here<T>(effort: Effort, work: impl FnOnce() -> T) -> T {
    let shared =
        || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if effort == Effort::Open && shared() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

fn rows(conn: &Connection, sql: &str, params: &[Param], limit: usize) -> Outcome<Vec<SqliteRow>> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let names: Arc<[Box<str>]> = statement.column_names().into_iter().map(Box::from).collect();
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let values = (0..names.len()).map(|at| row.get_ref(at).map(Value::try_from));
        let values = values.collect::<rusqlite::Result<std::result::Result<Vec<_>, _>>>()?;
        found.push(SqliteRow {
            names: names.clone(),
            values: values.map_err(|error| Error::Broken(error.to_string()))?,
        });
    }
    Ok(found)
}

fn run(conn: &Connection, sql: &str, params: &[Param]) -> Outcome<u64> {
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    if statement.column_count() == 0 {
        return Ok(statement.raw_execute()? as u64);
    }
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(0)
}

/// To SQLite `$2` is a name like any other, counted by where it first stands; here it means the second parameter.
fn bind(statement: &mut Statement<'_>, params: &[Param]) -> Result<()> {
    for at in 1..=statement.parameter_count() {
        let number = statement
            .parameter_name(at)
            .and_then(|name| name.get(1..)?.parse::<usize>().ok());
        let value = number.and_then(|number| params.get(number.checked_sub(1)?));
        let value = value.ok_or_else(|| Error::Broken(format!("parameter {at} has no value")))?;
        statement.raw_bind_parameter(at, value)?;
    }
    Ok(())
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Param::Int(value) => value.map(ValueRef::Integer),
            Param::Text(value) => value.as_deref().map(|text| ValueRef::Text(text.as_bytes())),
            Param::Id(value) => value.as_ref().map(|id| ValueRef::Blob(id.as_bytes())),
            Param::Bytes(value) => value.as_deref().map(ValueRef::Blob),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}

/// A row, taken out of the database.
#[derive(Debug)]
pub(crate) struct SqliteRow {
    names: Arc<[Box<str>]>,
    values: Vec<Value>,
}

impl SqliteRow {
    /// The value of a column, if there is such a column.
    pub(crate) fn find(&self, name: &str) -> Option<&Value> {
        let at = self.names.iter().position(|known| &**known == name)?;
        self.values.get(at)
    }

    /// The value of a column as the type it must have; `None` where it is empty.
    pub(crate) fn get<'r, T>(
        &'r self,
        name: &str,
        read: impl FnOnce(&'r Value) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.find(name) {
            None => Err(Error::Broken(format!("there is no column {name}"))),
            Some(Value::Null) => Ok(None),
            Some(value) => read(value)
                .map(Some)
                .ok_or_else(|| Error::Broken(format!("column {name} has another type"))),
        }
    }
}
