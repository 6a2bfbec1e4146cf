//! Digests of rows: what the ledgers know of rows of small tables, and how those are read anew.

use crate::engine::{Conn, Param, Row};
use crate::error::{Error, Result};
use crate::evidence;
use crate::tables::{self, Table};
use serde_json::Value;

/// Rows read in one step.
const STEP_ROWS: u32 = 500;

/// Digits of a digest.
const DIGEST_DIGITS: usize = 32;

/// Between the parts of a key.
pub(crate) const BETWEEN: &str = "\u{1f}";

/// A row that is being written: its table, its key, and what it was.
pub(crate) struct Touched {
    pub(crate) table: &'static Table,
    pub(crate) key: Vec<Param>,
    pub(crate) before: Option<String>,
}

/// Those of rows that were written that differ from what they were, as the change that is being written tells them.
pub(crate) async fn differing(conn: &mut Conn, touched: Vec<Touched>) -> Result<Option<Value>> {
    let mut rows = Vec::with_capacity(touched.len());
    for Touched { table, key, before } in touched {
        let after = digest_of(conn, table, &key).await?;
        if before != after {
            rows.push(Value::from(vec![
                Value::from(table.name),
                name(&key).into(),
                before.into(),
                after.into(),
            ]));
        }
    }
    Ok((!rows.is_empty()).then(|| rows.into()))
}

/// Reads a table in its order: keys with digests.
pub(crate) struct Pages {
    table: &'static Table,
    behind: Option<Vec<Param>>,
    ended: bool,
}

impl Pages {
    pub(crate) fn of(table: &'static Table) -> Self {
        Self {
            table,
            behind: None,
            ended: false,
        }
    }

    pub(crate) async fn next(&mut self, conn: &mut Conn) -> Result<Option<Vec<(String, String)>>> {
        if self.ended {
            return Ok(None);
        }
        let (order, columns) = (self.table.order, columns(self.table));
        let behind = match &self.behind {
            None => String::new(),
            Some(key) => {
                let bound: Vec<String> = (1..=key.len()).map(|at| format!("${at}")).collect();
                format!("WHERE ({order}) > ({})", bound.join(", "))
            }
        };
        let names: Vec<&str> = tables::columns(self.table)
            .iter()
            .map(|(name, _)| *name)
            .collect();
        let sql = format!(
            "SELECT {} FROM {} {behind} ORDER BY {order} LIMIT {STEP_ROWS}",
            names.join(", "),
            self.table.name
        );
        let rows = conn.all(sql, self.behind.take().unwrap_or_default()).await?;
        self.ended = rows.len() < STEP_ROWS as usize;
        let mut page = Vec::with_capacity(rows.len());
        for row in &rows {
            let key = key_of(self.table, row)?;
            page.push((name(&key), digest(self.table, &columns, row)?));
            self.behind = Some(key);
        }
        Ok((!page.is_empty()).then_some(page))
    }
}

/// The columns that are evidence.
fn columns(table: &'static Table) -> Vec<tables::Column> {
    let left_out = evidence::sealed().find(|(name, _)| *name == table.name);
    let left_out = left_out.map_or(&[][..], |(_, left_out)| left_out);
    let mut columns = tables::columns(table);
    columns.retain(|(name, _)| !left_out.contains(name));
    columns
}

pub(crate) fn key_of(table: &'static Table, row: &Row) -> Result<Vec<Param>> {
    let columns = tables::columns(table);
    let value = |name: &str| {
        let column = columns.iter().find(|(column, _)| *column == name);
        let (name, column) = column.ok_or_else(|| Error::Broken(format!("{name} is no column")))?;
        row.param(name, *column)
    };
    table.order.split(", ").map(value).collect()
}

fn name(key: &[Param]) -> String {
    let part = |param: &Param| match param {
        Param::Int(value) => value.map_or_else(String::new, |value| value.to_string()),
        Param::Text(value) => value.clone().unwrap_or_default(),
        Param::Id(value) => value.map_or_else(String::new, |value| value.to_string()),
        Param::Bytes(value) => value.as_ref().map_or_else(String::new, hex::encode),
    };
    key.iter().map(part).collect::<Vec<_>>().join(BETWEEN)
}

pub(crate) async fn digest_of(
    conn: &mut Conn,
    table: &'static Table,
    key: &[Param],
) -> Result<Option<String>> {
    let columns = columns(table);
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let conditions: Vec<String> = table
        .order
        .split(", ")
        .enumerate()
        .map(|(at, name)| format!("{name} = ${}", at + 1))
        .collect();
    let sql = format!(
        "SELECT {} FROM {} WHERE {}",
        names.join(", "),
        table.name,
        conditions.join(" AND ")
    );
    let row = conn.optional(sql, key.to_vec()).await?;
    row.map(|row| digest(table, &columns, &row)).transpose()
}

fn digest(table: &Table, columns: &[tables::Column], row: &Row) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"spexus row 1 ");
    hasher.update(table.name.as_bytes());
    for value in tables::values(columns, row)? {
        tables::hash_value(&mut hasher, &value);
    }
    Ok(hasher.finalize().to_hex()[..DIGEST_DIGITS].to_owned())
}
