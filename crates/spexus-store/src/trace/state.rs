//! Where items stand: a row each, read by itself or beside its item.

use crate::engine::{Conn, Engine, Param, Row, params};
use crate::error::{Error, Result};
use crate::listing::Conditions;
use crate::tx::Tx;
use spexus_domain::trace::{ItemTrace, Rung, TraceFlag};
use spexus_domain::{Kind, Reference, Uuid};

/// Where an item stands, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// The item.
    pub item_id: Uuid,
    /// Where it stands.
    pub trace: ItemTrace,
    /// The hash of its content when that was found.
    pub content_hash: String,
    /// The hash of its content when its claims were made or confirmed.
    pub confirmed_hash: String,
    /// What the next push about the same commit goes on from, as JSON.
    pub ground: String,
}

/// An item that evidence names, living or not, with where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedItem {
    /// The item.
    pub item: NamedItem,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// Where it stands, where anything is known.
    pub state: Option<StateRow>,
}

/// An item with where it stands, in few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefRow {
    /// The item.
    pub item_id: Uuid,
    /// Its reference id.
    pub reference: Reference,
    /// Its title.
    pub title: String,
    /// Where it is in its workflow.
    pub status: String,
    /// The rung it stands on; none where nothing was pushed.
    pub state: Rung,
    /// What stands beside that.
    pub flags: Vec<TraceFlag>,
    /// The weakest link.
    pub weakest: String,
    /// Whether its text changed since.
    pub is_moved: bool,
}

/// An item that evidence names, with what evidence needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedItem {
    /// The item.
    pub id: Uuid,
    /// Its reference id.
    pub reference: Reference,
    /// Its title.
    pub title: String,
    /// Its text.
    pub description: String,
    /// The hash of its content.
    pub content_hash: String,
}

/// Rows of one page.
const PAGE_STATES: u32 = 1_000;

/// Where items stand, a page behind one of them, each with what people call it.
pub async fn states_after(
    conn: &mut Conn,
    project_id: Uuid,
    after: Uuid,
) -> Result<Vec<(Reference, StateRow)>> {
    let sql = "SELECT i.kind, i.number, s.* FROM trace_state s JOIN item i ON i.project_id = s.project_id AND i.id = s.item_id \
               WHERE s.project_id = $1 AND s.item_id > $2 ORDER BY s.item_id LIMIT $3";
    let rows = conn.all(sql, params![project_id, after, PAGE_STATES]).await?;
    let named = |row: &Row| {
        let reference = Reference::of_kind(crate::items::kind(row, "kind")?, row.int("number")?);
        Ok((reference, state_row(row)?))
    };
    rows.iter().map(named).collect()
}

/// Where an item stands.
pub async fn state(conn: &mut Conn, project_id: Uuid, item_id: Uuid) -> Result<Option<StateRow>> {
    let sql = "SELECT item_id, body, content_hash, confirmed_hash, ground FROM trace_state WHERE project_id = $1 AND item_id = $2";
    let row = conn.optional(sql, params![project_id, item_id]).await?;
    row.as_ref().map(state_row).transpose()
}

/// The items of which anything is known, by kind and number, living or not.
pub async fn stated_items(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(Kind, i64)>> {
    let sql = "SELECT i.kind, i.number FROM trace_state s JOIN item i ON i.project_id = s.project_id AND i.id = s.item_id \
               WHERE s.project_id = $1";
    let rows = conn.all(sql, params![project_id]).await?;
    rows.iter()
        .map(|row| Ok((crate::items::kind(row, "kind")?, row.int("number")?)))
        .collect()
}

/// On which rung each item stands of which anything is known.
pub async fn standing(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(Uuid, Rung)>> {
    let sql = "SELECT item_id, state FROM trace_state WHERE project_id = $1 ORDER BY item_id";
    let rows = conn.all(sql, params![project_id]).await?;
    rows.iter()
        .map(|row| Ok((row.id("item_id")?, rung(row.str("state")?))))
        .collect()
}

fn rung(name: &str) -> Rung {
    Rung::ALL
        .into_iter()
        .find(|rung| rung.name() == name)
        .unwrap_or_default()
}

/// Kind and number of items by their ids; what is not there is left out.
pub async fn numbers_of(conn: &mut Conn, project_id: Uuid, ids: &[Uuid]) -> Result<Vec<(Uuid, Kind, i64)>> {
    let mut query = Conditions::default();
    query.among("project_id", [project_id]);
    query.among("id", ids.iter().copied());
    let sql = format!("SELECT id, kind, number FROM item WHERE {}", query.text());
    let rows = conn.all(sql, query.params).await?;
    rows.iter()
        .map(|row| {
            Ok((
                row.id("id")?,
                crate::items::kind(row, "kind")?,
                row.int("number")?,
            ))
        })
        .collect()
}

/// Items of a kind by their numbers, living or not, with where they stand; what never was is left out.
pub async fn traced_items(
    conn: &mut Conn,
    project_id: Uuid,
    kind: Kind,
    numbers: &[i64],
) -> Result<Vec<TracedItem>> {
    let mut query = Conditions::default();
    query.among("i.project_id", [project_id]);
    query.any_of("i.kind", std::iter::once(Param::from(kind.name())));
    query.any_of("i.number", numbers.iter().map(|number| Param::from(*number)));
    let sql = format!(
        "SELECT i.id, i.kind, i.number, i.title, i.description, i.content_hash AS item_hash, i.deleted_at, s.item_id, s.body, \
         s.content_hash, s.confirmed_hash, s.ground FROM item i LEFT JOIN trace_state s ON s.project_id = i.project_id \
         AND s.item_id = i.id WHERE {}",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let traced = |row: &Row| {
        Ok(TracedItem {
            item: NamedItem {
                id: row.id("id")?,
                reference: Reference::of_kind(crate::items::kind(row, "kind")?, row.int("number")?),
                title: row.text("title")?,
                description: row.text("description")?,
                content_hash: row.text("item_hash")?,
            },
            is_deleted: row.opt_time("deleted_at")?.is_some(),
            state: row.opt_id("item_id")?.map(|_| state_row(row)).transpose()?,
        })
    };
    rows.iter().map(traced).collect()
}

/// Rows written by one statement on a server: a trip there is worth many.
const STATES_AT_ONCE: usize = 200;

/// Keeps where items stand.
pub async fn put_states(tx: &mut Tx, project_id: Uuid, rows: &[StateRow]) -> Result<()> {
    let at_once = match tx.conn.engine() {
        Engine::Sqlite => 1,
        Engine::Postgres => STATES_AT_ONCE,
    };
    for some in rows.chunks(at_once) {
        let groups: Vec<String> = (0..some.len()).map(group).collect();
        let sql = format!(
            "INSERT INTO trace_state (project_id, item_id, state, flags, weakest, body, content_hash, confirmed_hash, ground) \
             VALUES {} ON CONFLICT (project_id, item_id) DO UPDATE SET state = excluded.state, flags = excluded.flags, \
             weakest = excluded.weakest, body = excluded.body, content_hash = excluded.content_hash, \
             confirmed_hash = excluded.confirmed_hash, ground = excluded.ground",
            groups.join(", ")
        );
        let mut values = Vec::with_capacity(some.len() * STATE_COLUMNS);
        for row in some {
            values.extend(state_values(project_id, row)?);
        }
        tx.conn.run(sql, values).await?;
    }
    Ok(())
}

const STATE_COLUMNS: usize = 9;

fn group(row: usize) -> String {
    let first = row * STATE_COLUMNS + 1;
    let places: Vec<String> = (first..first + STATE_COLUMNS)
        .map(|at| format!("${at}"))
        .collect();
    format!("({})", places.join(", "))
}

fn state_values(project_id: Uuid, row: &StateRow) -> Result<Vec<Param>> {
    let flags: Vec<&str> = row.trace.flags.iter().map(|flag| flag.name()).collect();
    let body = serde_json::to_string(&row.trace).map_err(|error| Error::Broken(error.to_string()))?;
    Ok(params![
        project_id,
        row.item_id,
        row.trace.state.name(),
        flags.join(" "),
        &row.trace.weakest,
        body,
        &row.content_hash,
        &row.confirmed_hash,
        &row.ground,
    ])
}

/// Forgets where an item stood, of which nothing is known any more.
pub async fn remove_state(tx: &mut Tx, project_id: Uuid, item_id: Uuid) -> Result<()> {
    let sql = "DELETE FROM trace_state WHERE project_id = $1 AND item_id = $2";
    tx.conn.run(sql, params![project_id, item_id]).await.map(drop)
}

/// All living items of a kind with where they stand, in the order of their numbers.
pub async fn brief(conn: &mut Conn, project_id: Uuid, kind: Kind) -> Result<Vec<BriefRow>> {
    let sql = "SELECT i.id, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
               FROM item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id \
               WHERE i.project_id = $1 AND i.kind = $2 AND i.deleted_at IS NULL ORDER BY i.number";
    let rows = conn.all(sql, params![project_id, kind.name()]).await?;
    rows.iter().map(|row| brief_row(row, kind)).collect()
}

/// Some living items with where they stand.
pub async fn brief_among(conn: &mut Conn, project_id: Uuid, ids: &[Uuid]) -> Result<Vec<BriefRow>> {
    let mut query = Conditions::default();
    query.among("i.project_id", [project_id]);
    query.among("i.id", ids.iter().copied());
    let sql = format!(
        "SELECT i.id, i.kind, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
         FROM item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id WHERE {} AND i.deleted_at IS NULL",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    rows.iter()
        .map(|row| brief_row(row, crate::items::kind(row, "kind")?))
        .collect()
}

/// Items of which a test failed, that are told at most.
const MAX_FAILING: u32 = 100;

/// Items of a project of which a test failed.
pub async fn failing(conn: &mut Conn, project_id: Uuid) -> Result<Vec<Uuid>> {
    let sql = "SELECT item_id FROM trace_state WHERE project_id = $1 AND flags LIKE 'failed%' ORDER BY item_id LIMIT $2";
    let rows = conn.all(sql, params![project_id, MAX_FAILING]).await?;
    rows.iter().map(|row| row.id("item_id")).collect()
}

/// The living requirements below an item with where they stand, in the order of their numbers.
pub async fn brief_below(conn: &mut Conn, project_id: Uuid, item_id: Uuid) -> Result<Vec<BriefRow>> {
    let sql = "WITH RECURSIVE below (id) AS (SELECT id FROM item WHERE project_id = $1 AND id = $2 UNION ALL SELECT c.id FROM below b \
               CROSS JOIN item c WHERE c.project_id = $1 AND c.parent_id = b.id AND c.deleted_at IS NULL) \
               SELECT i.id, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
               FROM below b CROSS JOIN item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id \
               WHERE i.project_id = $1 AND i.id = b.id AND i.kind = $3 ORDER BY i.number";
    let kind = Kind::Requirement;
    let rows = conn.all(sql, params![project_id, item_id, kind.name()]).await?;
    rows.iter().map(|row| brief_row(row, kind)).collect()
}

fn brief_row(row: &Row, kind: Kind) -> Result<BriefRow> {
    let state = row.opt_text("state")?.unwrap_or_default();
    let flags = row.opt_text("flags")?.unwrap_or_default();
    let traced = row.opt_text("traced_hash")?;
    Ok(BriefRow {
        item_id: row.id("id")?,
        reference: Reference::of_kind(kind, row.int("number")?),
        title: row.text("title")?,
        status: row.opt_text("status")?.unwrap_or_default(),
        state: rung(&state),
        flags: TraceFlag::ALL
            .into_iter()
            .filter(|flag| flags.split(' ').any(|name| name == flag.name()))
            .collect(),
        weakest: row.opt_text("weakest")?.unwrap_or_default(),
        is_moved: traced.is_some_and(|traced| Ok(traced) != row.text("content_hash").map_err(drop)),
    })
}

fn state_row(row: &Row) -> Result<StateRow> {
    let body = row.text("body")?;
    let trace = serde_json::from_str(&body);
    Ok(StateRow {
        item_id: row.id("item_id")?,
        trace: trace.map_err(|error| Error::Broken(format!("a state cannot be read: {error}")))?,
        content_hash: row.text("content_hash")?,
        confirmed_hash: row.text("confirmed_hash")?,
        ground: row.text("ground")?,
    })
}
