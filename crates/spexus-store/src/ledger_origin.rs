//! Where ledgers began that came here with their project. What a ledger begins with seals the former history of the
//! installation it was made at, so that must be known wherever the ledger goes.

use crate::chain::hash;
use crate::copy::{self, Table};
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::tx::Tx;
use serde::Serialize;
use spexus_domain::Uuid;
use spexus_domain::change::FormerHead;
use std::collections::BTreeMap;

pub(crate) const TABLE: Table = Table {
    name: "ledger_origin",
    order: "ledger",
    columns: "ledger:u installation:t former_changes:i former_head:b number:i hash:b arrived_at:i",
};

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
pub(crate) async fn insert(tx: &mut Tx, ledger: Uuid, origin: &LedgerOrigin) -> Result<()> {
    let row: Vec<Param> = params![
        ledger,
        &origin.installation,
        origin.former.changes,
        origin.former.hash,
        origin.number,
        origin.hash,
        tx.now(),
    ];
    copy::insert(&mut tx.conn, &TABLE, &copy::columns(&TABLE), &[row]).await
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
