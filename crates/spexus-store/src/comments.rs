//! Comments on items.

use crate::cursor;
use crate::directory::project_of;
use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items::kind;
use crate::listing::{Conditions, page_of};
use crate::reference_prefix::prefix;
use crate::tx::Tx;
use spexus_domain::anchor::Anchor;
use spexus_domain::comment::Comment;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Reference, Uuid};

macro_rules! select_comments {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.item_id, i.kind, i.number, m.parent_id, m.depth, a.username AS author, m.author_id, m.content, ",
            "m.resolved, m.anchor, m.rev, m.created_at, m.updated_at, i.project_id, ",
            $crate::reference_prefix::prefix_of!("p"), " AS prefix ",
            "FROM comment m JOIN item i ON i.project_id = m.project_id AND i.id = m.item_id JOIN account a ON a.id = m.author_id ",
            "JOIN project p ON p.id = m.project_id ",
            $rest
        )
    };
}

/// A comment by its id, and its project; comments of deleted items are hidden with them.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<(Comment, Uuid)>> {
    const SQL: &str = concat!(
        select_comments!(
            "WHERE m.id = $1 AND m.deleted_at IS NULL AND i.deleted_at IS NULL AND m.project_id = "
        ),
        project_of!("$1")
    );
    let row = conn.optional(SQL, params![id]).await?;
    row.map(|row| Ok((comment(&row)?, row.id("project_id")?)))
        .transpose()
}

/// One page of the comments of an item, oldest first; all of them, or only the settled or open ones.
pub async fn of_item(
    conn: &mut Conn,
    item_id: Uuid,
    resolved: Option<bool>,
    page: &PageRequest,
) -> Result<Page<Comment>> {
    const COUNT: &str = concat!(
        "SELECT count(*) AS n FROM comment WHERE project_id = ",
        project_of!("$1"),
        " AND item_id = $1 AND deleted_at IS NULL AND ($2 < 0 OR resolved = $2)"
    );
    const PAGE: &str = concat!(
        select_comments!("WHERE m.project_id = "),
        project_of!("$1"),
        " AND m.item_id = $1 AND m.deleted_at IS NULL AND ($2 < 0 OR m.resolved = $2) \
         AND (m.created_at, m.id) > ($3, $4) ORDER BY m.created_at, m.id LIMIT $5"
    );
    let wanted = resolved.map_or(-1, i64::from);
    let total_count = conn.one(COUNT, params![item_id, wanted]).await?.int("n")?;
    let (at, id): (i64, Uuid) = page
        .cursor
        .as_deref()
        .map(cursor::read)
        .transpose()?
        .unwrap_or((i64::MIN, Uuid::nil()));
    let rows = conn
        .all(PAGE, params![item_id, wanted, at, id, page.limit + 1])
        .await?;
    let (data, next_cursor) = page_of(&rows, page.limit, comment, |last| {
        cursor::write(&(last.created_at.0, last.id))
    })?;
    Ok(Page::new(data, total_count, next_cursor))
}

/// How many living answers a comment has.
pub async fn count_replies(conn: &mut Conn, id: Uuid) -> Result<i64> {
    const SQL: &str = concat!(
        "SELECT count(*) AS n FROM comment WHERE project_id = ",
        project_of!("$1"),
        " AND parent_id = $1 AND deleted_at IS NULL"
    );
    conn.one(SQL, params![id]).await?.int("n")
}

/// The anchored comments of an item.
pub async fn anchored(conn: &mut Conn, item_id: Uuid) -> Result<Vec<(Uuid, Anchor)>> {
    const SQL: &str = concat!(
        "SELECT id, anchor FROM comment WHERE project_id = ",
        project_of!("$1"),
        " AND item_id = $1 AND anchor IS NOT NULL AND deleted_at IS NULL"
    );
    let rows = conn.all(SQL, params![item_id]).await?;
    rows.iter()
        .map(|row| Ok((row.id("id")?, row.json("anchor")?)))
        .collect()
}

/// Writes a new comment.
pub async fn insert(tx: &mut Tx, project_id: Uuid, comment: &Comment) -> Result<()> {
    let sql = "INSERT INTO comment (id, item_id, parent_id, depth, author_id, content, resolved, anchor, rev, created_at, updated_at, \
               project_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let depth = i64::try_from(comment.depth).unwrap_or(i64::MAX);
    let values = params![
        comment.id,
        comment.item_id,
        comment.parent_id,
        depth,
        comment.author_id,
        &comment.content,
        comment.resolved,
        comment.anchor.as_ref().map(anchor),
        comment.rev,
        comment.created_at,
        comment.updated_at,
        project_id,
    ];
    tx.conn.run(sql, values).await?;
    crate::search::index_comment(tx, project_id, comment).await
}

/// Writes a changed comment over the one before.
pub async fn update(tx: &mut Tx, project_id: Uuid, comment: &Comment) -> Result<()> {
    let sql = "UPDATE comment SET content = $2, resolved = $3, rev = $4, updated_at = $5 WHERE project_id = $6 AND id = $1";
    let values = params![
        comment.id,
        &comment.content,
        comment.resolved,
        comment.rev,
        comment.updated_at,
        project_id,
    ];
    tx.conn.run(sql, values).await?;
    crate::search::index_comment(tx, project_id, comment).await
}

/// Moves an anchor after its text was edited.
pub async fn move_anchor(tx: &mut Tx, id: Uuid, moved: &Anchor) -> Result<()> {
    const SQL: &str = concat!(
        "UPDATE comment SET anchor = $2 WHERE id = $1 AND project_id = ",
        project_of!("$1")
    );
    tx.conn.run(SQL, params![id, anchor(moved)]).await.map(drop)
}

/// Soft delete: makes a comment a tombstone.
pub async fn soft_delete(tx: &mut Tx, id: Uuid) -> Result<()> {
    const SQL: &str = concat!(
        "UPDATE comment SET deleted_at = $2, rev = rev + 1 WHERE id = $1 AND project_id = ",
        project_of!("$1")
    );
    let now = tx.now();
    tx.conn.run(SQL, params![id, now]).await?;
    crate::search::remove_comment(tx, id).await
}

/// What search knows of a comment.
pub(crate) struct Said {
    pub(crate) id: Uuid,
    pub(crate) item_id: Uuid,
    pub(crate) content: String,
}

/// The living comments of items of one project, for bringing them back into search with them.
pub(crate) async fn of_items(conn: &mut Conn, project_id: Option<Uuid>, ids: &[Uuid]) -> Result<Vec<Said>> {
    let mut query = Conditions::default();
    query.among("project_id", project_id);
    query.among("item_id", ids.iter().copied());
    let sql = format!(
        "SELECT id, item_id, content FROM comment WHERE {} AND deleted_at IS NULL",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let said = |row: &Row| {
        Ok(Said {
            id: row.id("id")?,
            item_id: row.id("item_id")?,
            content: row.text("content")?,
        })
    };
    rows.iter().map(said).collect()
}

/// An anchor as it is kept.
pub fn anchor_value(anchor: &Anchor) -> serde_json::Value {
    serde_json::json!({"quote": anchor.quote, "start": anchor.start, "end": anchor.end, "lost": anchor.lost})
}

fn anchor(anchor: &Anchor) -> String {
    anchor_value(anchor).to_string()
}

fn comment(row: &Row) -> Result<Comment> {
    Ok(Comment {
        id: row.id("id")?,
        item_id: row.id("item_id")?,
        item: prefix(row, "prefix")?.show(Reference::of_kind(kind(row, "kind")?, row.int("number")?)),
        parent_id: row.opt_id("parent_id")?,
        depth: usize::try_from(row.int("depth")?).unwrap_or(0),
        author: row.text("author")?,
        author_id: row.id("author_id")?,
        content: row.text("content")?,
        resolved: row.flag("resolved")?,
        anchor: if row.opt_text("anchor")?.is_some() {
            Some(row.json("anchor")?)
        } else {
            None
        },
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}
