//! Personal access tokens, known by a keyed hash: one indexed look-up finds a token, however many there are.

use crate::accounts;
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::mcp_sessions;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::account::{Scope, Token, User};
use spexus_domain::{Timestamp, Uuid};

/// A token as a request is checked against it.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The token.
    pub token_id: Uuid,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The only project it works in.
    pub project_id: Option<Uuid>,
    /// Whether it was marked as an agent's.
    pub agent: bool,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// Its owner as the account is now.
    pub user: User,
}

/// The token with this hash.
pub async fn grant_by_hash(conn: &mut Conn, hash: [u8; 32]) -> Result<Option<Grant>> {
    let sql = "SELECT t.id AS token_id, t.scopes, t.project_id, t.agent, t.expires_at, a.*, o.username AS owner \
               FROM token t JOIN account a ON a.id = t.user_id LEFT JOIN account o ON o.id = a.owner_id WHERE t.hash = $1";
    let Some(row) = conn.optional(sql, params![hash]).await? else {
        return Ok(None);
    };
    Ok(Some(Grant {
        token_id: row.id("token_id")?,
        scopes: scopes(&row)?,
        project_id: row.opt_id("project_id")?,
        agent: row.flag("agent")?,
        expires_at: row.opt_time("expires_at")?,
        user: accounts::user(&row)?,
    }))
}

/// The tokens of a user, oldest first.
pub async fn of_user(conn: &mut Conn, user_id: Uuid) -> Result<Vec<Token>> {
    let sql = "SELECT t.*, a.username, a.owner_id, p.key AS project FROM token t JOIN account a ON a.id = t.user_id \
               LEFT JOIN project p ON p.id = t.project_id WHERE t.user_id = $1 ORDER BY t.created_at, t.id";
    conn.all(sql, params![user_id]).await?.iter().map(token).collect()
}

/// A token and the id of its owner.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<(Token, Uuid)>> {
    let sql = "SELECT t.*, a.username, a.owner_id, p.key AS project FROM token t JOIN account a ON a.id = t.user_id \
               LEFT JOIN project p ON p.id = t.project_id WHERE t.id = $1";
    let row = conn.optional(sql, params![id]).await?;
    row.map(|row| Ok((token(&row)?, row.id("user_id")?))).transpose()
}

/// Whether a user has a token of this name.
pub async fn has_name(conn: &mut Conn, user_id: Uuid, name: &str) -> Result<bool> {
    let sql = "SELECT id FROM token WHERE user_id = $1 AND name = $2";
    Ok(conn.optional(sql, params![user_id, name]).await?.is_some())
}

/// Writes a new token.
pub async fn insert(
    tx: &mut Tx,
    token: &Token,
    user_id: Uuid,
    project_id: Option<Uuid>,
    hash: [u8; 32],
) -> Result<()> {
    touch(tx, "token", params![token.id]).await?;
    let sql = "INSERT INTO token (id, user_id, name, hash, scopes, project_id, expires_at, created_at, agent) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let scopes = serde_json::to_string(&token.scopes).unwrap_or_else(|_| "[]".into());
    let values = params![
        token.id,
        user_id,
        &token.name,
        hash,
        scopes,
        project_id,
        token.expires_at,
        token.created_at,
        token.agent,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Removes a token; from this transaction on it opens nothing, and the sessions opened with it have ended.
pub async fn remove(tx: &mut Tx, id: Uuid) -> Result<()> {
    //= specs/spexus-store.md#sessions
    //# The sessions of a token MUST end with it.
    mcp_sessions::end_of(tx, id).await?;
    touch(tx, "token", params![id]).await?;
    tx.conn
        .run("DELETE FROM token WHERE id = $1", params![id])
        .await
        .map(drop)
}

/// Notes when tokens were last used.
pub async fn note_use(tx: &mut Tx, uses: &[(Uuid, Timestamp)]) -> Result<()> {
    for (id, at) in uses {
        tx.conn
            .run(
                "UPDATE token SET last_used_at = $2 WHERE id = $1",
                params![*id, *at],
            )
            .await?;
    }
    Ok(())
}

fn token(row: &Row) -> Result<Token> {
    Ok(Token {
        id: row.id("id")?,
        user: row.text("username")?,
        name: row.text("name")?,
        scopes: scopes(row)?,
        project: row.opt_text("project")?,
        project_id: row.opt_id("project_id")?,
        agent: row.flag("agent")? || row.opt_id("owner_id")?.is_some(),
        expires_at: row.opt_time("expires_at")?,
        last_used_at: row.opt_time("last_used_at")?,
        created_at: row.time("created_at")?,
    })
}

fn scopes(row: &Row) -> Result<Vec<Scope>> {
    row.json("scopes")
        .map_err(|_| Error::Broken("a token has scopes that cannot be read".into()))
}
