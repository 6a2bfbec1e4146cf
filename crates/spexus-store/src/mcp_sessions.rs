//! Sessions of MCP clients, kept so that a restart or another node can go on with them.
//!
//! What a session says is the business of those above; here it is two texts, a mark in the history and the time it was
//! last seen. Every write takes the next number of one series, which is how a node finds what another one wrote.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items;
use crate::tx::Tx;
use spexus_domain::{Timestamp, Uuid};

/// The series the numbers of writes come from: no project, and a name that is no prefix of an item.
const SERIES: (Uuid, &str) = (Uuid::nil(), "mcp_session");

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// Its id.
    pub id: String,
    /// The token, or else the user, it belongs to.
    pub owner: Uuid,
    /// What the client said and asked for.
    pub state: String,
    /// What the client has not read yet.
    pub unread: String,
    /// The change up to which it was told.
    pub mark: i64,
    /// When its client was last heard of.
    pub seen_at: Timestamp,
    /// The number of the write that made its state what it is; given by the store.
    pub rev: i64,
}

/// What a session limits itself to.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// How long a session is kept after its client was last heard of.
    pub max_idle_ms: i64,
    /// Sessions of one owner; those unseen for longest give way.
    pub max_per_owner: u32,
}

/// A session another node wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionWrite {
    /// Its id.
    pub id: String,
    /// The number of the write.
    pub rev: i64,
    /// What the client said and asked for; `None` when the session ended.
    pub state: Option<String>,
}

/// Adds a session; forgets those that are too old and ends those the owner has too many of. Gives the number of the
/// last write and the ids of what was ended.
pub async fn open(
    tx: &mut Tx,
    session: &StoredSession,
    node: Uuid,
    limits: SessionLimits,
) -> Result<(i64, Vec<String>)> {
    //= specs/spexus-store.md#sessions
    //# A session that was not seen for the idle time MUST be forgotten.
    let oldest = oldest(tx.now(), limits);
    tx.conn
        .run("DELETE FROM mcp_session WHERE seen_at < $1", params![oldest])
        .await?;
    let mut rev = put(tx, session, node).await?;
    //= specs/spexus-store.md#sessions
    //# An owner MUST NOT have more sessions than the limit; those unseen for longest MUST end.
    let sql = "SELECT id FROM mcp_session WHERE owner = $1 AND ended_at IS NULL AND id <> $2 \
               ORDER BY seen_at DESC, rev DESC LIMIT 1000 OFFSET $3";
    let kept = i64::from(limits.max_per_owner.max(1)) - 1;
    let rows = tx
        .conn
        .all(sql, params![session.owner, &session.id, kept])
        .await?;
    let mut ended = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = row.text("id")?;
        rev = end(tx, &id, node).await?.unwrap_or(rev);
        ended.push(id);
    }
    Ok((rev, ended))
}

/// Writes a whole session. One that ended stays so. Gives the number of the write.
pub async fn put(tx: &mut Tx, session: &StoredSession, node: Uuid) -> Result<i64> {
    //= specs/spexus-store.md#sessions
    //# A session that ended MUST NOT come back by a later write.
    let sql = "INSERT INTO mcp_session (id, owner, state, unread, mark, node, rev, seen_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO UPDATE SET \
               state = excluded.state, unread = excluded.unread, mark = excluded.mark, node = excluded.node, \
               rev = excluded.rev, \
               seen_at = CASE WHEN mcp_session.seen_at > excluded.seen_at THEN mcp_session.seen_at ELSE excluded.seen_at END \
               WHERE mcp_session.ended_at IS NULL";
    let rev = next_rev(tx).await?;
    let values = params![
        &session.id,
        session.owner,
        &session.state,
        &session.unread,
        session.mark,
        node,
        rev,
        session.seen_at,
    ];
    tx.conn.run(sql, values).await?;
    Ok(rev)
}

/// What the client said and asked for, of a session that lives; for a write that changes a part of it.
pub async fn state(tx: &mut Tx, id: &str) -> Result<Option<String>> {
    let sql = "SELECT state FROM mcp_session WHERE id = $1 AND ended_at IS NULL";
    let row = tx.conn.optional(sql, params![id]).await?;
    row.map(|row| row.text("state")).transpose()
}

/// Writes what the client said and asked for. Gives the number of the write.
pub async fn set_state(tx: &mut Tx, id: &str, state: &str, node: Uuid) -> Result<i64> {
    let rev = next_rev(tx).await?;
    let sql = "UPDATE mcp_session SET state = $2, node = $3, rev = $4 WHERE id = $1 AND ended_at IS NULL";
    tx.conn.run(sql, params![id, state, node, rev]).await?;
    Ok(rev)
}

/// Writes what was not read and when the client was heard of, and leaves what it asked for as it is: another node may
/// have been asked since.
pub async fn save(tx: &mut Tx, session: &StoredSession, node: Uuid) -> Result<()> {
    let sql = "INSERT INTO mcp_session (id, owner, state, unread, mark, node, rev, seen_at) \
               VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (id) DO UPDATE SET \
               unread = excluded.unread, mark = excluded.mark, \
               seen_at = CASE WHEN mcp_session.seen_at > excluded.seen_at THEN mcp_session.seen_at ELSE excluded.seen_at END \
               WHERE mcp_session.ended_at IS NULL";
    let values = params![
        &session.id,
        session.owner,
        &session.state,
        &session.unread,
        session.mark,
        node,
        session.seen_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// A session that lives.
pub async fn get(
    conn: &mut Conn,
    id: &str,
    now: Timestamp,
    limits: SessionLimits,
) -> Result<Option<StoredSession>> {
    let sql = "SELECT * FROM mcp_session WHERE id = $1 AND ended_at IS NULL AND seen_at >= $2";
    let row = conn.optional(sql, params![id, oldest(now, limits)]).await?;
    row.as_ref().map(session).transpose()
}

/// Ends a session; `None` when there was none. What it held is gone, the row stays for other nodes to see.
pub async fn end(tx: &mut Tx, id: &str, node: Uuid) -> Result<Option<i64>> {
    let rev = next_rev(tx).await?;
    let sql = "UPDATE mcp_session SET state = '', unread = '', node = $2, rev = $3, seen_at = $4, ended_at = $4 \
               WHERE id = $1 AND ended_at IS NULL";
    let touched = tx.conn.run(sql, params![id, node, rev, tx.now()]).await?;
    Ok((touched > 0).then_some(rev))
}

/// Ends the sessions of an owner, on whatever node they live.
pub async fn end_of(tx: &mut Tx, owner: Uuid) -> Result<()> {
    let sql = "SELECT id FROM mcp_session WHERE owner = $1 AND ended_at IS NULL";
    for row in &tx.conn.all(sql, params![owner]).await? {
        end(tx, &row.text("id")?, Uuid::nil()).await?;
    }
    Ok(())
}

/// What other nodes wrote after a number, in order.
pub async fn written_since(conn: &mut Conn, rev: i64, node: Uuid, limit: u32) -> Result<Vec<SessionWrite>> {
    let sql = "SELECT id, rev, state, ended_at FROM mcp_session WHERE rev > $1 AND node <> $2 ORDER BY rev LIMIT $3";
    let rows = conn.all(sql, params![rev, node, limit]).await?;
    rows.iter()
        .map(|row| {
            Ok(SessionWrite {
                id: row.text("id")?,
                rev: row.int("rev")?,
                state: match row.opt_int("ended_at")? {
                    None => Some(row.text("state")?),
                    Some(_) => None,
                },
            })
        })
        .collect()
}

/// The number of the last write.
pub async fn last_rev(conn: &mut Conn) -> Result<i64> {
    let sql = "SELECT last FROM counter WHERE project_id = $1 AND prefix = $2";
    let row = conn.optional(sql, params![SERIES.0, SERIES.1]).await?;
    row.map_or(Ok(0), |row| row.int("last"))
}

async fn next_rev(tx: &mut Tx) -> Result<i64> {
    items::next_number(&mut tx.conn, SERIES.0, SERIES.1).await
}

fn oldest(now: Timestamp, limits: SessionLimits) -> Timestamp {
    Timestamp(now.0.saturating_sub(limits.max_idle_ms.saturating_mul(1_000)))
}

fn session(row: &Row) -> Result<StoredSession> {
    Ok(StoredSession {
        id: row.text("id")?,
        owner: row.id("owner")?,
        state: row.text("state")?,
        unread: row.text("unread")?,
        mark: row.int("mark")?,
        seen_at: row.time("seen_at")?,
        rev: row.int("rev")?,
    })
}
