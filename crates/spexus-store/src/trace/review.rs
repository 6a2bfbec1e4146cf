//! What people said about the evidence of items: the last of each kind.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::trace::ReviewKind;
use spexus_domain::{Reference, Timestamp, Uuid};

/// What somebody said about the evidence of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRow {
    /// The item.
    pub item_id: Uuid,
    /// What was said.
    pub kind: ReviewKind,
    /// Why.
    pub why: String,
    /// Who, by the name of that day.
    pub reviewer: String,
    /// The hash of the item's content then.
    pub content_hash: String,
    /// The fingerprint of its evidence then.
    pub fingerprint: String,
    /// When.
    pub reviewed_at: Timestamp,
    /// Until when it holds, where it does not hold for good.
    pub expires_at: Option<Timestamp>,
}

/// What was said about the items of a project, or about one.
pub async fn reviews(conn: &mut Conn, project_id: Uuid, item_id: Option<Uuid>) -> Result<Vec<ReviewRow>> {
    let rows = match item_id {
        Some(item_id) => {
            let sql = "SELECT * FROM trace_review WHERE project_id = $1 AND item_id = $2 ORDER BY kind";
            conn.all(sql, params![project_id, item_id]).await?
        }
        None => {
            let sql = "SELECT * FROM trace_review WHERE project_id = $1 ORDER BY item_id, kind";
            conn.all(sql, params![project_id]).await?
        }
    };
    rows.iter().map(review).collect()
}

/// What was said about the items of a project, each with what people call it.
pub async fn named_reviews(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(Reference, ReviewRow)>> {
    let sql = "SELECT i.kind AS item_kind, i.number, r.* FROM trace_review r JOIN item i ON i.project_id = r.project_id \
               AND i.id = r.item_id WHERE r.project_id = $1 ORDER BY r.item_id, r.kind";
    let rows = conn.all(sql, params![project_id]).await?;
    let named = |row: &Row| {
        let kind = crate::items::kind(row, "item_kind")?;
        Ok((Reference::of_kind(kind, row.int("number")?), review(row)?))
    };
    rows.iter().map(named).collect()
}

/// Keeps what somebody said, in place of what was said before; the next change of this job seals it.
pub async fn put_review(tx: &mut Tx, project_id: Uuid, row: &ReviewRow) -> Result<()> {
    touch(
        tx,
        "trace_review",
        params![project_id, row.item_id, row.kind.name()],
    )
    .await?;
    put_carried_review(tx, project_id, row).await
}

/// Keeps what somebody said where it comes with its project; it is sealed where the project is shown.
pub async fn put_carried_review(tx: &mut Tx, project_id: Uuid, row: &ReviewRow) -> Result<()> {
    let sql = "INSERT INTO trace_review (project_id, item_id, kind, why, reviewer, content_hash, fingerprint, reviewed_at, \
               expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (project_id, item_id, kind) DO UPDATE SET \
               why = $4, reviewer = $5, content_hash = $6, fingerprint = $7, reviewed_at = $8, expires_at = $9";
    let values = params![
        project_id,
        row.item_id,
        row.kind.name(),
        &row.why,
        &row.reviewer,
        &row.content_hash,
        &row.fingerprint,
        row.reviewed_at,
        row.expires_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

fn review(row: &Row) -> Result<ReviewRow> {
    let kind = row.text("kind")?;
    let known = ReviewKind::ALL.into_iter().find(|known| known.name() == kind);
    Ok(ReviewRow {
        item_id: row.id("item_id")?,
        kind: known.ok_or_else(|| Error::Broken(format!("{kind:?} is no kind of review")))?,
        why: row.text("why")?,
        reviewer: row.text("reviewer")?,
        content_hash: row.text("content_hash")?,
        fingerprint: row.text("fingerprint")?,
        reviewed_at: row.time("reviewed_at")?,
        expires_at: row.opt_time("expires_at")?,
    })
}
