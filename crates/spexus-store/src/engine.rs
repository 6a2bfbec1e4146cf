//! The two databases behind one small face: statements with numbered parameters in, rows with named columns out.
//!
//! Every statement of this crate is written once, in the SQL both engines share. What a statement binds is one of four
//! types; UUIDs are 16 bytes in SQLite and `UUID` in PostgreSQL, times and flags are integers in both.

use crate::error::{Error, Result};
use crate::sqlite::pool::PooledConnection;
use crate::sqlite::{self, Cost, Sql, SqliteRow, SqliteValue, StatementError, StatementResult, run_inline};
use crate::statement::{StatementLimits, statement_timeout};
use crate::witness::{self, DOUBT_AFTER, Witness};
use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use spexus_domain::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor, PgConnection, Postgres, Row as _, ValueRef};
use std::any::Any;
use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use uuid::Uuid;

/// The two engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file beside the process.
    Sqlite,
    /// A server that several processes share.
    Postgres,
}

/// A database connection, alone for its user.
#[derive(Debug)]
pub struct Conn {
    connection: Connection,
    /// Whether a statement has failed since someone last asked.
    failed: bool,
    /// Whether nobody knows what became of the last statement: the answer did not come, or was not waited for.
    lost: bool,
    limit: StatementLimits,
    /// Who is asked when a server does not answer.
    witness: Option<Witness>,
    /// Cache of settings and projects, true from one transaction to the next; only the writer, who knows when they change,
    /// has one.
    settings: Option<SettingsCache>,
    /// Whether something was changed that other writers remember.
    changed_shared: bool,
    /// Where it is to be given back to, when it was lent.
    return_to: Option<oneshot::Sender<ReturnedConnection>>,
    /// The statements that were run, for tests that look at their plans.
    #[cfg(test)]
    pub(crate) statements: Vec<(String, Vec<Param>)>,
}

/// A connection that was lent and comes back.
#[derive(Debug)]
pub(crate) struct ReturnedConnection {
    connection: Connection,
    failed: bool,
    lost: bool,
}

/// The pooled connection of either engine.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(PooledConnection),
    Postgres(PoolConnection<Postgres>),
    /// Lent to somebody else.
    Lent(Engine),
}

/// A value bound to a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Param {
    Int(Option<i64>),
    Text(Option<String>),
    Id(Option<Uuid>),
    Bytes(Option<Vec<u8>>),
}

/// The values bound to one statement, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::engine::Param::from($value)),*] };
}
pub(crate) use params;

/// A row of an answer.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

/// Settings and projects by the statement that read them.
type SettingsCache = HashMap<(&'static str, Vec<Param>), Box<dyn Any + Send + Sync>>;

/// Answers cached at most; more are asked again.
const MAX_CACHED_SETTINGS: usize = 256;

impl Conn {
    pub(crate) fn new(connection: Connection, limit: StatementLimits) -> Self {
        Self {
            connection,
            failed: false,
            lost: false,
            limit,
            witness: None,
            settings: None,
            changed_shared: false,
            return_to: None,
            #[cfg(test)]
            statements: Vec::new(),
        }
    }

    /// Checks the connection out: the one that can be used now, and where it comes back when it is dropped.
    pub(crate) fn checkout(&mut self) -> (Self, oneshot::Receiver<ReturnedConnection>) {
        let (return_to, back) = oneshot::channel();
        let lent_out = Connection::Lent(self.engine());
        let mut lent = Self::new(std::mem::replace(&mut self.connection, lent_out), self.limit);
        lent.witness = self.witness.clone();
        lent.return_to = Some(return_to);
        (lent, back)
    }

    /// Takes back what was lent.
    pub(crate) fn take_back(&mut self, returned: ReturnedConnection) {
        self.connection = returned.connection;
        self.failed |= returned.failed;
        self.lost |= returned.lost;
    }

    /// Lets a witness be asked when an answer is late.
    pub(crate) fn with_witness(mut self, witness: Witness) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Sets the deadline of the last statement; `None` for no other limit than that of each statement.
    pub(crate) fn set_deadline(&mut self, end: Option<Instant>) {
        self.limit.deadline = end;
    }

    /// Brings the deadline of the last statement forward, unless it is earlier already.
    pub(crate) fn end_by(&mut self, end: Instant) {
        self.limit.deadline = Some(self.limit.deadline.map_or(end, |known| known.min(end)));
    }

    /// Lets statements take as long as they take: for copies and checks of a whole database, which an operator waits for.
    pub(crate) fn without_limit(&mut self) {
        self.limit.statement = None;
    }

    /// Which engine it speaks to.
    pub fn engine(&self) -> Engine {
        match &self.connection {
            Connection::Sqlite(_) => Engine::Sqlite,
            Connection::Postgres(_) => Engine::Postgres,
            Connection::Lent(engine) => *engine,
        }
    }

    pub(crate) async fn all(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Row>> {
        self.fetch(sql.into(), params, usize::MAX, Cost::Unbounded).await
    }

    pub(crate) async fn optional(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<Row>> {
        let rows = self.fetch(sql.into(), params, 1, Cost::PointRead).await?;
        Ok(rows.into_iter().next())
    }

    async fn fetch(&mut self, sql: Sql, params: Vec<Param>, limit: usize, cost: Cost) -> Result<Vec<Row>> {
        #[cfg(test)]
        self.statements.push((sql.to_string(), params.clone()));
        let rows = match self.engine() {
            Engine::Sqlite => self.fetch_inline(sql, params, limit, cost).await,
            // Boxed: a round trip to a server is a large future, and every use case holds one in its own for each statement.
            Engine::Postgres => Box::pin(self.fetch_remote(sql, params, limit)).await,
        };
        self.note_failure(rows)
    }

    /// Runs a query on the file inline, on this thread. What turns out to take long is run again on a blocking thread: there
    /// it holds nobody up, and is interrupted when nobody waits for it any more.
    async fn fetch_inline(
        &mut self,
        sql: Sql,
        params: Vec<Param>,
        limit: usize,
        cost: Cost,
    ) -> Result<Vec<Row>> {
        let (until, is_last) = self.limit.inline_deadline()?;
        let Connection::Sqlite(conn) = &self.connection else {
            return Err(lent_out());
        };
        let asked = run_inline(cost, || conn.rows(&sql, &params, limit, until));
        match asked {
            Err(StatementError::Interrupted) if is_last => Err(statement_timeout()),
            Err(StatementError::Interrupted) => Box::pin(self.fetch_blocking(sql, params, limit)).await,
            Err(StatementError::Failed(error)) => Err(error),
            Ok(rows) => Ok(rows.into_iter().map(Row::Sqlite).collect()),
        }
    }

    async fn fetch_blocking(&mut self, sql: Sql, params: Vec<Param>, limit: usize) -> Result<Vec<Row>> {
        let until = self.limit.deadline_of_statement(Instant::now())?;
        let lent = Connection::Lent(Engine::Sqlite);
        let Connection::Sqlite(conn) = std::mem::replace(&mut self.connection, lent) else {
            return Err(lent_out());
        };
        let (conn, asked) =
            sqlite::run_blocking(conn, move |conn| conn.rows(&sql, &params, limit, until)).await?;
        self.connection = Connection::Sqlite(conn);
        match asked {
            Err(StatementError::Interrupted) => Err(statement_timeout()),
            Err(StatementError::Failed(error)) => Err(error),
            Ok(rows) => Ok(rows.into_iter().map(Row::Sqlite).collect()),
        }
    }

    async fn fetch_remote(&mut self, sql: Sql, params: Vec<Param>, limit: usize) -> Result<Vec<Row>> {
        let rows = self.ask_server(sql.clone(), async move |conn| {
            let query = bind_postgres(sqlx::query(AssertSqlSafe(sql)), params);
            match limit {
                1 => query.fetch_optional(conn).await.map(Vec::from_iter),
                _ => query.fetch_all(conn).await,
            }
        });
        Ok(rows.await?.into_iter().map(Row::Postgres).collect())
    }

    /// A round trip to the server, for as long as may be waited for its answer. A connection whose answer was not waited for is used
    /// no more.
    async fn ask_server<T>(
        &mut self,
        sql: Sql,
        ask: impl AsyncFnOnce(&mut PgConnection) -> std::result::Result<T, sqlx::Error>,
    ) -> Result<T> {
        let wait = self.limit.round_trip_timeout()?;
        let Connection::Postgres(conn) = &mut self.connection else {
            return Err(lent_out());
        };
        if std::mem::replace(&mut self.lost, true) {
            return Err(Error::Unavailable("the connection was given up".into()));
        }
        let asked = ask(conn);
        let answer = match wait {
            None => asked.await,
            Some(wait) => match answered_within(wait, asked, self.witness.as_ref(), &sql).await {
                Some(answer) => answer,
                None => return Err(Error::Unavailable("a statement was not answered".into())),
            },
        };
        self.lost = answer.as_ref().is_err_and(crate::error::ends_connection);
        answer.map_err(Error::from)
    }

    /// Begins to cache the answers of `all_cached`. Whoever does so clears the cache when they are no longer true.
    pub(crate) fn enable_settings_cache(&mut self) {
        self.settings = Some(HashMap::new());
    }

    /// Empties the cache, because a setting or a project was changed; others have to know.
    pub(crate) fn clear_settings_cache(&mut self) {
        self.changed_shared = true;
        self.forget_settings();
    }

    /// Says that something was changed that every writer remembers.
    pub(crate) fn note_shared_change(&mut self) {
        self.changed_shared = true;
    }

    /// Whether something was changed that every writer remembers, since the last time this was asked.
    pub(crate) fn take_shared_change(&mut self) -> bool {
        std::mem::take(&mut self.changed_shared)
    }

    /// Empties the cache: a setting or a project may be another.
    pub(crate) fn forget_settings(&mut self) {
        if let Some(kept) = &mut self.settings {
            kept.clear();
        }
    }

    /// What is read from the rows of a statement, through the cache: for settings and projects, which are read by every write
    /// and hardly ever change.
    pub(crate) async fn cached<T: Clone + Send + Sync + 'static>(
        &mut self,
        sql: &'static str,
        params: Vec<Param>,
        read: fn(&[Row]) -> Result<T>,
    ) -> Result<T> {
        let key = (sql, params);
        let known = self.settings.as_ref().and_then(|kept| kept.get(&key));
        if let Some(found) = known.and_then(|known| known.downcast_ref::<T>()) {
            return Ok(found.clone());
        }
        let found = read(&self.all(sql, key.1.clone()).await?)?;
        if let Some(kept) = &mut self.settings {
            if kept.len() == MAX_CACHED_SETTINGS {
                kept.clear();
            }
            kept.insert(key, Box::new(found.clone()));
        }
        Ok(found)
    }

    pub(crate) async fn one(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Row> {
        self.optional(sql, params)
            .await?
            .ok_or_else(|| Error::Broken("a statement that must answer did not".into()))
    }

    /// Runs a statement and tells how many rows it touched.
    pub(crate) async fn run(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<u64> {
        let sql = sql.into();
        let touched = match self.engine() {
            Engine::Sqlite => self.execute_inline(|conn, until| conn.run(&sql, &params, until)),
            Engine::Postgres => {
                let done = self.ask_server(sql.clone(), async move |conn| {
                    let query = bind_postgres(sqlx::query(AssertSqlSafe(sql)), params);
                    query.execute(conn).await
                });
                Box::pin(done).await.map(|done| done.rows_affected())
            }
        };
        self.note_failure(touched)
    }

    /// Runs a statement on the file inline that must not be run twice.
    fn execute_inline<T>(
        &mut self,
        work: impl FnOnce(&PooledConnection, Option<Instant>) -> StatementResult<T>,
    ) -> Result<T> {
        let until = self.limit.deadline_of_statement(Instant::now())?;
        let Connection::Sqlite(conn) = &self.connection else {
            return Err(lent_out());
        };
        run_inline(Cost::Unbounded, || work(conn, until)).map_err(|fault| match fault {
            StatementError::Interrupted => statement_timeout(),
            StatementError::Failed(error) => {
                self.lost |= matches!(error, Error::OutcomeUnknown(_));
                error
            }
        })
    }

    /// Runs several statements without parameters.
    pub(crate) async fn script(&mut self, sql: impl Into<Sql>) -> Result<()> {
        let sql = sql.into();
        let done = match self.engine() {
            Engine::Sqlite => self.execute_inline(|conn, until| conn.script(&sql, until)),
            Engine::Postgres => {
                let done = self.ask_server(sql.clone(), async move |conn| {
                    conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await
                });
                Box::pin(done).await.map(drop)
            }
        };
        self.note_failure(done)
    }

    /// Runs several statements without parameters on a server, in one trip, and returns the rows of all of them.
    pub(crate) async fn script_rows(&mut self, sql: String) -> Result<Vec<Row>> {
        let rows = match self.engine() {
            Engine::Sqlite => Err(Error::Broken("a file has no trips to save".into())),
            Engine::Postgres => {
                let text = Sql::from(sql.clone());
                let rows = self.ask_server(text, async move |conn| {
                    conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await
                });
                Box::pin(rows).await
            }
        };
        let rows = rows.map(|rows| rows.into_iter().map(Row::Postgres).collect());
        self.note_failure(rows)
    }

    /// Whether a statement has failed since the last time this was asked.
    pub(crate) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.failed)
    }

    /// Whether the database still answers on it.
    pub(crate) async fn answers_within(&mut self, wait: Duration) -> bool {
        match self.engine() {
            Engine::Sqlite => true,
            Engine::Postgres => {
                let asked = self.ask_server("".into(), async |conn| conn.ping().await);
                tokio::time::timeout(wait, asked)
                    .await
                    .is_ok_and(|answer| answer.is_ok())
            }
        }
    }

    /// Whether nobody knows what became of the last statement.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Closes it instead of giving it back, and with it whatever transaction is open on it.
    pub(crate) fn abandon(mut self) {
        self.connection.abandon();
        self.return_to = None;
    }

    fn note_failure<T>(&mut self, result: Result<T>) -> Result<T> {
        self.failed |= result.is_err();
        result
    }
}

impl Connection {
    /// Ends the connection at once. The server notices that nobody listens, and stops what it still does for it.
    fn abandon(&mut self) {
        let engine = match self {
            Connection::Sqlite(_) => Engine::Sqlite,
            Connection::Postgres(_) => Engine::Postgres,
            Connection::Lent(engine) => *engine,
        };
        match std::mem::replace(self, Connection::Lent(engine)) {
            Connection::Sqlite(mut conn) => conn.discard(),
            Connection::Postgres(conn) => drop(conn.detach()),
            Connection::Lent(_) => {}
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        //= specs/spexus-store.md#time
        //# A statement that nobody waits for any more MUST be interrupted.
        if self.lost {
            self.connection.abandon();
        }
        let Some(return_to) = self.return_to.take() else {
            return;
        };
        let lent_out = Connection::Lent(self.engine());
        let returned = ReturnedConnection {
            connection: std::mem::replace(&mut self.connection, lent_out),
            failed: self.failed,
            lost: self.lost,
        };
        // Where nobody waits for it, nobody will end the transaction that is open on it either.
        if let Err(mut returned) = return_to.send(returned) {
            returned.connection.abandon();
        }
    }
}

//= specs/spexus-store.md#time
//# Where a server can be reached, a connection on which it does not answer MUST be given up within seconds, however long a
//# statement may take.
/// What a server answers, unless it is too late or the connection is dead.
async fn answered_within<T>(
    wait: Duration,
    asked: impl Future<Output = T>,
    witness: Option<&Witness>,
    sql: &str,
) -> Option<T> {
    let mut asked = pin!(asked);
    let Some(witness) = witness.filter(|_| wait > DOUBT_AFTER) else {
        return tokio::time::timeout(wait, asked).await.ok();
    };
    if let Ok(answer) = tokio::time::timeout(DOUBT_AFTER, &mut asked).await {
        return Some(answer);
    }
    let opening = witness::opening(sql);
    tokio::select! {
        biased;
        answer = &mut asked => return Some(answer),
        () = witness.until_dead(&opening) => {}
        () = tokio::time::sleep(wait - DOUBT_AFTER) => {}
    }
    // It may have come in the very moment in which it was given up.
    asked.now_or_never()
}

fn lent_out() -> Error {
    Error::Unavailable("the connection is lent to somebody else".into())
}

impl Row {
    /// Whether there is such a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Sqlite(row) => row.find(name).is_some(),
            Self::Postgres(row) => row.try_column(name).is_ok(),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Result<i64> {
        self.opt_int(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_int(&self, name: &str) -> Result<Option<i64>> {
        Ok(match self {
            Self::Sqlite(row) => row.get(name, |value| match value {
                SqliteValue::Integer(number) => Some(*number),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.int(name)? != 0)
    }

    pub(crate) fn time(&self, name: &str) -> Result<Timestamp> {
        self.int(name).map(Timestamp)
    }

    pub(crate) fn opt_time(&self, name: &str) -> Result<Option<Timestamp>> {
        Ok(self.opt_int(name)?.map(Timestamp))
    }

    pub(crate) fn float(&self, name: &str) -> Result<f64> {
        Ok(match self {
            Self::Sqlite(row) => row
                .get(name, |value| match value {
                    SqliteValue::Real(number) => Some(*number),
                    // A whole number is kept as one; the exact ones are more than any score needs.
                    SqliteValue::Integer(number) => Some(*number as f64),
                    _ => None,
                })?
                .ok_or_else(|| null(name))?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn text(&self, name: &str) -> Result<String> {
        self.opt_text(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_text(&self, name: &str) -> Result<Option<String>> {
        Ok(match self {
            Self::Sqlite(row) => row.get(name, |value| match value {
                SqliteValue::Text(text) => Some(text.clone()),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    /// A text where it stands, for those who read very many.
    pub(crate) fn str(&self, name: &str) -> Result<&str> {
        let text = match self {
            Self::Sqlite(row) => row.get(name, |value| match value {
                SqliteValue::Text(text) => Some(text.as_str()),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        };
        text.ok_or_else(|| null(name))
    }

    pub(crate) fn id(&self, name: &str) -> Result<Uuid> {
        self.opt_id(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_id(&self, name: &str) -> Result<Option<Uuid>> {
        Ok(match self {
            Self::Sqlite(row) => row.get(name, |value| match value {
                SqliteValue::Id(bytes) => Some(Uuid::from_bytes(*bytes)),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Sqlite(row) => row
                .get(name, |value| match value {
                    SqliteValue::Blob(bytes) => Some(bytes.clone()),
                    SqliteValue::Id(bytes) => Some(bytes.to_vec()),
                    _ => None,
                })?
                .ok_or_else(|| null(name))?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    /// A JSON object kept as text.
    pub(crate) fn object(&self, name: &str) -> Result<Map<String, Value>> {
        let text = self.str(name)?;
        if text == "{}" {
            return Ok(Map::new());
        }
        serde_json::from_str(text)
            .map_err(|error| Error::Broken(format!("column {name} is not an object: {error}")))
    }

    /// A value kept as JSON text.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_str(&self.text(name)?)
            .map_err(|error| Error::Broken(format!("column {name} cannot be read: {error}")))
    }

    /// Any column as a parameter of the same type, for copying rows between databases.
    pub(crate) fn param(&self, name: &str, column: ColumnType) -> Result<Param> {
        Ok(match column {
            ColumnType::Int => Param::Int(self.opt_int(name)?),
            ColumnType::Text => Param::Text(self.opt_text(name)?),
            ColumnType::Id => Param::Id(self.opt_id(name)?),
            ColumnType::Bytes if self.is_null(name)? => Param::Bytes(None),
            ColumnType::Bytes => Param::Bytes(Some(self.bytes(name)?)),
        })
    }

    fn is_null(&self, name: &str) -> Result<bool> {
        Ok(match self {
            Self::Sqlite(row) => row.get(name, |_| Some(()))?.is_none(),
            Self::Postgres(row) => row.try_get_raw(name)?.is_null(),
        })
    }
}

/// The types a column can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Int,
    Text,
    Id,
    Bytes,
}

fn null(name: &str) -> Error {
    Error::Broken(format!("column {name} is empty"))
}

macro_rules! from {
    ($($type:ty => $variant:ident, $value:ident => $convert:expr;)*) => {
        $(
            impl From<$type> for Param {
                fn from($value: $type) -> Self {
                    Param::$variant(Some($convert))
                }
            }
            impl From<Option<$type>> for Param {
                fn from(value: Option<$type>) -> Self {
                    Param::$variant(value.map(|$value| $convert))
                }
            }
        )*
    };
}

from! {
    i64 => Int, value => value;
    u32 => Int, value => i64::from(value);
    u8 => Int, value => i64::from(value);
    bool => Int, value => i64::from(value);
    Timestamp => Int, value => value.0;
    &str => Text, value => value.to_owned();
    String => Text, value => value;
    &String => Text, value => value.clone();
    Uuid => Id, value => value;
    Vec<u8> => Bytes, value => value;
    [u8; 32] => Bytes, value => value.to_vec();
}

type PostgresQuery<'q> = sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments>;

fn bind_postgres(mut query: PostgresQuery<'_>, params: Vec<Param>) -> PostgresQuery<'_> {
    for param in params {
        query = match param {
            Param::Int(value) => query.bind(value),
            Param::Text(value) => query.bind(value),
            Param::Id(value) => query.bind(value),
            Param::Bytes(value) => query.bind(value),
        };
    }
    query
}
