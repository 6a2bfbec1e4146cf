//! The chain of changes: where it ends, how it grows, how it is verified.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use serde::Serialize;
use spexus_domain::Timestamp;
use spexus_domain::change::{GENESIS, Sealed};

/// The end of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last change.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
    /// When it happened; nothing after it may be earlier.
    pub at: Timestamp,
}

/// What verifying the chain found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// How many changes were looked at.
    pub changes: i64,
    /// The first place that does not fit, with what is wrong there.
    pub fault: Option<ChainFault>,
    /// The hash of the last change, to be kept elsewhere.
    pub head: String,
    /// Changes whose time is before that of the change in front of them: a clock that went wrong, not a fault of the
    /// chain.
    pub earlier: Earlier,
}

/// Changes told to have happened before the one in front of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Earlier {
    /// How many there are.
    pub count: i64,
    /// The number of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<i64>,
}

impl Earlier {
    fn note(&mut self, seq: i64) {
        self.count += 1;
        self.first_seq.get_or_insert(seq);
    }
}

/// A place in the chain that was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainFault {
    /// The number of the change.
    pub seq: i64,
    /// What is wrong.
    pub problem: String,
}

impl Head {
    const SELECT: &str = "SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1";

    /// The end of the chain and the version of the tables, which a write must know both.
    pub(crate) const SELECT_TO_WRITE: &str = "SELECT v.version, c.seq, c.hash, c.at FROM schema_version v \
         LEFT JOIN (SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1) c ON true";

    /// Before the first change.
    pub(crate) const NONE: Self = Self {
        seq: 0,
        hash: GENESIS,
        at: Timestamp(i64::MIN),
    };

    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        Self::of(conn.optional(Self::SELECT, params![]).await?.as_ref())
    }

    /// The end of a chain whose last row this is; without one, the beginning.
    pub(crate) fn of(last: Option<&Row>) -> Result<Self> {
        Ok(match last {
            None => Self::NONE,
            Some(row) => Self {
                seq: row.int("seq")?,
                hash: hash(row)?,
                at: row.time("at")?,
            },
        })
    }
}

/// Reads the whole chain and checks every link of it, then that baselines still name what they were made on.
pub async fn verify(conn: &mut Conn) -> Result<Verdict> {
    let mut head = Head::NONE;
    let mut changes = 0;
    let mut earlier = Earlier::default();
    loop {
        let rows = conn
            .all(
                "SELECT * FROM change WHERE seq > $1 ORDER BY seq LIMIT 1000",
                params![head.seq],
            )
            .await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let seq = row.int("seq")?;
            let fault = |problem: &str| {
                Some(ChainFault {
                    seq,
                    problem: problem.to_owned(),
                })
            };
            changes += 1;
            //= specs/spexus-store.md#history
            //# Verification MUST find a row that was altered, removed, moved or added, and a baseline that names another history.
            let found = if seq != head.seq + 1 {
                fault("changes before it are missing")
            } else if seal(row, &head.hash)? != hash(row)? {
                fault("its hash does not fit its content and the change before it")
            } else {
                None
            };
            if found.is_some() {
                return Ok(Verdict {
                    changes,
                    fault: found,
                    head: hex::encode(head.hash),
                    earlier,
                });
            }
            let at = row.time("at")?;
            //= specs/spexus-store.md#history
            //# Verification MUST say how many changes are told to have happened before the change in front of them.
            if at < head.at {
                earlier.note(seq);
            }
            head = Head {
                seq,
                hash: hash(row)?,
                at,
            };
        }
    }
    let fault = baseline_fault(conn, head.seq).await?;
    Ok(Verdict {
        changes,
        fault,
        head: hex::encode(head.hash),
        earlier,
    })
}

async fn baseline_fault(conn: &mut Conn, end: i64) -> Result<Option<ChainFault>> {
    let rows = conn
        .all(
            "SELECT b.name, b.seq, b.hash, c.hash AS chained FROM baseline b LEFT JOIN change c ON c.seq = b.seq ORDER BY b.seq",
            params![],
        )
        .await?;
    for row in &rows {
        let (seq, name) = (row.int("seq")?, row.text("name")?);
        let chained = if seq > end {
            None
        } else {
            row.bytes("chained").ok()
        };
        if seq > 0 && chained != Some(row.bytes("hash")?) {
            let problem = format!("baseline {name:?} was made on another history");
            return Ok(Some(ChainFault { seq, problem }));
        }
    }
    Ok(None)
}

fn seal(row: &Row, previous: &[u8; 32]) -> Result<[u8; 32]> {
    let (username, client) = (row.text("username")?, row.text("client")?);
    let (entity, label, action) = (row.text("entity")?, row.text("label")?, row.text("action")?);
    let (before, after) = (row.text("before")?, row.text("after")?);
    let sealed = Sealed {
        seq: row.int("seq")?,
        at: row.time("at")?,
        user_id: row.id("user_id")?,
        username: &username,
        token_id: row.opt_id("token_id")?,
        client: &client,
        project_id: row.opt_id("project_id")?,
        entity: &entity,
        entity_id: row.id("entity_id")?,
        item_id: row.opt_id("item_id")?,
        other_item_id: row.opt_id("other_item_id")?,
        label: &label,
        action: &action,
        rev: row.int("rev")?,
        before: &before,
        after: &after,
    };
    Ok(sealed.hash(previous))
}

pub(crate) fn hash(row: &Row) -> Result<[u8; 32]> {
    row.bytes("hash")?
        .try_into()
        .map_err(|_| Error::Broken("a hash of the chain has another length".into()))
}
