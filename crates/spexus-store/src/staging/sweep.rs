//! Taking away what imports left behind: the rows of those that are over, and everything of those that died.

use super::{CHANGE, COMMENT, ITEM, LINK};
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::tx::{Actor, Tx};
use crate::{Store, search};
use spexus_domain::Uuid;

/// Rows of a table that are taken away in one step.
const STEP_ROWS: i64 = 500;

/// Takes away what is left of imports that are over, and of those that were not heard of for so long. Every step is a short
/// write of its own. Tells how many imports it took away.
//= specs/spexus-store.md#large-writes
//# What an import left behind MUST be swept: at once when it is over, and by any other process when it died.
pub async fn sweep(store: &Store) -> Result<usize> {
    let silence = i64::try_from(store.shared.max_import_silence.as_micros()).unwrap_or(i64::MAX);
    let mut swept = 0;
    loop {
        let heard_before = store.now().0.saturating_sub(silence);
        let sql = "SELECT id FROM staged_import WHERE alive_at <= $1 ORDER BY id LIMIT 1";
        let row = store.read().await?.optional(sql, params![heard_before]).await?;
        let Some(row) = row else { return Ok(swept) };
        let import = row.id("id")?;
        while !step(store, import, heard_before).await? {}
        swept += 1;
    }
}

async fn step(store: &Store, import: Uuid, heard_before: i64) -> Result<bool> {
    let nobody = Actor {
        user_id: Uuid::nil(),
        username: String::new(),
        token_id: None,
        client: String::new(),
    };
    let job = store.write(nobody, move |tx| {
        Box::pin(async move { step_in(tx, import, heard_before).await })
    });
    job.await
}

/// Takes some of it away; tells whether nothing is left.
async fn step_in(tx: &mut Tx, import: Uuid, heard_before: i64) -> Result<bool> {
    // It may have been heard of meanwhile; and from now on it cannot.
    let sql = "UPDATE staged_import SET alive_at = 0 WHERE id = $1 AND alive_at <= $2";
    if tx.conn.run(sql, params![import, heard_before]).await? == 0 {
        return Ok(true);
    }
    let conn = &mut tx.conn;
    let docs = unpublished_documents(conn, import).await?;
    search::remove_documents(conn, &docs).await?;
    let mut left = docs.len() as i64;
    for table in [&ITEM, &COMMENT, &LINK] {
        unlist(conn, table.name, import).await?;
    }
    for table in [&ITEM, &COMMENT, &LINK, &CHANGE] {
        left += remove_rows(conn, table.name, import).await?;
    }
    if left > 0 {
        return Ok(false);
    }
    conn.run("DELETE FROM staged_import WHERE id = $1", params![import])
        .await?;
    Ok(true)
}

async fn unpublished_documents(conn: &mut Conn, import: Uuid) -> Result<Vec<i64>> {
    let sql = "SELECT d.doc FROM staged_import s JOIN search_doc d ON d.doc >= s.first_doc AND d.doc <= s.last_doc \
               WHERE s.id = $1 ORDER BY d.doc LIMIT $2";
    let rows = conn.all(sql, params![import, STEP_ROWS]).await?;
    rows.iter().map(|row| row.int("doc")).collect()
}

/// Takes out of the directory what the next rows to be removed would have made and never did.
async fn unlist(conn: &mut Conn, table: &str, import: Uuid) -> Result<()> {
    let into = table.trim_start_matches("staged_");
    let sql = format!(
        "DELETE FROM directory WHERE id IN (SELECT s.id FROM {table} s WHERE s.import_id = $1 AND s.ordinal IN \
         (SELECT ordinal FROM {table} WHERE import_id = $1 ORDER BY ordinal LIMIT $2) \
         AND NOT EXISTS (SELECT 1 FROM {into} t WHERE t.project_id = s.project_id AND t.id = s.id))"
    );
    conn.run(sql, params![import, STEP_ROWS]).await.map(drop)
}

async fn remove_rows(conn: &mut Conn, table: &str, import: Uuid) -> Result<i64> {
    let sql = format!(
        "DELETE FROM {table} WHERE import_id = $1 AND ordinal IN \
         (SELECT ordinal FROM {table} WHERE import_id = $1 ORDER BY ordinal LIMIT $2)"
    );
    let removed = conn.run(sql, params![import, STEP_ROWS]).await?;
    Ok(i64::try_from(removed).unwrap_or(i64::MAX))
}
