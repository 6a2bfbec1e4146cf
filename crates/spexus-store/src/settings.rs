//! Requirement types, link types and workflows: data that every user reads by name and administrators change; and the
//! installation's own keys.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::row_seals::touch;
use crate::tx::Tx;
use serde::Serialize;
use spexus_domain::Kind;
use spexus_domain::link::LinkType;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;

/// A key the installation made for itself.
pub async fn secret(conn: &mut Conn, name: &str) -> Result<Option<Vec<u8>>> {
    let row = conn
        .optional("SELECT value FROM secret WHERE name = $1", params![name])
        .await?;
    row.map(|row| row.bytes("value")).transpose()
}

/// Keeps a key, unless there is one of that name already.
pub async fn put_secret(tx: &mut Tx, name: &str, value: [u8; 32]) -> Result<()> {
    touch(tx, "secret", params![name]).await?;
    let sql = "INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    tx.conn.run(sql, params![name, value]).await.map(drop)
}

/// The requirement types, in the order they were made.
pub async fn requirement_types(conn: &mut Conn) -> Result<Vec<RequirementType>> {
    let sql = "SELECT name, description FROM requirement_type ORDER BY ordinal, name";
    conn.cached(sql, params![], |rows| {
        let one = |row: &Row| {
            Ok(RequirementType {
                name: row.text("name")?,
                description: row.text("description")?,
            })
        };
        rows.iter().map(one).collect()
    })
    .await
}

/// Writes a requirement type, new or changed.
pub async fn put_requirement_type(tx: &mut Tx, wanted: &RequirementType) -> Result<()> {
    touch(tx, "requirement_type", params![&wanted.name]).await?;
    tx.conn.clear_settings_cache();
    let sql = "INSERT INTO requirement_type (name, description, ordinal) VALUES ($1, $2, (SELECT count(*) FROM requirement_type)) \
               ON CONFLICT (name) DO UPDATE SET description = excluded.description";
    tx.conn
        .run(sql, params![&wanted.name, &wanted.description])
        .await
        .map(drop)
}

/// Removes a requirement type.
pub async fn remove_requirement_type(tx: &mut Tx, name: &str) -> Result<()> {
    touch(tx, "requirement_type", params![name]).await?;
    tx.conn.clear_settings_cache();
    tx.conn
        .run("DELETE FROM requirement_type WHERE name = $1", params![name])
        .await
        .map(drop)
}

/// How many items, deleted ones included, are of a requirement type.
pub async fn count_of_requirement_type(conn: &mut Conn, name: &str) -> Result<i64> {
    conn.one("SELECT count(*) AS n FROM item WHERE type = $1", params![name])
        .await?
        .int("n")
}

/// The link types, in the order they were made.
pub async fn link_types(conn: &mut Conn) -> Result<Vec<LinkType>> {
    let sql = "SELECT definition FROM link_type ORDER BY ordinal, name";
    conn.cached(sql, params![], |rows| {
        rows.iter().map(|row| row.json("definition")).collect()
    })
    .await
}

/// Writes a link type, new or changed.
pub async fn put_link_type(tx: &mut Tx, wanted: &LinkType) -> Result<()> {
    touch(tx, "link_type", params![&wanted.name]).await?;
    tx.conn.clear_settings_cache();
    let sql = "INSERT INTO link_type (name, definition, ordinal) VALUES ($1, $2, (SELECT count(*) FROM link_type)) \
               ON CONFLICT (name) DO UPDATE SET definition = excluded.definition";
    tx.conn
        .run(sql, params![&wanted.name, json(wanted)?])
        .await
        .map(drop)
}

/// Removes a link type.
pub async fn remove_link_type(tx: &mut Tx, name: &str) -> Result<()> {
    touch(tx, "link_type", params![name]).await?;
    tx.conn.clear_settings_cache();
    tx.conn
        .run("DELETE FROM link_type WHERE name = $1", params![name])
        .await
        .map(drop)
}

/// How many links, deleted ones included, are of a type.
pub async fn count_of_link_type(conn: &mut Conn, name: &str) -> Result<i64> {
    conn.one(
        "SELECT count(*) AS n FROM link WHERE project_id = source_project_id AND type = $1",
        params![name],
    )
    .await?
    .int("n")
}

/// The workflow of a kind; `None` for kinds without a status.
pub async fn workflow(conn: &mut Conn, kind: Kind) -> Result<Option<Workflow>> {
    let sql = "SELECT definition, rev FROM workflow WHERE kind = $1";
    conn.cached(sql, params![kind.name()], |rows| {
        let workflow = rows.first().map(|row| {
            Ok(Workflow {
                rev: row.int("rev")?,
                ..row.json("definition")?
            })
        });
        workflow.transpose()
    })
    .await
}

/// Writes the workflow of a kind.
pub async fn put_workflow(tx: &mut Tx, workflow: &Workflow) -> Result<()> {
    touch(tx, "workflow", params![workflow.kind.name()]).await?;
    tx.conn.clear_settings_cache();
    let sql = "INSERT INTO workflow (kind, definition, rev) VALUES ($1, $2, $3) \
               ON CONFLICT (kind) DO UPDATE SET definition = excluded.definition, rev = excluded.rev";
    tx.conn
        .run(sql, params![workflow.kind.name(), json(workflow)?, workflow.rev])
        .await
        .map(drop)
}

/// The statuses living items of a kind have now, in any project.
pub async fn statuses_in_use(conn: &mut Conn, kind: Kind) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT status FROM item WHERE kind = $1 AND status IS NOT NULL ORDER BY status";
    let rows = conn.all(sql, params![kind.name()]).await?;
    rows.iter().map(|row| row.text("status")).collect()
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Broken(error.to_string()))
}
