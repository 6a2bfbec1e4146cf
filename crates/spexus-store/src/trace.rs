//! Evidence as it is kept: pushes, the documents they brought, and what the next one goes on from. Where items stand is in `state`, what
//! people said about that in `review`.

mod digest;
mod review;
mod state;

pub(crate) use digest::compare;
pub use digest::{PushDigest, head_of_digest};
pub use review::{ReviewRow, named_reviews, put_carried_review, put_review, reviews};
pub use state::{
    BriefRow, NamedItem, StateRow, TracedItem, brief, brief_among, brief_below, failing, numbers_of,
    put_states, remove_state, standing, state, stated_items, states_after, traced_items,
};

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::row_seals::touch;
use crate::tx::Tx;
use spexus_domain::trace::record::PartKind;
use spexus_domain::{Timestamp, Uuid};

/// A push of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushRow {
    /// Its id.
    pub id: Uuid,
    /// Its place among the pushes of its project.
    pub number: i64,
    /// The digest of all it brought.
    pub digest: [u8; 32],
    /// The commit it is about.
    pub commit: String,
    /// When that commit was made, or else when this was pushed.
    pub ordered_at: Timestamp,
    /// Whether the working tree had changes that are in no commit.
    pub is_dirty: bool,
    /// Whether it is an agent's word.
    pub is_reported: bool,
    /// Whether it brought the marks of a tree.
    pub has_marks: bool,
    /// What else is known of it, as JSON.
    pub head: String,
    /// Who pushed it.
    pub pushed_by: Uuid,
    /// When.
    pub pushed_at: Timestamp,
}

/// What decides which commit is traced, and which pushes are about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushMark {
    /// Its id.
    pub id: Uuid,
    /// Its place among the pushes of its project.
    pub number: i64,
    /// The commit it is about.
    pub commit: String,
    /// When that commit was made, or else when this was pushed.
    pub ordered_at: Timestamp,
    /// Whether the working tree had changes that are in no commit.
    pub is_dirty: bool,
    /// Whether it is an agent's word.
    pub is_reported: bool,
    /// Whether it brought the marks of a tree.
    pub has_marks: bool,
}

/// What the next push of a project goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadRow {
    /// Counts what was made of pushes and reviews.
    pub version: i64,
    /// What is known of the traced commit, as JSON.
    pub body: String,
    /// The keys of all items.
    pub keys: Vec<u8>,
}

/// A push by the digest of what it brought.
pub async fn push_by_digest(conn: &mut Conn, project_id: Uuid, digest: &[u8; 32]) -> Result<Option<PushRow>> {
    let sql = "SELECT * FROM trace_push WHERE project_id = $1 AND digest = $2";
    let row = conn.optional(sql, params![project_id, *digest]).await?;
    row.as_ref().map(push).transpose()
}

/// The pushes that can decide which commit of a project is traced: the last that counts and has marks, the last that counts, the
/// last, by the time of their commits.
pub async fn deciding_pushes(conn: &mut Conn, project_id: Uuid) -> Result<[Option<PushMark>; 3]> {
    let mut found = [None, None, None];
    let filters = [
        "AND is_reported = 0 AND is_dirty = 0 AND has_marks = 1",
        "AND is_reported = 0 AND is_dirty = 0",
        "",
    ];
    for (place, filter) in found.iter_mut().zip(filters) {
        let sql = format!(
            "{SELECT_MARK} WHERE project_id = $1 {filter} ORDER BY ordered_at DESC, number DESC LIMIT 1"
        );
        let row = conn.optional(sql, params![project_id]).await?;
        *place = row.as_ref().map(push_mark).transpose()?;
    }
    Ok(found)
}

/// The pushes about commits that begin as this one does, in the order in which they came.
pub async fn pushes_at(conn: &mut Conn, project_id: Uuid, commit: &str) -> Result<Vec<PushMark>> {
    let begin = commit.get(..SHORTEST_COMMIT).unwrap_or(commit);
    // `g` stands behind every hexadecimal digit.
    let sql =
        format!("{SELECT_MARK} WHERE project_id = $1 AND commit_id >= $2 AND commit_id < $3 ORDER BY number");
    let values = params![project_id, begin, format!("{begin}g")];
    conn.all(sql, values).await?.iter().map(push_mark).collect()
}

/// Characters of a commit that all its forms share.
const SHORTEST_COMMIT: usize = 7;

const SELECT_MARK: &str =
    "SELECT id, number, commit_id, ordered_at, is_dirty, is_reported, has_marks FROM trace_push";

/// What is known of a push beside its documents, as JSON.
pub async fn push_head(conn: &mut Conn, project_id: Uuid, id: Uuid) -> Result<String> {
    let sql = "SELECT head FROM trace_push WHERE project_id = $1 AND id = $2";
    conn.one(sql, params![project_id, id]).await?.text("head")
}

/// What the next push of a project goes on from.
pub async fn head(conn: &mut Conn, project_id: Uuid) -> Result<Option<HeadRow>> {
    let sql = "SELECT version, body, keys FROM trace_head WHERE project_id = $1";
    let row = conn.optional(sql, params![project_id]).await?;
    let head = |row: Row| {
        Ok(HeadRow {
            version: row.int("version")?,
            body: row.text("body")?,
            keys: row.bytes("keys")?,
        })
    };
    row.map(head).transpose()
}

/// How often what the next push goes on from was written.
pub async fn head_version(conn: &mut Conn, project_id: Uuid) -> Result<i64> {
    let sql = "SELECT version FROM trace_head WHERE project_id = $1";
    let row = conn.optional(sql, params![project_id]).await?;
    row.map_or(Ok(0), |row| row.int("version"))
}

/// Keeps what the next push goes on from; the keys stay where none are given.
pub async fn put_head(tx: &mut Tx, project_id: Uuid, body: &str, keys: Option<Vec<u8>>) -> Result<()> {
    let sql = match keys {
        Some(_) => {
            "INSERT INTO trace_head (project_id, version, body, keys) VALUES ($1, 1, $2, $3) ON CONFLICT (project_id) DO UPDATE \
             SET version = trace_head.version + 1, body = $2, keys = $3"
        }
        None => {
            "INSERT INTO trace_head (project_id, version, body, keys) VALUES ($1, 1, $2, $3) ON CONFLICT (project_id) DO UPDATE \
             SET version = trace_head.version + 1, body = $2"
        }
    };
    let keys = keys.unwrap_or_default();
    tx.conn.run(sql, params![project_id, body, keys]).await.map(drop)
}

/// The number of the next push of a project.
pub async fn next_number(conn: &mut Conn, project_id: Uuid) -> Result<i64> {
    let sql = "SELECT max(number) AS last FROM trace_push WHERE project_id = $1";
    let last = conn.one(sql, params![project_id]).await?.opt_int("last")?;
    Ok(last.unwrap_or(0) + 1)
}

/// Keeps a push; the next change of this job seals it.
pub async fn insert_push(tx: &mut Tx, project_id: Uuid, row: &PushRow) -> Result<()> {
    touch(tx, "trace_push", params![project_id, row.id]).await?;
    insert_carried_push(tx, project_id, row).await
}

/// Keeps a push that comes with its project; it is sealed where the project is shown.
pub async fn insert_carried_push(tx: &mut Tx, project_id: Uuid, row: &PushRow) -> Result<()> {
    let sql = "INSERT INTO trace_push (project_id, id, number, digest, commit_id, ordered_at, is_dirty, is_reported, has_marks, \
               head, pushed_by, pushed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let values = params![
        project_id,
        row.id,
        row.number,
        row.digest,
        &row.commit,
        row.ordered_at,
        row.is_dirty,
        row.is_reported,
        row.has_marks,
        &row.head,
        row.pushed_by,
        row.pushed_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Keeps a document of a push.
pub async fn insert_part(
    tx: &mut Tx,
    (project_id, push_id): (Uuid, Uuid),
    ordinal: usize,
    kind: PartKind,
    body: String,
) -> Result<()> {
    let sql = "INSERT INTO trace_part (project_id, push_id, ordinal, kind, body) VALUES ($1, $2, $3, $4, $5)";
    let ordinal = i64::try_from(ordinal).unwrap_or(i64::MAX);
    let values = params![project_id, push_id, ordinal, kind.name(), body];
    tx.conn.run(sql, values).await.map(drop)
}

/// The push behind a number, with the name of who pushed it.
pub async fn push_after(conn: &mut Conn, project_id: Uuid, number: i64) -> Result<Option<(PushRow, String)>> {
    let sql = "SELECT p.*, a.username FROM trace_push p JOIN account a ON a.id = p.pushed_by \
               WHERE p.project_id = $1 AND p.number > $2 ORDER BY p.number LIMIT 1";
    let row = conn.optional(sql, params![project_id, number]).await?;
    row.map(|row| Ok((push(&row)?, row.text("username")?)))
        .transpose()
}

/// The next document of a push behind a place, of any kind: its place, its kind, and what it says.
pub async fn next_part(
    conn: &mut Conn,
    (project_id, push_id): (Uuid, Uuid),
    after: i64,
) -> Result<Option<(i64, String, String)>> {
    let sql = "SELECT ordinal, kind, body FROM trace_part WHERE project_id = $1 AND push_id = $2 AND ordinal > $3 \
               ORDER BY ordinal LIMIT 1";
    let row = conn.optional(sql, params![project_id, push_id, after]).await?;
    row.map(|row| Ok((row.int("ordinal")?, row.text("kind")?, row.text("body")?)))
        .transpose()
}

/// The next document of a push of one kind behind a place, with its place.
pub async fn part_after(
    conn: &mut Conn,
    (project_id, push_id): (Uuid, Uuid),
    kind: PartKind,
    after: i64,
) -> Result<Option<(i64, String)>> {
    let sql = "SELECT ordinal, body FROM trace_part WHERE project_id = $1 AND push_id = $2 AND kind = $3 AND ordinal > $4 \
               ORDER BY ordinal LIMIT 1";
    let row = conn
        .optional(sql, params![project_id, push_id, kind.name(), after])
        .await?;
    row.map(|row| Ok((row.int("ordinal")?, row.text("body")?)))
        .transpose()
}

fn push_mark(row: &Row) -> Result<PushMark> {
    Ok(PushMark {
        id: row.id("id")?,
        number: row.int("number")?,
        commit: row.text("commit_id")?,
        ordered_at: row.time("ordered_at")?,
        is_dirty: row.flag("is_dirty")?,
        is_reported: row.flag("is_reported")?,
        has_marks: row.flag("has_marks")?,
    })
}

fn push(row: &Row) -> Result<PushRow> {
    Ok(PushRow {
        id: row.id("id")?,
        number: row.int("number")?,
        digest: crate::ledger_head::hash(row, "digest")?,
        commit: row.text("commit_id")?,
        ordered_at: row.time("ordered_at")?,
        is_dirty: row.flag("is_dirty")?,
        is_reported: row.flag("is_reported")?,
        has_marks: row.flag("has_marks")?,
        head: row.text("head")?,
        pushed_by: row.id("pushed_by")?,
        pushed_at: row.time("pushed_at")?,
    })
}
