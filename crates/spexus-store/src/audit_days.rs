//! The days of the audit trail: each is a chain of its own that grows, is sealed into the ledger of the installation once it is
//! over, and is dropped as a whole when retention says so.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::ledger_head::hash;
use crate::tx::Tx;
use serde_json::Value;
use spexus_domain::attribute::Attributes;
use spexus_domain::audit::{day_name, day_of, genesis_of_day};
use spexus_domain::change::{Action, Entity, NewChange};

/// What days are called in the ledger of the installation.
pub(crate) const LABEL: &str = "audit trail";

/// Days sealed or dropped by one transaction.
const DAYS_AT_ONCE: u32 = 400;

/// Tries to find the day that is open, while nodes disagree about midnight.
const MAX_TRIES: usize = 4;

/// The end of a day's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayEnd {
    /// The day.
    pub day: i64,
    /// The number of its last event; 0 before the first.
    pub number: i64,
    /// Its hash; before the first, what the day begins with.
    pub hash: [u8; 32],
}

impl DayEnd {
    /// Before the first event.
    pub(crate) fn before(day: i64) -> Self {
        Self {
            day,
            number: 0,
            hash: genesis_of_day(day),
        }
    }

    /// As the ledger tells it, beside the name of the day.
    fn summary(&self) -> Value {
        format!("{} {}", self.number, hex::encode(self.hash)).into()
    }

    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            day: row.int("day")?,
            number: row.int("events")?,
            hash: hash(row, "head")?,
        })
    }
}

/// Makes room for so many events at the end of the day that is open, and locks it. Tells the end before them.
pub(crate) async fn extend(tx: &mut Tx, count: i64) -> Result<DayEnd> {
    let mut day = day_of(tx.now());
    for _ in 0..MAX_TRIES {
        //= specs/spexus-store.md#audit-trail
        //# An event MUST NOT be written into a day that is over on another node, or that is sealed.
        let last = tx.conn.one("SELECT max(day) AS day FROM audit_day", params![]);
        day = day.max(last.await?.opt_int("day")?.unwrap_or(day));
        let sql = "INSERT INTO audit_day (day, events, head) VALUES ($1, $2, $3) ON CONFLICT (day) \
                   DO UPDATE SET events = audit_day.events + excluded.events WHERE audit_day.sealed_at IS NULL RETURNING day, events, head";
        let values = params![day, count, genesis_of_day(day)];
        if let Some(row) = tx.conn.optional(sql, values).await? {
            let end = DayEnd::of(&row)?;
            return Ok(DayEnd {
                number: end.number - count,
                ..end
            });
        }
        day += 1;
    }
    Err(Error::Unavailable(
        "there is no day open in the audit trail".into(),
    ))
}

/// Notes the hash of the last event of a day.
pub(crate) async fn set_head(tx: &mut Tx, end: &DayEnd) -> Result<()> {
    let sql = "UPDATE audit_day SET head = $2 WHERE day = $1";
    tx.conn.run(sql, params![end.day, end.hash]).await.map(drop)
}

/// The end of the day that is open.
pub(crate) async fn open_day(conn: &mut Conn) -> Result<Option<(String, Value)>> {
    let sql = "SELECT day, events, head FROM audit_day WHERE sealed_at IS NULL ORDER BY day DESC LIMIT 1";
    let row = conn.optional(sql, params![]).await?;
    let named = |row: &Row| DayEnd::of(row).map(|end| (day_name(end.day), end.summary()));
    row.map(|row| named(&row)).transpose()
}

/// Writes the ends of days that are over into the ledger of the installation; from then on they do not grow.
//= specs/spexus-store.md#audit-trail
//# The end of a day that is over MUST enter the ledger of the installation.
pub async fn seal_finished(tx: &mut Tx) -> Result<()> {
    loop {
        let sql = "UPDATE audit_day SET sealed_at = $2 WHERE day IN (SELECT day FROM audit_day WHERE sealed_at IS NULL AND day < $1 \
                   ORDER BY day LIMIT $3) AND sealed_at IS NULL RETURNING day, events, head";
        let (today, now) = (day_of(tx.now()), tx.now());
        let rows = tx.conn.all(sql, params![today, now, DAYS_AT_ONCE]).await?;
        if rows.is_empty() {
            return Ok(());
        }
        let (fields, _) = summaries(&rows)?;
        let id = tx.new_id();
        let change = NewChange::new(Entity::Setting, id, LABEL, Action::Created, 1);
        tx.record(change.fields(None, fields)).await?;
    }
}

/// Marks whole days from before a day as dropped, and tells the ledger so; tells how many events they had. Those are swept after
/// that.
//= specs/spexus-store.md#audit-trail
//# Retention MUST drop whole days that are sealed, and MUST be told in the ledger of the installation with who did it and with
//# what the days ended with.
pub async fn drop_before(tx: &mut Tx, before: i64) -> Result<i64> {
    let mut dropped = 0;
    loop {
        let sql = "UPDATE audit_day SET dropped_at = $2 WHERE day IN (SELECT day FROM audit_day WHERE sealed_at IS NOT NULL \
                   AND dropped_at IS NULL AND day < $1 ORDER BY day LIMIT $3) RETURNING day, events, head";
        let now = tx.now();
        let rows = tx.conn.all(sql, params![before, now, DAYS_AT_ONCE]).await?;
        if rows.is_empty() {
            return Ok(dropped);
        }
        let (fields, events) = summaries(&rows)?;
        dropped += events;
        let id = tx.new_id();
        let change = NewChange::new(Entity::Setting, id, LABEL, Action::Deleted, 1);
        tx.record(change.fields(Some(fields), Attributes::new())).await?;
    }
}

/// Removes events of dropped days, so many at most, the oldest first; tells how many went.
pub async fn sweep(tx: &mut Tx, max_rows: u32) -> Result<u64> {
    let sql = "DELETE FROM audit WHERE id IN (SELECT a.id FROM audit_day d JOIN audit a ON a.day = d.day \
               WHERE d.dropped_at IS NOT NULL ORDER BY a.day, a.number LIMIT $1)";
    tx.conn.run(sql, params![max_rows]).await
}

/// What the ledger is told of days, and how many events they have.
fn summaries(rows: &[Row]) -> Result<(Attributes, i64)> {
    let (mut fields, mut events) = (Attributes::new(), 0);
    for row in rows {
        let end = DayEnd::of(row)?;
        events += end.number;
        fields.insert(day_name(end.day), end.summary());
    }
    Ok((fields, events))
}
