//! Copying a whole database to another one, of either engine, and proving that both hold the same: every table is
//! hashed on both sides, row by row, by content.

use crate::arrival;
use crate::engine::{Conn, Engine, Param, params};
use crate::error::{Error, Result};
use crate::tables::{Column, TABLES, Table, columns, hash_value, insert, values};
use crate::tx::Tx;
use crate::{Actor, Store};
use refusal::{Code, Refusal};
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::Mutex;
use uuid::Uuid;

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Each table with its rows and the hash both sides agree on.
    pub tables: Vec<CopiedTable>,
}

/// One copied table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedTable {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: i64,
    /// The hash of its content.
    pub hash: String,
}

/// Copies everything from one store into another, empty one, and verifies it. `progress` hears of every step.
pub async fn copy(
    from: &Store,
    to: &Store,
    progress: impl Fn(&'static str, i64) + Send + Sync + 'static,
) -> Result<Copied> {
    let mut source = from.read().await?;
    source.without_limit();
    begin_snapshot(&mut source).await?;
    // Shared, so that the connection comes back to us whatever becomes of the job.
    let source = Arc::new(Mutex::new(source));
    let reading = source.clone();
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "migrate".into(),
        token_id: None,
        client: "spexus migrate".into(),
    };
    let tables = to
        .write_long(actor, move |tx| {
            Box::pin(async move {
                let mut source = reading.lock().await;
                refuse_unless_empty(&mut tx.conn).await?;
                let copied = copy_tables(&mut source, tx, &progress).await?;
                arrival::go_on_behind_the_last(&mut tx.conn).await?;
                crate::search::rebuild(tx).await?;
                compare(&copied, fingerprint(&mut tx.conn).await?)
            })
        })
        .await;
    // Without this the next reader of the connection would see the past.
    source.lock().await.script("ROLLBACK").await?;
    Ok(Copied { tables: tables? })
}

/// The hash of every table's content.
pub async fn fingerprint(conn: &mut Conn) -> Result<Vec<CopiedTable>> {
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        tables.push(hash_table(conn, table).await?);
    }
    Ok(tables)
}

//= specs/spexus-store.md#copies
//# A database that is not empty MUST be refused as the target of a copy.
async fn refuse_unless_empty(conn: &mut Conn) -> Result<()> {
    for table in TABLES {
        let sql = format!(
            "SELECT count(*) AS n FROM (SELECT 1 FROM {} LIMIT 1) used",
            table.name
        );
        if conn.one(sql, params![]).await?.int("n")? > 0 {
            let refusal = Refusal::field(
                Code::RuleViolated,
                "to",
                "the target database is not empty",
                "an empty database",
            );
            return Err(refusal.hint("Name a database that does not exist yet.").into());
        }
    }
    Ok(())
}

/// One view of the source for the whole copy, whatever is written meanwhile.
async fn begin_snapshot(conn: &mut Conn) -> Result<()> {
    match conn.engine() {
        Engine::Sqlite => {
            conn.script("BEGIN").await?;
            conn.one("SELECT count(*) AS n FROM project", params![])
                .await
                .map(drop)
        }
        Engine::Postgres => {
            conn.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                .await
        }
    }
}

/// Copies every table and tells what was read of each.
async fn copy_tables(
    source: &mut Conn,
    tx: &mut Tx,
    progress: &(impl Fn(&'static str, i64) + Sync),
) -> Result<Vec<CopiedTable>> {
    point_ahead(&mut tx.conn).await?;
    let mut copied = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        let mut pages = Pages::of(table);
        while let Some(rows) = pages.next(source).await? {
            insert(&mut tx.conn, table, &pages.columns, &rows).await?;
            progress(table.name, pages.rows);
        }
        copied.push(pages.read());
    }
    Ok(copied)
}

//= specs/spexus-store.md#copies
//# A copy MUST hold every row of every table, also those that point to rows with larger ids.
/// Items and comments point to others of their kind that may come later; until the end of the transaction that is fine.
async fn point_ahead(conn: &mut Conn) -> Result<()> {
    match conn.engine() {
        Engine::Sqlite => conn.script("PRAGMA defer_foreign_keys = ON").await,
        Engine::Postgres => conn.script("SET CONSTRAINTS ALL DEFERRED").await,
    }
}

//= specs/spexus-store.md#copies
//# A copy MUST fail and leave nothing behind when the target differs from the source.
fn compare(before: &[CopiedTable], after: Vec<CopiedTable>) -> Result<Vec<CopiedTable>> {
    match before.iter().zip(&after).find(|(a, b)| a != b) {
        None => Ok(after),
        Some((a, b)) => Err(Error::Broken(format!(
            "table {} has {} rows ({}) at the source and {} rows ({}) at the target",
            a.name, a.rows, a.hash, b.rows, b.hash
        ))),
    }
}

async fn hash_table(conn: &mut Conn, table: &'static Table) -> Result<CopiedTable> {
    let mut pages = Pages::of(table);
    while pages.next(conn).await?.is_some() {}
    Ok(pages.read())
}

/// Reads a table in its order, each page behind the last row of the one before, and hashes what it reads.
struct Pages {
    table: &'static Table,
    columns: Vec<Column>,
    behind: Option<Vec<Param>>,
    hasher: blake3::Hasher,
    rows: i64,
    ended: bool,
}

impl Pages {
    fn of(table: &'static Table) -> Self {
        Self {
            table,
            columns: columns(table),
            behind: None,
            hasher: blake3::Hasher::new(),
            rows: 0,
            ended: false,
        }
    }

    async fn next(&mut self, conn: &mut Conn) -> Result<Option<Vec<Vec<Param>>>> {
        if self.ended {
            return Ok(None);
        }
        let rows = conn
            .all(self.sql(), self.behind.clone().unwrap_or_default())
            .await?;
        let page = rows
            .iter()
            .map(|row| values(&self.columns, row))
            .collect::<Result<Vec<_>>>()?;
        for value in page.iter().flatten() {
            hash_value(&mut self.hasher, value);
        }
        self.rows += page.len() as i64;
        self.ended = page.len() < STEP_ROWS as usize;
        self.behind = page.last().map(|last| self.place(last));
        Ok((!page.is_empty()).then_some(page))
    }

    fn read(self) -> CopiedTable {
        CopiedTable {
            name: self.table.name,
            rows: self.rows,
            hash: self.hasher.finalize().to_hex()[..32].to_owned(),
        }
    }

    fn sql(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let Table { name, order, .. } = self.table;
        let behind = match &self.behind {
            None => String::new(),
            Some(place) => {
                let bound: Vec<String> = (1..=place.len()).map(|at| format!("${at}")).collect();
                format!("WHERE ({order}) > ({})", bound.join(", "))
            }
        };
        format!(
            "SELECT {} FROM {name} {behind} ORDER BY {order} LIMIT {STEP_ROWS}",
            names.join(", ")
        )
    }

    /// The values a row is ordered by.
    fn place(&self, row: &[Param]) -> Vec<Param> {
        let by = |wanted: &str| self.columns.iter().position(|(name, _)| *name == wanted);
        let order = self.table.order.split(", ");
        order
            .filter_map(|name| by(name).map(|at| row[at].clone()))
            .collect()
    }
}
