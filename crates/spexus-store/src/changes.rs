//! Reading the history.

use crate::arrival;
use crate::directory::project_of;
use crate::engine::{Conn, Param, Row, params};
use crate::error::{Error, Result};
use crate::listing::Conditions;
use serde_json::Value;
use spexus_domain::change::{Action, Change, Entity, field_changes, project_of};
use spexus_domain::limits::MAX_PAGE_BYTES;
use spexus_domain::{Uuid, nearest, told};

/// The number of the last change that readers of the whole installation may go past.
pub async fn head(conn: &mut Conn) -> Result<i64> {
    Ok(arrival::look(conn).await?.settled)
}

/// The changes of an item, of its comments and of its links, newest first, before a cursor; and whether there are older ones.
pub async fn of_item(conn: &mut Conn, item_id: Uuid, before: i64, limit: u32) -> Result<(Vec<Change>, bool)> {
    const OWN: &str = concat!(
        "SELECT seq, CAST(octet_length(before) + octet_length(after) AS BIGINT) AS size FROM change WHERE ledger = ",
        project_of!("$1"),
        " AND item_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3"
    );
    // A link is in the history of the project it begins in.
    const OTHER: &str = "SELECT seq, CAST(octet_length(before) + octet_length(after) AS BIGINT) AS size FROM change \
                         WHERE other_item_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
    let mut sizes = sizes(&conn.all(OWN, params![item_id, before, limit + 1]).await?)?;
    sizes.extend(self::sizes(
        &conn.all(OTHER, params![item_id, before, limit + 1]).await?,
    )?);
    sizes.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
    let found = sizes.len();
    sizes.truncate(limit as usize);
    sizes.truncate(fitting(&sizes, MAX_PAGE_BYTES));
    if sizes.is_empty() {
        return Ok((vec![], false));
    }
    let mut query = Conditions::default();
    query.any_of("seq", sizes.iter().map(|(seq, _)| Param::from(*seq)));
    let sql = format!("SELECT * FROM change WHERE {}", query.text());
    let rows = conn.all(sql, query.params).await?;
    let mut changes = rows.iter().map(change).collect::<Result<Vec<_>>>()?;
    changes.sort_by_key(|change| std::cmp::Reverse(change.seq));
    Ok((changes, sizes.len() < found))
}

//= specs/spexus-store.md#lists
//# A page of the history or of the feed MUST end before its texts exceed the bytes one answer may hold, before they are read,
//# and the next page MUST go on from there.
/// How many of the changes fit into so many bytes; the first one always.
fn fitting(sizes: &[(i64, i64)], max_bytes: usize) -> usize {
    let (mut bytes, max_bytes) = (0, i64::try_from(max_bytes).unwrap_or(i64::MAX));
    let fits = |(_, size): &&(i64, i64)| {
        bytes += size;
        bytes <= max_bytes
    };
    sizes.iter().take_while(fits).count().max(sizes.len().min(1))
}

fn sizes(rows: &[Row]) -> Result<Vec<(i64, i64)>> {
    let size = |row: &Row| Ok((row.int("seq")?, row.int("size")?));
    rows.iter().map(size).collect()
}

/// How many changes an item has seen.
pub async fn count_of_item(conn: &mut Conn, item_id: Uuid) -> Result<i64> {
    const SQL: &str = concat!(
        "SELECT (SELECT count(*) FROM change WHERE ledger = ",
        project_of!("$1"),
        " AND item_id = $1) + (SELECT count(*) FROM change WHERE other_item_id = $1) AS n"
    );
    conn.one(SQL, params![item_id]).await?.int("n")
}

/// The changes of an item itself since a revision, oldest first: what someone with a stale copy has missed.
pub async fn since_rev(conn: &mut Conn, entity_id: Uuid, item_id: Uuid, rev: i64) -> Result<Vec<Change>> {
    const SQL: &str = concat!(
        "SELECT * FROM change WHERE ledger = ",
        project_of!("$1"),
        " AND item_id = $1 AND entity_id = $2 AND rev > $3 ORDER BY seq LIMIT 100"
    );
    conn.all(SQL, params![item_id, entity_id, rev])
        .await?
        .iter()
        .map(change)
        .collect()
}

/// The hash of a change by its number in its ledger.
pub async fn hash_of(conn: &mut Conn, ledger: Uuid, number: i64) -> Result<Option<String>> {
    let sql = "SELECT hash FROM change WHERE ledger = $1 AND number = $2";
    let row = conn.optional(sql, params![ledger, number]).await?;
    row.map(|row| Ok(hex::encode(row.bytes("hash")?))).transpose()
}

/// The hash of a change by its number among all.
pub async fn hash_at(conn: &mut Conn, seq: i64) -> Result<Option<String>> {
    let sql = "SELECT hash FROM change WHERE seq = $1";
    let row = conn.optional(sql, params![seq]).await?;
    row.map(|row| Ok(hex::encode(row.bytes("hash")?))).transpose()
}

/// The number and the hash of the last change of a ledger.
pub async fn end_of(conn: &mut Conn, ledger: Uuid) -> Result<Option<(i64, String)>> {
    let sql = "SELECT number, hash FROM change WHERE ledger = $1 ORDER BY number DESC LIMIT 1";
    let row = conn.optional(sql, params![ledger]).await?;
    row.map(|row| Ok((row.int("number")?, hex::encode(row.bytes("hash")?))))
        .transpose()
}

/// The changes behind a number, oldest first, as many as one answer may hold: those of a project behind a number of its ledger, or
/// all behind a number of arrival. Only an empty page is the end.
pub async fn since(conn: &mut Conn, project_id: Option<Uuid>, after: i64, limit: u32) -> Result<Vec<Change>> {
    since_within(conn, project_id, after, limit, MAX_PAGE_BYTES).await
}

/// The same, of at most so many bytes of text; of more only where the first change alone has more.
pub async fn since_within(
    conn: &mut Conn,
    project_id: Option<Uuid>,
    after: i64,
    limit: u32,
    max_bytes: usize,
) -> Result<Vec<Change>> {
    const OF_PROJECT: &str = "SELECT number AS seq, CAST(octet_length(before) + octet_length(after) AS BIGINT) AS size FROM change \
                              WHERE ledger = $1 AND number > $2 ORDER BY number LIMIT $3";
    const OF_ALL: &str = "SELECT seq, CAST(octet_length(before) + octet_length(after) AS BIGINT) AS size FROM change \
                          WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";
    let rows = match project_id {
        Some(project) => conn.all(OF_PROJECT, params![project, after, limit]).await?,
        //= specs/spexus-store.md#several-processes
        //# Who follows the changes of all projects MUST be given each of them once and in one order, whatever writers of several
        //# projects finish first.
        None => {
            let settled = arrival::settled(conn).await?;
            conn.all(OF_ALL, params![after, settled, limit]).await?
        }
    };
    let sizes = sizes(&rows)?;
    let fitting = fitting(&sizes, max_bytes);
    let Some((last, _)) = sizes[..fitting].last() else {
        return Ok(vec![]);
    };
    let rows = match project_id {
        Some(project) => {
            let sql =
                "SELECT * FROM change WHERE ledger = $1 AND number > $2 AND number <= $3 ORDER BY number";
            conn.all(sql, params![project, after, *last]).await?
        }
        None => {
            let sql = "SELECT * FROM change WHERE seq > $1 AND seq <= $2 ORDER BY seq";
            conn.all(sql, params![after, *last]).await?
        }
    };
    rows.iter().map(change).collect()
}

fn change(row: &Row) -> Result<Change> {
    let entity = row.text("entity")?;
    Ok(Change {
        seq: row.int("seq")?,
        number: row.int("number")?,
        at: row.time("at")?,
        user: row.text("username")?,
        token_id: row.opt_id("token_id")?,
        client: row.text("client")?,
        entity: *nearest::find(&Entity::ALL, |known| known.name(), &entity)
            .ok_or_else(|| Error::Broken(format!("a change is about the unknown entity {entity:?}")))?,
        entity_id: row.id("entity_id")?,
        project_id: project_of(row.id("ledger")?),
        item_id: row.opt_id("item_id")?,
        other_item_id: row.opt_id("other_item_id")?,
        label: row.text("label")?,
        action: action(row)?,
        rev: row.int("rev")?,
        intent: intent(row)?,
        fields: field_changes(row.object("before")?, row.object("after")?),
        hash: hex::encode(row.bytes("hash")?),
    })
}

fn intent(row: &Row) -> Result<Option<String>> {
    match row.object("after")?.remove(told::INTENT) {
        Some(Value::String(intent)) => Ok(Some(intent)),
        _ => Ok(None),
    }
}

pub(crate) fn action(row: &Row) -> Result<Action> {
    let name = row.text("action")?;
    nearest::find(&Action::ALL, |known| known.name(), &name)
        .copied()
        .ok_or_else(|| Error::Broken(format!("a change has the unknown action {name:?}")))
}
