//! Up to which change each ledger was dropped by retention. What is kept of it begins behind that.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use spexus_domain::{Timestamp, Uuid};
use std::collections::BTreeMap;

/// The changes of a ledger from its first on, or from behind what was dropped before, up to one that a checkpoint names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The ledger.
    pub ledger: Uuid,
    /// The number of the last change in the ledger.
    pub number: i64,
    /// Its number among all.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
    /// When it happened.
    pub at: Timestamp,
}

/// What was dropped of a ledger, if anything was.
pub async fn of(conn: &mut Conn, ledger: Uuid) -> Result<Option<Segment>> {
    let sql = "SELECT * FROM dropped_segment WHERE ledger = $1";
    let row = conn.optional(sql, params![ledger]).await?;
    row.map(|row| segment(&row)).transpose()
}

/// What was dropped of each ledger.
pub(crate) async fn all(conn: &mut Conn) -> Result<BTreeMap<Uuid, Segment>> {
    let rows = conn
        .all("SELECT * FROM dropped_segment ORDER BY ledger", params![])
        .await?;
    rows.iter()
        .map(|row| Ok((row.id("ledger")?, segment(row)?)))
        .collect()
}

/// The number among all of the last change that was dropped; 0 where none was.
pub async fn last_seq(conn: &mut Conn) -> Result<i64> {
    let sql = "SELECT coalesce(max(seq), 0) AS seq FROM dropped_segment";
    conn.one(sql, params![]).await?.int("seq")
}

fn segment(row: &Row) -> Result<Segment> {
    Ok(Segment {
        ledger: row.id("ledger")?,
        number: row.int("number")?,
        seq: row.int("seq")?,
        hash: row
            .bytes("hash")?
            .try_into()
            .map_err(|_| Error::Broken("a hash of what was dropped has another length".into()))?,
        at: row.time("at")?,
    })
}
