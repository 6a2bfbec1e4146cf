//! Items, comments and links as they are at present, to be held against what the history made of them.

use crate::engine::{Conn, Row};
use crate::error::Result;
use crate::items::{self, select_items};
use crate::listing::Conditions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spexus_domain::Uuid;
use spexus_domain::item::Item;

/// The project of an item, and the item.
pub(crate) type ItemKey = (Uuid, Uuid);

/// Something as it is at present.
pub(crate) struct Present {
    pub(crate) id: Uuid,
    pub(crate) item: Uuid,
    /// What an item is called, and whether the hash of its content is right.
    pub(crate) label: Option<String>,
    pub(crate) is_hashed: bool,
    /// Whether it points to what is not there.
    pub(crate) is_dangling: bool,
    /// The other end of a link.
    pub(crate) target: Option<Uuid>,
    /// Whether all rows of it say the same: a link of two projects has one in each.
    pub(crate) is_agreed: bool,
    pub(crate) rev: Option<i64>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) is_deleted: bool,
    pub(crate) assignee: Option<Uuid>,
    pub(crate) rest: Rest,
}

/// What a row has beside its fields; what a kind of thing has not is left empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rest {
    pub(crate) creator: Uuid,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    pub(crate) deleted_at: Option<i64>,
    pub(crate) deletion: Option<Uuid>,
    /// The place among siblings, of an item.
    pub(crate) position: Option<i64>,
    /// What a comment answers.
    pub(crate) parent: Option<Uuid>,
    pub(crate) anchor: Option<Value>,
    /// What both ends of a link said when it was confirmed, and how often it changed.
    pub(crate) hashes: Option<[String; 2]>,
    pub(crate) rev: Option<i64>,
}

impl Rest {
    /// The names of what differs.
    pub(crate) fn differences(&self, other: &Self) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut hold = |name, differs| {
            if differs {
                names.push(name);
            }
        };
        hold("creator", self.creator != other.creator);
        hold("created_at", self.created_at != other.created_at);
        hold("updated_at", self.updated_at != other.updated_at);
        hold("deleted_at", self.deleted_at != other.deleted_at);
        hold("deletion", self.deletion != other.deletion);
        hold("position", self.position != other.position);
        hold("parent", self.parent != other.parent);
        hold("anchor", self.anchor != other.anchor);
        hold("hashes", self.hashes != other.hashes);
        hold("rev", self.rev != other.rev);
        names
    }
}

/// The conditions of what stands in one project, at some of its items.
fn among(project: &str, column: &str, places: &[ItemKey]) -> Conditions {
    let mut query = Conditions::default();
    query.among(project, places.first().map(|(project, _)| *project));
    query.among(column, places.iter().map(|(_, item)| *item));
    query
}

/// A row as it is: the place of its item, its id, and what could be read.
pub(crate) type Read = (ItemKey, Uuid, Result<Present>);

/// Rows as they are.
fn of_items(
    rows: &[Row],
    places: &[ItemKey],
    item: &str,
    present: impl Fn(&Row) -> Result<Present>,
) -> Result<Vec<Read>> {
    let project = places.first().map_or(Uuid::nil(), |(project, _)| *project);
    let one = |row: &Row| Ok(((project, row.id(item)?), row.id("id")?, present(row)));
    rows.iter().map(one).collect()
}

pub(crate) async fn present_items(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Read>> {
    let query = among("i.project_id", "i.id", places);
    let sql = format!("{} WHERE {}", select_items!(", i.deletion_id", ""), query.text());
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let item = items::item(row)?;
        let points = [
            row.opt_id("parent_id")?,
            row.opt_id("criterion_id")?,
            row.opt_id("assignee_id")?,
        ];
        let reaches = [
            item.parent.is_some(),
            item.acceptance_criterion.is_some(),
            item.assignee.is_some(),
        ];
        let is_dangling = points.map(|id| id.is_some()) != reaches;
        let hash = Item::hash(
            &item.title,
            &item.description,
            item.requirement_type.as_deref(),
            &item.attributes,
        );
        Ok(Present {
            id: item.id,
            item: item.id,
            label: Some(item.reference_id.plain().to_string()),
            is_hashed: hash == item.content_hash,
            is_dangling,
            is_agreed: true,
            target: None,
            rev: Some(item.rev),
            fields: item.fields(),
            is_deleted: item.deleted_at.is_some(),
            assignee: item.assignee.map(|person| person.id),
            rest: Rest {
                creator: item.creator.id,
                created_at: item.created_at.0,
                updated_at: item.updated_at.0,
                deleted_at: item.deleted_at.map(|at| at.0),
                deletion: row.opt_id("deletion_id")?,
                position: Some(item.position),
                ..Rest::default()
            },
        })
    };
    of_items(&rows, places, "id", present)
}

pub(crate) async fn present_comments(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Read>> {
    let query = among("project_id", "item_id", places);
    let sql = format!(
        "SELECT id, item_id, parent_id, author_id, content, resolved, anchor, rev, created_at, updated_at, deleted_at \
         FROM comment WHERE {}",
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let fields = [
            ("content".to_owned(), row.text("content")?.into()),
            ("resolved".to_owned(), row.flag("resolved")?.into()),
        ];
        Ok(Present {
            id: row.id("id")?,
            item: row.id("item_id")?,
            label: None,
            is_hashed: true,
            is_dangling: false,
            is_agreed: true,
            target: None,
            rev: Some(row.int("rev")?),
            fields: fields.into_iter().collect(),
            is_deleted: row.opt_int("deleted_at")?.is_some(),
            assignee: None,
            rest: Rest {
                creator: row.id("author_id")?,
                created_at: row.int("created_at")?,
                updated_at: row.int("updated_at")?,
                deleted_at: row.opt_int("deleted_at")?,
                parent: row.opt_id("parent_id")?,
                anchor: match row.opt_text("anchor")? {
                    Some(_) => Some(row.json("anchor")?),
                    None => None,
                },
                ..Rest::default()
            },
        })
    };
    of_items(&rows, places, "item_id", present)
}

/// The columns of a link that both its rows have in common.
const SHARED: [&str; 12] = [
    "type",
    "source_project_id",
    "source_id",
    "target_project_id",
    "target_id",
    "source_hash",
    "target_hash",
    "rev",
    "created_by",
    "created_at",
    "deleted_at",
    "deletion_id",
];

pub(crate) async fn present_links(conn: &mut Conn, places: &[ItemKey]) -> Result<Vec<Read>> {
    let query = among("l.project_id", "l.source_id", places);
    let same = SHARED.map(|name| format!("o.{name} IS NOT DISTINCT FROM l.{name}"));
    let sql = format!(
        "SELECT l.id, l.type, l.source_id, l.target_id, l.source_hash, l.target_hash, l.rev, l.created_by, l.created_at, l.deleted_at, \
         l.deletion_id, CAST(CASE WHEN l.target_project_id = l.project_id OR (o.id IS NOT NULL AND {}) THEN 1 ELSE 0 END AS BIGINT) AS agreed \
         FROM link l LEFT JOIN link o ON o.project_id = l.target_project_id AND o.id = l.id \
         WHERE {} AND l.source_project_id = l.project_id",
        same.join(" AND "),
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let present = |row: &Row| {
        let fields = [("type".to_owned(), row.text("type")?.into())];
        Ok(Present {
            id: row.id("id")?,
            item: row.id("source_id")?,
            label: None,
            is_hashed: true,
            is_dangling: false,
            is_agreed: row.int("agreed")? == 1,
            target: Some(row.id("target_id")?),
            rev: None,
            fields: fields.into_iter().collect(),
            is_deleted: row.opt_int("deleted_at")?.is_some(),
            assignee: None,
            rest: Rest {
                creator: row.id("created_by")?,
                created_at: row.int("created_at")?,
                deleted_at: row.opt_int("deleted_at")?,
                deletion: row.opt_id("deletion_id")?,
                hashes: Some([row.text("source_hash")?, row.text("target_hash")?]),
                rev: Some(row.int("rev")?),
                ..Rest::default()
            },
        })
    };
    of_items(&rows, places, "source_id", present)
}
