//! What imports, exports and check-ups need beside the use cases: facts about the database itself.

use crate::Conn;
use crate::engine::{Engine, params};
use crate::error::Result;
use serde::Serialize;

/// Facts about a database, for people who look after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// `SQLite` or `PostgreSQL`, with its version.
    pub engine: String,
    /// The version of the tables.
    pub schema_version: i64,
    /// The program that made or last changed them.
    pub made_by: String,
    /// Accounts, disabled ones included.
    pub users: i64,
    /// Projects.
    pub projects: i64,
    /// Living items.
    pub items: i64,
    /// Changes in the history.
    pub changes: i64,
}

/// Asks the database about itself.
pub async fn facts(conn: &mut Conn) -> Result<Facts> {
    let (name, version) = match conn.engine() {
        Engine::Sqlite => ("SQLite", "SELECT sqlite_version() AS version"),
        Engine::Postgres => (
            "PostgreSQL",
            "SELECT current_setting('server_version') AS version",
        ),
    };
    let version = conn.one(version, params![]).await?.text("version")?;
    let schema = conn
        .one("SELECT version, program FROM schema_version", params![])
        .await?;
    let counts = "SELECT (SELECT count(*) FROM account) AS users, (SELECT count(*) FROM project) AS projects, \
                  (SELECT count(*) FROM item WHERE deleted_at IS NULL) AS items, (SELECT count(*) FROM change) AS changes";
    let counts = conn.one(counts, params![]).await?;
    Ok(Facts {
        engine: format!("{name} {version}"),
        schema_version: schema.int("version")?,
        made_by: schema.text("program")?,
        users: counts.int("users")?,
        projects: counts.int("projects")?,
        items: counts.int("items")?,
        changes: counts.int("changes")?,
    })
}
