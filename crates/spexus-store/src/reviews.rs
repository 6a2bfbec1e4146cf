//! Reviews: what was asked about, who is asked, and what they said.

use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::items::kind;
use crate::reference_prefix::prefix;
use crate::row_seals::{touch, touch_where};
use crate::tx::Tx;
use spexus_domain::review::{Review, ReviewState, ReviewedItem, Reviewer, Verdict};
use spexus_domain::{Reference, Uuid};

macro_rules! select_reviews {
    ($rest:literal) => {
        concat!(
            "SELECT r.id, r.number, p.key AS project, r.title, r.description, r.state, r.created_by, a.username AS creator, ",
            "r.rev, r.created_at, r.updated_at FROM review r JOIN project p ON p.id = r.project_id ",
            "JOIN account a ON a.id = r.created_by WHERE r.project_id = $1 AND ",
            $rest
        )
    };
}

/// A review of a project by its number.
pub async fn by_number(conn: &mut Conn, project_id: Uuid, number: i64) -> Result<Option<Review>> {
    const SQL: &str = select_reviews!("r.number = $2");
    match conn.optional(SQL, params![project_id, number]).await? {
        Some(row) => whole(conn, project_id, &row).await.map(Some),
        None => Ok(None),
    }
}

/// The newest reviews of a project, at most so many: of one state where that is named, and of those only what asks one person
/// where that is named.
pub async fn of_project(
    conn: &mut Conn,
    project_id: Uuid,
    state: Option<ReviewState>,
    asks: Option<Uuid>,
    limit: u32,
) -> Result<Vec<Review>> {
    const SQL: &str = select_reviews!(
        "($2 = '' OR r.state = $2) AND ($3 = 0 OR EXISTS (SELECT 1 FROM review_person w WHERE w.project_id = r.project_id \
         AND w.review_id = r.id AND w.user_id = $4 AND w.verdict = '')) ORDER BY r.number DESC LIMIT $5"
    );
    let state = state.map_or("", ReviewState::name);
    let (asked, whom) = (i64::from(asks.is_some()), asks.unwrap_or_default());
    let rows = conn
        .all(SQL, params![project_id, state, asked, whom, limit])
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        found.push(whole(conn, project_id, row).await?);
    }
    Ok(found)
}

/// The number of the next review of a project. Whoever writes in a project does so alone, so nobody else takes it.
pub async fn next_number(conn: &mut Conn, project_id: Uuid) -> Result<i64> {
    let sql = "SELECT coalesce(max(number), 0) AS n FROM review WHERE project_id = $1";
    Ok(conn.one(sql, params![project_id]).await?.int("n")? + 1)
}

/// Whether an item, as it says now, is in a review that was approved.
pub async fn is_approved(
    conn: &mut Conn,
    project_id: Uuid,
    item_id: Uuid,
    content_hash: &str,
) -> Result<bool> {
    let sql = "SELECT count(*) AS n FROM review_item w JOIN review r ON r.project_id = w.project_id AND r.id = w.review_id \
               WHERE w.project_id = $1 AND w.item_id = $2 AND w.content_hash = $3 AND r.state = 'approved'";
    Ok(conn
        .one(sql, params![project_id, item_id, content_hash])
        .await?
        .int("n")?
        > 0)
}

/// The reviews an item is in, the newest first, at most so many: their numbers, titles and states, and whether it still says what
/// it said then.
pub async fn of_item(
    conn: &mut Conn,
    project_id: Uuid,
    item_id: Uuid,
    limit: u32,
) -> Result<Vec<(i64, String, ReviewState, bool)>> {
    let sql = "SELECT r.number, r.title, r.state, CAST(CASE WHEN i.content_hash = w.content_hash THEN 1 ELSE 0 END AS BIGINT) AS same \
               FROM review_item w JOIN review r ON r.project_id = w.project_id AND r.id = w.review_id \
               JOIN item i ON i.project_id = w.project_id AND i.id = w.item_id \
               WHERE w.project_id = $1 AND w.item_id = $2 ORDER BY r.number DESC LIMIT $3";
    let rows = conn.all(sql, params![project_id, item_id, limit]).await?;
    let one = |row: &Row| {
        let state = state(&row.text("state")?)?;
        Ok((row.int("number")?, row.text("title")?, state, row.flag("same")?))
    };
    rows.iter().map(one).collect()
}

/// Writes a review as it is now, with who is asked; and what is asked about, where that is new.
pub async fn put(tx: &mut Tx, project_id: Uuid, review: &Review, has_new_items: bool) -> Result<()> {
    tx.concerns(project_id)?;
    touch(tx, "review", params![project_id, review.id]).await?;
    let of = params![project_id, review.id];
    touch_where(tx, "review_person", OF_REVIEW, of).await?;
    for person in &review.reviewers {
        touch(
            tx,
            "review_person",
            params![project_id, review.id, person.user_id],
        )
        .await?;
    }
    for item in review.items.iter().filter(|_| has_new_items) {
        touch(tx, "review_item", params![project_id, review.id, item.id]).await?;
    }
    write(&mut tx.conn, project_id, review, has_new_items).await
}

const OF_REVIEW: &str = "project_id = $1 AND review_id = $2";

/// Writes a review without naming its rows to the history: what comes with its own.
pub(crate) async fn write(
    conn: &mut Conn,
    project_id: Uuid,
    review: &Review,
    has_new_items: bool,
) -> Result<()> {
    let sql = "INSERT INTO review (project_id, id, number, title, description, state, created_by, rev, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (project_id, id) DO UPDATE SET \
               title = excluded.title, description = excluded.description, state = excluded.state, rev = excluded.rev, \
               updated_at = excluded.updated_at";
    let values = params![
        project_id,
        review.id,
        review.number,
        &review.title,
        &review.description,
        review.state.name(),
        review.creator_id,
        review.rev,
        review.created_at,
        review.updated_at,
    ];
    conn.run(sql, values).await?;
    write_people(conn, project_id, review).await?;
    match has_new_items {
        true => write_items(conn, project_id, review).await,
        false => Ok(()),
    }
}

async fn write_people(conn: &mut Conn, project_id: Uuid, review: &Review) -> Result<()> {
    let sql = "DELETE FROM review_person WHERE project_id = $1 AND review_id = $2";
    conn.run(sql, params![project_id, review.id]).await?;
    for (ordinal, person) in review.reviewers.iter().enumerate() {
        let sql = "INSERT INTO review_person (project_id, review_id, user_id, ordinal, verdict, reason, decided_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let values = params![
            project_id,
            review.id,
            person.user_id,
            place(ordinal),
            person.verdict.map_or("", Verdict::name),
            &person.reason,
            person.decided_at,
        ];
        conn.run(sql, values).await?;
    }
    Ok(())
}

async fn write_items(conn: &mut Conn, project_id: Uuid, review: &Review) -> Result<()> {
    for (ordinal, item) in review.items.iter().enumerate() {
        let sql = "INSERT INTO review_item (project_id, review_id, item_id, ordinal, rev, content_hash) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (project_id, review_id, item_id) DO UPDATE SET \
                   rev = excluded.rev, content_hash = excluded.content_hash";
        let values = params![
            project_id,
            review.id,
            item.id,
            place(ordinal),
            item.rev,
            &item.content_hash
        ];
        conn.run(sql, values).await?;
    }
    Ok(())
}

/// What people are told of a review besides itself: who is asked, and about what.
async fn whole(conn: &mut Conn, project_id: Uuid, row: &Row) -> Result<Review> {
    let id = row.id("id")?;
    Ok(Review {
        id,
        project: row.text("project")?,
        number: row.int("number")?,
        title: row.text("title")?,
        description: row.text("description")?,
        state: state(&row.text("state")?)?,
        created_by: row.text("creator")?,
        creator_id: row.id("created_by")?,
        reviewers: people(conn, project_id, id).await?,
        items: items(conn, project_id, id).await?,
        rev: row.int("rev")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
    })
}

async fn people(conn: &mut Conn, project_id: Uuid, review_id: Uuid) -> Result<Vec<Reviewer>> {
    let sql = "SELECT w.user_id, a.username, w.verdict, w.reason, w.decided_at FROM review_person w \
               JOIN account a ON a.id = w.user_id WHERE w.project_id = $1 AND w.review_id = $2 ORDER BY w.ordinal, w.user_id";
    let rows = conn.all(sql, params![project_id, review_id]).await?;
    let person = |row: &Row| {
        let verdict = row.text("verdict")?;
        Ok(Reviewer {
            username: row.text("username")?,
            user_id: row.id("user_id")?,
            verdict: match verdict.as_str() {
                "" => None,
                said => Some(Verdict::parse("verdict", said).map_err(Error::Refused)?),
            },
            reason: row.text("reason")?,
            decided_at: row.opt_time("decided_at")?,
        })
    };
    rows.iter().map(person).collect()
}

async fn items(conn: &mut Conn, project_id: Uuid, review_id: Uuid) -> Result<Vec<ReviewedItem>> {
    const SQL: &str = concat!(
        "SELECT w.item_id, i.kind, i.number, i.title, i.description, w.rev, i.rev AS current_rev, w.content_hash, ",
        "i.content_hash AS hash_now, i.deleted_at, ",
        crate::reference_prefix::prefix_of!("p"),
        " AS prefix FROM review_item w JOIN item i ON i.project_id = w.project_id AND i.id = w.item_id ",
        "JOIN project p ON p.id = w.project_id WHERE w.project_id = $1 AND w.review_id = $2 ORDER BY w.ordinal, w.item_id"
    );
    let rows = conn.all(SQL, params![project_id, review_id]).await?;
    let item = |row: &Row| {
        let (kind, content_hash) = (kind(row, "kind")?, row.text("content_hash")?);
        let is_there = row.opt_time("deleted_at")?.is_none();
        Ok(ReviewedItem {
            id: row.id("item_id")?,
            reference_id: prefix(row, "prefix")?.show(Reference::of_kind(kind, row.int("number")?)),
            kind,
            title: spexus_domain::item::heading(&row.text("title")?, &row.text("description")?),
            rev: row.int("rev")?,
            current_rev: row.int("current_rev")?,
            is_as_asked: is_there && row.text("hash_now")? == content_hash,
            content_hash,
        })
    };
    rows.iter().map(item).collect()
}

fn state(name: &str) -> Result<ReviewState> {
    ReviewState::parse("state", name).map_err(Error::Refused)
}

fn place(ordinal: usize) -> i64 {
    i64::try_from(ordinal).unwrap_or(i64::MAX)
}
