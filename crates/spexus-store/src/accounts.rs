//! Accounts and web sessions.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::account::{Role, User};
use spexus_domain::{Timestamp, Uuid};

/// An account with what is needed to check its password.
#[derive(Clone)]
pub struct Credentials {
    /// The account.
    pub user: User,
    /// The argon2id hash, in its own text form.
    pub password_hash: String,
}

/// A web session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: Uuid,
    /// Whose it is.
    pub user_id: Uuid,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Accounts with the names of those that service accounts belong to.
macro_rules! with_owner {
    ($rest:literal) => {
        concat!(
            "SELECT a.*, o.username AS owner FROM account a LEFT JOIN account o ON o.id = a.owner_id ",
            $rest
        )
    };
}

/// An account by its id.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<User>> {
    let row = conn.optional(with_owner!("WHERE a.id = $1"), params![id]).await?;
    row.map(|row| user(&row)).transpose()
}

/// An account by its name, in any letter case, with its credentials.
pub async fn by_name(conn: &mut Conn, username: &str) -> Result<Option<Credentials>> {
    let row = conn
        .optional(
            with_owner!("WHERE a.username_folded = $1"),
            params![fold(username)],
        )
        .await?;
    row.map(|row| {
        Ok(Credentials {
            user: user(&row)?,
            password_hash: row.text("password_hash")?,
        })
    })
    .transpose()
}

/// All accounts, by name.
pub async fn all(conn: &mut Conn) -> Result<Vec<User>> {
    conn.all(with_owner!("ORDER BY a.username_folded"), params![])
        .await?
        .iter()
        .map(user)
        .collect()
}

/// How many accounts can administer.
pub async fn count_administrators(conn: &mut Conn) -> Result<i64> {
    let sql = "SELECT count(*) AS n FROM account WHERE role = 'Administrator' AND active = 1";
    conn.one(sql, params![]).await?.int("n")
}

/// Writes a new account.
pub async fn insert(tx: &mut Tx, user: &User, password_hash: &str) -> Result<()> {
    touch(tx, "account", params![user.id]).await?;
    let sql = "INSERT INTO account (id, username, username_folded, email, email_folded, role, password_hash, active, rev, \
               created_at, updated_at, owner_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let values = params![
        user.id,
        &user.username,
        fold(&user.username),
        user.email.as_deref(),
        user.email.as_deref().map(fold),
        user.role.name(),
        password_hash,
        user.active,
        user.rev,
        user.created_at,
        user.updated_at,
        user.owner_id,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Writes a changed account over the one before.
pub async fn update(tx: &mut Tx, user: &User) -> Result<()> {
    touch(tx, "account", params![user.id]).await?;
    let sql = "UPDATE account SET username = $2, username_folded = $3, email = $4, email_folded = $5, role = $6, active = $7, \
               rev = $8, updated_at = $9 WHERE id = $1";
    let values = params![
        user.id,
        &user.username,
        fold(&user.username),
        user.email.as_deref(),
        user.email.as_deref().map(fold),
        user.role.name(),
        user.active,
        user.rev,
        user.updated_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Replaces a password.
pub async fn set_password(tx: &mut Tx, user_id: Uuid, password_hash: &str) -> Result<()> {
    touch(tx, "account", params![user_id]).await?;
    let now = tx.now();
    let sql = "UPDATE account SET password_hash = $2, rev = rev + 1, updated_at = $3 WHERE id = $1";
    tx.conn
        .run(sql, params![user_id, password_hash, now])
        .await
        .map(drop)
}

/// Opens a session known by the hash of its secret.
pub async fn open_session(tx: &mut Tx, session: &Session, hash: [u8; 32]) -> Result<()> {
    let now = tx.now();
    tx.conn
        .run("DELETE FROM web_session WHERE expires_at <= $1", params![now])
        .await?;
    let sql =
        "INSERT INTO web_session (id, user_id, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)";
    tx.conn
        .run(
            sql,
            params![session.id, session.user_id, hash, now, session.expires_at],
        )
        .await
        .map(drop)
}

/// The session with this hash and its account.
pub async fn session_by_hash(conn: &mut Conn, hash: [u8; 32]) -> Result<Option<(Session, User)>> {
    let sql = "SELECT s.id AS session_id, s.expires_at, a.*, o.username AS owner FROM web_session s \
               JOIN account a ON a.id = s.user_id LEFT JOIN account o ON o.id = a.owner_id WHERE s.hash = $1";
    let Some(row) = conn.optional(sql, params![hash]).await? else {
        return Ok(None);
    };
    let user = user(&row)?;
    Ok(Some((
        Session {
            id: row.id("session_id")?,
            user_id: user.id,
            expires_at: row.time("expires_at")?,
        },
        user,
    )))
}

/// The sessions of a user that have not run out: id, when each began, and when it ends.
pub async fn sessions(
    conn: &mut Conn,
    user_id: Uuid,
    now: Timestamp,
) -> Result<Vec<(Uuid, Timestamp, Timestamp)>> {
    let sql = "SELECT id, created_at, expires_at FROM web_session WHERE user_id = $1 AND expires_at > $2 \
               ORDER BY created_at DESC, id LIMIT 200";
    let rows = conn.all(sql, params![user_id, now]).await?;
    let one = |row: &Row| Ok((row.id("id")?, row.time("created_at")?, row.time("expires_at")?));
    rows.iter().map(one).collect()
}

/// Ends one session of a user by its id.
pub async fn close_session_of(tx: &mut Tx, user_id: Uuid, id: Uuid) -> Result<bool> {
    let sql = "DELETE FROM web_session WHERE user_id = $1 AND id = $2";
    Ok(tx.conn.run(sql, params![user_id, id]).await? > 0)
}

/// Ends one session.
pub async fn close_session(tx: &mut Tx, hash: [u8; 32]) -> Result<bool> {
    Ok(tx
        .conn
        .run("DELETE FROM web_session WHERE hash = $1", params![hash])
        .await?
        > 0)
}

/// Ends all sessions of a user.
pub async fn close_sessions(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    tx.conn
        .run("DELETE FROM web_session WHERE user_id = $1", params![user_id])
        .await
        .map(drop)
}

/// Names and addresses are compared without regard to letter case.
fn fold(text: &str) -> String {
    text.to_lowercase()
}

pub(crate) fn user(row: &Row) -> Result<User> {
    let role = row.text("role")?;
    Ok(User {
        id: row.id("id")?,
        username: row.text("username")?,
        email: row.opt_text("email")?,
        role: Role::parse("role", &role)
            .map_err(|_| Error::Broken(format!("an account has the unknown role {role:?}")))?,
        active: row.flag("active")?,
        owner: row.opt_text("owner")?,
        owner_id: row.opt_id("owner_id")?,
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
