//! From an audit trail without hashes to one that is chained by days.

use crate::audit;
use crate::audit_days::DayEnd;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::tables;
use crate::tx::Salts;
use spexus_domain::Uuid;
use spexus_domain::audit::day_of;
use std::collections::BTreeMap;

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// Fills the new table from the former one, which is not needed afterwards. What there was is chained as it stood then.
//= specs/spexus-store.md#schema
//# The events of an older version MUST be chained by the days they happened on.
pub(super) async fn carry_over(conn: &mut Conn) -> Result<()> {
    let table = tables::table("audit")?;
    let columns = tables::columns(table);
    let mut days: BTreeMap<i64, DayEnd> = BTreeMap::new();
    let (mut salts, mut behind) = (Salts::default(), Uuid::nil());
    loop {
        let sql = "SELECT * FROM former_audit WHERE id > $1 ORDER BY id LIMIT $2";
        let rows = conn.all(sql, params![behind, STEP_ROWS]).await?;
        let Some(last) = rows.last() else { break };
        behind = last.id("id")?;
        let mut sealed = Vec::with_capacity(rows.len());
        for row in &rows {
            let event = audit::event(row)?;
            let day = day_of(event.at);
            let end = days.entry(day).or_insert_with(|| DayEnd::before(day));
            sealed.push(audit::seal(&event, end, &salts.next()?));
        }
        tables::insert(conn, table, &columns, &sealed).await?;
    }
    for (day, end) in days {
        let sql = "INSERT INTO audit_day (day, events, head) VALUES ($1, $2, $3)";
        conn.run(sql, params![day, end.number, end.hash]).await?;
    }
    Ok(())
}
