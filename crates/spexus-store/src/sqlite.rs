//! A SQLite file, spoken to on the thread that asks. A statement on a warm file takes some ten microseconds, which is
//! less than waking another thread to do it; the ones that may take long tell the scheduler first, so that nobody waits
//! behind them, and one that turns out to take long is interrupted and run again on a blocking thread.

pub(crate) mod pool;

use crate::engine::Param;
use crate::error::{Error, Result};
use crate::{Durability, StoreOptions};
use pool::PooledConnection;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, Statement, ToSql};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Statements that stay prepared on each connection.
const MAX_PREPARED_STATEMENTS: usize = 256;

/// Steps of SQLite's machine between two checks of the interrupt: some hundred microseconds.
const STEPS_BETWEEN_INTERRUPT_CHECKS: i32 = 4_000;

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only read.
    Read,
    /// Read and write what is there.
    Write,
    /// Create the file when there is none, with a write-ahead log.
    Create,
}

/// How connections to one file are opened.
#[derive(Clone, Debug)]
pub(crate) struct SqliteConnectOptions {
    pub(crate) path: PathBuf,
    access: Access,
    durability: Durability,
    busy_timeout: Duration,
}

impl SqliteConnectOptions {
    pub(crate) fn new(path: PathBuf, access: Access, options: &StoreOptions) -> Self {
        Self {
            path,
            access,
            durability: options.durability,
            busy_timeout: Duration::from_millis(options.acquire_timeout_ms),
        }
    }

    pub(crate) fn open(&self) -> Result<SqliteConnection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if self.access == Access::Create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let conn = Connection::open_with_flags(&self.path, flags)?;
        conn.busy_timeout(self.busy_timeout)?;
        conn.set_prepared_statement_cache_capacity(MAX_PREPARED_STATEMENTS);
        // Else SQLite plans a statement anew whenever a LIMIT is bound, because another number might want another plan:
        // that was two thirds of a point read.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if self.access == Access::Create {
            conn.pragma_update(None, "journal_mode", "WAL")?;
        }
        let synchronous = match self.durability {
            Durability::PowerLoss => "FULL",
            Durability::ProcessCrash => "NORMAL",
        };
        conn.pragma_update(None, "synchronous", synchronous)?;
        conn.pragma_update(None, "foreign_keys", true)?;
        conn.pragma_update(None, "query_only", self.access == Access::Read)?;
        let interrupt = Arc::new(Interrupt::new());
        let seen = interrupt.clone();
        conn.progress_handler(STEPS_BETWEEN_INTERRUPT_CHECKS, Some(move || seen.is_over()))?;
        Ok(SqliteConnection {
            conn,
            interrupt,
            columns: Box::default(),
        })
    }
}

/// A connection to a SQLite file and the interrupt of its statements.
#[derive(Debug)]
pub(crate) struct SqliteConnection {
    conn: Connection,
    interrupt: Arc<Interrupt>,
    /// The columns of the answers to statements whose text is part of the program, by where it stands there: asking for their
    /// names was a twentieth of a point read.
    columns: Box<RefCell<HashMap<(usize, usize), Columns>>>,
}

/// The text of a statement. Only this crate writes statements, and nothing a client sends becomes part of one.
pub(crate) type Sql = Cow<'static, str>;

/// The names of the columns of an answer.
type Columns = Arc<[Box<str>]>;

/// Why a statement has no answer.
#[derive(Debug)]
pub(crate) enum StatementError {
    /// Its time was over, or nobody waited any more.
    Interrupted,
    /// Anything else.
    Failed(Error),
}

/// The result of a statement on a file.
pub(crate) type StatementResult<T> = std::result::Result<T, StatementError>;

impl From<rusqlite::Error> for StatementError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::OperationInterrupted) => StatementError::Interrupted,
            _ => StatementError::Failed(error.into()),
        }
    }
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        StatementError::Failed(error)
    }
}

impl SqliteConnection {
    /// The rows of an answer, up to so many.
    pub(crate) fn rows(
        &self,
        sql: &Sql,
        params: &[Param],
        limit: usize,
        until: Option<Instant>,
    ) -> StatementResult<Vec<SqliteRow>> {
        self.interrupt.set_deadline(until);
        let mut statement = self.conn.prepare_cached(sql)?;
        bind(&mut statement, params)?;
        let columns = self.columns(sql, &statement);
        rows(&mut statement, &columns, limit)
    }

    fn columns(&self, sql: &Sql, statement: &Statement<'_>) -> Columns {
        let ask = || statement.column_names().into_iter().map(Box::from).collect();
        let Cow::Borrowed(text) = sql else { return ask() };
        let mut known = self.columns.borrow_mut();
        let columns: &mut Columns = known
            .entry((text.as_ptr().addr(), text.len()))
            .or_insert_with(ask);
        // A table may have got columns meanwhile.
        if columns.len() != statement.column_count() {
            *columns = ask();
        }
        columns.clone()
    }

    /// Runs a statement and tells how many rows it touched.
    pub(crate) fn run(&self, sql: &str, params: &[Param], until: Option<Instant>) -> StatementResult<u64> {
        self.interrupt.set_deadline(until);
        run(&self.conn, sql, params)
    }

    /// Runs several statements without parameters.
    pub(crate) fn script(&self, sql: &str, until: Option<Instant>) -> StatementResult<()> {
        self.interrupt.set_deadline(until);
        Ok(self.conn.execute_batch(sql)?)
    }

    /// Ends what somebody left open, before somebody else gets it.
    pub(crate) fn is_clean(&self) -> bool {
        self.conn.is_autocommit() || {
            self.interrupt.set_deadline(None);
            self.conn.execute_batch("ROLLBACK").is_ok()
        }
    }
}

/// The interrupt of a connection: deadline and cancellation of its statements. SQLite asks it every few thousand steps.
#[derive(Debug)]
struct Interrupt {
    created: Instant,
    /// The deadline, in nanoseconds since it was created.
    deadline: AtomicU64,
    /// The number of the blocking run, now or next.
    run: AtomicU64,
    /// The number of the blocking run that was cancelled.
    cancelled: AtomicU64,
}

impl Interrupt {
    fn new() -> Self {
        Self {
            created: Instant::now(),
            deadline: AtomicU64::new(u64::MAX),
            run: AtomicU64::new(1),
            cancelled: AtomicU64::new(0),
        }
    }

    fn set_deadline(&self, end: Option<Instant>) {
        let nanos = |end: Instant| end.saturating_duration_since(self.created).as_nanos() as u64;
        self.deadline
            .store(end.map_or(u64::MAX, nanos), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let end = self.deadline.load(Ordering::Relaxed);
        self.cancelled.load(Ordering::Relaxed) == self.run.load(Ordering::Relaxed)
            || (end != u64::MAX && self.created.elapsed().as_nanos() as u64 >= end)
    }
}

/// Cancels a blocking run when whoever waits for it goes away.
struct InterruptOnDrop {
    interrupt: Arc<Interrupt>,
    run: u64,
}

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        // What is over has given its number up, so nobody else's statement can be meant.
        self.interrupt.cancelled.store(self.run, Ordering::Relaxed);
    }
}

/// Runs work with a connection on a blocking thread. Whoever stops waiting interrupts it.
pub(crate) async fn run_blocking<T: Send + 'static>(
    conn: PooledConnection,
    work: impl FnOnce(&PooledConnection) -> T + Send + 'static,
) -> Result<(PooledConnection, T)> {
    let interrupt = conn.opened()?.interrupt.clone();
    let run = interrupt.run.load(Ordering::Relaxed);
    let _interrupt_on_drop = InterruptOnDrop {
        interrupt: interrupt.clone(),
        run,
    };
    let done = tokio::task::spawn_blocking(move || {
        let done = work(&conn);
        interrupt.run.fetch_add(1, Ordering::Relaxed);
        (conn, done)
    });
    done.await.map_err(|error| Error::Broken(error.to_string()))
}

/// What a statement may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// One row by its key.
    PointRead,
    /// Any number of rows.
    Unbounded,
}

/// Runs work on this thread; where it may take long and others share the thread, they are moved away first.
pub(crate) fn run_inline<T>(cost: Cost, work: impl FnOnce() -> T) -> T {
    let shared =
        || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if cost == Cost::Unbounded && shared() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

fn rows(statement: &mut Statement<'_>, columns: &Columns, limit: usize) -> StatementResult<Vec<SqliteRow>> {
    let mut found = Vec::new();
    let mut rows = statement.raw_query();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let mut values = Vec::with_capacity(columns.len());
        for at in 0..columns.len() {
            values.push(SqliteValue::of(row.get_ref(at)?)?);
        }
        found.push(SqliteRow {
            columns: columns.clone(),
            values,
            next: AtomicUsize::new(0),
        });
    }
    Ok(found)
}

fn run(conn: &Connection, sql: &str, params: &[Param]) -> StatementResult<u64> {
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

/// A value, taken out of the database. Ids are most of what is in a row, and need no memory of their own.
#[derive(Debug)]
pub(crate) enum SqliteValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Id([u8; 16]),
    Blob(Vec<u8>),
}

impl SqliteValue {
    fn of(value: ValueRef<'_>) -> Result<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Self::Text(text.to_owned()),
                Err(error) => return Err(Error::Broken(error.to_string())),
            },
            ValueRef::Blob(bytes) => match bytes.try_into() {
                Ok(id) => Self::Id(id),
                Err(_) => Self::Blob(bytes.to_vec()),
            },
        })
    }
}

/// A row, taken out of the database.
#[derive(Debug)]
pub(crate) struct SqliteRow {
    columns: Columns,
    values: Vec<SqliteValue>,
    /// Where the next column is looked for first: most are read in the order of the statement.
    next: AtomicUsize,
}

impl SqliteRow {
    /// The value of a column, if there is such a column.
    pub(crate) fn find(&self, name: &str) -> Option<&SqliteValue> {
        let (before, after) = self.columns.split_at_checked(self.next.load(Ordering::Relaxed))?;
        let at = match after.iter().position(|known| **known == *name) {
            Some(at) => before.len() + at,
            None => before.iter().position(|known| **known == *name)?,
        };
        self.next.store(at + 1, Ordering::Relaxed);
        self.values.get(at)
    }

    /// The value of a column as the type it must have; `None` where it is empty.
    pub(crate) fn get<'r, T>(
        &'r self,
        name: &str,
        read: impl FnOnce(&'r SqliteValue) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.find(name) {
            None => Err(Error::Broken(format!("there is no column {name}"))),
            Some(SqliteValue::Null) => Ok(None),
            Some(value) => read(value)
                .map(Some)
                .ok_or_else(|| Error::Broken(format!("column {name} has another type"))),
        }
    }
}
