//! Saved views of a project.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::saved_view::{SavedView, ViewPage};

macro_rules! select_views {
    ($rest:literal) => {
        concat!(
            "SELECT v.id, v.owner_id, a.username AS owner, p.key AS project, v.name, v.page, v.query, v.shared, v.rev, ",
            "v.created_at, v.updated_at FROM saved_view v JOIN project p ON p.id = v.project_id ",
            "JOIN account a ON a.id = v.owner_id WHERE v.project_id = $1 AND ",
            $rest
        )
    };
}

/// The views somebody finds in a project: their own and those that are shared; at most so many.
pub async fn of_project(
    conn: &mut Conn,
    project_id: Uuid,
    user_id: Uuid,
    limit: u32,
) -> Result<Vec<SavedView>> {
    const SQL: &str =
        select_views!("(v.shared = 1 OR v.owner_id = $2) ORDER BY v.page, v.name, v.id LIMIT $3");
    let rows = conn.all(SQL, params![project_id, user_id, limit]).await?;
    rows.iter().map(view).collect()
}

/// A view somebody finds in a project.
pub async fn by_id(conn: &mut Conn, project_id: Uuid, user_id: Uuid, id: Uuid) -> Result<Option<SavedView>> {
    const SQL: &str = select_views!("v.id = $3 AND (v.shared = 1 OR v.owner_id = $2)");
    let row = conn.optional(SQL, params![project_id, user_id, id]).await?;
    row.map(|row| view(&row)).transpose()
}

/// A view somebody finds in a project by its name: their own before one that is shared.
pub async fn by_name(
    conn: &mut Conn,
    project_id: Uuid,
    user_id: Uuid,
    name: &str,
) -> Result<Option<SavedView>> {
    const SQL: &str =
        select_views!("v.name = $3 AND (v.shared = 1 OR v.owner_id = $2) ORDER BY v.shared, v.id LIMIT 1");
    let row = conn.optional(SQL, params![project_id, user_id, name]).await?;
    row.map(|row| view(&row)).transpose()
}

/// Whether another view of this name is shared in the project, or is this person's own.
pub async fn is_taken(conn: &mut Conn, project_id: Uuid, wanted: &SavedView) -> Result<bool> {
    let sql = "SELECT count(*) AS n FROM saved_view WHERE project_id = $1 AND name = $2 AND id <> $3 AND shared = $4 \
               AND ($4 = 1 OR owner_id = $5)";
    let values = params![
        project_id,
        &wanted.name,
        wanted.id,
        wanted.shared,
        wanted.owner_id
    ];
    Ok(conn.one(sql, values).await?.int("n")? > 0)
}

/// How many views somebody saved in a project.
pub async fn count(conn: &mut Conn, project_id: Uuid, owner_id: Uuid) -> Result<i64> {
    let sql = "SELECT count(*) AS n FROM saved_view WHERE project_id = $1 AND owner_id = $2";
    conn.one(sql, params![project_id, owner_id]).await?.int("n")
}

/// Writes a view, new or changed.
pub async fn put(tx: &mut Tx, project_id: Uuid, view: &SavedView) -> Result<()> {
    tx.concerns(project_id)?;
    let sql = "INSERT INTO saved_view (project_id, id, owner_id, name, page, query, shared, rev, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (project_id, id) DO UPDATE SET \
               name = excluded.name, query = excluded.query, shared = excluded.shared, rev = excluded.rev, \
               updated_at = excluded.updated_at";
    let values = params![
        project_id,
        view.id,
        view.owner_id,
        &view.name,
        view.page.name(),
        &view.query,
        view.shared,
        view.rev,
        view.created_at,
        view.updated_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Removes a view.
pub async fn remove(tx: &mut Tx, project_id: Uuid, id: Uuid) -> Result<()> {
    tx.concerns(project_id)?;
    let sql = "DELETE FROM saved_view WHERE project_id = $1 AND id = $2";
    tx.conn.run(sql, params![project_id, id]).await.map(drop)
}

fn view(row: &Row) -> Result<SavedView> {
    Ok(SavedView {
        id: row.id("id")?,
        project: row.text("project")?,
        name: row.text("name")?,
        page: ViewPage::parse("page", &row.text("page")?)?,
        query: row.text("query")?,
        shared: row.flag("shared")?,
        owner: row.text("owner")?,
        owner_id: row.id("owner_id")?,
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
