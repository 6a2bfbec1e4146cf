//! Where ledgers began that came here with their project. What a ledger begins with seals the former history of the
//! installation it was made at, so that must be known wherever the ledger goes.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use serde::Serialize;
use spexus_domain::change::FormerHead;
use spexus_domain::{Timestamp, Uuid};
use std::collections::BTreeMap;

/// Where a ledger began, and how far it had come when it was brought here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerOrigin {
    /// The installation it began at, by the hash of the first change of its own ledger.
    pub installation: String,
    /// The one chain that installation had before there were ledgers.
    pub former: FormerHead,
    /// How many changes came.
    pub number: i64,
    /// The hash of the last of them.
    pub hash: [u8; 32],
}

/// The same, as verification tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arrival {
    /// The installation it began at.
    pub installation: String,
    /// How many changes came with it.
    pub changes: i64,
    /// How many changes that installation had before there were ledgers; they are sealed in the ledger and are not here.
    pub former_changes: i64,
}

impl From<&LedgerOrigin> for Arrival {
    fn from(origin: &LedgerOrigin) -> Self {
        Self {
            installation: origin.installation.clone(),
            changes: origin.number,
            former_changes: origin.former.changes,
        }
    }
}

/// Where a ledger began, if not here.
pub(crate) async fn of(conn: &mut Conn, ledger: Uuid) -> Result<Option<LedgerOrigin>> {
    let sql = "SELECT * FROM ledger_origin WHERE ledger = $1";
    let row = conn.optional(sql, params![ledger]).await?;
    row.map(|row| origin(&row)).transpose()
}

/// Where each ledger began that did not begin here.
pub(crate) async fn all(conn: &mut Conn) -> Result<BTreeMap<Uuid, LedgerOrigin>> {
    let rows = conn
        .all("SELECT * FROM ledger_origin ORDER BY ledger", params![])
        .await?;
    rows.iter()
        .map(|row| Ok((row.id("ledger")?, origin(row)?)))
        .collect()
}

/// Writes down where a ledger began.
pub(crate) async fn insert(
    conn: &mut Conn,
    ledger: Uuid,
    origin: &LedgerOrigin,
    now: Timestamp,
) -> Result<()> {
    let sql = "INSERT INTO ledger_origin (ledger, installation, former_changes, former_head, number, hash, arrived_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values = params![
        ledger,
        &origin.installation,
        origin.former.changes,
        origin.former.hash,
        origin.number,
        origin.hash,
        now,
    ];
    conn.run(sql, values).await.map(drop)
}

fn origin(row: &Row) -> Result<LedgerOrigin> {
    Ok(LedgerOrigin {
        installation: row.text("installation")?,
        former: FormerHead {
            changes: row.int("former_changes")?,
            hash: hash(row, "former_head")?,
        },
        number: row.int("number")?,
        hash: hash(row, "hash")?,
    })
}

fn hash(row: &Row, column: &str) -> Result<[u8; 32]> {
    row.bytes(column)?
        .try_into()
        .map_err(|_| Error::Broken("a hash of where a ledger began has another length".into()))
}
