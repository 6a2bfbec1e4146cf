//! Named positions in the history.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::baseline::Baseline;

/// The baselines of a project, oldest first.
pub async fn of_project(conn: &mut Conn, project_id: Uuid) -> Result<Vec<Baseline>> {
    let sql = "SELECT b.*, p.key AS project, a.username FROM baseline b JOIN project p ON p.id = b.project_id \
               JOIN account a ON a.id = b.created_by WHERE b.project_id = $1 ORDER BY b.seq, b.created_at";
    conn.all(sql, params![project_id])
        .await?
        .iter()
        .map(baseline)
        .collect()
}

/// A baseline of a project by its name.
pub async fn by_name(conn: &mut Conn, project_id: Uuid, name: &str) -> Result<Option<Baseline>> {
    let sql = "SELECT b.*, p.key AS project, a.username FROM baseline b JOIN project p ON p.id = b.project_id \
               JOIN account a ON a.id = b.created_by WHERE b.project_id = $1 AND b.name = $2";
    conn.optional(sql, params![project_id, name])
        .await?
        .map(|row| baseline(&row))
        .transpose()
}

/// Names the present end of the project's ledger.
pub async fn insert(tx: &mut Tx, id: Uuid, project_id: Uuid, name: &str, description: &str) -> Result<()> {
    touch(tx, "baseline", params![project_id, id]).await?;
    let sql = "INSERT INTO baseline (id, project_id, name, description, seq, hash, created_by, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let hash = tx.ledger_head(project_id).await?.hash;
    let (seq, user, now) = (tx.seq(), tx.actor().user_id, tx.now());
    tx.conn
        .run(
            sql,
            params![id, project_id, name, description, seq, hash, user, now],
        )
        .await
        .map(drop)
}

fn baseline(row: &Row) -> Result<Baseline> {
    Ok(Baseline {
        id: row.id("id")?,
        project: row.text("project")?,
        name: row.text("name")?,
        description: row.text("description")?,
        seq: row.int("seq")?,
        hash: hex::encode(row.bytes("hash")?),
        created_by: row.text("username")?,
        created_at: row.time("created_at")?,
    })
}
