//! Folders that administrators opened to agents.

use crate::engine::{Conn, params};
use crate::error::Result;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::root::AddedRoot;

/// All of them, by address.
pub async fn all(conn: &mut Conn) -> Result<Vec<AddedRoot>> {
    let sql = "SELECT uri, name, description FROM root ORDER BY uri";
    let rows = conn.all(sql, params![]).await?;
    let root = |row: &crate::engine::Row| {
        Ok(AddedRoot {
            uri: row.text("uri")?,
            name: row.text("name")?,
            description: row.text("description")?,
        })
    };
    rows.iter().map(root).collect()
}

/// Keeps a root, or what is said of it now.
pub async fn put(tx: &mut Tx, root: &AddedRoot, by: Uuid) -> Result<()> {
    touch(tx, "root", params![&root.uri]).await?;
    let sql = "INSERT INTO root (uri, name, description, added_by, added_at) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (uri) DO UPDATE SET name = excluded.name, description = excluded.description";
    let now = tx.now();
    tx.conn
        .run(sql, params![&root.uri, &root.name, &root.description, by, now])
        .await
        .map(drop)
}

/// Forgets a root; one that was never kept is no fault.
pub async fn remove(tx: &mut Tx, uri: &str) -> Result<()> {
    touch(tx, "root", params![uri]).await?;
    tx.conn
        .run("DELETE FROM root WHERE uri = $1", params![uri])
        .await
        .map(drop)
}
