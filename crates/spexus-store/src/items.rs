//! Items: reading one, writing one, numbers, and the place among siblings.

use crate::directory::project_of;
use crate::engine::{Conn, Param, Row, params};
use crate::error::{Error, Result};
use crate::listing::Conditions;
use crate::reference_prefix::prefix;
use crate::tx::Tx;
use serde_json::{Map, Value};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::{Item, Person, Pointer, Priority};
use spexus_domain::told;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Uuid};
use std::collections::{HashMap, HashSet};

/// A statement that reads items: the columns, where the items come from, the joins that give names to what they point
/// to, and the rest. Both ends of every join are unique, so a row is a row.
macro_rules! select_items {
    ($extra:literal, $rest:literal) => {
        $crate::items::select_items!($extra, "item i", $rest)
    };
    ($extra:literal, $from:literal, $rest:literal) => {
        concat!(
            "SELECT i.kind, ",
            $crate::reference_prefix::prefix_of!("p"),
            " AS prefix, i.parent_id, pi.kind AS parent_kind, pi.number AS parent_number, i.criterion_id, ",
            "ci.number AS criterion_number, i.assignee_id, a.username AS assignee, i.id, i.number, p.key AS project, i.project_id, ",
            "i.title, i.description, i.status, i.priority, i.type, i.creator_id, c.username AS creator, ",
            "i.position, i.attributes, i.rev, i.content_hash, i.created_at, i.updated_at, i.deleted_at",
            $extra,
            " FROM ",
            $from,
            " JOIN project p ON p.id = i.project_id JOIN account c ON c.id = i.creator_id ",
            "LEFT JOIN account a ON a.id = i.assignee_id ",
            "LEFT JOIN item pi ON pi.project_id = i.project_id AND pi.id = i.parent_id ",
            "LEFT JOIN item ci ON ci.project_id = i.project_id AND ci.id = i.criterion_id ",
            $rest
        )
    };
}
pub(crate) use select_items;

/// What renumbered siblings are called in the ledger of their project.
const ORDER_LABEL: &str = "order of siblings";

/// An item by its id, deleted or not.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<Item>> {
    const SQL: &str = concat!(
        select_items!("", "WHERE i.id = $1 AND i.project_id = "),
        project_of!("$1")
    );
    let row = conn.optional(SQL, params![id]).await?;
    row.map(|row| item(&row)).transpose()
}

/// Items by their ids, deleted or not, in the order of the ids; what is not there is left out.
pub async fn by_ids(conn: &mut Conn, ids: &[Uuid]) -> Result<Vec<Item>> {
    let mut query = Conditions::default();
    query.among("w.id", ids.iter().copied());
    const LISTED: &str = select_items!(
        "",
        "directory w CROSS JOIN item i",
        "WHERE i.project_id = w.project_id AND i.id = w.id AND "
    );
    let sql = format!("{LISTED}{}", query.text());
    let found = items(&conn.all(sql, query.params).await?)?;
    let mut found: HashMap<Uuid, Item> = found.into_iter().map(|item| (item.id, item)).collect();
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// An item by any id, deleted or not. References without a project are looked up in `project_id`.
pub async fn by_any_id(conn: &mut Conn, project_id: Uuid, id: &AnyId) -> Result<Option<Item>> {
    let (project, reference) = match id {
        AnyId::Uuid(id) => return by_id(conn, *id).await,
        AnyId::Reference { project, reference } => (project, reference),
    };
    let Some(kind) = reference.kind() else {
        return Ok(None);
    };
    let row = match project {
        None => {
            let sql = select_items!("", "WHERE i.project_id = $1 AND i.kind = $2 AND i.number = $3");
            conn.optional(sql, params![project_id, kind.name(), reference.number()])
                .await?
        }
        Some(key) => {
            let sql = select_items!("", "WHERE p.key = $1 AND i.kind = $2 AND i.number = $3");
            conn.optional(sql, params![key, kind.name(), reference.number()])
                .await?
        }
    };
    row.map(|row| item(&row)).transpose()
}

/// The items of some projects, or of all, that have a reference, by the key of the project, deleted or not; at most so many.
pub async fn of_projects(
    conn: &mut Conn,
    reference: &Reference,
    projects: Option<&[Uuid]>,
    limit: u32,
) -> Result<Vec<Item>> {
    let Some(kind) = reference.kind() else {
        return Ok(vec![]);
    };
    let mut values = params![kind.name(), reference.number(), limit];
    let rows = match projects {
        None => {
            let sql = select_items!("", "WHERE i.kind = $1 AND i.number = $2 LIMIT $3");
            conn.all(sql, values).await?
        }
        Some([]) => return Ok(vec![]),
        Some(projects) => {
            let first = values.len() + 1;
            let places: Vec<String> = (first..first + projects.len())
                .map(|at| format!("${at}"))
                .collect();
            values.extend(projects.iter().map(|id| Param::from(*id)));
            let sql = format!(
                "{} AND i.project_id IN ({}) LIMIT $3",
                select_items!("", "WHERE i.kind = $1 AND i.number = $2"),
                places.join(", ")
            );
            conn.all(sql, values).await?
        }
    };
    let mut found = items(&rows)?;
    found.sort_by(|a, b| a.project.cmp(&b.project));
    Ok(found)
}

/// The next number of a kind in a project. It is part of the transaction: undone with it, never given twice.
pub async fn next_number(conn: &mut Conn, project_id: Uuid, prefix: &str) -> Result<i64> {
    //= specs/spexus-store.md#numbers
    //# The numbers of a kind in a project MUST have no gaps, whatever writes failed in between.
    //= specs/spexus-store.md#numbers
    //# A number MUST NOT be given out a second time, also after the item that had it was deleted.
    let sql = "INSERT INTO counter (project_id, prefix, last) VALUES ($1, $2, 1) \
               ON CONFLICT (project_id, prefix) DO UPDATE SET last = counter.last + 1 RETURNING last";
    conn.one(sql, params![project_id, prefix]).await?.int("last")
}

/// The number of a new item and its position, behind its siblings.
pub async fn next_number_and_position(
    conn: &mut Conn,
    project_id: Uuid,
    kind: Kind,
    parent_id: Option<Uuid>,
) -> Result<(i64, i64)> {
    let prefix = kind.rules().prefix;
    let Some(parent_id) = parent_id else {
        let number = next_number(conn, project_id, prefix).await?;
        return Ok((number, root_position(number)));
    };
    let sql = "INSERT INTO counter (project_id, prefix, last) VALUES ($1, $2, 1) \
               ON CONFLICT (project_id, prefix) DO UPDATE SET last = counter.last + 1 \
               RETURNING last, (SELECT position FROM item WHERE project_id = $1 AND parent_id = $3 \
               ORDER BY position DESC LIMIT 1) AS position";
    let row = conn.one(sql, params![project_id, prefix, parent_id]).await?;
    Ok((row.int("last")?, row.opt_int("position")?.unwrap_or(0) + GAP))
}

/// Roots are many; their number orders them without a look at the others.
pub(crate) fn root_position(number: i64) -> i64 {
    number.saturating_mul(GAP)
}

/// Makes sure that numbers up to `number` are not given out again, for imported items that bring their own.
pub async fn reserve_number(conn: &mut Conn, project_id: Uuid, prefix: &str, number: i64) -> Result<()> {
    let sql = "INSERT INTO counter (project_id, prefix, last) VALUES ($1, $2, $3) ON CONFLICT (project_id, prefix) \
               DO UPDATE SET last = CASE WHEN counter.last < excluded.last THEN excluded.last ELSE counter.last END";
    conn.run(sql, params![project_id, prefix, number]).await.map(drop)
}

/// The living items of its kind before and behind an item among its siblings.
pub async fn beside(conn: &mut Conn, item: &Item) -> Result<[Option<Reference>; 2]> {
    let of = match &item.parent {
        Some(_) => "parent_id = $4",
        None => "parent_id IS NULL AND id <> $4",
    };
    let mut found = [None, None];
    for (at, (than, order)) in [("<", "DESC"), (">", "ASC")].into_iter().enumerate() {
        let sql = format!(
            "SELECT number FROM item WHERE project_id = $1 AND {of} AND kind = $5 AND deleted_at IS NULL \
             AND (position, id) {than} ($2, $3) ORDER BY position {order}, id {order} LIMIT 1"
        );
        let parent = item.parent.as_ref().map_or(item.id, |parent| parent.id);
        let values = params![item.project_id, item.position, item.id, parent, item.kind.name()];
        if let Some(row) = conn.optional(sql, values).await? {
            found[at] = Some(Reference::of_kind(item.kind, row.int("number")?));
        }
    }
    Ok(found)
}

/// Writes a new item.
pub async fn insert(tx: &mut Tx, item: &Item) -> Result<()> {
    let sql = "INSERT INTO item (id, project_id, kind, number, parent_id, position, title, description, status, priority, \
               type, criterion_id, assignee_id, creator_id, attributes, rev, content_hash, created_at, updated_at) \
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)";
    let values = params![
        item.id,
        item.project_id,
        item.kind.name(),
        item.reference_id.number(),
        item.parent.as_ref().map(|p| p.id),
        item.position,
        &item.title,
        &item.description,
        item.status.as_deref(),
        item.priority.map(Priority::number),
        item.requirement_type.as_deref(),
        item.acceptance_criterion.as_ref().map(|p| p.id),
        item.assignee.as_ref().map(|p| p.id),
        item.creator.id,
        attributes(item),
        item.rev,
        &item.content_hash,
        item.created_at,
        item.updated_at,
    ];
    tx.conn.run(sql, values).await?;
    count(&mut tx.conn, item, 1).await?;
    crate::search::index_new_item(tx, item).await
}

/// Writes a changed item over the one before.
pub async fn update(tx: &mut Tx, before: &Item, item: &Item) -> Result<()> {
    let sql = "UPDATE item SET parent_id = $2, position = $3, title = $4, description = $5, status = $6, priority = $7, \
               type = $8, criterion_id = $9, assignee_id = $10, attributes = $11, rev = $12, content_hash = $13, \
               updated_at = $14 WHERE project_id = $15 AND id = $1";
    let values = params![
        item.id,
        item.parent.as_ref().map(|p| p.id),
        item.position,
        &item.title,
        &item.description,
        item.status.as_deref(),
        item.priority.map(Priority::number),
        item.requirement_type.as_deref(),
        item.acceptance_criterion.as_ref().map(|p| p.id),
        item.assignee.as_ref().map(|p| p.id),
        attributes(item),
        item.rev,
        &item.content_hash,
        item.updated_at,
        item.project_id,
    ];
    tx.conn.run(sql, values).await?;
    if before.status != item.status {
        count(&mut tx.conn, before, -1).await?;
        count(&mut tx.conn, item, 1).await?;
    }
    if before.title != item.title || before.description != item.description {
        crate::search::index_item(tx, item).await?;
    }
    Ok(())
}

/// Soft delete: makes living items tombstones, as some of those that go together under `deletion_id` (cascade).
pub async fn soft_delete(tx: &mut Tx, items: &[Item], deletion_id: Uuid) -> Result<()> {
    let mut query = Conditions::default();
    let (now, deletion) = (query.bind(tx.now()), query.bind(deletion_id));
    query.add("deleted_at IS NULL".to_owned());
    let set = format!("deleted_at = {now}, deletion_id = {deletion}, rev = rev + 1, updated_at = {now}");
    let gone = set_on(&mut tx.conn, items, &set, query).await?;
    count_all(&mut tx.conn, &gone, -1).await?;
    crate::search::remove_items(tx, &gone).await
}

/// Undelete: brings tombstones back.
pub async fn undelete(tx: &mut Tx, items: &[Item]) -> Result<()> {
    let mut query = Conditions::default();
    let now = query.bind(tx.now());
    query.add("deleted_at IS NOT NULL".to_owned());
    let set = format!("deleted_at = NULL, deletion_id = NULL, rev = rev + 1, updated_at = {now}");
    let back = set_on(&mut tx.conn, items, &set, query).await?;
    count_all(&mut tx.conn, &back, 1).await?;
    crate::search::index_items_that_return(tx, &back).await
}

/// Changes columns of items of one project to which the conditions apply. Returns those items.
async fn set_on<'i>(
    conn: &mut Conn,
    items: &'i [Item],
    set: &str,
    mut query: Conditions,
) -> Result<Vec<&'i Item>> {
    query.among("project_id", items.first().map(|item| item.project_id));
    query.among("id", items.iter().map(|item| item.id));
    let sql = format!("UPDATE item SET {set} WHERE {} RETURNING id", query.text());
    let rows = conn.all(sql, query.params).await?;
    let touched = rows
        .iter()
        .map(|row| row.id("id"))
        .collect::<Result<HashSet<_>>>()?;
    Ok(items.iter().filter(|item| touched.contains(&item.id)).collect())
}

/// The deletion that made an item a tombstone.
pub async fn deletion_of(conn: &mut Conn, id: Uuid) -> Result<Option<Uuid>> {
    const SQL: &str = concat!(
        "SELECT deletion_id FROM item WHERE id = $1 AND project_id = ",
        project_of!("$1")
    );
    conn.one(SQL, params![id]).await?.opt_id("deletion_id")
}

/// The items one deletion took (its cascade), containers first, each with what contains it.
pub async fn deleted_by(
    conn: &mut Conn,
    project_id: Uuid,
    deletion_id: Uuid,
) -> Result<Vec<(Uuid, Option<Uuid>)>> {
    let sql = "SELECT id, parent_id, kind, created_at FROM item WHERE project_id = $1 AND deletion_id = $2";
    let rows = conn.all(sql, params![project_id, deletion_id]).await?;
    let fallen = |row: &Row| {
        let (id, parent) = (row.id("id")?, row.opt_id("parent_id")?);
        Ok(((kind(row, "kind")?, row.int("created_at")?, id), parent))
    };
    let mut fallen = rows.iter().map(fallen).collect::<Result<Vec<_>>>()?;
    // A container can be younger than what was moved into it, so age does not tell which is which.
    fallen.sort_unstable();
    Ok(fallen
        .into_iter()
        .map(|((.., id), parent)| (id, parent))
        .collect())
}

/// The requirements that point to a criterion.
pub async fn pointing_to(conn: &mut Conn, criterion_id: Uuid) -> Result<Vec<Item>> {
    const SQL: &str = concat!(
        select_items!("", "WHERE i.project_id = "),
        project_of!("$1"),
        " AND i.criterion_id = $1 AND i.deleted_at IS NULL ORDER BY i.number"
    );
    items(&conn.all(SQL, params![criterion_id]).await?)
}

/// How many living children of a kind an item has.
pub async fn count_children(conn: &mut Conn, parent_id: Uuid, kind: Kind) -> Result<i64> {
    const SQL: &str = concat!(
        "SELECT count(*) AS n FROM item WHERE project_id = ",
        project_of!("$1"),
        " AND parent_id = $1 AND kind = $2 AND deleted_at IS NULL"
    );
    conn.one(SQL, params![parent_id, kind.name()]).await?.int("n")
}

/// The distance between neighbours when places are given out anew; leaves room for 20 insertions at one spot.
const GAP: i64 = 1 << 20;

/// Where an item comes to stand that moves in behind its new siblings.
pub async fn last_position(
    conn: &mut Conn,
    project_id: Uuid,
    kind: Kind,
    parent_id: Option<Uuid>,
) -> Result<i64> {
    let last = match parent_id {
        Some(parent_id) => {
            let sql = "SELECT position FROM item WHERE project_id = $2 AND parent_id = $1 ORDER BY position DESC LIMIT 1";
            conn.optional(sql, params![parent_id, project_id])
                .await?
                .map(|row| row.int("position"))
                .transpose()?
        }
        None => {
            let sql = "SELECT last FROM counter WHERE project_id = $1 AND prefix = $2";
            let row = conn
                .optional(sql, params![project_id, kind.rules().prefix])
                .await?;
            let last = row.map(|row| row.int("last")).transpose()?;
            return Ok(root_position(last.unwrap_or(1)));
        }
    };
    Ok(last.unwrap_or(0) + GAP)
}

/// A place directly before or behind a sibling, making room when there is none.
pub async fn position_beside(tx: &mut Tx, sibling: &Item, after: bool) -> Result<i64> {
    for _ in 0..2 {
        let conn = &mut tx.conn;
        let position = by_id(conn, sibling.id)
            .await?
            .map_or(sibling.position, |item| item.position);
        let neighbour = neighbour(conn, sibling, position, after).await?;
        let other = neighbour.unwrap_or(if after {
            position + 2 * GAP
        } else {
            position - 2 * GAP
        });
        let middle = position + (other - position) / 2;
        if middle != position && middle != other {
            return Ok(middle);
        }
        spread(tx, sibling).await?;
    }
    Err(Error::Broken(
        "no room between two siblings after spreading them".into(),
    ))
}

async fn neighbour(conn: &mut Conn, sibling: &Item, position: i64, after: bool) -> Result<Option<i64>> {
    let row = match (&sibling.parent, after) {
        (Some(parent), true) => {
            let sql = "SELECT position FROM item WHERE project_id = $3 AND parent_id = $1 AND position > $2 ORDER BY position LIMIT 1";
            conn.optional(sql, params![parent.id, position, sibling.project_id])
                .await?
        }
        (Some(parent), false) => {
            let sql = "SELECT position FROM item WHERE project_id = $3 AND parent_id = $1 AND position < $2 ORDER BY position DESC LIMIT 1";
            conn.optional(sql, params![parent.id, position, sibling.project_id])
                .await?
        }
        (None, true) => {
            let sql = "SELECT min(position) AS position FROM item WHERE project_id = $1 AND kind = $2 AND position > $3";
            conn.optional(sql, params![sibling.project_id, sibling.kind.name(), position])
                .await?
        }
        (None, false) => {
            let sql = "SELECT max(position) AS position FROM item WHERE project_id = $1 AND kind = $2 AND position < $3";
            conn.optional(sql, params![sibling.project_id, sibling.kind.name(), position])
                .await?
        }
    };
    row.map(|row| row.opt_int("position"))
        .transpose()
        .map(Option::flatten)
}

/// Gives all siblings places with room between them, in the order they have, and tells the history.
//= specs/spexus-store.md#history
//# Siblings that are numbered anew MUST be told in the ledger with their places.
async fn spread(tx: &mut Tx, sibling: &Item) -> Result<()> {
    let ranked = |siblings: &str| {
        format!(
            "UPDATE item SET position = $1 * ranked.place FROM (SELECT id, row_number() OVER (ORDER BY position, id) AS place \
             FROM item WHERE project_id = $2 AND {siblings}) AS ranked WHERE item.project_id = $2 AND item.id = ranked.id \
             RETURNING item.id, item.position"
        )
    };
    let rows = match &sibling.parent {
        Some(parent) => {
            let values = params![GAP, sibling.project_id, parent.id];
            tx.conn.all(ranked("parent_id = $3"), values).await?
        }
        None => {
            let values = params![GAP, sibling.project_id, sibling.kind.name()];
            tx.conn.all(ranked("kind = $3"), values).await?
        }
    };
    let place = |row: &Row| Ok((row.id("id")?, row.int("position")?));
    let places = rows.iter().map(place).collect::<Result<Vec<_>>>()?;
    tell_positions(tx, sibling.project_id, &places).await
}

/// Tells the ledger of a project that siblings were numbered anew.
async fn tell_positions(tx: &mut Tx, project_id: Uuid, places: &[(Uuid, i64)]) -> Result<()> {
    let places: Map<String, Value> = places
        .iter()
        .map(|(id, position)| (id.to_string(), (*position).into()))
        .collect();
    let change = NewChange::new(Entity::Setting, Uuid::nil(), ORDER_LABEL, Action::Updated, 1);
    let change = change.in_project(project_id).telling(told::POSITIONS, places);
    tx.record(change).await.map(drop)
}

async fn count(conn: &mut Conn, item: &Item, by: i64) -> Result<()> {
    let sql = "INSERT INTO item_count (project_id, kind, status, n) VALUES ($1, $2, $3, $4) \
               ON CONFLICT (project_id, kind, status) DO UPDATE SET n = item_count.n + excluded.n";
    let status = item.status.as_deref().unwrap_or("");
    conn.run(sql, params![item.project_id, item.kind.name(), status, by])
        .await
        .map(drop)
}

/// Counts items together that are counted alike.
async fn count_all(conn: &mut Conn, items: &[&Item], each: i64) -> Result<()> {
    let mut alike: HashMap<_, (&Item, i64)> = HashMap::new();
    for item in items {
        let of = alike.entry((item.project_id, item.kind, &item.status));
        of.or_insert((item, 0)).1 += each;
    }
    for (item, by) in alike.into_values() {
        count(conn, item, by).await?;
    }
    Ok(())
}

fn attributes(item: &Item) -> String {
    serde_json::Value::Object(item.attributes.clone()).to_string()
}

pub(crate) fn items(rows: &[Row]) -> Result<Vec<Item>> {
    rows.iter().map(item).collect()
}

pub(crate) fn item(row: &Row) -> Result<Item> {
    let kind = kind(row, "kind")?;
    // What an item points to is in its own project.
    let prefix = prefix(row, "prefix")?;
    let parent = match (row.opt_id("parent_id")?, row.opt_text("parent_kind")?) {
        (Some(id), Some(_)) => {
            let reference = Reference::of_kind(self::kind(row, "parent_kind")?, row.int("parent_number")?);
            Some(Pointer {
                id,
                reference_id: prefix.show(reference),
            })
        }
        _ => None,
    };
    let criterion = match (row.opt_id("criterion_id")?, row.opt_int("criterion_number")?) {
        (Some(id), Some(number)) => Some(Pointer {
            id,
            reference_id: prefix.show(Reference::of_kind(Kind::AcceptanceCriterion, number)),
        }),
        _ => None,
    };
    let assignee = match (row.opt_id("assignee_id")?, row.opt_text("assignee")?) {
        (Some(id), Some(username)) => Some(Person { id, username }),
        _ => None,
    };
    Ok(Item {
        id: row.id("id")?,
        reference_id: prefix.show(Reference::of_kind(kind, row.int("number")?)),
        project: row.text("project")?,
        project_id: row.id("project_id")?,
        kind,
        title: row.text("title")?,
        description: row.text("description")?,
        status: row.opt_text("status")?,
        priority: row.opt_int("priority")?.and_then(Priority::from_number),
        requirement_type: row.opt_text("type")?,
        parent,
        acceptance_criterion: criterion,
        assignee,
        creator: Person {
            id: row.id("creator_id")?,
            username: row.text("creator")?,
        },
        position: row.int("position")?,
        attributes: row.object("attributes")?,
        rev: row.int("rev")?,
        content_hash: row.text("content_hash")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        deleted_at: row.opt_time("deleted_at")?,
    })
}

pub(crate) fn kind(row: &Row, column: &str) -> Result<Kind> {
    let name = row.text(column)?;
    Kind::parse(column, &name)
        .map_err(|_| Error::Broken(format!("column {column} holds the unknown kind {name:?}")))
}

/// The refusal for an id nothing has.
pub fn not_found(id: &AnyId) -> Refusal {
    Refusal::new(Code::ResourceNotFound, format!("there is no item {id}"))
}
