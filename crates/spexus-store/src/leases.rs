//! Leases: who works on what, until when.

use crate::directory::{project_of, project_of_bound};
use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items::kind;
use crate::listing::Conditions;
use crate::reference_prefix::prefix;
use crate::tx::Tx;
use spexus_domain::lease::Lease;
use spexus_domain::{Reference, Timestamp, Uuid};

/// Leases of a project that are told at most.
const MAX_LEASES: u32 = 500;

macro_rules! select_leases {
    ($rest:literal) => {
        concat!(
            "SELECT s.project_id, s.item_id, i.kind, i.number, ",
            $crate::reference_prefix::prefix_of!("p"),
            " AS prefix, p.key AS project, s.user_id, s.token_id, s.holder, s.intent, ",
            "s.since, s.until FROM lease s JOIN item i ON i.project_id = s.project_id AND i.id = s.item_id ",
            "JOIN project p ON p.id = s.project_id ",
            $rest
        )
    };
}

/// The lease on an item that has not run out.
pub async fn of_item(conn: &mut Conn, item_id: Uuid, now: Timestamp) -> Result<Option<Lease>> {
    const SQL: &str = concat!(
        select_leases!("WHERE s.item_id = $1 AND s.until > $2 AND s.project_id = "),
        project_of!("$1")
    );
    let row = conn.optional(SQL, params![item_id, now]).await?;
    row.map(|row| lease(&row)).transpose()
}

/// The leases on items that have not run out.
pub async fn of_items(conn: &mut Conn, item_ids: &[Uuid], now: Timestamp) -> Result<Vec<Lease>> {
    let mut found = Vec::new();
    for item_id in item_ids {
        found.extend(of_item(conn, *item_id, now).await?);
    }
    Ok(found)
}

/// The leases of a project that have not run out, those that end first before the others.
pub async fn of_project(conn: &mut Conn, project_id: Uuid, now: Timestamp) -> Result<Vec<Lease>> {
    const SQL: &str = select_leases!(
        "WHERE s.project_id = $1 AND s.until > $2 AND i.deleted_at IS NULL ORDER BY s.until, s.item_id LIMIT $3"
    );
    let rows = conn.all(SQL, params![project_id, now, MAX_LEASES]).await?;
    rows.iter().map(lease).collect()
}

/// Keeps a lease in place of the one the item had, and forgets those of the project that ran out.
pub async fn put(tx: &mut Tx, lease: &Lease) -> Result<()> {
    let now = tx.now();
    tx.concerns(lease.project_id)?;
    let forget = "DELETE FROM lease WHERE project_id = $1 AND until <= $2";
    tx.conn.run(forget, params![lease.project_id, now]).await?;
    let sql = "INSERT INTO lease (project_id, item_id, user_id, token_id, holder, intent, since, until) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (project_id, item_id) DO UPDATE SET \
               user_id = excluded.user_id, token_id = excluded.token_id, holder = excluded.holder, intent = excluded.intent, \
               since = excluded.since, until = excluded.until";
    let values = params![
        lease.project_id,
        lease.item_id,
        lease.user_id,
        lease.token_id,
        &lease.holder,
        &lease.intent,
        lease.since,
        lease.until
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Ends the lease on an item.
pub async fn remove(tx: &mut Tx, project_id: Uuid, item_id: Uuid) -> Result<()> {
    tx.concerns(project_id)?;
    let sql = "DELETE FROM lease WHERE project_id = $1 AND item_id = $2";
    tx.conn.run(sql, params![project_id, item_id]).await.map(drop)
}

/// What items wait for: each with the item it depends on, or that blocks it.
pub async fn dependencies(conn: &mut Conn, item_ids: &[Uuid]) -> Result<Vec<(Uuid, Uuid)>> {
    let mut found = Vec::new();
    for (link_type, here, there) in [
        ("depends_on", "source_id", "target_id"),
        ("blocks", "target_id", "source_id"),
    ] {
        for item_id in item_ids {
            let mut query = Conditions::default();
            let item = query.bind(*item_id);
            query.add(format!("l.project_id = {}", project_of_bound(&item)));
            query.add(format!("l.{here} = {item} AND l.deleted_at IS NULL"));
            let wanted = query.bind(link_type);
            query.add(format!("l.type = {wanted}"));
            let sql = format!("SELECT l.{there} AS other FROM link l WHERE {}", query.text());
            for row in conn.all(sql, query.params).await? {
                found.push((*item_id, row.id("other")?));
            }
        }
    }
    Ok(found)
}

fn lease(row: &Row) -> Result<Lease> {
    Ok(Lease {
        item: prefix(row, "prefix")?.show(Reference::of_kind(kind(row, "kind")?, row.int("number")?)),
        item_id: row.id("item_id")?,
        project: row.text("project")?,
        project_id: row.id("project_id")?,
        user_id: row.id("user_id")?,
        token_id: row.opt_id("token_id")?,
        holder: row.text("holder")?,
        intent: row.text("intent")?,
        since: row.time("since")?,
        until: row.time("until")?,
    })
}
