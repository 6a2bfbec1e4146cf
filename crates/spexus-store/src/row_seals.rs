//! Rows of small tables in the ledgers: whatever writes such a row names it before, and the next change of the same job carries the
//! digests of what the row was and of what it became. So the present row can be held against the history although the history
//! does not tell every column: a password's hash, the definition of a workflow, who is in a group.
//!
//! What writes many rows, such as items, does not pay for this: a replay knows those from their fields.

use crate::copy::{self, Table};
use crate::engine::{Conn, Param, Row, params};
use crate::error::{Error, Result};
use crate::evidence;
use crate::state_verdict::StateVerdict;
use crate::tx::Tx;
use serde_json::{Map, Value};
use spexus_domain::Uuid;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::told;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What an upgrade calls the change that seals what it found.
const FOUND_LABEL: &str = "what an upgrade found";

/// What renumbered siblings are called in the ledger of their project.
const ORDER_LABEL: &str = "order of siblings";

/// Rows read, and rows told by one change.
const STEP_ROWS: u32 = 500;

/// Digits of a digest.
const DIGEST_DIGITS: usize = 32;

/// Between the parts of a key.
const BETWEEN: &str = "\u{1f}";

/// A row that is being written: its table, its key, and what it was.
pub(crate) struct Touched {
    table: &'static Table,
    key: Vec<Param>,
    before: Option<String>,
}

/// Names a row that is about to be written; the next change of this job seals it.
//= specs/spexus-store.md#history
//# A change of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root or an app MUST carry
//# digests of its rows as they were and as they became.
pub(crate) async fn touch(tx: &mut Tx, table: &str, key: Vec<Param>) -> Result<()> {
    let table = copy::table(table)?;
    if tx
        .touched
        .iter()
        .any(|known| known.table.name == table.name && known.key == key)
    {
        return Ok(());
    }
    let before = digest_of(&mut tx.conn, table, &key).await?;
    tx.touched.push(Touched { table, key, before });
    Ok(())
}

/// Names rows that are about to be written, by a condition on their table.
pub(crate) async fn touch_where(tx: &mut Tx, table: &str, condition: &str, values: Vec<Param>) -> Result<()> {
    let found = copy::table(table)?;
    let sql = format!("SELECT {} FROM {} WHERE {condition}", found.order, found.name);
    for row in tx.conn.all(sql, values).await? {
        touch(tx, table, key_of(found, &row)?).await?;
    }
    Ok(())
}

/// What the change that is being written tells of the rows that were named, if any were.
pub(crate) async fn told_rows(tx: &mut Tx) -> Result<Option<Value>> {
    if tx.touched.is_empty() {
        return Ok(None);
    }
    let touched = std::mem::take(&mut tx.touched);
    let mut rows = Vec::with_capacity(touched.len());
    for Touched { table, key, before } in touched {
        let after = digest_of(&mut tx.conn, table, &key).await?;
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

/// Tells the ledger of a project that siblings were numbered anew.
pub(crate) async fn tell_positions(tx: &mut Tx, project_id: Uuid, places: &[(Uuid, i64)]) -> Result<()> {
    let places: Map<String, Value> = places
        .iter()
        .map(|(id, position)| (id.to_string(), (*position).into()))
        .collect();
    let change = NewChange::new(Entity::Setting, Uuid::nil(), ORDER_LABEL, Action::Updated, 1);
    let change = change.in_project(project_id).telling(told::POSITIONS, places);
    tx.record(change).await.map(drop)
}

/// Seals every row of the small tables as it stands, and what the history before could not tell of items, comments and links.
//= specs/spexus-store.md#schema
//# What the history of an older version could not tell MUST be sealed as it stood when its database was brought up to date.
pub(crate) async fn seal_found(tx: &mut Tx) -> Result<()> {
    let mut rows = Vec::new();
    for (name, _) in evidence::sealed() {
        let mut pages = Pages::of(copy::table(name)?);
        while let Some(page) = pages.next(&mut tx.conn).await? {
            rows.extend(
                page.into_iter()
                    .map(|(key, digest)| Value::from(vec![name, &key, &digest])),
            );
        }
    }
    let things = crate::replay::untold(&mut tx.conn).await?;
    for (name, found) in [(told::ROWS, rows), (told::FOUND, things)] {
        for some in found.chunks(STEP_ROWS as usize) {
            let change = NewChange::new(Entity::Setting, Uuid::nil(), FOUND_LABEL, Action::Created, 1);
            tx.record(change.telling(name, some.to_vec())).await?;
        }
    }
    Ok(())
}

/// What the changes that belong to no item tell for verification.
#[derive(Default)]
pub(crate) struct Told {
    /// The last digest of each row, by table and key; `None` where it is gone.
    rows: HashMap<(String, String), Option<String>>,
    /// Rows whose digest before a change was not the one after the change before.
    torn: BTreeMap<(String, String), i64>,
    /// What was changed by somebody whose words were taken out, so that nothing is known of its rows.
    unknown: HashSet<String>,
    /// Where siblings came to stand when they were numbered anew, with the number of the change.
    pub(crate) positions: HashMap<Uuid, (i64, i64)>,
    /// What an upgrade found of items, comments and links, with the number of the change.
    pub(crate) found: HashMap<Uuid, (i64, Value)>,
}

impl Told {
    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        let (mut told, mut after) = (Self::default(), i64::MIN);
        loop {
            let sql = "SELECT seq, entity, entity_id, after, salt FROM change WHERE item_id IS NULL AND seq > $1 ORDER BY seq LIMIT $2";
            let rows = conn.all(sql, params![after, STEP_ROWS]).await?;
            let Some(last) = rows.last() else { return Ok(told) };
            after = last.int("seq")?;
            for row in &rows {
                told.take(row)?;
            }
        }
    }

    fn take(&mut self, row: &Row) -> Result<()> {
        if row.bytes("salt")?.is_empty() {
            self.unknown.insert(row.id("entity_id")?.to_string());
            return Ok(());
        }
        let text = row.text("after")?;
        if !text.contains("\".") {
            return Ok(());
        }
        // One that cannot be read is told by its ledger.
        let (seq, Ok(mut after)) = (row.int("seq")?, row.object("after")) else {
            return Ok(());
        };
        if let Some(Value::Array(rows)) = after.remove(told::ROWS) {
            rows.iter().for_each(|entry| self.take_row(seq, entry));
        }
        if let Some(Value::Object(places)) = after.remove(told::POSITIONS) {
            for (id, place) in places {
                if let (Ok(id), Some(place)) = (Uuid::try_parse(&id), place.as_i64()) {
                    self.positions.insert(id, (seq, place));
                }
            }
        }
        if let Some(Value::Array(found)) = after.remove(told::FOUND) {
            for entry in found {
                if let Some(id) = entry.get("id").and_then(Value::as_str)
                    && let Ok(id) = Uuid::try_parse(id)
                {
                    self.found.insert(id, (seq, entry));
                }
            }
        }
        Ok(())
    }

    fn take_row(&mut self, seq: i64, entry: &Value) {
        let text = |at: usize| entry.get(at).and_then(Value::as_str).map(str::to_owned);
        let (Some(table), Some(key)) = (text(0), text(1)) else {
            return;
        };
        let place = (table, key);
        // One that an upgrade found has no digest of before.
        let is_found = entry.as_array().is_some_and(|parts| parts.len() == 3);
        let (before, after) = if is_found {
            (None, text(2))
        } else {
            (text(2), text(3))
        };
        let known = self.rows.get(&place).cloned().unwrap_or_default();
        if !is_found && before != known && !self.is_unknown(&place.1) {
            self.torn.entry(place.clone()).or_insert(seq);
        }
        self.rows.insert(place, after);
    }

    fn is_unknown(&self, key: &str) -> bool {
        !self.unknown.is_empty() && key.split(BETWEEN).any(|part| self.unknown.contains(part))
    }

    /// Holds the rows of the small tables against what the ledgers tell of them.
    //= specs/spexus-store.md#history
    //# Verification MUST find a row of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root
    //# or an app that is not what the history made of it, also where it was changed rightly afterwards.
    pub(crate) async fn compare(&self, conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
        let mut met = HashSet::new();
        for (name, _) in evidence::sealed() {
            let mut pages = Pages::of(copy::table(name)?);
            while let Some(rows) = pages.next(conn).await? {
                for (key, digest) in rows {
                    verdict.compared += 1;
                    let place = (name.to_owned(), key);
                    let problem = match self.rows.get(&place) {
                        _ if self.is_unknown(&place.1) => None,
                        None | Some(None) => Some("it is not in the history"),
                        Some(Some(told)) if *told != digest => Some("it is not what the history made of it"),
                        Some(Some(_)) => None,
                    };
                    if let Some(problem) = problem {
                        note(verdict, name, &place.1, problem);
                    }
                    met.insert(place);
                }
            }
        }
        let gone = self
            .rows
            .iter()
            .filter(|(place, digest)| digest.is_some() && !met.contains(*place));
        let mut gone: Vec<_> = gone.map(|(place, _)| place).collect();
        gone.sort_unstable();
        for (table, key) in gone {
            verdict.compared += 1;
            if !self.is_unknown(key) {
                note(verdict, table, key, "the history has it, and it is gone");
            }
        }
        for ((table, key), seq) in &self.torn {
            let problem = format!("change {seq} met it other than the history had made it");
            note(verdict, table, key, &problem);
        }
        Ok(())
    }
}

fn note(verdict: &mut StateVerdict, table: &str, key: &str, problem: &str) {
    let id = key
        .split(BETWEEN)
        .next()
        .and_then(|part| Uuid::try_parse(part).ok());
    verdict.note(table, id.unwrap_or_default(), &key.replace(BETWEEN, " "), problem);
}

/// Reads a table in its order: keys with digests.
struct Pages {
    table: &'static Table,
    behind: Option<Vec<Param>>,
    ended: bool,
}

impl Pages {
    fn of(table: &'static Table) -> Self {
        Self {
            table,
            behind: None,
            ended: false,
        }
    }

    async fn next(&mut self, conn: &mut Conn) -> Result<Option<Vec<(String, String)>>> {
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
        let names: Vec<&str> = copy::columns(self.table).iter().map(|(name, _)| *name).collect();
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
fn columns(table: &'static Table) -> Vec<copy::Column> {
    let left_out = evidence::sealed().find(|(name, _)| *name == table.name);
    let left_out = left_out.map_or(&[][..], |(_, left_out)| left_out);
    let mut columns = copy::columns(table);
    columns.retain(|(name, _)| !left_out.contains(name));
    columns
}

fn key_of(table: &'static Table, row: &Row) -> Result<Vec<Param>> {
    let columns = copy::columns(table);
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

async fn digest_of(conn: &mut Conn, table: &'static Table, key: &[Param]) -> Result<Option<String>> {
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

fn digest(table: &Table, columns: &[copy::Column], row: &Row) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"spexus row 1 ");
    hasher.update(table.name.as_bytes());
    for value in copy::values(columns, row)? {
        copy::hash_value(&mut hasher, &value);
    }
    Ok(hasher.finalize().to_hex()[..DIGEST_DIGITS].to_owned())
}
