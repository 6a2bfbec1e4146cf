//! A project with its history: what an export reads of its ledger and of what was deleted, and how an import writes it, so
//! that the ledger goes on where it came from.
//!
//! An import writes into a scratch copy ([`crate::scratch_copy`]), where the ledger is the only one that did not begin there. What it
//! brings is held against the replay of that ledger before anything of it is staged.

use crate::baselines;
use crate::checkpointed_ends::installation;
use crate::dropped_segments::{self, Segment};
use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items::{item, select_items};
use crate::ledger_head::{LedgerHead, hash};
use crate::ledger_origin::{self, LedgerOrigin};
use crate::replay;
use crate::reviews;
use crate::row_seals;
use crate::state_verdict::StateFault;
use crate::transfer::{Known, LinkRow, PAGE_ROWS, comment, link};
use crate::tx::Tx;
use refusal::{Code, Refusal};
use spexus_domain::baseline::Baseline;
use spexus_domain::change::{FormerHead, Payload, Sealed};
use spexus_domain::comment::Comment;
use spexus_domain::item::Item;
use spexus_domain::review::Review;
use spexus_domain::{Kind, Reference, Timestamp, Uuid};
use std::collections::BTreeSet;

/// Changes read at once; each has the texts before and after.
const PAGE_CHANGES: u32 = 200;

/// A change with all that its hash covers, and all that its words' hash covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedChange {
    /// Its place in the ledger.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// Who, by the id of where it was made.
    pub user_id: Uuid,
    /// Who, by the name of that day.
    pub username: String,
    /// With which token.
    pub token_id: Option<Uuid>,
    /// With which program.
    pub client: String,
    /// What it is about.
    pub entity: String,
    /// Its id.
    pub entity_id: Uuid,
    /// The item whose history it belongs to.
    pub item_id: Option<Uuid>,
    /// The other item, for links.
    pub other_item_id: Option<Uuid>,
    /// What people call the thing.
    pub label: String,
    /// What happened.
    pub action: String,
    /// The revision that resulted.
    pub rev: i64,
    /// The fields before, as JSON text.
    pub before: String,
    /// The fields after, as JSON text.
    pub after: String,
    /// What the hash of the words begins with; empty where they were taken out.
    pub salt: Vec<u8>,
    /// The hash of the words.
    pub payload_hash: [u8; 32],
    /// The hash of the change on top of the one before.
    pub hash: [u8; 32],
}

/// Something deleted: when, and together with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// When.
    pub at: Timestamp,
    /// What all that fell together is known by.
    pub id: Option<Uuid>,
}

impl SealedChange {
    /// The words, as their hash covers them.
    pub fn payload(&self) -> Payload<'_> {
        Payload {
            username: &self.username,
            client: &self.client,
            label: &self.label,
            before: &self.before,
            after: &self.after,
        }
    }

    /// Whether somebody's words were taken out of it.
    pub fn is_erased(&self) -> bool {
        self.salt.is_empty() && self.payload() == Payload::ERASED
    }

    /// The end of a ledger that this change is added to, or why it does not fit there.
    pub fn follow(&self, ledger: Uuid, end: &LedgerHead) -> std::result::Result<LedgerHead, String> {
        let next = end.number + 1;
        if self.number != next {
            let number = self.number;
            return Err(format!("is change {number} where change {next} belongs"));
        }
        if !self.is_erased() && self.payload().hash(&self.salt) != self.payload_hash {
            return Err(format!(
                "change {next} was altered: the hash of its words does not fit what they are"
            ));
        }
        if self.sealed(ledger).hash(&end.hash) != self.hash {
            return Err(format!(
                "change {next} was altered, or is of another ledger: its hash does not fit its content and the change before it"
            ));
        }
        Ok(LedgerHead {
            number: next,
            hash: self.hash,
            at: self.at,
        })
    }

    fn sealed(&self, ledger: Uuid) -> Sealed<'_> {
        Sealed {
            ledger,
            number: self.number,
            at: self.at,
            user_id: self.user_id,
            token_id: self.token_id,
            entity: &self.entity,
            entity_id: self.entity_id,
            item_id: self.item_id,
            other_item_id: self.other_item_id,
            action: &self.action,
            rev: self.rev,
            payload: self.payload_hash,
        }
    }

    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            number: row.int("number")?,
            at: row.time("at")?,
            user_id: row.id("user_id")?,
            username: row.text("username")?,
            token_id: row.opt_id("token_id")?,
            client: row.text("client")?,
            entity: row.text("entity")?,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            other_item_id: row.opt_id("other_item_id")?,
            label: row.text("label")?,
            action: row.text("action")?,
            rev: row.int("rev")?,
            before: row.text("before")?,
            after: row.text("after")?,
            salt: row.bytes("salt")?,
            payload_hash: hash(row, "payload_hash")?,
            hash: hash(row, "hash")?,
        })
    }
}

/// Where a project's ledger began, and where it ends.
pub async fn ledger(conn: &mut Conn, project_id: Uuid) -> Result<LedgerOrigin> {
    //= specs/spexus-service.md#carrying
    //# An export with the history MUST be refused where a part of that was dropped by retention.
    if let Some(segment) = dropped_segments::of(conn, project_id).await? {
        return Err(is_not_whole(&segment).into());
    }
    let end = LedgerHead::read(conn, project_id, i64::MAX).await?;
    let (installation, former) = match ledger_origin::of(conn, project_id).await? {
        Some(origin) => (origin.installation, origin.former),
        None => (
            installation(conn).await?.unwrap_or_default(),
            former_head(conn).await?,
        ),
    };
    Ok(LedgerOrigin {
        installation,
        former,
        number: end.number,
        hash: end.hash,
    })
}

/// The refusal for a history of which a part is gone.
fn is_not_whole(segment: &Segment) -> Refusal {
    let problem = format!(
        "the first {} changes of this project were dropped by retention, so its history cannot be carried",
        segment.number
    );
    Refusal::field(Code::RuleViolated, "history", problem, "the present state alone")
        .hint("Export it with --no-history.")
}

async fn former_head(conn: &mut Conn) -> Result<FormerHead> {
    let row = conn
        .optional("SELECT changes, head FROM former_history", params![])
        .await?;
    match row {
        None => Ok(FormerHead::NONE),
        Some(row) => Ok(FormerHead {
            changes: row.int("changes")?,
            hash: hash(&row, "head")?,
        }),
    }
}

/// The next changes of a project's ledger behind a place among all, and the place of the last of them.
pub async fn changes_after(
    conn: &mut Conn,
    project_id: Uuid,
    after: i64,
) -> Result<(Vec<SealedChange>, i64)> {
    let sql = "SELECT * FROM change WHERE ledger = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    let rows = conn.all(sql, params![project_id, after, PAGE_CHANGES]).await?;
    let last = rows.last().map_or(Ok(after), |row| row.int("seq"))?;
    let changes = rows.iter().map(SealedChange::of).collect::<Result<_>>()?;
    Ok((changes, last))
}

/// People who have items of a project, with the other names they are told by in its history.
pub async fn former_names(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(String, BTreeSet<String>)>> {
    let sql = "SELECT DISTINCT a.id, a.username FROM item i JOIN account a ON a.id = i.assignee_id WHERE i.project_id = $1 \
               ORDER BY a.username";
    let people = conn.all(sql, params![project_id]).await?;
    let known = replay::names(conn).await?;
    let mut found = Vec::new();
    for row in &people {
        let username = row.text("username")?;
        let mut names: BTreeSet<String> = known.get(&row.id("id")?).into_iter().flatten().cloned().collect();
        names.remove(&username);
        if !names.is_empty() {
            found.push((username, names));
        }
    }
    Ok(found)
}

/// The items of a kind behind a number, in the order of their numbers, deleted ones included.
pub async fn items_after(
    conn: &mut Conn,
    project_id: Uuid,
    of: Kind,
    number: i64,
) -> Result<Vec<(Item, Option<Deletion>)>> {
    let sql = select_items!(
        ", i.deletion_id",
        "WHERE i.project_id = $1 AND i.kind = $2 AND i.number > $3 ORDER BY i.number LIMIT $4"
    );
    let rows = conn
        .all(sql, params![project_id, of.name(), number, PAGE_ROWS])
        .await?;
    rows.iter()
        .map(|row| Ok((item(row)?, deletion(row, Some("deletion_id"))?)))
        .collect()
}

/// The comments of a depth on items of a project behind an id, deleted ones included.
pub async fn comments_after(
    conn: &mut Conn,
    project_id: Uuid,
    depth: i64,
    after: Uuid,
) -> Result<Vec<(Comment, Option<Deletion>)>> {
    let sql = "SELECT m.*, i.kind, i.number, a.username AS author FROM comment m CROSS JOIN item i CROSS JOIN account a \
               WHERE m.project_id = $1 AND m.depth = $2 AND m.id > $3 AND i.project_id = $1 AND i.id = m.item_id AND a.id = m.author_id \
               ORDER BY m.id LIMIT $4";
    let rows = conn
        .all(sql, params![project_id, depth, after, PAGE_ROWS])
        .await?;
    rows.iter()
        .map(|row| Ok((comment(row)?, deletion(row, None)?)))
        .collect()
}

/// The links inside a project behind an id, deleted ones included.
pub async fn links_after(
    conn: &mut Conn,
    project_id: Uuid,
    after: Uuid,
) -> Result<Vec<(LinkRow, Option<Deletion>)>> {
    let sql = "SELECT l.*, s.kind AS source_kind, s.number AS source_number, s.content_hash AS source_now, \
               e.kind AS target_kind, e.number AS target_number, e.content_hash AS target_now, c.username \
               FROM link l CROSS JOIN item s CROSS JOIN item e CROSS JOIN account c \
               WHERE l.project_id = $1 AND l.source_project_id = $1 AND l.target_project_id = $1 AND l.id > $2 AND s.project_id = $1 AND s.id = l.source_id AND e.project_id = $1 \
               AND e.id = l.target_id AND c.id = l.created_by ORDER BY l.id LIMIT $3";
    let rows = conn.all(sql, params![project_id, after, PAGE_ROWS]).await?;
    rows.iter()
        .map(|row| Ok((link(row)?, deletion(row, Some("deletion_id"))?)))
        .collect()
}

/// The baselines of a project, with the number of the change each was made behind.
pub async fn baselines(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(Baseline, i64)>> {
    let mut numbered = Vec::new();
    for baseline in baselines::of_project(conn, project_id).await? {
        let made_on = LedgerHead::read(conn, project_id, baseline.seq).await?;
        numbered.push((baseline, made_on.number));
    }
    Ok(numbered)
}

/// The review of a project behind a number.
pub async fn review_after(conn: &mut Conn, project_id: Uuid, number: i64) -> Result<Option<Review>> {
    reviews::by_number(conn, project_id, number + 1).await
}

fn deletion(row: &Row, id: Option<&str>) -> Result<Option<Deletion>> {
    let deleted_at = row.opt_time("deleted_at")?;
    let id = match id {
        Some(id) => row.opt_id(id)?,
        None => None,
    };
    Ok(deleted_at.map(|at| Deletion { at, id }))
}

/// Whether there is any change in a ledger.
pub async fn has_history(conn: &mut Conn, ledger: Uuid) -> Result<bool> {
    let sql = "SELECT 1 AS one FROM change WHERE ledger = $1 LIMIT 1";
    Ok(conn.optional(sql, params![ledger]).await?.is_some())
}

/// The refusal for a project whose history is here.
pub fn is_here() -> Refusal {
    let problem = "the history of this project is here already";
    Refusal::field(
        Code::EntityDuplicate,
        "project",
        problem,
        "a project that is not here",
    )
    .hint("Import it with --no-history as a copy: items keep their ids only where they are not here either.")
}

/// Makes room for a project that comes with its history: the empty one that has its key goes.
pub async fn make_room(tx: &mut Tx, project_id: Uuid) -> Result<()> {
    row_seals::touch(tx, "project", params![project_id]).await?;
    remove_project(tx, project_id).await
}

/// Removes a project that nothing belongs to any more.
pub(crate) async fn remove_project(tx: &mut Tx, project_id: Uuid) -> Result<()> {
    tx.conn.clear_settings_cache();
    let sql = "DELETE FROM project WHERE id = $1";
    tx.conn.run(sql, params![project_id]).await.map(drop)
}

/// Begins a ledger that began elsewhere.
pub async fn begin(tx: &mut Tx, ledger: Uuid, origin: &LedgerOrigin) -> Result<LedgerHead> {
    let now = tx.now();
    ledger_origin::insert(&mut tx.conn, ledger, origin, now).await?;
    tx.begin_ledger(ledger, origin.former);
    // In which line of the file things stand.
    let sql = "CREATE TABLE brought (id BLOB PRIMARY KEY, line INTEGER NOT NULL) STRICT, WITHOUT ROWID";
    tx.conn.script(sql).await?;
    Ok(LedgerHead::genesis(origin.former, ledger))
}

/// Adds a change that fits to its ledger.
pub async fn add(tx: &mut Tx, ledger: Uuid, change: &SealedChange) -> Result<()> {
    let end = LedgerHead {
        number: change.number,
        hash: change.hash,
        at: change.at,
    };
    let seq = tx.go_on_to(ledger, end);
    tx.conn
        .run(crate::tx::INSERT_CHANGE, row(seq, ledger, change))
        .await
        .map(drop)
}

/// A row of the table `change`, in the order of its columns.
fn row(seq: Option<i64>, ledger: Uuid, change: &SealedChange) -> Vec<crate::engine::Param> {
    params![
        seq,
        ledger,
        change.number,
        change.at,
        change.user_id,
        &change.username,
        change.token_id,
        &change.client,
        &change.entity,
        change.entity_id,
        change.item_id,
        change.other_item_id,
        &change.label,
        &change.action,
        change.rev,
        &change.before,
        &change.after,
        change.salt.clone(),
        change.payload_hash,
        change.hash,
    ]
}

/// The row of a change that was staged with its place in its ledger; its ledger goes on.
pub(crate) fn staged_row(tx: &mut Tx, row_of: &Row) -> Result<Vec<crate::engine::Param>> {
    let ledger = row_of.id("project_id")?;
    let change = SealedChange::of(row_of)?;
    let end = LedgerHead {
        number: change.number,
        hash: change.hash,
        at: change.at,
    };
    let seq = tx.go_on_to(ledger, end);
    Ok(row(seq, ledger, &change))
}

/// Says that the ledger is read to its end: what comes now is held against it.
pub async fn index(tx: &mut Tx) -> Result<()> {
    let sql = "CREATE INDEX carried_item ON change (ledger, item_id, seq)";
    tx.conn.script(sql).await
}

/// Notes in which line a thing stands.
pub async fn note_line(tx: &mut Tx, id: Uuid, line: u64) -> Result<()> {
    let sql = "INSERT INTO brought (id, line) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    let line = i64::try_from(line).unwrap_or(i64::MAX);
    tx.conn.run(sql, params![id, line]).await.map(drop)
}

/// An item of the file, deleted or not.
pub async fn known(conn: &mut Conn, project_id: Uuid, reference: &Reference) -> Result<Option<Known>> {
    let Some(of) = reference.kind() else {
        return Ok(None);
    };
    let sql =
        "SELECT id, parent_id, content_hash FROM item WHERE project_id = $1 AND kind = $2 AND number = $3";
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

/// The item and the depth of a comment of the file, deleted or not.
pub async fn comment_place(conn: &mut Conn, project_id: Uuid, id: Uuid) -> Result<Option<(Uuid, usize)>> {
    let sql = "SELECT item_id, depth FROM comment WHERE project_id = $1 AND id = $2";
    let row = conn.optional(sql, params![project_id, id]).await?;
    row.map(|row| {
        Ok((
            row.id("item_id")?,
            usize::try_from(row.int("depth")?).unwrap_or(0),
        ))
    })
    .transpose()
}

/// Makes an item that was just written a deleted one.
pub async fn mark_item_deleted(tx: &mut Tx, item: &Item, deletion: Deletion) -> Result<()> {
    let sql = "UPDATE item SET deleted_at = $3, deletion_id = $4 WHERE project_id = $1 AND id = $2";
    let values = params![item.project_id, item.id, deletion.at, deletion.id];
    tx.conn.run(sql, values).await?;
    let sql = "UPDATE item_count SET n = n - 1 WHERE project_id = $1 AND kind = $2 AND status = $3";
    let status = item.status.as_deref().unwrap_or("");
    tx.conn
        .run(sql, params![item.project_id, item.kind.name(), status])
        .await
        .map(drop)
}

/// Makes a comment that was just written a deleted one.
pub async fn mark_comment_deleted(tx: &mut Tx, project_id: Uuid, id: Uuid, deletion: Deletion) -> Result<()> {
    let sql = "UPDATE comment SET deleted_at = $3 WHERE project_id = $1 AND id = $2";
    let values = params![project_id, id, deletion.at];
    tx.conn.run(sql, values).await.map(drop)
}

/// Writes a deleted link; there may be a living one just like it.
pub async fn insert_deleted_link(
    tx: &mut Tx,
    project_id: Uuid,
    link: &LinkRow,
    deletion: Deletion,
) -> Result<()> {
    let sql = "INSERT INTO link (id, project_id, type, source_project_id, source_id, target_project_id, target_id, source_hash, \
               target_hash, rev, created_by, created_at, deleted_at, deletion_id) \
               VALUES ($1, $2, $3, $2, $4, $2, $5, $6, $7, $8, $9, $10, $11, $12)";
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
        deletion.at,
        deletion.id,
    ];
    tx.conn.run(sql, values).await.map(drop)
}

/// Writes a baseline that was made behind a change of the ledger, or tells that it was made on another history.
pub async fn insert_baseline(
    tx: &mut Tx,
    project_id: Uuid,
    baseline: &Baseline,
    (number, created_by): (i64, Uuid),
) -> Result<bool> {
    let sql = "SELECT seq, hash FROM change WHERE ledger = $1 AND number = $2";
    let made_on = tx.conn.optional(sql, params![project_id, number]).await?;
    let (seq, made_on) = match (made_on, ledger_origin::of(&mut tx.conn, project_id).await?) {
        (Some(row), _) => (row.int("seq")?, hash(&row, "hash")?),
        (None, Some(origin)) if number == 0 => (0, origin.former.genesis(project_id)),
        _ => return Ok(false),
    };
    if hex::encode(made_on) != baseline.hash {
        return Ok(false);
    }
    let sql = "INSERT INTO baseline (id, project_id, name, description, seq, hash, created_by, created_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values = params![
        baseline.id,
        project_id,
        &baseline.name,
        &baseline.description,
        seq,
        made_on,
        created_by,
        baseline.created_at,
    ];
    tx.conn.run(sql, values).await.map(|_| true)
}

/// Writes a review that came with its project, or tells that it is about an item that did not.
pub async fn insert_review(tx: &mut Tx, project_id: Uuid, review: &Review) -> Result<bool> {
    for item in &review.items {
        let sql = "SELECT 1 AS one FROM item WHERE project_id = $1 AND id = $2";
        if tx
            .conn
            .optional(sql, params![project_id, item.id])
            .await?
            .is_none()
        {
            return Ok(false);
        }
    }
    reviews::write(&mut tx.conn, project_id, review, true)
        .await
        .map(|()| true)
}

/// Holds what came against its ledger, and seals what that cannot tell. Gives the first thing that is not what the ledger made of
/// it, with the line it stands in; or, where it does not stand in the file, the number of its last change in the scratch copy.
pub async fn hold_against_ledger(
    tx: &mut Tx,
    project_id: Uuid,
) -> Result<Option<(StateFault, std::result::Result<u64, i64>)>> {
    let (verdict, untold) = replay::compare_arriving(&mut tx.conn, project_id).await?;
    let Some(first) = verdict.differences.into_iter().next() else {
        row_seals::seal_arrived(tx, &untold).await?;
        return Ok(None);
    };
    let sql = "SELECT line FROM brought WHERE id = $1";
    let place = match tx.conn.optional(sql, params![first.id]).await? {
        Some(row) => Ok(row.int("line")?.unsigned_abs()),
        None => {
            let sql = "SELECT max(seq) AS seq FROM change WHERE ledger = $1 AND entity_id = $2";
            let row = tx.conn.one(sql, params![project_id, first.id]).await?;
            Err(row.opt_int("seq")?.unwrap_or(0))
        }
    };
    Ok(Some((first, place)))
}
