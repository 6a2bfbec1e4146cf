//! Stored prompts.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::row_seals::{touch, touch_where};
use crate::tx::Tx;
use spexus_domain::prompt::Prompt;
use spexus_domain::{AnyId, Reference, Uuid};

macro_rules! select_prompts {
    ($rest:literal) => {
        concat!(
            "SELECT r.*, c.username AS creator FROM prompt r JOIN account c ON c.id = r.creator_id ",
            $rest
        )
    };
}

/// A prompt by any id.
pub async fn by_any_id(conn: &mut Conn, id: &AnyId) -> Result<Option<Prompt>> {
    let row = match id {
        AnyId::Uuid(id) => {
            conn.optional(select_prompts!("WHERE r.id = $1"), params![*id])
                .await?
        }
        AnyId::Reference { reference, .. } if reference.kind().is_none() => {
            conn.optional(
                select_prompts!("WHERE r.number = $1"),
                params![reference.number()],
            )
            .await?
        }
        AnyId::Reference { .. } => None,
    };
    row.map(|row| prompt(&row)).transpose()
}

/// A prompt by its name.
pub async fn by_name(conn: &mut Conn, name: &str) -> Result<Option<Prompt>> {
    let row = conn
        .optional(select_prompts!("WHERE r.name = $1"), params![name])
        .await?;
    row.map(|row| prompt(&row)).transpose()
}

/// The active prompt, if there is one.
pub async fn active(conn: &mut Conn) -> Result<Option<Prompt>> {
    let row = conn
        .optional(select_prompts!("WHERE r.active = 1"), params![])
        .await?;
    row.map(|row| prompt(&row)).transpose()
}

/// All prompts, in the order they were made.
pub async fn all(conn: &mut Conn) -> Result<Vec<Prompt>> {
    conn.all(select_prompts!("ORDER BY r.number"), params![])
        .await?
        .iter()
        .map(prompt)
        .collect()
}

/// Writes a new prompt.
pub async fn insert(tx: &mut Tx, prompt: &Prompt) -> Result<()> {
    touch(tx, "prompt", params![prompt.id]).await?;
    let sql = "INSERT INTO prompt (id, number, name, title, description, messages, arguments, active, rev, creator_id, created_at, \
               updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let creator = tx.actor().user_id;
    let values = params![
        prompt.id,
        prompt.reference_id.number(),
        &prompt.name,
        &prompt.title,
        &prompt.description,
        json(&prompt.messages)?,
        json(&prompt.arguments)?,
        prompt.active,
        prompt.rev,
        creator,
        prompt.created_at,
        prompt.updated_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Writes a changed prompt over the one before. Activating one deactivates the other first.
pub async fn update(tx: &mut Tx, prompt: &Prompt) -> Result<()> {
    touch(tx, "prompt", params![prompt.id]).await?;
    if prompt.active {
        touch_where(tx, "prompt", "active = 1", params![]).await?;
        let sql =
            "UPDATE prompt SET active = 0, rev = rev + 1, updated_at = $2 WHERE active = 1 AND id <> $1";
        tx.conn.run(sql, params![prompt.id, prompt.updated_at]).await?;
    }
    let sql = "UPDATE prompt SET title = $2, description = $3, messages = $4, arguments = $5, active = $6, rev = $7, updated_at = $8 \
               WHERE id = $1";
    let values = params![
        prompt.id,
        &prompt.title,
        &prompt.description,
        json(&prompt.messages)?,
        json(&prompt.arguments)?,
        prompt.active,
        prompt.rev,
        prompt.updated_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Removes a prompt.
pub async fn remove(tx: &mut Tx, id: Uuid) -> Result<()> {
    touch(tx, "prompt", params![id]).await?;
    tx.conn
        .run("DELETE FROM prompt WHERE id = $1", params![id])
        .await
        .map(drop)
}

fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Broken(error.to_string()))
}

fn prompt(row: &Row) -> Result<Prompt> {
    Ok(Prompt {
        id: row.id("id")?,
        reference_id: Reference::of_prompt(row.int("number")?),
        name: row.text("name")?,
        title: row.text("title")?,
        description: row.text("description")?,
        messages: row.json("messages")?,
        arguments: row.json("arguments")?,
        active: row.flag("active")?,
        rev: row.int("rev")?,
        creator: row.text("creator")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
