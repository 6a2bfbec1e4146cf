//! Reading the history.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use spexus_domain::change::{Action, Change, Entity, field_changes};
use spexus_domain::{Uuid, nearest};

/// The number of the last change.
pub async fn head(conn: &mut Conn) -> Result<i64> {
    Ok(crate::chain::Head::read(conn).await?.seq)
}

/// The changes of an item, of its comments and of its links, newest first, before a cursor.
pub async fn of_item(conn: &mut Conn, item_id: Uuid, before: i64, limit: u32) -> Result<Vec<Change>> {
    let own = conn
        .all(
            "SELECT * FROM change WHERE item_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
            params![item_id, before, limit],
        )
        .await?;
    let other = conn
        .all(
            "SELECT * FROM change WHERE other_item_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3",
            params![item_id, before, limit],
        )
        .await?;
    let mut changes = own.iter().chain(&other).map(change).collect::<Result<Vec<_>>>()?;
    changes.sort_by_key(|change| std::cmp::Reverse(change.seq));
    changes.truncate(limit as usize);
    Ok(changes)
}

/// How many changes an item has seen.
pub async fn count_of_item(conn: &mut Conn, item_id: Uuid) -> Result<i64> {
    let sql = "SELECT (SELECT count(*) FROM change WHERE item_id = $1) + (SELECT count(*) FROM change WHERE other_item_id = $1) AS n";
    conn.one(sql, params![item_id]).await?.int("n")
}

/// The changes of an item itself since a revision, oldest first: what someone with a stale copy has missed.
pub async fn since_rev(conn: &mut Conn, entity_id: Uuid, item_id: Uuid, rev: i64) -> Result<Vec<Change>> {
    let sql =
        "SELECT * FROM change WHERE item_id = $1 AND entity_id = $2 AND rev > $3 ORDER BY seq LIMIT 100";
    conn.all(sql, params![item_id, entity_id, rev])
        .await?
        .iter()
        .map(change)
        .collect()
}

/// The changes after a cursor, oldest first: those of a project, or all.
pub async fn since(conn: &mut Conn, project_id: Option<Uuid>, after: i64, limit: u32) -> Result<Vec<Change>> {
    let rows = match project_id {
        Some(project) => {
            let sql = "SELECT * FROM change WHERE project_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
            conn.all(sql, params![project, after, limit]).await?
        }
        None => {
            conn.all(
                "SELECT * FROM change WHERE seq > $1 ORDER BY seq LIMIT $2",
                params![after, limit],
            )
            .await?
        }
    };
    rows.iter().map(change).collect()
}

fn change(row: &Row) -> Result<Change> {
    let entity = row.text("entity")?;
    Ok(Change {
        seq: row.int("seq")?,
        at: row.time("at")?,
        user: row.text("username")?,
        token_id: row.opt_id("token_id")?,
        client: row.text("client")?,
        entity: *nearest::find(&Entity::ALL, |known| known.name(), &entity)
            .ok_or_else(|| Error::Broken(format!("a change is about the unknown entity {entity:?}")))?,
        entity_id: row.id("entity_id")?,
        project_id: row.opt_id("project_id")?,
        item_id: row.opt_id("item_id")?,
        other_item_id: row.opt_id("other_item_id")?,
        label: row.text("label")?,
        action: action(row)?,
        rev: row.int("rev")?,
        fields: field_changes(row.object("before")?, row.object("after")?),
        hash: hex::encode(row.bytes("hash")?),
    })
}

pub(crate) fn action(row: &Row) -> Result<Action> {
    let name = row.text("action")?;
    nearest::find(&Action::ALL, |known| known.name(), &name)
        .copied()
        .ok_or_else(|| Error::Broken(format!("a change has the unknown action {name:?}")))
}
