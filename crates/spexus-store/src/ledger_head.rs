//! Where the history ends: all of it, and each ledger.

use crate::dropped_segments::Segment;
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::{dropped_segments, ledger_origin};
use spexus_domain::change::FormerHead;
use spexus_domain::{Timestamp, Uuid};

/// The last change of all, whatever its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last change.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
    /// When it happened; nothing after it may be earlier.
    pub at: Timestamp,
}

/// The end of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// The number of the last change in it; 0 before the first.
    pub number: i64,
    /// Its hash; before the first, what the ledger begins with.
    pub hash: [u8; 32],
    /// When it happened; nothing after it in the ledger may be earlier.
    pub at: Timestamp,
}

impl Head {
    const SELECT: &str = "SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1";

    /// The last change and the version of the tables, which a write to SQLite must know both.
    pub(crate) const SELECT_TO_WRITE: &str = "SELECT v.version, c.seq, c.hash, c.at FROM schema_version v \
         LEFT JOIN (SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1) c ON true";

    /// Before the first change.
    pub(crate) const NONE: Self = Self {
        seq: 0,
        hash: [0; 32],
        at: Timestamp(i64::MIN),
    };

    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        Self::of(conn.optional(Self::SELECT, params![]).await?.as_ref())
    }

    /// The number of the last change; 0 before the first.
    pub(crate) async fn read_number(conn: &mut Conn) -> Result<i64> {
        let row = conn
            .one("SELECT coalesce(max(seq), 0) AS seq FROM change", params![])
            .await?;
        row.int("seq")
    }

    /// The end of a history whose last row this is; without one, the beginning.
    pub(crate) fn of(last: Option<&Row>) -> Result<Self> {
        Ok(match last {
            None => Self::NONE,
            Some(row) => Self {
                seq: row.int("seq")?,
                hash: hash(row, "hash")?,
                at: row.time("at")?,
            },
        })
    }
}

impl LedgerHead {
    /// The end of a ledger up to a place among all changes.
    pub(crate) async fn read(conn: &mut Conn, ledger: Uuid, until: i64) -> Result<Self> {
        let sql = "SELECT f.changes, f.head, c.number, c.hash, c.at FROM (SELECT 1 AS one) o LEFT JOIN former_history f ON true \
                   LEFT JOIN (SELECT number, hash, at FROM change WHERE ledger = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1) c ON true";
        let row = conn.one(sql, params![ledger, until]).await?;
        Self::of(conn, &row, ledger).await
    }

    /// The last change of a ledger up to a number.
    pub(crate) async fn read_at(conn: &mut Conn, ledger: Uuid, until: i64) -> Result<Self> {
        let sql = "SELECT f.changes, f.head, c.number, c.hash, c.at FROM (SELECT 1 AS one) o LEFT JOIN former_history f ON true \
                   LEFT JOIN (SELECT number, hash, at FROM change WHERE ledger = $1 AND number <= $2 ORDER BY number DESC LIMIT 1) c ON true";
        let row = conn.one(sql, params![ledger, until]).await?;
        Self::of(conn, &row, ledger).await
    }

    async fn of(conn: &mut Conn, row: &Row, ledger: Uuid) -> Result<Self> {
        Ok(match row.opt_int("number")? {
            Some(number) => Self {
                number,
                hash: hash(row, "hash")?,
                at: row.time("at")?,
            },
            None => Self::beginning(conn, row, ledger).await?,
        })
    }

    /// Where the ledger begins: behind what was dropped of it, or before its first change.
    async fn beginning(conn: &mut Conn, row: &Row, ledger: Uuid) -> Result<Self> {
        if let Some(segment) = dropped_segments::of(conn, ledger).await? {
            return Ok(Self::behind(&segment));
        }
        Ok(match ledger_origin::of(conn, ledger).await? {
            Some(origin) => Self::genesis(origin.former, ledger),
            None => Self::genesis(former(row)?, ledger),
        })
    }

    pub(crate) fn behind(segment: &Segment) -> Self {
        Self {
            number: segment.number,
            hash: segment.hash,
            at: segment.at,
        }
    }

    pub(crate) fn genesis(former: FormerHead, ledger: Uuid) -> Self {
        Self {
            number: 0,
            hash: former.genesis(ledger),
            at: Head::NONE.at,
        }
    }
}

/// The chain there was before there were ledgers; nothing where there was none.
pub(crate) fn former(row: &Row) -> Result<FormerHead> {
    Ok(match row.opt_int("changes")? {
        None => FormerHead::NONE,
        Some(changes) => FormerHead {
            changes,
            hash: hash(row, "head")?,
        },
    })
}

/// A hash that stands in a column.
pub(crate) fn hash(row: &Row, column: &str) -> Result<[u8; 32]> {
    row.bytes(column)?
        .try_into()
        .map_err(|_| Error::Broken("a hash of the history has another length".into()))
}
