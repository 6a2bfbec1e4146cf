//! The order of arrival: one series of numbers over the changes of all ledgers, which readers of the whole installation follow.
//!
//! On SQLite there is one writer, and the next number is the last one and one. On PostgreSQL writers of different projects go
//! on side by side and take their numbers from a sequence, so a smaller number may be committed after a larger one. A reader
//! who had gone past it would never see it. Therefore each writer marks, before it takes a number, how far the sequence had
//! come: a lock whose key is that number, shared and let go with the transaction. Nothing new can come below the smallest mark,
//! nor below the last number given out before the marks were looked at. Up to there everything is settled.
//!
//! A lock belongs to one database and goes with its transaction, however that ends, so neither another database of the server
//! nor a writer that died holds anybody up.

use crate::engine::{Conn, Engine, params};
use crate::error::Result;

/// Marks how far the numbers had come when a writer began. The upper bits of the key tell marks from other locks.
pub(crate) const MARK: &str = "SELECT pg_advisory_xact_lock_shared((CAST(75329 AS bigint) << 44) \
     | (CASE WHEN is_called THEN last_value ELSE last_value - 1 END)) FROM change_seq_seq";

/// Up to where nothing new can come. The numbers are looked at before the marks: the one is a parameter of the other.
macro_rules! settled {
    ($select:literal) => {
        concat!(
            "SELECT ",
            $select,
            " FROM (SELECT least(l.last, m.mark) AS number FROM (SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS last ",
            "FROM change_seq_seq OFFSET 0) l CROSS JOIN LATERAL (SELECT min(((CAST(k.classid AS bigint) & 4095) << 32) ",
            "| CAST(k.objid AS bigint)) AS mark FROM pg_locks k WHERE l.last IS NOT NULL AND k.locktype = 'advisory' AND k.objsubid = 1 ",
            "AND (CAST(k.classid AS bigint) >> 12) = 75329 AND k.pid <> pg_backend_pid() ",
            "AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())) m) settled"
        )
    };
}

/// How far the history has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    /// The last change behind which no smaller number can come.
    pub(crate) settled: i64,
    /// Whether there is a change that is not settled.
    pub(crate) is_waiting: bool,
    /// How often something was changed that every writer remembers.
    pub(crate) shared_rev: i64,
}

/// Up to which number changes are settled. Who reads them does so with the next statement, which sees all of them.
pub(crate) async fn settled(conn: &mut Conn) -> Result<i64> {
    match conn.engine() {
        Engine::Sqlite => Ok(i64::MAX),
        Engine::Postgres => conn.one(settled!("number"), params![]).await?.int("number"),
    }
}

/// How far the history has come, in one look.
pub(crate) async fn look(conn: &mut Conn) -> Result<Arrived> {
    const SQLITE: &str = "SELECT coalesce(max(seq), 0) AS settled, 0 AS waiting, 0 AS shared_rev FROM change";
    const POSTGRES: &str = settled!(
        "coalesce((SELECT max(seq) FROM change WHERE seq <= settled.number), 0) AS settled, \
         CAST(EXISTS (SELECT 1 FROM change WHERE seq > settled.number) AS int)::bigint AS waiting, \
         (SELECT shared_rev FROM installation) AS shared_rev"
    );
    let row = match conn.engine() {
        Engine::Sqlite => conn.one(SQLITE, params![]).await?,
        Engine::Postgres => conn.one(POSTGRES, params![]).await?,
    };
    Ok(Arrived {
        settled: row.int("settled")?,
        is_waiting: row.flag("waiting")?,
        shared_rev: row.int("shared_rev")?,
    })
}

/// The last number given out, where numbers are given out before they are written.
pub(crate) async fn given_out(conn: &mut Conn) -> Result<Option<i64>> {
    let sql = "SELECT last_value AS last FROM change_seq_seq";
    match conn.engine() {
        Engine::Sqlite => Ok(None),
        Engine::Postgres => conn.one(sql, params![]).await?.int("last").map(Some),
    }
}

/// So many numbers for changes of a transaction that has begun, in their order.
pub(crate) async fn take(conn: &mut Conn, count: usize) -> Result<Vec<i64>> {
    let sql = "SELECT nextval('change_seq_seq') AS seq FROM generate_series(1, $1)";
    let rows = conn
        .all(sql, params![i64::try_from(count).unwrap_or(i64::MAX)])
        .await?;
    let mut numbers = rows
        .iter()
        .map(|row| row.int("seq"))
        .collect::<Result<Vec<_>>>()?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Lets the numbers go on behind the last change, where changes came with numbers of their own.
pub(crate) async fn go_on_behind_the_last(conn: &mut Conn) -> Result<()> {
    let sql = "SELECT setval('change_seq_seq', c.last) AS last FROM (SELECT max(seq) AS last FROM change) c, change_seq_seq s \
               WHERE c.last > s.last_value";
    match conn.engine() {
        Engine::Sqlite => Ok(()),
        Engine::Postgres => conn.optional(sql, params![]).await.map(drop),
    }
}
