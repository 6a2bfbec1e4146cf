//! What happened at the door: logins, failures, token use.

use crate::cursor;
use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::listing::page_of;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::audit::Event;
use spexus_domain::query::{Page, PageRequest};

/// Writes an event.
pub async fn insert(tx: &mut Tx, event: &Event) -> Result<()> {
    let sql = "INSERT INTO audit (id, at, event, username, token_id, address, client, detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = params![
        event.id,
        event.at,
        &event.event,
        &event.username,
        event.token_id,
        &event.address,
        &event.client,
        &event.detail
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// One page of events, newest first.
pub async fn page(conn: &mut Conn, page: &PageRequest) -> Result<Page<Event>> {
    let total_count = conn
        .one("SELECT count(*) AS n FROM audit", params![])
        .await?
        .int("n")?;
    let before: Uuid = page
        .cursor
        .as_deref()
        .map(cursor::read)
        .transpose()?
        .unwrap_or(Uuid::max());
    let rows = conn
        .all(
            "SELECT * FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2",
            params![before, page.limit + 1],
        )
        .await?;
    let (data, next_cursor) = page_of(&rows, page.limit, event, |last| cursor::write(&last.id))?;
    Ok(Page {
        data,
        total_count,
        next_cursor,
    })
}

fn event(row: &Row) -> Result<Event> {
    Ok(Event {
        id: row.id("id")?,
        at: row.time("at")?,
        event: row.text("event")?,
        username: row.text("username")?,
        token_id: row.opt_id("token_id")?,
        address: row.text("address")?,
        client: row.text("client")?,
        detail: row.text("detail")?,
    })
}
