//! Evidence read whole, for outputs that show all of it.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use spexus_domain::trace::ItemTrace;
use spexus_domain::{Kind, Timestamp, Uuid};
use std::collections::HashMap;

/// A push, with the name of who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedRun {
    /// Its id.
    pub id: Uuid,
    /// The commit it is about.
    pub commit: String,
    /// The digest of all it brought.
    pub digest: String,
    /// Whether the working tree had changes that are in no commit.
    pub is_dirty: bool,
    /// Whether it is an agent's word.
    pub is_reported: bool,
    /// What else is known of it, as JSON.
    pub head: String,
    /// Who pushed it.
    pub pushed_by: String,
    /// When.
    pub pushed_at: Timestamp,
}

/// What is known of each item of a project.
pub async fn traces(conn: &mut Conn, project_id: Uuid) -> Result<HashMap<Uuid, ItemTrace>> {
    let sql = "SELECT item_id, body FROM trace_state WHERE project_id = $1";
    let rows = conn.all(sql, params![project_id]).await?;
    let trace = |row: &Row| {
        let trace = serde_json::from_str(&row.text("body")?);
        let trace = trace.map_err(|error| Error::Broken(format!("a state cannot be read: {error}")))?;
        Ok((row.id("item_id")?, trace))
    };
    rows.iter().map(trace).collect()
}

/// The text of each living item of a kind.
pub async fn texts(conn: &mut Conn, project_id: Uuid, kind: Kind) -> Result<HashMap<Uuid, String>> {
    let sql = "SELECT id, description FROM item WHERE project_id = $1 AND kind = $2 AND deleted_at IS NULL";
    let rows = conn.all(sql, params![project_id, kind.name()]).await?;
    rows.iter()
        .map(|row| Ok((row.id("id")?, row.text("description")?)))
        .collect()
}

/// When each living item of a kind was made and when it was edited last.
pub async fn times(
    conn: &mut Conn,
    project_id: Uuid,
    kind: Kind,
) -> Result<HashMap<Uuid, (Timestamp, Timestamp)>> {
    let sql = "SELECT id, created_at, updated_at FROM item WHERE project_id = $1 AND kind = $2 AND deleted_at IS NULL";
    let rows = conn.all(sql, params![project_id, kind.name()]).await?;
    let times = |row: &Row| Ok((row.id("id")?, (row.time("created_at")?, row.time("updated_at")?)));
    rows.iter().map(times).collect()
}

/// The pushes about one commit, in the order in which they came. A commit may be named by its beginning.
pub async fn runs_of(conn: &mut Conn, project_id: Uuid, commit: &str) -> Result<Vec<PushedRun>> {
    let sql = "SELECT p.id, p.commit_id, p.digest, p.is_dirty, p.is_reported, p.head, p.pushed_at, a.username FROM trace_push p \
               JOIN account a ON a.id = p.pushed_by WHERE p.project_id = $1 AND p.commit_id >= $2 AND p.commit_id < $3 \
               ORDER BY p.number";
    let begin = commit.get(..SHORTEST_COMMIT).unwrap_or(commit);
    // `g` stands behind every hexadecimal digit.
    let values = params![project_id, begin, format!("{begin}g")];
    let rows = conn.all(sql, values).await?;
    let runs: Result<Vec<PushedRun>> = rows.iter().map(run).collect();
    let is_same = |run: &PushedRun| run.commit.starts_with(commit) || commit.starts_with(&run.commit);
    Ok(runs?.into_iter().filter(is_same).collect())
}

/// Characters of a commit that all its forms share.
const SHORTEST_COMMIT: usize = 7;

fn run(row: &Row) -> Result<PushedRun> {
    Ok(PushedRun {
        id: row.id("id")?,
        commit: row.text("commit_id")?,
        digest: hex::encode(row.bytes("digest")?),
        is_dirty: row.flag("is_dirty")?,
        is_reported: row.flag("is_reported")?,
        head: row.text("head")?,
        pushed_by: row.text("username")?,
        pushed_at: row.time("pushed_at")?,
    })
}
