//! The last step: everything that was staged is copied to its place, with its rows in the chain, in one transaction.

use super::carried::Carried;
use super::{COMMENT, ITEM, LINK, Staged, keep_alive};
use crate::carry;
use crate::directory::project_of;
use crate::engine::{Conn, Engine, Param, Row, params};
use crate::error::{Error, Result};
use crate::items::root_position;
use crate::scratch_copy::{SETTINGS, ScratchCopy, counters, whole};
use crate::search;
use crate::tables::{self, Table};
use crate::tx::{ToSeal, Tx};
use serde_json::{Map, Value};
use spexus_domain::{Kind, Reference, Timestamp, Uuid};
use std::collections::HashMap;

/// Rows of the chain that are written between two looks at what was staged.
const STEP_CHANGES: i64 = 1_000;

/// Room for the pages of a large transaction of SQLite, which would otherwise be written several times; and the usual room.
const WIDE_CACHE: &str = "PRAGMA cache_size = -65536";
const USUAL_CACHE: &str = "PRAGMA cache_size = -2000";

/// What stands in small tables and is written with the last step.
pub struct Publication {
    staged: Staged,
    /// How many changes it is.
    changes: i64,
    tried_at: Timestamp,
    settings: Vec<Difference>,
    /// What numbers were counted from, and how many were given out.
    counters: Vec<((Uuid, String), i64, i64)>,
    counts: Vec<(Uuid, String, String, i64)>,
    anchors: Vec<(Uuid, String)>,
    updates: bool,
    carried: Option<Carried>,
}

/// What became different in a small table.
pub(super) struct Difference {
    pub(super) table: &'static Table,
    pub(super) gone: Vec<Vec<Param>>,
    /// New rows, and rows that are not what they were.
    pub(super) new: Vec<Vec<Param>>,
}

/// By how much numbers moved on while the import ran on its scratch copy: others made items as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    project: Uuid,
    /// The last number before the import, and by how much the new ones move.
    by: HashMap<Kind, (i64, i64)>,
}

impl Shift {
    /// A reference of the scratch copy as it came to be.
    pub fn apply(&self, reference: &Reference) -> Reference {
        let moved = reference
            .kind()
            .and_then(|kind| Some((kind, self.by.get(&kind)?)));
        match moved {
            Some((kind, (last, by))) if reference.number() > *last => {
                Reference::of_kind(kind, reference.number() + by)
            }
            _ => reference.clone(),
        }
    }

    fn is_none(&self) -> bool {
        self.by.is_empty()
    }

    fn words(&self, text: &str) -> String {
        let word = |word: &str| match Reference::parse(word) {
            Some(reference) if reference.to_string() == word => self.apply(&reference).to_string(),
            _ => word.to_owned(),
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// The fields of a change of something in the project, with the references they came to have.
    fn fields(&self, text: &str, root: Option<Kind>) -> String {
        let Ok(mut fields) = serde_json::from_str::<Map<String, Value>>(text) else {
            return text.to_owned();
        };
        for name in ["parent", "acceptance_criterion", "source", "target"] {
            if let Some(Value::String(reference)) = fields.get_mut(name) {
                *reference = self.words(reference);
            }
        }
        let by = root.and_then(|kind| self.by.get(&kind));
        if let (Some((_, by)), Some(position)) = (by, fields.get_mut("position")) {
            *position = (position.as_i64().unwrap_or(0) + root_position(*by)).into();
        }
        Value::Object(fields).to_string()
    }

    fn sql(&self, factor: i64) -> String {
        let cases = self.by.iter();
        let cases: String = cases
            .map(|(kind, (_, by))| format!("WHEN '{}' THEN {} ", kind.name(), by * factor))
            .collect();
        match cases.as_str() {
            "" => "0".to_owned(),
            cases => format!("CASE s.kind {cases}ELSE 0 END"),
        }
    }
}

impl Publication {
    /// What the last step of an import has to do beside copying what was staged.
    pub async fn of(scratch: &mut ScratchCopy, staged: Staged) -> Result<Self> {
        let conn = &mut scratch.tx.conn;
        let base = &scratch.base;
        let mut settings = Vec::new();
        for name in SETTINGS {
            let (table, before) = (tables::table(name)?, base.settings.get(name));
            let before = before.map(Vec::as_slice).unwrap_or_default();
            let after = whole(conn, table).await?;
            let gone = without(before, &after);
            let new = without(&after, before);
            if !gone.is_empty() || !new.is_empty() {
                settings.push(Difference { table, gone, new });
            }
        }
        let given_out = counters(conn).await?.into_iter().filter_map(|(of, last)| {
            let before = base.counters.get(&of).copied().unwrap_or(0);
            (last != before).then_some((of, before, last - before))
        });
        let counters = given_out.collect();
        let rows = conn
            .all(
                "SELECT project_id, kind, status, n FROM item_count WHERE n <> 0",
                params![],
            )
            .await?;
        let count = |row: &Row| {
            Ok((
                row.id("project_id")?,
                row.text("kind")?,
                row.text("status")?,
                row.int("n")?,
            ))
        };
        let counts = rows.iter().map(count).collect::<Result<_>>()?;
        let mut anchors = Vec::new();
        for (id, before) in &base.anchors {
            const SQL: &str = concat!(
                "SELECT anchor FROM comment WHERE id = $1 AND project_id = ",
                project_of!("$1")
            );
            let now = conn.one(SQL, params![*id]).await?.text("anchor")?;
            if now != *before {
                anchors.push((*id, now));
            }
        }
        let sql = "SELECT 1 AS one FROM touched WHERE entity = 'item' AND is_new = 0 LIMIT 1";
        let updates = conn.optional(sql, params![]).await?.is_some();
        let carried = Carried::of(conn, &mut settings).await?;
        Ok(Self {
            staged,
            changes: scratch.tx.seq(),
            tried_at: base.at,
            settings,
            counters,
            counts,
            anchors,
            updates,
            carried,
        })
    }
}

/// Those of the first rows that are not among the second.
fn without(all: &[Vec<Param>], but: &[Vec<Param>]) -> Vec<Vec<Param>> {
    let but: std::collections::HashSet<&Vec<Param>> = but.iter().collect();
    all.iter().filter(|row| !but.contains(row)).cloned().collect()
}

/// Shows everything that was staged, all at once, and tells by how much its numbers moved. Whoever calls it has made sure that
/// nothing it relies on was changed meanwhile.
//= specs/spexus-store.md#large-writes
//# Everything that was staged MUST be shown by one transaction, with its changes in their ledgers in their order.
pub async fn publish(tx: &mut Tx, publication: &Publication, project: Uuid) -> Result<Shift> {
    let Publication { staged, .. } = publication;
    // What comes with its history happened when it says, and nothing of it just now.
    let tried_at = match publication.carried {
        Some(_) => Timestamp(i64::MIN),
        None => publication.tried_at,
    };
    keep_alive(tx, staged.id).await?;
    if tx.conn.engine() == Engine::Sqlite {
        tx.conn.script(WIDE_CACHE).await?;
    }
    if let Some(carried) = &publication.carried {
        carried.begin(tx).await?;
    }
    write_settings(tx, publication).await?;
    if let Some(carried) = &publication.carried {
        carried.take_place(tx).await?;
    }
    let shift = take_numbers(&mut tx.conn, publication, project).await?;
    if publication.updates {
        forget_documents(&mut tx.conn, *staged).await?;
        update_items(tx, staged.id, tried_at).await?;
    }
    insert_items(tx, staged.id, tried_at, &shift).await?;
    for table in [&COMMENT, &LINK] {
        copy_rows(tx, table, staged.id, tried_at).await?;
    }
    // A link of two projects has a row in each.
    let sql = "INSERT INTO link (project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, \
               target_hash, rev, created_by, created_at) SELECT target_project_id, id, type, source_project_id, source_id, \
               target_project_id, target_id, source_hash, target_hash, rev, created_by, created_at FROM staged_link \
               WHERE import_id = $1 AND source_project_id <> target_project_id ORDER BY ordinal";
    tx.conn.run(sql, params![staged.id]).await?;
    for (id, anchor) in &publication.anchors {
        const SQL: &str = concat!(
            "UPDATE comment SET anchor = $2 WHERE id = $1 AND project_id = ",
            project_of!("$1")
        );
        tx.conn.run(SQL, params![*id, anchor]).await?;
    }
    for (project, kind, status, n) in &publication.counts {
        let sql = "INSERT INTO item_count (project_id, kind, status, n) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (project_id, kind, status) DO UPDATE SET n = item_count.n + excluded.n";
        tx.conn.run(sql, params![*project, kind, status, *n]).await?;
    }
    add_to_ledgers(tx, publication, &shift).await?;
    // From here on its documents are found, and the rest may be swept.
    let sql = "UPDATE staged_import SET first_doc = NULL, last_doc = NULL, alive_at = 0 WHERE id = $1";
    tx.conn.run(sql, params![staged.id]).await?;
    if tx.conn.engine() == Engine::Sqlite {
        tx.conn.script(USUAL_CACHE).await?;
    }
    Ok(shift)
}

async fn write_settings(tx: &mut Tx, publication: &Publication) -> Result<()> {
    if publication.settings.is_empty() {
        return Ok(());
    }
    tx.conn.clear_settings_cache();
    // Rows that are different are gone in one form and new in another.
    for Difference { table, gone, new } in &publication.settings {
        let columns = tables::columns(table);
        let key = |row: &Vec<Param>| row.first().cloned();
        let kept: std::collections::HashSet<Option<Param>> = new.iter().map(key).collect();
        for row in gone.iter().filter(|row| !kept.contains(&key(row))) {
            let sql = format!("DELETE FROM {} WHERE {} = $1", table.name, table.order);
            tx.conn.run(sql, row[..1].to_vec()).await?;
        }
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let bound: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
        let set: Vec<String> = names[1..]
            .iter()
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let sql = format!(
            "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
            table.name,
            names.join(", "),
            bound.join(", "),
            table.order,
            set.join(", ")
        );
        for row in new {
            tx.conn.run(sql.clone(), row.clone()).await?;
        }
    }
    Ok(())
}

/// Takes as many numbers as were given out in the scratch copy, behind those that others took meanwhile.
async fn take_numbers(conn: &mut Conn, publication: &Publication, project: Uuid) -> Result<Shift> {
    let mut shift = Shift {
        project,
        ..Shift::default()
    };
    for ((of, prefix), before, taken) in &publication.counters {
        let sql = "INSERT INTO counter (project_id, prefix, last) VALUES ($1, $2, $3) ON CONFLICT (project_id, prefix) \
                   DO UPDATE SET last = counter.last + excluded.last RETURNING last";
        let last = conn.one(sql, params![*of, prefix, *taken]).await?.int("last")?;
        let by = last - taken - before;
        let kind = Kind::ALL.into_iter().find(|kind| kind.rules().prefix == prefix);
        if let (true, Some(kind), true) = (by != 0, kind, *of == project) {
            shift.by.insert(kind, (*before, by));
        }
    }
    Ok(shift)
}

/// Takes away what search knew of items that say something else now; what they say is there already.
async fn forget_documents(conn: &mut Conn, staged: Staged) -> Result<()> {
    let sql = "SELECT d.doc FROM staged_import n CROSS JOIN staged_item s JOIN search_doc d ON d.project_id = s.project_id \
               AND d.item_id = s.id WHERE n.id = $1 AND s.import_id = $1 AND s.is_new = 0 AND s.reindexed = 1 AND d.comment_id IS NULL \
               AND NOT (d.doc >= n.first_doc AND d.doc <= n.last_doc)";
    let rows = conn.all(sql, params![staged.id]).await?;
    let docs = rows
        .iter()
        .map(|row| row.int("doc"))
        .collect::<Result<Vec<_>>>()?;
    search::remove_documents(conn, &docs).await
}

async fn update_items(tx: &mut Tx, import: Uuid, tried_at: Timestamp) -> Result<()> {
    let sql = "UPDATE item SET parent_id = s.parent_id, position = s.position, title = s.title, description = s.description, \
               status = s.status, priority = s.priority, type = s.type, criterion_id = s.criterion_id, \
               assignee_id = s.assignee_id, attributes = s.attributes, rev = s.rev, content_hash = s.content_hash, \
               updated_at = CASE WHEN s.updated_at = $2 THEN $3 ELSE s.updated_at END \
               FROM staged_item s WHERE s.import_id = $1 AND s.is_new = 0 AND item.project_id = s.project_id AND item.id = s.id";
    let now = tx.now();
    tx.conn.run(sql, params![import, tried_at, now]).await.map(drop)
}

async fn insert_items(tx: &mut Tx, import: Uuid, tried_at: Timestamp, shift: &Shift) -> Result<()> {
    let (number, position) = (shift.sql(1), shift.sql(root_position(1)));
    let sql = format!(
        "INSERT INTO item (id, project_id, kind, number, parent_id, position, title, description, status, priority, type, \
         criterion_id, assignee_id, creator_id, attributes, rev, content_hash, deleted_at, deletion_id, created_at, updated_at) \
         SELECT s.id, s.project_id, s.kind, s.number + {number}, s.parent_id, \
         s.position + CASE WHEN s.parent_id IS NULL THEN {position} ELSE 0 END, s.title, s.description, s.status, s.priority, \
         s.type, s.criterion_id, s.assignee_id, s.creator_id, s.attributes, s.rev, s.content_hash, s.deleted_at, s.deletion_id, \
         CASE WHEN s.created_at = $2 THEN $3 ELSE s.created_at END, CASE WHEN s.updated_at = $2 THEN $3 ELSE s.updated_at END \
         FROM {} s WHERE s.import_id = $1 AND s.is_new = 1 ORDER BY s.ordinal",
        ITEM.name
    );
    let now = tx.now();
    tx.conn.run(sql, params![import, tried_at, now]).await.map(drop)
}

/// Copies what looks the same where it is staged and where it belongs, but for what was made by the import: that is made now.
async fn copy_rows(tx: &mut Tx, table: &Table, import: Uuid, tried_at: Timestamp) -> Result<()> {
    let columns = tables::columns(table);
    let names: Vec<&str> = columns[2..].iter().map(|(name, _)| *name).collect();
    let value = |name: &&str| match *name {
        "created_at" | "updated_at" => format!("CASE WHEN {name} = $2 THEN $3 ELSE {name} END"),
        name => name.to_owned(),
    };
    let values: Vec<String> = names.iter().map(value).collect();
    let (into, names) = (table.name.trim_start_matches("staged_"), names.join(", "));
    let sql = format!(
        "INSERT INTO {into} ({names}) SELECT {} FROM {} WHERE import_id = $1 ORDER BY ordinal",
        values.join(", "),
        table.name
    );
    let now = tx.now();
    tx.conn.run(sql, params![import, tried_at, now]).await.map(drop)
}

/// Adds the changes to their ledgers, in the order in which they were made.
async fn add_to_ledgers(tx: &mut Tx, publication: &Publication, shift: &Shift) -> Result<()> {
    let table = tables::table("change")?;
    let columns = tables::columns(table);
    let (mut after, mut written, before) = (0, 0, tx.seq());
    let mut positions = publication.carried.as_ref().map(Carried::positions);
    loop {
        let sql =
            "SELECT * FROM staged_change WHERE import_id = $1 AND ordinal > $2 ORDER BY ordinal LIMIT $3";
        let rows = tx
            .conn
            .all(sql, params![publication.staged.id, after, STEP_CHANGES])
            .await?;
        let Some(last) = rows.last() else { break };
        after = last.int("ordinal")?;
        tx.take_numbers(rows.len()).await?;
        let mut sealed = Vec::with_capacity(rows.len());
        for row in &rows {
            sealed.push(seal(tx, row, shift).await?);
            if let Some(positions) = &mut positions {
                positions.note(row.int("ordinal")?, tx.seq());
            }
        }
        written += rows.len() as i64;
        tables::insert(&mut tx.conn, table, &columns, &sealed).await?;
    }
    if let (Some(carried), Some(positions)) = (&publication.carried, positions) {
        carried.insert_baselines(tx, before, &positions).await?;
    }
    match written == publication.changes {
        true => Ok(()),
        false => Err(Error::Broken(format!(
            "{written} of {} staged changes are there",
            publication.changes
        ))),
    }
}

async fn seal(tx: &mut Tx, row: &Row, shift: &Shift) -> Result<Vec<Param>> {
    if row.opt_int("number")?.is_some() {
        return carry::staged_row(tx, row);
    }
    let (entity, action) = (row.text("entity")?, row.text("action")?);
    let (mut label, mut before, mut after) = (row.text("label")?, row.text("before")?, row.text("after")?);
    let project_id = row.opt_id("project_id")?;
    if !shift.is_none() && project_id == Some(shift.project) {
        let root = Reference::parse(&label)
            .filter(|reference| entity == "item" && shift.apply(reference) != *reference)
            .and_then(|reference| reference.kind())
            .filter(|kind| kind.rules().parent.is_none());
        (before, after) = (shift.fields(&before, root), shift.fields(&after, root));
        label = shift.words(&label);
    }
    let to_seal = ToSeal {
        project_id,
        entity: &entity,
        entity_id: row.id("entity_id")?,
        item_id: row.opt_id("item_id")?,
        other_item_id: row.opt_id("other_item_id")?,
        label: &label,
        action: &action,
        rev: row.int("rev")?,
        before: &before,
        after: &after,
    };
    tx.seal(&to_seal).await
}
