//! One moment seen by several connections, so that much can be read at once and still fit together.

use crate::engine::{Conn, Engine, params};
use crate::error::{Error, Result};
use crate::ledger_head::Head;
use crate::pool::Pool;
use crate::snapshot::SnapshotPermit;

/// Tries to begin at one moment while others write.
const MAX_TRIES: usize = 20;

/// A connection in a read transaction. It is ended, or given up with whoever went away.
pub(crate) struct MomentConn(Option<Conn>);

impl MomentConn {
    pub(crate) fn conn(&mut self) -> Result<&mut Conn> {
        let over = || Error::Unavailable("what was read together is over".into());
        self.0.as_mut().ok_or_else(over)
    }

    async fn end(mut self) {
        if let Some(mut conn) = self.0.take()
            && conn.script("ROLLBACK").await.is_err()
        {
            conn.abandon();
        }
    }
}

impl Drop for MomentConn {
    fn drop(&mut self) {
        if let Some(conn) = self.0.take() {
            conn.abandon();
        }
    }
}

/// Connections that see one moment; fewer than were wanted where that cannot be had.
pub(crate) async fn begin(readers: &Pool, wanted: usize) -> Result<Vec<MomentConn>> {
    let mut first = open(readers, readers.engine()).await?;
    let sql = "SELECT pg_export_snapshot() AS name";
    let name = match readers.engine() {
        Engine::Postgres => Some(first.conn()?.one(sql, params![]).await?.text("name")?),
        Engine::Sqlite => None,
    };
    let mut all = vec![first];
    while all.len() < wanted.max(1) {
        let joined = match &name {
            Some(name) => Some(join(readers, name).await?),
            None => meet(readers, &mut all).await?,
        };
        match joined {
            Some(conn) => all.push(conn),
            None => break,
        }
    }
    Ok(all)
}

/// Ends the transactions and gives the connections back.
pub(crate) async fn end(all: Vec<MomentConn>, permit: SnapshotPermit) {
    for conn in all {
        conn.end().await;
    }
    drop(permit);
}

async fn open(readers: &Pool, engine: Engine) -> Result<MomentConn> {
    let mut conn = MomentConn(Some(readers.acquire().await?));
    let begin = match engine {
        Engine::Sqlite => "BEGIN DEFERRED",
        Engine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    };
    conn.conn()?.script(begin).await?;
    Ok(conn)
}

async fn join(readers: &Pool, name: &str) -> Result<MomentConn> {
    // The name is PostgreSQL's own; nothing else is let through.
    if !name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Err(Error::Broken("a snapshot has no name".into()));
    }
    let mut conn = open(readers, Engine::Postgres).await?;
    conn.conn()?
        .script(format!("SET TRANSACTION SNAPSHOT '{name}'"))
        .await?;
    Ok(conn)
}

/// A file has no names for moments: another connection is opened until it sees the same last change. Where others write too
/// often, all begin again a few times, and then there is one connection less.
async fn meet(readers: &Pool, all: &mut [MomentConn]) -> Result<Option<MomentConn>> {
    for _ in 0..MAX_TRIES {
        let mut conn = open(readers, Engine::Sqlite).await?;
        let head = Head::read(conn.conn()?).await?;
        let mut is_one = true;
        for other in all.iter_mut() {
            is_one &= Head::read(other.conn()?).await? == head;
        }
        if is_one {
            return Ok(Some(conn));
        }
        conn.end().await;
        for other in all.iter_mut() {
            other.conn()?.script("ROLLBACK; BEGIN DEFERRED").await?;
            Head::read(other.conn()?).await?;
        }
    }
    Ok(None)
}
