//! What a PostgreSQL server says of itself, for whoever looks after it.

use crate::engine::{Conn, Engine, params};
use crate::error::Result;

/// What an acknowledged write survives is decided by the server, and so is whether others can listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// Whether what is committed is flushed to the disk at all.
    pub fsync: bool,
    /// Whether a page that was written half can be mended.
    pub full_page_writes: bool,
    /// When a commit is answered: `on`, `off`, `local`, `remote_write`, `remote_apply`.
    pub synchronous_commit: String,
    /// Whether this connection is encrypted.
    pub encrypted: bool,
}

impl ServerFacts {
    /// Whether an acknowledged write survives a power loss of the server's machine.
    pub fn survives_power_loss(&self) -> bool {
        self.fsync && self.full_page_writes && self.synchronous_commit != "off"
    }
}

/// What the server says; `None` where there is none.
pub async fn facts(conn: &mut Conn) -> Result<Option<ServerFacts>> {
    if conn.engine() == Engine::Sqlite {
        return Ok(None);
    }
    let sql = "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, \
               current_setting('synchronous_commit') AS synchronous_commit, \
               COALESCE((SELECT CAST(ssl AS text) FROM pg_stat_ssl WHERE pid = pg_backend_pid()), 'false') AS encrypted";
    let row = conn.one(sql, params![]).await?;
    Ok(Some(ServerFacts {
        fsync: row.text("fsync")? == "on",
        full_page_writes: row.text("full_page_writes")? == "on",
        synchronous_commit: row.text("synchronous_commit")?,
        encrypted: row.text("encrypted")? == "true",
    }))
}
