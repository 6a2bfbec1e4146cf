//! The two databases behind one small face: statements with numbered parameters in, rows with named columns out.
//!
//! Every statement of this crate is written once, in the SQL both engines share. What a statement binds is one of four
//! types; UUIDs are 16 bytes in SQLite and `UUID` in PostgreSQL, times and flags are integers in both.

use crate::error::{Error, Result};
use crate::shelf::Loan;
use serde_json::{Map, Value};
use spexus_domain::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor, Postgres, Row as _, Sqlite, ValueRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
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
    /// Statements nobody needs an answer of, which go to SQLite with the next one.
    posted: Vec<(&'static str, Vec<Param>)>,
    /// Answers that stay true from one transaction to the next; only the writer, who knows when they end, keeps any.
    settled: Option<HashMap<(&'static str, Vec<Param>), Arc<[Row]>>>,
    /// What was asked, for tests that look at how it is answered.
    #[cfg(test)]
    pub(crate) asked: Vec<(String, Vec<Param>)>,
}

#[derive(Debug)]
pub(crate) enum Link {
    Sqlite(Loan),
    Postgres(PoolConnection<Postgres>),
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
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

/// Answers kept at most; more are asked again.
const MAX_SETTLED: usize = 256;

/// The text of a statement. Only this crate writes statements, and nothing a client sends becomes part of one.
type Sql = Cow<'static, str>;

impl Conn {
    pub(crate) fn new(link: Link) -> Self {
        Self {
            link,
            failed: false,
            posted: Vec::new(),
            settled: None,
            #[cfg(test)]
            asked: Vec::new(),
        }
    }

    /// Which engine it speaks to.
    pub fn engine(&self) -> Engine {
        match &self.link {
            Link::Sqlite(_) => Engine::Sqlite,
            Link::Postgres(_) => Engine::Postgres,
        }
    }

    pub(crate) async fn all(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Vec<Row>> {
        let sql = sql.into();
        #[cfg(test)]
        self.asked.push((sql.to_string(), params.clone()));
        let (sql, params) = self.behind_posted(sql, params);
        let sql = AssertSqlSafe(sql);
        let rows = match &mut self.link {
            Link::Sqlite(loan) => bind_sqlite(sqlx::query(sql), params)
                .fetch_all(loan.conn()?)
                .await
                .map(|rows| rows.into_iter().map(Row::Sqlite).collect()),
            Link::Postgres(conn) => bind_postgres(sqlx::query(sql), params)
                .fetch_all(&mut **conn)
                .await
                .map(|rows| rows.into_iter().map(Row::Postgres).collect()),
        };
        self.noted(rows)
    }

    pub(crate) async fn optional(&mut self, sql: impl Into<Sql>, params: Vec<Param>) -> Result<Option<Row>> {
        let sql = sql.into();
        #[cfg(test)]
        self.asked.push((sql.to_string(), params.clone()));
        let (sql, params) = self.behind_posted(sql, params);
        let sql = AssertSqlSafe(sql);
        let row = match &mut self.link {
            Link::Sqlite(loan) => bind_sqlite(sqlx::query(sql), params)
                .fetch_optional(loan.conn()?)
                .await
                .map(|row| row.map(Row::Sqlite)),
            Link::Postgres(conn) => bind_postgres(sqlx::query(sql), params)
                .fetch_optional(&mut **conn)
                .await
                .map(|row| row.map(Row::Postgres)),
        };
        self.noted(row)
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
        self.flush().await?;
        self.run_now(sql.into(), params).await
    }

    async fn run_now(&mut self, sql: Sql, params: Vec<Param>) -> Result<u64> {
        let sql = AssertSqlSafe(sql);
        let touched = match &mut self.link {
            Link::Sqlite(loan) => bind_sqlite(sqlx::query(sql), params)
                .execute(loan.conn()?)
                .await
                .map(|done| done.rows_affected()),
            Link::Postgres(conn) => bind_postgres(sqlx::query(sql), params)
                .execute(&mut **conn)
                .await
                .map(|done| done.rows_affected()),
        };
        self.noted(touched)
    }

    /// Runs a statement nobody needs an answer of. SQLite gets it together with the next one, because the trip to its
    /// thread and back is most of what a small statement costs; a fault shows there, or when the job ends.
    pub(crate) async fn post(&mut self, sql: &'static str, params: Vec<Param>) -> Result<()> {
        match self.engine() {
            Engine::Sqlite => self.posted.push((sql, params)),
            Engine::Postgres => {
                self.run_now(sql.into(), params).await?;
            }
        }
        Ok(())
    }

    /// Runs what was posted.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        if self.posted.is_empty() {
            return Ok(());
        }
        let (sql, params) = self.behind_posted("".into(), vec![]);
        self.run_now(sql, params).await.map(drop)
    }

    /// Runs what was posted and a last statement without parameters, in one trip.
    pub(crate) async fn flush_and(&mut self, last: String) -> Result<()> {
        if self.posted.is_empty() {
            return self.script(last).await;
        }
        let (sql, params) = self.behind_posted(last.into(), vec![]);
        self.run_now(sql, params).await.map(drop)
    }

    /// Forgets what was posted, and tells which of these statements was among it and so never ran.
    pub(crate) fn forget_posted(&mut self, statements: &[&'static str]) -> Option<&'static str> {
        let posted = std::mem::take(&mut self.posted);
        let found = posted.iter().find(|(sql, _)| statements.contains(sql));
        found.map(|(sql, _)| *sql)
    }

    /// One text of what was posted and a statement behind it, its parameters counted behind theirs.
    fn behind_posted(&mut self, sql: Sql, params: Vec<Param>) -> (Sql, Vec<Param>) {
        if self.posted.is_empty() {
            return (sql, params);
        }
        let (mut text, mut all) = (String::new(), Vec::new());
        for (posted, params) in self.posted.drain(..) {
            renumber(&mut text, posted, all.len());
            text.push(';');
            all.extend(params);
        }
        renumber(&mut text, &sql, all.len());
        all.extend(params);
        (text.into(), all)
    }

    /// Runs several statements without parameters.
    pub(crate) async fn script(&mut self, sql: impl Into<Sql>) -> Result<()> {
        self.flush().await?;
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
        let done = match &mut self.link {
            Link::Sqlite(loan) => loan.conn()?.execute(sql).await.map(drop),
            Link::Postgres(conn) => conn.execute(sql).await.map(drop),
        };
        self.noted(done)
    }

    /// Runs several statements without parameters and returns the rows of all of them.
    pub(crate) async fn script_rows(&mut self, sql: impl Into<Sql>) -> Result<Vec<Row>> {
        self.flush().await?;
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.into()));
        let rows = match &mut self.link {
            Link::Sqlite(loan) => loan
                .conn()?
                .fetch_all(sql)
                .await
                .map(|rows| rows.into_iter().map(Row::Sqlite).collect()),
            Link::Postgres(conn) => conn
                .fetch_all(sql)
                .await
                .map(|rows| rows.into_iter().map(Row::Postgres).collect()),
        };
        self.noted(rows)
    }

    /// Whether a statement has failed since the last time this was asked.
    pub(crate) fn take_failed(&mut self) -> bool {
        std::mem::take(&mut self.failed)
    }

    /// Whether the database still answers on it.
    pub(crate) async fn is_alive(&mut self) -> bool {
        match &mut self.link {
            Link::Sqlite(loan) => match loan.conn() {
                Ok(conn) => conn.ping().await.is_ok(),
                Err(_) => false,
            },
            Link::Postgres(conn) => conn.ping().await.is_ok(),
        }
    }

    /// Closes it instead of giving it back, and with it whatever transaction is open on it.
    pub(crate) fn abandon(mut self) {
        match &mut self.link {
            Link::Sqlite(loan) => loan.discard(),
            Link::Postgres(conn) => conn.close_on_drop(),
        }
    }

    fn noted<T>(&mut self, result: std::result::Result<T, sqlx::Error>) -> Result<T> {
        self.failed |= result.is_err();
        if let (Err(sqlx::Error::WorkerCrashed), Link::Sqlite(loan)) = (&result, &mut self.link) {
            loan.discard();
        }
        Ok(result?)
    }
}

impl Row {
    /// Whether there is such a column.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Sqlite(row) => row.try_column(name).is_ok(),
            Self::Postgres(row) => row.try_column(name).is_ok(),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Result<i64> {
        self.opt_int(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_int(&self, name: &str) -> Result<Option<i64>> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(name)?,
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
            Self::Sqlite(row) => row.try_get(name)?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn text(&self, name: &str) -> Result<String> {
        self.opt_text(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_text(&self, name: &str) -> Result<Option<String>> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(name)?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn id(&self, name: &str) -> Result<Uuid> {
        self.opt_id(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn opt_id(&self, name: &str) -> Result<Option<Uuid>> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(name)?,
            Self::Postgres(row) => row.try_get(name)?,
        })
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(name)?,
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
            Self::Sqlite(row) => row.try_get_raw(name)?.is_null(),
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

type SqliteQuery<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;
type PostgresQuery<'q> = sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments>;

/// Writes a statement behind others, with its parameters counted behind theirs. A `$` stands for nothing else in the
/// statements of this crate.
fn renumber(text: &mut String, sql: &str, behind: usize) {
    let mut parts = sql.split('$');
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number: usize = part[..digits].parse().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(text, "${}{}", number + behind, &part[digits..]);
    }
}

fn bind_sqlite(mut query: SqliteQuery<'_>, params: Vec<Param>) -> SqliteQuery<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted_on() {
        let mut text = String::new();
        renumber(&mut text, "INSERT INTO a VALUES ($1, $2, $1)", 0);
        text.push(';');
        renumber(&mut text, "UPDATE a SET b = $10 WHERE c = $1", 2);
        assert_eq!(
            text,
            "INSERT INTO a VALUES ($1, $2, $1);UPDATE a SET b = $12 WHERE c = $3"
        );
    }
}
