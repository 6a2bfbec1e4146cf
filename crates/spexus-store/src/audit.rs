//! What happened at the door: logins, failures, token use, and what was done to accounts.

use crate::audit_days::{self, DayEnd};
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::listing::page_of;
use crate::tx::Tx;
use crate::{cursor, tables};
use spexus_domain::Uuid;
use spexus_domain::audit::{AuditEvent, EventFilter, EventPayload, SealedEvent};
use spexus_domain::query::{Page, PageRequest};

/// Writes events behind the last one of the day. The day's row stays locked until the transaction ends, so that nodes that write
/// at once come one after the other.
//= specs/spexus-store.md#audit-trail
//# Each day (UTC) of the audit trail MUST be a chain of its own, whose hashes cover every event, however many nodes write at once.
pub async fn insert(tx: &mut Tx, events: &[AuditEvent]) -> Result<()> {
    let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
    if count == 0 {
        return Ok(());
    }
    let mut end = audit_days::extend(tx, count).await?;
    let mut rows = Vec::with_capacity(events.len());
    for event in events {
        let salt = tx.new_salt()?;
        rows.push(seal(event, &mut end, &salt));
    }
    let table = tables::table("audit")?;
    tables::insert(&mut tx.conn, table, &tables::columns(table), &rows).await?;
    audit_days::set_head(tx, &end).await
}

/// The row of an event at the end of a day, which moves on.
pub(crate) fn seal(event: &AuditEvent, end: &mut DayEnd, salt: &[u8]) -> Vec<Param> {
    let payload = EventPayload {
        username: &event.username,
        address: &event.address,
        client: &event.client,
        detail: &event.detail,
        target: &event.target,
    };
    let sealed = SealedEvent {
        day: end.day,
        number: end.number + 1,
        id: event.id,
        at: event.at,
        event: &event.event,
        token_id: event.token_id,
        target_id: event.target_id,
        times: event.times,
        payload: payload.hash(salt),
    };
    (end.number, end.hash) = (sealed.number, sealed.hash(&end.hash));
    params![
        end.day,
        end.number,
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
        salt.to_vec(),
        sealed.payload,
        end.hash,
    ]
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

pub(crate) fn event(row: &Row) -> Result<AuditEvent> {
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
