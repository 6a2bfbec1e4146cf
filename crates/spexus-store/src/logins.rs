//! Failed logins that still count, and the networks an account is logged in to from. Both are shared by all nodes.

use crate::engine::{Conn, params};
use crate::error::Result;
use crate::tx::Tx;
use spexus_domain::{Timestamp, Uuid};

/// Networks remembered of one account at most.
const MAX_NETWORKS: u32 = 20;

/// How often something failed, and when last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// How often.
    pub count: i64,
    /// When last.
    pub last_at: Timestamp,
}

/// The failures counted under a key; none when there were none.
pub async fn failures(conn: &mut Conn, key: [u8; 32]) -> Result<Failures> {
    let sql = "SELECT failures, last_at FROM login_failure WHERE key = $1";
    match conn.optional(sql, params![key]).await? {
        Some(row) => Ok(Failures {
            count: row.int("failures")?,
            last_at: row.time("last_at")?,
        }),
        None => Ok(Failures::default()),
    }
}

/// Counts one more failure under a key. The time is the clock's own, because it is compared with the clock, and the
/// time of a transaction never goes back.
pub async fn fail(tx: &mut Tx, key: [u8; 32], now: Timestamp) -> Result<()> {
    let sql = "INSERT INTO login_failure (key, failures, last_at) VALUES ($1, 1, $2) \
               ON CONFLICT (key) DO UPDATE SET failures = login_failure.failures + 1, last_at = excluded.last_at";
    tx.conn.run(sql, params![key, now]).await.map(drop)
}

/// Lets the wait of a key begin anew: the clock was set back behind its last failure.
pub async fn restart(tx: &mut Tx, key: [u8; 32], now: Timestamp) -> Result<()> {
    let sql = "UPDATE login_failure SET last_at = $2 WHERE key = $1 AND last_at > $2";
    tx.conn.run(sql, params![key, now]).await.map(drop)
}

/// Forgets the failures of a key.
pub async fn forget(tx: &mut Tx, key: [u8; 32]) -> Result<()> {
    let sql = "DELETE FROM login_failure WHERE key = $1";
    tx.conn.run(sql, params![key]).await.map(drop)
}

/// Forgets every failure from before a time.
pub async fn forget_before(tx: &mut Tx, before: Timestamp) -> Result<()> {
    let sql = "DELETE FROM login_failure WHERE last_at < $1";
    tx.conn.run(sql, params![before]).await.map(drop)
}

/// Whether an account was logged in to from a network since a time.
pub async fn is_familiar(conn: &mut Conn, user_id: Uuid, network: &str, since: Timestamp) -> Result<bool> {
    let sql = "SELECT last_at FROM login_network WHERE user_id = $1 AND network = $2 AND last_at >= $3";
    let found = conn.optional(sql, params![user_id, network, since]).await?;
    Ok(found.is_some())
}

/// Remembers the network of a login; of too many, the ones not seen for longest are forgotten.
pub async fn remember(tx: &mut Tx, user_id: Uuid, network: &str) -> Result<()> {
    let now = tx.now();
    let sql = "INSERT INTO login_network (user_id, network, last_at) VALUES ($1, $2, $3) \
               ON CONFLICT (user_id, network) DO UPDATE SET last_at = excluded.last_at";
    tx.conn.run(sql, params![user_id, network, now]).await?;
    let sql = "DELETE FROM login_network WHERE user_id = $1 AND network NOT IN \
               (SELECT network FROM login_network WHERE user_id = $1 ORDER BY last_at DESC, network LIMIT $2)";
    tx.conn.run(sql, params![user_id, MAX_NETWORKS]).await.map(drop)
}

/// Forgets the networks of an account, whose password may be in wrong hands.
pub async fn forget_networks(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    let sql = "DELETE FROM login_network WHERE user_id = $1";
    tx.conn.run(sql, params![user_id]).await.map(drop)
}
