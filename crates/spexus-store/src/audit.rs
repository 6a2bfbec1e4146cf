//! What happened at the door: logins, failures, token use, and what was done to accounts.

use crate::cursor;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::listing::page_of;
use crate::tx::Tx;
use spexus_domain::audit::{AuditEvent, EventFilter};
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Timestamp, Uuid};

/// Writes an event.
pub async fn insert(tx: &mut Tx, event: &AuditEvent) -> Result<()> {
    let sql = "INSERT INTO audit (id, at, event, username, token_id, address, client, detail, target_id, target, times) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let values = params![
        event.id,
        event.at,
        &event.event,
        &event.username,
        event.token_id,
        &event.address,
        &event.client,
        &event.detail,
        event.target_id,
        &event.target,
        event.times,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// One page of events, newest first.
pub async fn page(conn: &mut Conn, filter: &EventFilter, page: &PageRequest) -> Result<Page<AuditEvent>> {
    let (wanted, values) = condition(filter);
    let total_count = conn
        .one(
            format!("SELECT count(*) AS n FROM audit WHERE {wanted}"),
            values.clone(),
        )
        .await?
        .int("n")?;
    let before: Uuid = page
        .cursor
        .as_deref()
        .map(cursor::read)
        .transpose()?
        .unwrap_or(Uuid::max());
    let (at, mut values) = (values.len(), values);
    values.extend(params![before, page.limit + 1]);
    let sql = format!(
        "SELECT * FROM audit WHERE {wanted} AND id < ${} ORDER BY id DESC LIMIT ${}",
        at + 1,
        at + 2
    );
    let rows = conn.all(sql, values).await?;
    let (data, next_cursor) = page_of(&rows, page.limit, event, |last| cursor::write(&last.id))?;
    Ok(Page::new(data, total_count, next_cursor))
}

/// Removes the oldest events from before a time, so many at most; tells how many went.
pub async fn prune(tx: &mut Tx, before: Timestamp, max_rows: u32) -> Result<u64> {
    let sql = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)";
    tx.conn.run(sql, params![before, max_rows]).await
}

/// The condition of a filter, whose words are fixed, and the values it binds.
fn condition(filter: &EventFilter) -> (String, Vec<Param>) {
    let (mut parts, mut values) = (vec!["1 = 1".to_owned()], Vec::new());
    if let Some(event) = &filter.event {
        values.push(Param::from(event));
        parts.push(format!("event = ${}", values.len()));
    }
    if let Some(user) = &filter.user {
        values.push(Param::from(user));
        parts.push(format!("(username = ${0} OR target = ${0})", values.len()));
    }
    if let Some(since) = filter.since {
        values.push(Param::from(since));
        parts.push(format!("at >= ${}", values.len()));
    }
    if let Some(until) = filter.until {
        values.push(Param::from(until));
        parts.push(format!("at < ${}", values.len()));
    }
    (parts.join(" AND "), values)
}

fn event(row: &Row) -> Result<AuditEvent> {
    Ok(AuditEvent {
        id: row.id("id")?,
        at: row.time("at")?,
        event: row.text("event")?,
        username: row.text("username")?,
        token_id: row.opt_id("token_id")?,
        address: row.text("address")?,
        client: row.text("client")?,
        detail: row.text("detail")?,
        target_id: row.opt_id("target_id")?,
        target: row.text("target")?,
        times: row.int("times")?,
    })
}
