//! Where items stood: each reckoning of a project's evidence is kept with what it moved, so that the states at any moment since
//! are those of the last one before it.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::tx::Tx;
use spexus_domain::trace::Rung;
use spexus_domain::{Timestamp, Uuid};

/// A reckoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The last change it knew of.
    pub seq: i64,
    /// When it was made.
    pub made_at: Timestamp,
    /// The commit that was traced.
    pub commit: String,
    /// Items that stand elsewhere since, and where.
    pub moved: Vec<(Uuid, Rung)>,
}

/// Whether a project has no reckoning yet. The first one is kept with everything, not only with what moved.
pub async fn is_first(conn: &mut Conn, project_id: Uuid) -> Result<bool> {
    Ok(last(conn, project_id).await?.is_none())
}

/// Keeps a reckoning, unless it moved nothing and is about the commit that was traced before.
pub async fn keep(tx: &mut Tx, project_id: Uuid, commit: &str, moved: &[(Uuid, Rung)]) -> Result<()> {
    let before = last(&mut tx.conn, project_id).await?;
    if moved.is_empty() && before.as_ref().is_none_or(|(_, at)| at == commit) {
        return Ok(());
    }
    let number = before.map_or(1, |(number, _)| number + 1);
    let body = serde_json::to_string(moved).map_err(|error| Error::Broken(error.to_string()))?;
    let sql = "INSERT INTO trace_step (project_id, number, seq, made_at, commit_id, body) VALUES ($1, $2, $3, $4, $5, $6)";
    let values = params![project_id, number, tx.seq(), tx.now(), commit, body];
    tx.conn.run(sql, values).await.map(drop)
}

async fn last(conn: &mut Conn, project_id: Uuid) -> Result<Option<(i64, String)>> {
    let sql = "SELECT number, commit_id FROM trace_step WHERE project_id = $1 ORDER BY number DESC LIMIT 1";
    let row = conn.optional(sql, params![project_id]).await?;
    row.map(|row| Ok((row.int("number")?, row.text("commit_id")?)))
        .transpose()
}

/// Every reckoning of a project up to a change, oldest first.
pub async fn until(conn: &mut Conn, project_id: Uuid, seq: i64) -> Result<Vec<TraceStep>> {
    let sql = "SELECT seq, made_at, commit_id, body FROM trace_step WHERE project_id = $1 AND seq <= $2 ORDER BY number";
    let rows = conn.all(sql, params![project_id, seq]).await?;
    rows.iter().map(step).collect()
}

/// Whether anything was pushed to a project by then.
pub async fn was_pushed_to(conn: &mut Conn, project_id: Uuid, by: Timestamp) -> Result<bool> {
    let sql = "SELECT 1 AS found FROM trace_push WHERE project_id = $1 AND pushed_at <= $2 LIMIT 1";
    Ok(conn.optional(sql, params![project_id, by]).await?.is_some())
}

/// The commit of the last reckoning.
pub async fn traced_commit(conn: &mut Conn, project_id: Uuid) -> Result<Option<String>> {
    Ok(last(conn, project_id).await?.map(|(_, commit)| commit))
}

fn step(row: &Row) -> Result<TraceStep> {
    let moved = serde_json::from_str(&row.text("body")?);
    Ok(TraceStep {
        seq: row.int("seq")?,
        made_at: row.time("made_at")?,
        commit: row.text("commit_id")?,
        moved: moved.map_err(|error| Error::Broken(format!("a reckoning cannot be read: {error}")))?,
    })
}
