//! Groups: named sets of users.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::row_seals::{touch, touch_where};
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::member::Group;

/// All groups with who is in them, by name.
pub async fn all(conn: &mut Conn) -> Result<Vec<Group>> {
    let rows = conn
        .all("SELECT * FROM user_group ORDER BY name", params![])
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        found.push(group(conn, row).await?);
    }
    Ok(found)
}

/// A group by its name.
pub async fn by_name(conn: &mut Conn, name: &str) -> Result<Option<Group>> {
    let row = conn
        .optional("SELECT * FROM user_group WHERE name = $1", params![name])
        .await?;
    match row {
        Some(row) => group(conn, &row).await.map(Some),
        None => Ok(None),
    }
}

/// Writes a new group, with nobody in it.
pub async fn insert(tx: &mut Tx, group: &Group) -> Result<()> {
    touch(tx, "user_group", params![group.id]).await?;
    let sql = "INSERT INTO user_group (id, name, rev, created_at) VALUES ($1, $2, $3, $4)";
    let values = params![group.id, &group.name, group.rev, group.created_at];
    tx.conn.run(sql, values).await.map(drop)
}

/// Takes a user into a group; tells whether the user was not in it.
pub async fn add(tx: &mut Tx, group_id: Uuid, user_id: Uuid) -> Result<bool> {
    touch_user(tx, group_id, user_id).await?;
    let sql = "INSERT INTO group_user (group_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let added = tx.conn.run(sql, params![group_id, user_id]).await? > 0;
    count_change(tx, group_id, added).await?;
    Ok(added)
}

/// Takes a user out of a group; tells whether the user was in it.
pub async fn remove(tx: &mut Tx, group_id: Uuid, user_id: Uuid) -> Result<bool> {
    touch_user(tx, group_id, user_id).await?;
    let sql = "DELETE FROM group_user WHERE group_id = $1 AND user_id = $2";
    let removed = tx.conn.run(sql, params![group_id, user_id]).await? > 0;
    count_change(tx, group_id, removed).await?;
    Ok(removed)
}

/// Removes a group, and with it what it was in projects.
pub async fn delete(tx: &mut Tx, group_id: Uuid) -> Result<()> {
    touch(tx, "user_group", params![group_id]).await?;
    for table in ["member_group", "group_user"] {
        touch_where(tx, table, "group_id = $1", params![group_id]).await?;
    }
    for sql in [
        "DELETE FROM member_group WHERE group_id = $1",
        "DELETE FROM group_user WHERE group_id = $1",
        "DELETE FROM user_group WHERE id = $1",
    ] {
        tx.conn.run(sql, params![group_id]).await?;
    }
    Ok(())
}

/// Which group is a member of which project.
pub async fn places(conn: &mut Conn) -> Result<Vec<(Uuid, Uuid)>> {
    let sql = "SELECT group_id, project_id FROM member_group";
    let rows = conn.all(sql, params![]).await?;
    rows.iter()
        .map(|row| Ok((row.id("group_id")?, row.id("project_id")?)))
        .collect()
}

async fn touch_user(tx: &mut Tx, group_id: Uuid, user_id: Uuid) -> Result<()> {
    touch(tx, "user_group", params![group_id]).await?;
    touch(tx, "group_user", params![group_id, user_id]).await
}

async fn count_change(tx: &mut Tx, group_id: Uuid, changed: bool) -> Result<()> {
    if !changed {
        return Ok(());
    }
    let sql = "UPDATE user_group SET rev = rev + 1 WHERE id = $1";
    tx.conn.run(sql, params![group_id]).await.map(drop)
}

async fn group(conn: &mut Conn, row: &Row) -> Result<Group> {
    let id = row.id("id")?;
    let sql = "SELECT a.username FROM group_user u JOIN account a ON a.id = u.user_id WHERE u.group_id = $1 \
               ORDER BY a.username_folded";
    let users = conn.all(sql, params![id]).await?;
    Ok(Group {
        id,
        name: row.text("name")?,
        users: users
            .iter()
            .map(|user| user.text("username"))
            .collect::<Result<_>>()?,
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
    })
}
