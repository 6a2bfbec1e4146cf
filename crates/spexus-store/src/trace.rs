//! Evidence as it is kept: pushes, the documents they brought, and where each item stands.

use crate::engine::{Conn, Param, Row, params};
use crate::error::{Error, Result};
use crate::listing::Conditions;
use crate::row_seals::touch;
use crate::state_verdict::StateVerdict;
use crate::tx::Tx;
use spexus_domain::trace::record::PartKind;
use spexus_domain::trace::{ItemTrace, ReviewKind, Rung, TraceFlag};
use spexus_domain::{Kind, Reference, Timestamp, Uuid};

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

/// Where an item stands, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    /// The item.
    pub item_id: Uuid,
    /// Where it stands.
    pub trace: ItemTrace,
    /// The hash of its content when that was found.
    pub content_hash: String,
    /// The hash of its content when its claims were made or confirmed.
    pub confirmed_hash: String,
}

/// An item with where it stands, in few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefRow {
    /// The item.
    pub item_id: Uuid,
    /// Its reference id.
    pub reference: Reference,
    /// Its title.
    pub title: String,
    /// Where it is in its workflow.
    pub status: String,
    /// The rung it stands on; none where nothing was pushed.
    pub state: Rung,
    /// What stands beside that.
    pub flags: Vec<TraceFlag>,
    /// The weakest link.
    pub weakest: String,
    /// Whether its text changed since.
    pub is_moved: bool,
}

/// An item that evidence names, with what evidence needs of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedItem {
    /// The item.
    pub id: Uuid,
    /// Its reference id.
    pub reference: Reference,
    /// Its title.
    pub title: String,
    /// Its text.
    pub description: String,
    /// The hash of its content.
    pub content_hash: String,
}

/// What somebody said about the evidence of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewRow {
    /// The item.
    pub item_id: Uuid,
    /// What was said.
    pub kind: ReviewKind,
    /// Why.
    pub why: String,
    /// Who, by the name of that day.
    pub reviewer: String,
    /// The hash of the item's content then.
    pub content_hash: String,
    /// The fingerprint of its evidence then.
    pub fingerprint: String,
    /// When.
    pub reviewed_at: Timestamp,
    /// Until when it holds, where it does not hold for good.
    pub expires_at: Option<Timestamp>,
}

/// Pushes of one project that are looked at to find those of one commit.
const MAX_RECENT_PUSHES: u32 = 1_000;

/// A push by the digest of what it brought.
pub async fn push_by_digest(conn: &mut Conn, project_id: Uuid, digest: &[u8; 32]) -> Result<Option<PushRow>> {
    let sql = "SELECT * FROM trace_push WHERE project_id = $1 AND digest = $2";
    let row = conn.optional(sql, params![project_id, *digest]).await?;
    row.as_ref().map(push).transpose()
}

/// The last pushes of a project by their commits' time, newest first.
pub async fn recent_pushes(conn: &mut Conn, project_id: Uuid) -> Result<Vec<PushRow>> {
    let sql = "SELECT * FROM trace_push WHERE project_id = $1 ORDER BY ordered_at DESC, number DESC LIMIT $2";
    let rows = conn.all(sql, params![project_id, MAX_RECENT_PUSHES]).await?;
    rows.iter().map(push).collect()
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

/// Where an item stands.
pub async fn state(conn: &mut Conn, project_id: Uuid, item_id: Uuid) -> Result<Option<StateRow>> {
    let sql = "SELECT item_id, body, content_hash, confirmed_hash FROM trace_state WHERE project_id = $1 AND item_id = $2";
    let row = conn.optional(sql, params![project_id, item_id]).await?;
    row.as_ref().map(state_row).transpose()
}

/// Where all items of a project stand of which anything is known.
pub async fn states(conn: &mut Conn, project_id: Uuid) -> Result<Vec<StateRow>> {
    let sql = "SELECT item_id, body, content_hash, confirmed_hash FROM trace_state WHERE project_id = $1 ORDER BY item_id";
    let rows = conn.all(sql, params![project_id]).await?;
    rows.iter().map(state_row).collect()
}

/// Keeps where an item stands.
pub async fn put_state(tx: &mut Tx, project_id: Uuid, row: &StateRow) -> Result<()> {
    let sql = "INSERT INTO trace_state (project_id, item_id, state, flags, weakest, body, content_hash, confirmed_hash) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (project_id, item_id) DO UPDATE SET state = $3, flags = $4, \
               weakest = $5, body = $6, content_hash = $7, confirmed_hash = $8";
    let flags: Vec<&str> = row.trace.flags.iter().map(|flag| flag.name()).collect();
    let body = serde_json::to_string(&row.trace).map_err(|error| Error::Broken(error.to_string()))?;
    let values = params![
        project_id,
        row.item_id,
        row.trace.state.name(),
        flags.join(" "),
        &row.trace.weakest,
        body,
        &row.content_hash,
        &row.confirmed_hash,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Forgets where an item stood, of which nothing is known any more.
pub async fn remove_state(tx: &mut Tx, project_id: Uuid, item_id: Uuid) -> Result<()> {
    let sql = "DELETE FROM trace_state WHERE project_id = $1 AND item_id = $2";
    tx.conn.run(sql, params![project_id, item_id]).await.map(drop)
}

/// Living items of a kind by their numbers; what is not there is left out.
pub async fn items_by_number(
    conn: &mut Conn,
    project_id: Uuid,
    kind: Kind,
    numbers: &[i64],
) -> Result<Vec<NamedItem>> {
    let numbers = numbers.iter().map(|number| Param::from(*number));
    named_items(conn, project_id, |query| {
        query.any_of("kind", std::iter::once(Param::from(kind.name())));
        query.any_of("number", numbers);
    })
    .await
}

/// Living items by their ids; what is not there is left out.
pub async fn items_by_id(conn: &mut Conn, project_id: Uuid, ids: &[Uuid]) -> Result<Vec<NamedItem>> {
    named_items(conn, project_id, |query| query.among("id", ids.iter().copied())).await
}

async fn named_items(
    conn: &mut Conn,
    project_id: Uuid,
    add: impl FnOnce(&mut Conditions),
) -> Result<Vec<NamedItem>> {
    let mut query = Conditions::default();
    query.among("project_id", [project_id]);
    add(&mut query);
    let sql = format!(
        "SELECT id, kind, number, title, description, content_hash FROM item WHERE {} AND deleted_at IS NULL",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let named = |row: &Row| {
        Ok(NamedItem {
            id: row.id("id")?,
            reference: Reference::of_kind(crate::items::kind(row, "kind")?, row.int("number")?),
            title: row.text("title")?,
            description: row.text("description")?,
            content_hash: row.text("content_hash")?,
        })
    };
    rows.iter().map(named).collect()
}

/// All living items of a kind with where they stand, in the order of their numbers.
pub async fn brief(conn: &mut Conn, project_id: Uuid, kind: Kind) -> Result<Vec<BriefRow>> {
    let sql = "SELECT i.id, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
               FROM item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id \
               WHERE i.project_id = $1 AND i.kind = $2 AND i.deleted_at IS NULL ORDER BY i.number";
    let rows = conn.all(sql, params![project_id, kind.name()]).await?;
    rows.iter().map(|row| brief_row(row, kind)).collect()
}

/// Some living items with where they stand.
pub async fn brief_among(conn: &mut Conn, project_id: Uuid, ids: &[Uuid]) -> Result<Vec<BriefRow>> {
    let mut query = Conditions::default();
    query.among("i.project_id", [project_id]);
    query.among("i.id", ids.iter().copied());
    let sql = format!(
        "SELECT i.id, i.kind, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
         FROM item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id WHERE {} AND i.deleted_at IS NULL",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    rows.iter()
        .map(|row| brief_row(row, crate::items::kind(row, "kind")?))
        .collect()
}

/// Items of which a test failed, that are told at most.
const MAX_FAILING: u32 = 100;

/// Items of a project of which a test failed.
pub async fn failing(conn: &mut Conn, project_id: Uuid) -> Result<Vec<Uuid>> {
    let sql = "SELECT item_id FROM trace_state WHERE project_id = $1 AND flags LIKE 'failed%' ORDER BY item_id LIMIT $2";
    let rows = conn.all(sql, params![project_id, MAX_FAILING]).await?;
    rows.iter().map(|row| row.id("item_id")).collect()
}

/// What was said about the items of a project, or about one.
pub async fn reviews(conn: &mut Conn, project_id: Uuid, item_id: Option<Uuid>) -> Result<Vec<ReviewRow>> {
    let rows = match item_id {
        Some(item_id) => {
            let sql = "SELECT * FROM trace_review WHERE project_id = $1 AND item_id = $2 ORDER BY kind";
            conn.all(sql, params![project_id, item_id]).await?
        }
        None => {
            let sql = "SELECT * FROM trace_review WHERE project_id = $1 ORDER BY item_id, kind";
            conn.all(sql, params![project_id]).await?
        }
    };
    rows.iter().map(review).collect()
}

/// Keeps what somebody said, in place of what was said before; the next change of this job seals it.
pub async fn put_review(tx: &mut Tx, project_id: Uuid, row: &ReviewRow) -> Result<()> {
    touch(
        tx,
        "trace_review",
        params![project_id, row.item_id, row.kind.name()],
    )
    .await?;
    let sql = "INSERT INTO trace_review (project_id, item_id, kind, why, reviewer, content_hash, fingerprint, reviewed_at, \
               expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (project_id, item_id, kind) DO UPDATE SET \
               why = $4, reviewer = $5, content_hash = $6, fingerprint = $7, reviewed_at = $8, expires_at = $9";
    let values = params![
        project_id,
        row.item_id,
        row.kind.name(),
        &row.why,
        &row.reviewer,
        &row.content_hash,
        &row.fingerprint,
        row.reviewed_at,
        row.expires_at,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

fn review(row: &Row) -> Result<ReviewRow> {
    let kind = row.text("kind")?;
    let known = ReviewKind::ALL.into_iter().find(|known| known.name() == kind);
    Ok(ReviewRow {
        item_id: row.id("item_id")?,
        kind: known.ok_or_else(|| Error::Broken(format!("{kind:?} is no kind of review")))?,
        why: row.text("why")?,
        reviewer: row.text("reviewer")?,
        content_hash: row.text("content_hash")?,
        fingerprint: row.text("fingerprint")?,
        reviewed_at: row.time("reviewed_at")?,
        expires_at: row.opt_time("expires_at")?,
    })
}

/// The living requirements below an item with where they stand, in the order of their numbers.
pub async fn brief_below(conn: &mut Conn, project_id: Uuid, item_id: Uuid) -> Result<Vec<BriefRow>> {
    let sql = "WITH RECURSIVE below (id) AS (SELECT id FROM item WHERE project_id = $1 AND id = $2 UNION ALL SELECT c.id FROM below b \
               CROSS JOIN item c WHERE c.project_id = $1 AND c.parent_id = b.id AND c.deleted_at IS NULL) \
               SELECT i.id, i.number, i.title, i.status, i.content_hash, s.state, s.flags, s.weakest, s.content_hash AS traced_hash \
               FROM below b CROSS JOIN item i LEFT JOIN trace_state s ON s.project_id = i.project_id AND s.item_id = i.id \
               WHERE i.project_id = $1 AND i.id = b.id AND i.kind = $3 ORDER BY i.number";
    let kind = Kind::Requirement;
    let rows = conn.all(sql, params![project_id, item_id, kind.name()]).await?;
    rows.iter().map(|row| brief_row(row, kind)).collect()
}

fn brief_row(row: &Row, kind: Kind) -> Result<BriefRow> {
    let state = row.opt_text("state")?.unwrap_or_default();
    let flags = row.opt_text("flags")?.unwrap_or_default();
    let traced = row.opt_text("traced_hash")?;
    Ok(BriefRow {
        item_id: row.id("id")?,
        reference: Reference::of_kind(kind, row.int("number")?),
        title: row.text("title")?,
        status: row.opt_text("status")?.unwrap_or_default(),
        state: Rung::ALL
            .into_iter()
            .find(|rung| rung.name() == state)
            .unwrap_or_default(),
        flags: TraceFlag::ALL
            .into_iter()
            .filter(|flag| flags.split(' ').any(|name| name == flag.name()))
            .collect(),
        weakest: row.opt_text("weakest")?.unwrap_or_default(),
        is_moved: traced.is_some_and(|traced| Ok(traced) != row.text("content_hash").map_err(drop)),
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

fn state_row(row: &Row) -> Result<StateRow> {
    let body = row.text("body")?;
    let trace = serde_json::from_str(&body);
    Ok(StateRow {
        item_id: row.id("item_id")?,
        trace: trace.map_err(|error| Error::Broken(format!("a state cannot be read: {error}")))?,
        content_hash: row.text("content_hash")?,
        confirmed_hash: row.text("confirmed_hash")?,
    })
}

/// The digest of what a push brought: its head, and each document with its kind, in their order.
pub struct PushDigest(blake3::Hasher);

impl PushDigest {
    /// Begins with what is known of the push itself.
    pub fn new(head: &[&str]) -> Self {
        let mut digest = Self(blake3::Hasher::new());
        digest.0.update(b"spexus push 1");
        for text in head {
            digest.add_text(text);
        }
        digest
    }

    /// The document at a place.
    pub fn add(&mut self, ordinal: usize, kind: PartKind, body: &str) {
        self.add_part(i64::try_from(ordinal).unwrap_or(i64::MAX), kind.name(), body);
    }

    fn add_part(&mut self, ordinal: i64, kind: &str, body: &str) {
        self.0.update(&ordinal.to_le_bytes());
        self.add_text(kind);
        self.add_text(body);
    }

    fn add_text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// The digest.
    pub fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// The texts of a push itself that its digest begins with.
pub fn head_of_digest<'a>(commit: &'a str, is_dirty: bool, is_reported: bool, head: &'a str) -> [&'a str; 4] {
    [
        commit,
        if is_dirty { "dirty" } else { "clean" },
        if is_reported { "reported" } else { "run" },
        head,
    ]
}

/// Computes the digest of every push again from its documents.
//= specs/spexus-store.md#history
//# Verification MUST compute the digest of every push of evidence again from what it brought.
pub(crate) async fn compare(conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
    let pushes = conn
        .all("SELECT * FROM trace_push ORDER BY project_id, number", params![])
        .await?;
    for row in &pushes {
        let (project_id, push) = (row.id("project_id")?, push(row)?);
        let mut digest = PushDigest::new(&head_of_digest(
            &push.commit,
            push.is_dirty,
            push.is_reported,
            &push.head,
        ));
        let mut after = -1;
        loop {
            let sql = "SELECT ordinal, kind, body FROM trace_part WHERE project_id = $1 AND push_id = $2 AND ordinal > $3 \
                       ORDER BY ordinal LIMIT 1";
            let Some(part) = conn.optional(sql, params![project_id, push.id, after]).await? else {
                break;
            };
            after = part.int("ordinal")?;
            digest.add_part(after, &part.text("kind")?, &part.text("body")?);
        }
        if digest.finish() != push.digest {
            let label = format!("push {}", push.number);
            verdict.note("trace_part", push.id, &label, "what the push brought was altered");
        }
    }
    Ok(())
}
