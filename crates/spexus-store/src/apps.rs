//! Which apps the installation has.

use crate::engine::{Conn, params};
use crate::error::Result;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::app::InstalledApp;

/// All of them, by name.
pub async fn all(conn: &mut Conn) -> Result<Vec<InstalledApp>> {
    let sql = "SELECT name, installation, version, source, installed_at FROM app ORDER BY name";
    let rows = conn.all(sql, params![]).await?;
    let app = |row: &crate::engine::Row| {
        Ok(InstalledApp {
            name: row.text("name")?,
            installation: row.text("installation")?,
            version: row.text("version")?,
            source: row.text("source")?,
            installed_at: row.time("installed_at")?,
        })
    };
    rows.iter().map(app).collect()
}

/// Records an app, in place of one that had its name.
pub async fn put(tx: &mut Tx, app: &InstalledApp, by: Uuid) -> Result<()> {
    touch(tx, "app", params![&app.name]).await?;
    let sql = "INSERT INTO app (name, installation, version, source, installed_by, installed_at) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (name) DO UPDATE SET installation = excluded.installation, version = excluded.version, \
               source = excluded.source, installed_by = excluded.installed_by, installed_at = excluded.installed_at";
    let values = params![
        &app.name,
        &app.installation,
        &app.version,
        &app.source,
        by,
        app.installed_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Forgets an app. Tells whether it was recorded.
pub async fn remove(tx: &mut Tx, name: &str) -> Result<bool> {
    touch(tx, "app", params![name]).await?;
    let removed = tx
        .conn
        .run("DELETE FROM app WHERE name = $1", params![name])
        .await?;
    Ok(removed > 0)
}
