//! The two databases behind one small face: statements with numbered parameters in, rows with named columns out.
//!
//! Every statement of this crate is written once, in the SQL both engines share. What a statement binds is one of four
//! types; UUIDs are 16 bytes in SQLite and `UUID` in PostgreSQL, times and flags are integers in both.

use crate::error::{Error, Result};
use crate::shelf::Loan;
use crate::sqlite::{self, Effort, SqliteRow, here};
use crate::sqlite::{Asked, Outcome};
use crate::statement::{Limit, too_long};
use rusqlite::types::Value as Held;
use serde_json::{Map, Value};
use spexus_domain::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor, PgConnection, Postgres, Row as _, ValueRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
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

/// A connection, alone for its user.
#[derive(Debug)]
pub struct Conn {
    link: Link,
    /// Whether a statement has failed since someone last asked.
    failed: bool,
    /// Whether nobody knows what became of the last statement: the answer did not come, or was not waited for.
    lost: bool,
    limit: Limit,
    /// Answers that stay true from one transaction to the next; only the writer, who knows when they end, keeps any.
    settled: Option<Settled>,
    /// Where it is to be given back to, when it was lent.
    home: Option<oneshot::Sender<Returned>>,
    /// What was asked, for tests that look at how it is answered.
    #[cfg(test)]
    pub(crate) asked: Vec<(String, Vec<Param>)>,
}

/// A connection that was lent and comes back.
#[derive(Debug)]
pub(crate) struct Returned {
    link: Link,
    failed: bool,
    lost: bool,
}

#[derive(Debug)]
pub(crate) enum Link {
    Sqlite(Loan),
    Postgres(PoolConnection<Postgres>),
    /// Lent to somebody else.
    Away(Engine),
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

/// Answers by what was asked.
type Settled = HashMap<(&'static str, Vec<Param>), Arc<[Row]>>;

/// Answers kept at most; more are asked again.
const MAX_SETTLED: usize = 256;

/// The text of a statement. Only this crate writes statements, and nothing a client sends becomes part of one.
type Sql = Cow<'static, str>;

impl Conn {
    pub(crate) fn new(link: Link, limit: Limit) -> Self {
        Self {
            link,
            failed: false,
            lost: false,
            limit,
            settled: None,
            home: None,
            #[cfg(test)]
            asked: Vec::new(),
        }
    }

    /// Lends the connection: the one that can be used now, and where it comes back when it is dropped.
    pub(crate) fn lend(&mut self) -> (Self, oneshot::Receiver<Returned>) {
        let (home, back) = oneshot::channel();
        let away = Link::Away(self.engine());
        let mut lent = Self::new(std::mem::replace(&mut self.link, away), self.limit);
        lent.home = Some(home);
        (lent, back)
    }

    /// Takes back what was lent.
    pub(crate) fn take_back(&mut self, returned: Returned) {
        self.link = returned.link;
        self.failed |= returned.failed;
        self.lost |= returned.lost;
    }

    /// When the last statement must have ended; `None` for no other limit than that of each statement.
    pub(crate) fn end_by(&mut self, end: Option<Instant>) {
        self.limit.end_by = end;
    }

    /// Lets statements take as long as they take: for copies and checks of a whole database, which an operator waits for.
    pub(crate) fn without_limit(&mut self) {
        self.limit.statement = None;
    }

    /// Which engine it speaks to.
    pub fn engine(&self) -> Engine {
        match &self.link {
            Link::Sqlite(_) => Engine::Sqlite,
            Link::Postgres(_) => Engine::Postgres,
            Link::Away(engine) => *engine,
        }
    }

    pub(crate) async fn all(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Row>> {
        self.fetch(sql.into(), params, usize::MAX, Effort::Open).await
    }

    pub(crate) async fn optional(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<Row>> {
        let rows = self.fetch(sql.into(), params, 1, Effort::Small).await?;
        Ok(rows.into_iter().next())
    }

    async fn fetch(
        &mut self,
        sql: Sql,
        params: Vec<Param>,
        limit: usize,
        effort: Effort,
    ) -> Result<Vec<Row>> {
        #[cfg(test)]
        self.asked.push((sql.to_string(), params.clone()));
        let rows = match self.engine() {
            Engine::Sqlite => self.fetch_here(sql, params, limit, effort).await,
            Engine::Postgres => self.fetch_there(sql, params, limit).await,
        };
        self.noted(rows)
    }

    /// Asks the file on this thread. What turns out to take long is asked again on a thread of its own: there it holds
    /// nobody up, and ends when nobody waits for it any more.
    async fn fetch_here(
        &mut self,
        sql: Sql,
        params: Vec<Param>,
        limit: usize,
        effort: Effort,
    ) -> Result<Vec<Row>> {
        let (until, is_last) = self.limit.here()?;
        let Link::Sqlite(loan) = &self.link else {
            return Err(away());
        };
        let asked = here(effort, || loan.rows(&sql, &params, limit, until));
        match asked {
            Err(Asked::Interrupted) if is_last => Err(too_long()),
            Err(Asked::Interrupted) => self.fetch_aside(sql, params, limit).await,
            Err(Asked::Failed(error)) => Err(error),
            Ok(rows) => Ok(rows.into_iter().map(Row::Sqlite).collect()),
        }
    }

    async fn fetch_aside(&mut self, sql: Sql, params: Vec<Param>, limit: usize) -> Result<Vec<Row>> {
        let until = self.limit.until(Instant::now())?;
        let away_now = Link::Away(Engine::Sqlite);
        let Link::Sqlite(loan) = std::mem::replace(&mut self.link, away_now) else {
            return Err(away());
        };
        let (loan, asked) = sqlite::aside(loan, move |loan| loan.rows(&sql, &params, limit, until)).await?;
        self.link = Link::Sqlite(loan);
        match asked {
            Err(Asked::Interrupted) => Err(too_long()),
            Err(Asked::Failed(error)) => Err(error),
            Ok(rows) => Ok(rows.into_iter().map(Row::Sqlite).collect()),
        }
    }

    async fn fetch_there(&mut self, sql: Sql, params: Vec<Param>, limit: usize) -> Result<Vec<Row>> {
        let rows = self.there(async move |conn| {
            let query = bind_postgres(sqlx::query(AssertSqlSafe(sql)), params);
            match limit {
                1 => query.fetch_optional(conn).await.map(Vec::from_iter),
                _ => query.fetch_all(conn).await,
            }
        });
        Ok(rows.await?.into_iter().map(Row::Postgres).collect())
    }

    /// Asks the server, for as long as may be waited for its answer. A connection whose answer was not waited for is used
    /// no more.
    async fn there<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut PgConnection) -> std::result::Result<T, sqlx::Error>,
    ) -> Result<T> {
        let wait = self.limit.trip()?;
        let Link::Postgres(conn) = &mut self.link else {
            return Err(away());
        };
        if std::mem::replace(&mut self.lost, true) {
            return Err(Error::Unavailable("the connection was given up".into()));
        }
        let asked = ask(conn);
        let answer = match wait {
            None => asked.await,
            Some(wait) => match tokio::time::timeout(wait, asked).await {
                Ok(answer) => answer,
                Err(_) => return Err(Error::Unavailable("a statement was not answered".into())),
            },
        };
        self.lost = answer.as_ref().is_err_and(crate::error::ends_connection);
        answer.map_err(Error::from)
    }

    /// Begins to keep answers of `settled`. Whoever does so says when they are no longer true.
    pub(crate) fn keep_settled(&mut self) {
        self.settled = Some(HashMap::new());
    }

    /// Forgets what was kept: a setting or a project has changed, or may have.
    pub(crate) fn forget_settled(&mut self) {
        if let Some(kept) = &mut self.settled {
            kept.clear();
        }
    }

    /// Like `all`, for settings and projects, which are read by every write and hardly ever change.
    pub(crate) async fn settled(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Arc<[Row]>> {
        let key = (sql, params);
        if let Some(rows) = self.settled.as_ref().and_then(|kept| kept.get(&key)) {
            return Ok(rows.clone());
        }
        let rows: Arc<[Row]> = self.all(sql, key.1.clone()).await?.into();
        if let Some(kept) = &mut self.settled {
            if kept.len() == MAX_SETTLED {
                kept.clear();
            }
            kept.insert(key, rows.clone());
        }
        Ok(rows)
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
            Engine::Sqlite => self.here_now(|loan, until| loan.run(&sql, &params, until)),
            Engine::Postgres => {
                let done = self.there(async move |conn| {
                    let query = bind_postgres(sqlx::query(AssertSqlSafe(sql)), params);
                    query.execute(conn).await
                });
                done.await.map(|done| done.rows_affected())
            }
        };
        self.noted(touched)
    }

    /// Does something on the file that cannot be asked twice.
    fn here_now<T>(&mut self, work: impl FnOnce(&Loan, Option<Instant>) -> Outcome<T>) -> Result<T> {
        let until = self.limit.until(Instant::now())?;
        let Link::Sqlite(loan) = &self.link else {
            return Err(away());
        };
        here(Effort::Open, || work(loan, until)).map_err(|fault| match fault {
            Asked::Interrupted => too_long(),
            Asked::Failed(error) => {
                self.lost |= matches!(error, Error::OutcomeUnknown(_));
                error
            }
        })
    }

    /// Runs several statements without parameters.
    pub(crate) async fn script(&mut self, sql: impl Into<Sql>) -> Result<()> {
        let sql = sql.into();
        let done = match self.engine() {
            Engine::Sqlite => self.here_now(|loan, until| loan.script(&sql, until)),
            Engine::Postgres => {
                let done =
                    self.there(async move |conn| conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await);
                done.await.map(drop)
            }
        };
        self.noted(done)
    }

    /// Runs several statements without parameters on a server, in one trip, and returns the rows of all of them.
    pub(crate) async fn script_rows(&mut self, sql: String) -> Result<Vec<Row>> {
        let rows = match self.engine() {
            Engine::Sqlite => Err(Error::Broken("a file has no trips to save".into())),
            Engine::Postgres => {
                self.there(async move |conn| conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(sql))).await)
                    .await
            }
        };
        let rows = rows.map(|rows| rows.into_iter().map(Row::Postgres).collect());
        self.noted(rows)
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
                let asked = self.there(async |conn| conn.ping().await);
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
        self.link.abandon();
        self.home = None;
    }

    fn noted<T>(&mut self, result: Result<T>) -> Result<T> {
        self.failed |= result.is_err();
        result
    }
}

impl Link {
    /// Ends the connection at once. The server notices that nobody listens, and stops what it still does for it.
    fn abandon(&mut self) {
        let engine = match self {
            Link::Sqlite(_) => Engine::Sqlite,
            Link::Postgres(_) => Engine::Postgres,
            Link::Away(engine) => *engine,
        };
        match std::mem::replace(self, Link::Away(engine)) {
            Link::Sqlite(mut loan) => loan.discard(),
            Link::Postgres(conn) => drop(conn.detach()),
            Link::Away(_) => {}
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        //= specs/spexus-store.md#time
        //# A statement that nobody waits for any more MUST be interrupted.
        if self.lost {
            self.link.abandon();
        }
        let Some(home) = self.home.take() else { return };
        let away = Link::Away(self.engine());
        let returned = Returned {
            link: std::mem::replace(&mut self.link, away),
            failed: self.failed,
            lost: self.lost,
        };
        // Where nobody waits for it, nobody will end the transaction that is open on it either.
        if let Err(mut returned) = home.send(returned) {
            returned.link.abandon();
        }
    }
}

fn away() -> Error {
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
                Held::Integer(number) => Some(*number),
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
                    Held::Real(number) => Some(*number),
                    // A whole number is kept as one; the exact ones are more than any score needs.
                    Held::Integer(number) => Some(*number as f64),
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
                Held::Text(text) => Some(text.clone()),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn id(&self, name: &str) -> Result<Uuid> {
        self.opt_id(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_id(&self, name: &str) -> Result<Option<Uuid>> {
        Ok(match self {
            Self::Sqlite(row) => row.get(name, |value| match value {
                Held::Blob(bytes) => Uuid::from_slice(bytes).ok(),
                _ => None,
            })?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Sqlite(row) => row
                .get(name, |value| match value {
                    Held::Blob(bytes) => Some(bytes.clone()),
                    _ => None,
                })?
                .ok_or_else(|| null(name))?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    /// A JSON object kept as text.
    pub(crate) fn object(&self, name: &str) -> Result<Map<String, Value>> {
        let text = self.text(name)?;
        if text == "{}" {
            return Ok(Map::new());
        }
        serde_json::from_str(&text)
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
