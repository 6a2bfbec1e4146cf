//! What imports, exports and check-ups need beside the use cases: a view of the whole database at one moment, everything
//! of a project page by page in an order that can be written back, and rows written with the times and names they bring.

use crate::engine::{Conn, Engine, Row, params};
use crate::error::Result;
use crate::items::{item, kind, select_items};
use crate::snapshot::SnapshotPermit;
use crate::tx::Tx;
use crate::{Store, error::Error, row_seals};
use serde::Serialize;
use spexus_domain::comment::Comment;
use spexus_domain::item::Item;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Reference, Timestamp, Uuid};

/// Rows of one page.
pub const PAGE_ROWS: u32 = 1_000;

/// Facts about a database, for people who look after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DatabaseFacts {
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

/// A link with everything that is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRow {
    /// Its id.
    pub id: Uuid,
    /// The name of its type.
    pub link_type: String,
    /// Where it starts.
    pub source: (Uuid, Reference),
    /// Where it points.
    pub target: (Uuid, Reference),
    /// What the source said when the link was last confirmed.
    pub source_hash: String,
    /// What the target said then.
    pub target_hash: String,
    /// Whether the source still says it.
    pub source_confirmed: bool,
    /// Whether the target still says it.
    pub target_confirmed: bool,
    /// Grows with every change.
    pub rev: i64,
    /// Who made it.
    pub created_by: (Uuid, String),
    /// When it was made.
    pub created_at: Timestamp,
}

/// A living item as far as others need to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its id.
    pub id: Uuid,
    /// What contains it.
    pub parent_id: Option<Uuid>,
    /// What it says, as a hash.
    pub content_hash: String,
}

/// A view of the whole database at one moment, whatever is written meanwhile.
pub struct Snapshot {
    conn: Option<Conn>,
    /// Whether the transaction is somebody else's: reads of a batch see what the batch wrote.
    lent: bool,
    _permit: Option<SnapshotPermit>,
}

impl Snapshot {
    /// Begins one, for a user.
    pub async fn begin(store: &Store, owner: Uuid) -> Result<Self> {
        let lent = store.is_in_transaction();
        let permit = match lent {
            true => None,
            false => Some(store.snapshot_permit(owner).await?),
        };
        let mut conn = store.read().await?;
        match conn.engine() {
            _ if lent => {}
            Engine::Sqlite => {
                conn.script("BEGIN").await?;
                // The view begins with the first look.
                conn.one("SELECT count(*) AS n FROM schema_version", params![])
                    .await?;
            }
            Engine::Postgres => {
                conn.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await?;
            }
        }
        Ok(Self {
            conn: Some(conn),
            lent,
            _permit: permit,
        })
    }

    /// The connection to look with.
    pub fn conn(&mut self) -> Result<&mut Conn> {
        self.conn
            .as_mut()
            .ok_or_else(|| Error::Broken("a snapshot was used after its end".into()))
    }

    /// Ends it and gives the connection back.
    pub async fn end(mut self) -> Result<()> {
        match self.conn.take() {
            Some(mut conn) if !self.lent => conn.script("ROLLBACK").await,
            _ => Ok(()),
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // A connection inside a transaction must not go back to those who share it.
        if let Some(conn) = self.conn.take()
            && !self.lent
        {
            conn.abandon();
        }
    }
}

/// Asks the database about itself.
pub async fn facts(conn: &mut Conn) -> Result<DatabaseFacts> {
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
    Ok(DatabaseFacts {
        engine: format!("{name} {version}"),
        schema_version: schema.int("version")?,
        made_by: schema.text("program")?,
        users: counts.int("users")?,
        projects: counts.int("projects")?,
        items: counts.int("items")?,
        changes: counts.int("changes")?,
    })
}

/// Whether there is any item, deleted ones included: in one project, or anywhere.
pub async fn has_items(conn: &mut Conn, project_id: Option<Uuid>) -> Result<bool> {
    let row = match project_id {
        Some(id) => {
            let sql = "SELECT 1 AS one FROM item WHERE project_id = $1 LIMIT 1";
            conn.optional(sql, params![id]).await?
        }
        None => {
            conn.optional("SELECT 1 AS one FROM item LIMIT 1", params![])
                .await?
        }
    };
    Ok(row.is_some())
}

/// The last number given out for each prefix of a project.
pub async fn counters(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(String, i64)>> {
    let sql = "SELECT prefix, last FROM counter WHERE project_id = $1 ORDER BY prefix";
    let rows = conn.all(sql, params![project_id]).await?;
    rows.iter()
        .map(|row| Ok((row.text("prefix")?, row.int("last")?)))
        .collect()
}

/// The living items of a kind behind a number, in the order of their numbers.
pub async fn items_after(conn: &mut Conn, project_id: Uuid, of: Kind, number: i64) -> Result<Vec<Item>> {
    let sql = select_items!(
        "",
        "WHERE i.project_id = $1 AND i.kind = $2 AND i.number > $3 AND i.deleted_at IS NULL ORDER BY i.number LIMIT $4"
    );
    let rows = conn
        .all(sql, params![project_id, of.name(), number, PAGE_ROWS])
        .await?;
    rows.iter().map(item).collect()
}

/// A living item by its reference id.
pub async fn known(conn: &mut Conn, project_id: Uuid, reference: &Reference) -> Result<Option<Known>> {
    let Some(of) = reference.kind() else {
        return Ok(None);
    };
    let sql = "SELECT id, parent_id, content_hash FROM item \
               WHERE project_id = $1 AND kind = $2 AND number = $3 AND deleted_at IS NULL";
    let row = conn
        .optional(sql, params![project_id, of.name(), reference.number()])
        .await?;
    row.map(|row| {
        Ok(Known {
            id: row.id("id")?,
            parent_id: row.opt_id("parent_id")?,
            content_hash: row.text("content_hash")?,
        })
    })
    .transpose()
}

/// Whether another living item of the same kind, in the same container, says the same.
pub async fn says_the_same(conn: &mut Conn, item: &Item) -> Result<bool> {
    let sql = "SELECT 1 AS one FROM item WHERE project_id = $1 AND kind = $2 AND title = $3 AND content_hash = $4 AND id <> $5 \
               AND deleted_at IS NULL AND coalesce(parent_id, $6) = $6 LIMIT 1";
    let parent = item.parent.as_ref().map_or(Uuid::nil(), |parent| parent.id);
    let values = params![
        item.project_id,
        item.kind.name(),
        &item.title,
        &item.content_hash,
        item.id,
        parent
    ];
    Ok(conn.optional(sql, values).await?.is_some())
}

/// The living comments of a depth on living items of a project behind an id. Depth by depth, what is answered comes
/// before its answers.
pub async fn comments_after(
    conn: &mut Conn,
    project_id: Uuid,
    depth: i64,
    after: Uuid,
) -> Result<Vec<Comment>> {
    // Crosswise, because SQLite would rather begin with the items and sort all their comments for each page.
    let sql = "SELECT m.*, i.kind, i.number, a.username AS author FROM comment m CROSS JOIN item i CROSS JOIN account a \
               WHERE m.project_id = $1 AND m.depth = $2 AND m.id > $3 AND m.deleted_at IS NULL AND i.project_id = $1 AND i.id = m.item_id \
               AND i.deleted_at IS NULL AND a.id = m.author_id ORDER BY m.id LIMIT $4";
    let rows = conn
        .all(sql, params![project_id, depth, after, PAGE_ROWS])
        .await?;
    rows.iter().map(comment).collect()
}

/// The living links inside a project behind an id.
pub async fn links_after(conn: &mut Conn, project_id: Uuid, after: Uuid) -> Result<Vec<LinkRow>> {
    let sql = "SELECT l.*, s.kind AS source_kind, s.number AS source_number, s.content_hash AS source_now, \
               e.kind AS target_kind, e.number AS target_number, e.content_hash AS target_now, c.username \
               FROM link l CROSS JOIN item s CROSS JOIN item e CROSS JOIN account c \
               WHERE l.project_id = $1 AND l.source_project_id = $1 AND l.target_project_id = $1 AND l.id > $2 AND l.deleted_at IS NULL \
               AND s.project_id = $1 AND s.id = l.source_id AND e.project_id = $1 AND e.id = l.target_id AND c.id = l.created_by \
               ORDER BY l.id LIMIT $3";
    let rows = conn.all(sql, params![project_id, after, PAGE_ROWS]).await?;
    rows.iter().map(link).collect()
}

/// How many living links lead out of a project into another.
pub async fn count_outward_links(conn: &mut Conn, project_id: Uuid) -> Result<i64> {
    let sql = "SELECT count(*) AS n FROM link WHERE project_id = $1 AND source_project_id = $1 AND target_project_id <> $1 \
               AND deleted_at IS NULL";
    conn.one(sql, params![project_id]).await?.int("n")
}

/// Writes a project over the one of the same id, its times included.
pub async fn put_project(tx: &mut Tx, project: &Project) -> Result<()> {
    row_seals::touch(tx, "project", params![project.id]).await?;
    let sql = "UPDATE project SET created_at = $2 WHERE id = $1";
    tx.conn.run(sql, params![project.id, project.created_at]).await?;
    crate::projects::update(tx, project).await
}

/// Writes a link within a project as it stood elsewhere.
pub async fn insert_link(tx: &mut Tx, project_id: Uuid, link: &LinkRow) -> Result<()> {
    let sql = "INSERT INTO link (id, project_id, type, source_project_id, source_id, target_project_id, target_id, source_hash, \
               target_hash, rev, created_by, created_at) VALUES ($1, $2, $3, $2, $4, $2, $5, $6, $7, $8, $9, $10)";
    let values = params![
        link.id,
        project_id,
        &link.link_type,
        link.source.0,
        link.target.0,
        &link.source_hash,
        &link.target_hash,
        link.rev,
        link.created_by.0,
        link.created_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Removes the types and prompts an empty installation was shipped with, to make room for those of another.
pub async fn clear_shipped(tx: &mut Tx) -> Result<()> {
    tx.conn.clear_settings_cache();
    for table in ["requirement_type", "link_type", "prompt"] {
        row_seals::touch_where(tx, table, "1 = 1", params![]).await?;
        tx.conn.run(format!("DELETE FROM {table}"), params![]).await?;
    }
    Ok(())
}

pub(crate) fn comment(row: &Row) -> Result<Comment> {
    Ok(Comment {
        id: row.id("id")?,
        item_id: row.id("item_id")?,
        item: Reference::of_kind(kind(row, "kind")?, row.int("number")?).into(),
        parent_id: row.opt_id("parent_id")?,
        depth: usize::try_from(row.int("depth")?).unwrap_or(0),
        author: row.text("author")?,
        author_id: row.id("author_id")?,
        content: row.text("content")?,
        resolved: row.flag("resolved")?,
        anchor: match row.opt_text("anchor")? {
            Some(_) => Some(row.json("anchor")?),
            None => None,
        },
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

pub(crate) fn link(row: &Row) -> Result<LinkRow> {
    let end = |id: &str, of: &str, number: &str| -> Result<(Uuid, Reference)> {
        Ok((row.id(id)?, Reference::of_kind(kind(row, of)?, row.int(number)?)))
    };
    let (source_hash, target_hash) = (row.text("source_hash")?, row.text("target_hash")?);
    Ok(LinkRow {
        id: row.id("id")?,
        link_type: row.text("type")?,
        source: end("source_id", "source_kind", "source_number")?,
        target: end("target_id", "target_kind", "target_number")?,
        source_confirmed: source_hash == row.text("source_now")?,
        target_confirmed: target_hash == row.text("target_now")?,
        source_hash,
        target_hash,
        rev: row.int("rev")?,
        created_by: (row.id("created_by")?, row.text("username")?),
        created_at: row.time("created_at")?,
    })
}
