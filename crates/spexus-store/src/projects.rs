//! Projects.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::members;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::project::Project;

/// A project by its key.
pub async fn by_key(conn: &mut Conn, key: &str) -> Result<Option<Project>> {
    let sql = "SELECT * FROM project WHERE key = $1";
    conn.cached(sql, params![key], |rows| rows.first().map(project).transpose())
        .await
}

/// A project by its id.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<Project>> {
    let sql = "SELECT * FROM project WHERE id = $1";
    conn.cached(sql, params![id], |rows| rows.first().map(project).transpose())
        .await
}

/// All projects, by key.
pub async fn all(conn: &mut Conn) -> Result<Vec<Project>> {
    conn.all("SELECT * FROM project ORDER BY key", params![])
        .await?
        .iter()
        .map(project)
        .collect()
}

/// Writes a new project.
pub async fn insert(tx: &mut Tx, project: &Project) -> Result<()> {
    touch(tx, "project", params![project.id]).await?;
    tx.conn.clear_settings_cache();
    let sql = "INSERT INTO project (id, key, name, description, attributes, rev, created_at, updated_at, default_role, \
               prefix_references) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let values = params![
        project.id,
        &project.key,
        &project.name,
        &project.description,
        attributes(project),
        project.rev,
        project.created_at,
        project.updated_at,
        project.default_role.name(),
        project.prefix_references,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Writes a changed project over the one before.
pub async fn update(tx: &mut Tx, project: &Project) -> Result<()> {
    touch(tx, "project", params![project.id]).await?;
    tx.conn.clear_settings_cache();
    let sql = "UPDATE project SET name = $2, description = $3, attributes = $4, rev = $5, updated_at = $6, default_role = $7, \
               prefix_references = $8 WHERE id = $1";
    let values = params![
        project.id,
        &project.name,
        &project.description,
        attributes(project),
        project.rev,
        project.updated_at,
        project.default_role.name(),
        project.prefix_references,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

fn attributes(project: &Project) -> String {
    serde_json::to_string(&project.attributes).unwrap_or_else(|_| "[]".into())
}

fn project(row: &Row) -> Result<Project> {
    Ok(Project {
        id: row.id("id")?,
        key: row.text("key")?,
        name: row.text("name")?,
        description: row.text("description")?,
        attributes: row.json("attributes")?,
        default_role: members::role(row, "default_role")?,
        prefix_references: row.flag("prefix_references")?,
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
