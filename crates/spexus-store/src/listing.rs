//! Lists of items: filters and orders from fixed lists, pages that cost the same wherever they are.

use crate::cursor;
use crate::directory::project_of_bound;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::items::{item, select_items};
use serde::{Deserialize, Serialize};
use spexus_domain::item::{Item, Priority};
use spexus_domain::limits::MAX_PAGE_BYTES;
use spexus_domain::query::{Count, ItemFilter, Order, OrderField, Page, PageRequest, Total, bad_cursor};
use spexus_domain::{Kind, Uuid};
use std::cmp::Ordering;

/// The position of a page cursor: the value an item is ordered by, and the id that breaks ties. Items of one status stand in
/// the order they were made, so that one index serves the order and the filter.
#[derive(Serialize, Deserialize, PartialEq, PartialOrd)]
enum Position {
    Number(i64, Uuid),
    Text(String, Uuid),
    Status(String, i64, Uuid),
}

/// Lists read one after the other at most to make one; beyond that the database sorts.
const MAX_STRANDS: usize = 16;

/// One page of the items that pass the filter.
pub async fn items(
    conn: &mut Conn,
    filter: &ItemFilter,
    order: Order,
    page: &PageRequest,
) -> Result<Page<Item>> {
    let behind: Option<Position> = page.cursor.as_deref().map(cursor::read).transpose()?;
    let mut data = Vec::new();
    let strands = strands(filter);
    for strand in &strands {
        data.extend(strand_page(conn, strand, order, behind.as_ref(), page.limit + 1).await?);
    }
    if strands.len() > 1 {
        merge(&mut data, order);
    }
    let found = data.len();
    data.truncate(page.limit as usize);
    data.truncate(fitting(&data));
    let more = data.len() < found;
    let whole = !more && behind.is_none();
    let total = total(conn, filter, page.count, whole.then_some(found)).await?;
    let last = data.last().filter(|_| more);
    let next_cursor = last.map(|last| cursor::write(&position(last, order.field)));
    Ok(Page::new(data, total, next_cursor))
}

//= specs/spexus-store.md#lists
//# A page MUST end before its texts exceed the bytes one answer may hold, and the next page MUST go on from there.
/// How many of the items one answer may hold; the first one always.
fn fitting(items: &[Item]) -> usize {
    let mut bytes = 0;
    let fits = |item: &&Item| {
        bytes += item.text_bytes();
        bytes <= MAX_PAGE_BYTES
    };
    items.iter().take_while(fits).count().max(items.len().min(1))
}

//= specs/spexus-store.md#lists
//# The cost of a page, a tree and a point read SHOULD NOT grow with the number of items.
/// The indexes hold the items of one kind and status in order. A list of several is woven from one list of each, which
/// costs a page of each instead of sorting everything there is.
fn strands(filter: &ItemFilter) -> Vec<ItemFilter> {
    // What one item holds is in order by itself.
    if is_within(filter) {
        return vec![filter.clone()];
    }
    let kinds = if filter.kinds.is_empty() {
        Kind::ALL.to_vec()
    } else {
        filter.kinds.clone()
    };
    let mut strands: Vec<ItemFilter> = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        if kinds[..at].contains(kind) {
            continue;
        }
        let of_kind = ItemFilter {
            kinds: vec![*kind],
            ..filter.clone()
        };
        match filter.statuses.as_slice() {
            [] => strands.push(of_kind),
            statuses => strands.extend(distinct(statuses).map(|status| ItemFilter {
                statuses: vec![status.clone()],
                ..of_kind.clone()
            })),
        }
    }
    if strands.len() > MAX_STRANDS {
        return vec![filter.clone()];
    }
    strands
}

fn distinct(names: &[String]) -> impl Iterator<Item = &String> {
    let first = |at: usize, name: &String| !names[..at].contains(name);
    let numbered = names.iter().enumerate();
    numbered
        .filter(move |(at, name)| first(*at, name))
        .map(|(_, name)| name)
}

async fn strand_page(
    conn: &mut Conn,
    filter: &ItemFilter,
    order: Order,
    behind: Option<&Position>,
    rows: u32,
) -> Result<Vec<Item>> {
    let mut query = Conditions::of(filter);
    if let Some(position) = behind {
        query.continue_behind(order, position)?;
    }
    let direction = if order.descending { "DESC" } else { "ASC" };
    let columns: Vec<String> = order_columns(order.field)
        .iter()
        .map(|column| format!("{column} {direction}"))
        .collect();
    let limit = query.bind(rows);
    let sql = format!(
        "{} WHERE {} ORDER BY {} LIMIT {limit}",
        select_items!("", ""),
        query.text(),
        columns.join(", ")
    );
    conn.all(sql, query.params).await?.iter().map(item).collect()
}

fn merge(items: &mut [Item], order: Order) {
    let compare = |a: &Item, b: &Item| {
        let ascending = position(a, order.field).partial_cmp(&position(b, order.field));
        let ascending = ascending.unwrap_or(Ordering::Equal);
        if order.descending {
            ascending.reverse()
        } else {
            ascending
        }
    };
    items.sort_by(compare);
}

/// How many items there are of each kind and status in a project.
pub async fn counts(conn: &mut Conn, project_id: Uuid) -> Result<Vec<(Kind, String, i64)>> {
    let sql = "SELECT kind, status, n FROM item_count WHERE project_id = $1 AND n > 0 ORDER BY kind, status";
    let rows = conn.all(sql, params![project_id]).await?;
    rows.iter()
        .map(|row| {
            Ok((
                crate::items::kind(row, "kind")?,
                row.text("status")?,
                row.int("n")?,
            ))
        })
        .collect()
}

/// Rows counted one by one before a list only says that there are at least so many.
pub const MAX_COUNTED_ROWS: u32 = 1_000;

//= specs/spexus-store.md#lists
//# The total of a list MUST be the number of items that pass its filter, or say that it is a lower bound.
/// The total comes from the kept counts when the filter is one they know, and is counted otherwise: to the end when that
/// was asked for, else as far as it costs no more than some pages.
async fn total(conn: &mut Conn, filter: &ItemFilter, count: Count, whole: Option<usize>) -> Result<Total> {
    let plain = ItemFilter {
        project_id: filter.project_id,
        kinds: filter.kinds.clone(),
        statuses: filter.statuses.clone(),
        ..ItemFilter::default()
    };
    if *filter == plain && filter.project_id.is_some() {
        let mut kept = Conditions::default();
        let project = kept.bind(filter.project_id);
        kept.add(format!("project_id = {project}"));
        kept.any_of("kind", filter.kinds.iter().map(|kind| Param::from(kind.name())));
        kept.any_of("status", filter.statuses.iter().map(Param::from));
        let sql = format!(
            "SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM item_count WHERE {}",
            kept.text()
        );
        return Ok(conn.one(sql, kept.params).await?.int("n")?.into());
    }
    if let Some(rows) = whole {
        return Ok(Total::Exact(i64::try_from(rows).unwrap_or(i64::MAX)));
    }
    let conditions = Conditions::of(filter);
    counted(conn, "item i", conditions, count).await
}

/// Counts rows: to the end, or until it is clear that there are many.
pub(crate) async fn counted(
    conn: &mut Conn,
    from: &str,
    mut conditions: Conditions,
    count: Count,
) -> Result<Total> {
    if count == Count::Exact {
        let sql = format!("SELECT count(*) AS n FROM {from} WHERE {}", conditions.text());
        return Ok(conn.one(sql, conditions.params).await?.int("n")?.into());
    }
    let enough = conditions.bind(MAX_COUNTED_ROWS + 1);
    let sql = format!(
        "SELECT count(*) AS n FROM (SELECT 1 AS one FROM {from} WHERE {} LIMIT {enough}) counted",
        conditions.text()
    );
    let rows = conn.one(sql, conditions.params).await?.int("n")?;
    Ok(match rows > i64::from(MAX_COUNTED_ROWS) {
        true => Total::AtLeast(MAX_COUNTED_ROWS.into()),
        false => Total::Exact(rows),
    })
}

/// Whether a list is of what one item holds.
fn is_within(filter: &ItemFilter) -> bool {
    filter.parent.is_some() || filter.under.is_some() || filter.acceptance_criterion.is_some()
}

/// The conditions of a statement on `item i`, with what they bind.
#[derive(Default)]
pub(crate) struct Conditions {
    parts: Vec<String>,
    pub(crate) params: Vec<Param>,
}

impl Conditions {
    pub(crate) fn of(filter: &ItemFilter) -> Self {
        let mut query = Self::default();
        query.add(
            if filter.deleted {
                "i.deleted_at IS NOT NULL"
            } else {
                "i.deleted_at IS NULL"
            }
            .to_owned(),
        );
        query.equals("i.project_id", filter.project_id);
        // Whoever asks for what one item holds is led there by the item, not past all items of a kind: the column is no column of
        // an index here.
        let kind = if is_within(filter) {
            "(i.kind || '')"
        } else {
            "i.kind"
        };
        query.any_of(kind, filter.kinds.iter().map(|kind| Param::from(kind.name())));
        query.any_of("i.status", filter.statuses.iter().map(Param::from));
        query.any_of(
            "i.priority",
            filter
                .priorities
                .iter()
                .map(|priority| Param::from(Priority::number(*priority))),
        );
        query.any_of("i.type", filter.types.iter().map(Param::from));
        match filter.assignee {
            Some(None) => query.add("i.assignee_id IS NULL".to_owned()),
            Some(Some(user)) => query.equals("i.assignee_id", Some(user)),
            None => {}
        }
        query.equals("i.creator_id", filter.creator);
        query.beside("i.parent_id", filter.parent);
        query.beside("i.criterion_id", filter.acceptance_criterion);
        query.compare("i.created_at >=", filter.created_from.map(|at| at.0));
        query.compare("i.created_at <", filter.created_to.map(|at| at.0));
        query.compare("i.updated_at >=", filter.updated_from.map(|at| at.0));
        query.compare("i.updated_at <", filter.updated_to.map(|at| at.0));
        if let Some(ancestor) = filter.under {
            let root = query.bind(ancestor);
            query.add(format!(
                "(i.project_id, i.id) IN (WITH RECURSIVE down (project, node) AS (SELECT project_id, id FROM item \
                 WHERE project_id = {place} AND parent_id = {root} UNION ALL SELECT o.project_id, o.id FROM item o JOIN down d \
                 ON o.project_id = d.project AND o.parent_id = d.node) SELECT project, node FROM down)",
                place = project_of_bound(&root)
            ));
        }
        query
    }

    /// The conditions of a statement on `search_doc d`, when the filter is one that documents know.
    pub(crate) fn of_documents(filter: &ItemFilter) -> Option<Self> {
        let plain = ItemFilter {
            project_id: filter.project_id,
            kinds: filter.kinds.clone(),
            ..ItemFilter::default()
        };
        (*filter == plain).then(|| {
            let mut query = Self::default();
            // Documents are of living items only.
            query.add("1 = 1".to_owned());
            query.equals("d.project_id", filter.project_id);
            query.any_of("d.kind", filter.kinds.iter().map(|kind| Param::from(kind.name())));
            query
        })
    }

    pub(crate) fn bind(&mut self, value: impl Into<Param>) -> String {
        self.params.push(value.into());
        format!("${}", self.params.len())
    }

    pub(crate) fn add(&mut self, condition: String) {
        self.parts.push(condition);
    }

    pub(crate) fn text(&self) -> String {
        self.parts.join(" AND ")
    }

    fn equals(&mut self, column: &str, value: Option<Uuid>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            self.add(format!("{column} = {bound}"));
        }
    }

    /// Only items that point to another one, which is in their own project.
    fn beside(&mut self, column: &str, value: Option<Uuid>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            let place = project_of_bound(&bound);
            self.add(format!("i.project_id = {place} AND {column} = {bound}"));
        }
    }

    fn compare(&mut self, column_and_operator: &str, value: Option<i64>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            self.add(format!("{column_and_operator} {bound}"));
        }
    }

    /// Only rows with one of these ids; none where there is none.
    pub(crate) fn among(&mut self, column: &str, ids: impl IntoIterator<Item = Uuid>) {
        let bound: Vec<String> = ids.into_iter().map(|id| self.bind(id)).collect();
        self.add(match bound.is_empty() {
            true => "1 = 0".to_owned(),
            false => format!("{column} IN ({})", bound.join(", ")),
        });
    }

    /// Only rows with one of these values; all where none is wanted.
    pub(crate) fn any_of(&mut self, column: &str, values: impl Iterator<Item = Param>) {
        let bound: Vec<String> = values.map(|value| self.bind(value)).collect();
        if !bound.is_empty() {
            self.add(format!("{column} IN ({})", bound.join(", ")));
        }
    }

    //= specs/spexus-store.md#lists
    //# A list MUST show every item that passes its filter exactly once in every order, also where values are equal.
    fn continue_behind(&mut self, order: Order, position: &Position) -> Result<()> {
        let values = match (position, order.field) {
            (Position::Number(value, id), field) if !is_text(field) => {
                vec![self.bind(*value), self.bind(*id)]
            }
            (Position::Text(value, id), OrderField::Title) => vec![self.bind(value), self.bind(*id)],
            (Position::Status(value, at, id), OrderField::Status) => {
                vec![self.bind(value), self.bind(*at), self.bind(*id)]
            }
            //= specs/spexus-store.md#lists
            //# A cursor that belongs to another list MUST be refused.
            _ => return Err(bad_cursor().into()),
        };
        let beyond = if order.descending { "<" } else { ">" };
        let columns = order_columns(order.field).join(", ");
        self.add(format!("({columns}) {beyond} ({})", values.join(", ")));
        Ok(())
    }
}

/// A status as lists know it; kinds without one have an empty one.
const STATUS: &str = "coalesce(i.status, '')";

/// The columns of an order. Kinds without the field sort in one place, in both engines.
fn order_columns(field: OrderField) -> &'static [&'static str] {
    match field {
        OrderField::CreatedAt => &["i.created_at", "i.id"],
        OrderField::UpdatedAt => &["i.updated_at", "i.id"],
        OrderField::Priority => &["coalesce(i.priority, 9)", "i.id"],
        OrderField::Title => &["i.title", "i.id"],
        OrderField::Status => &[STATUS, "i.created_at", "i.id"],
        OrderField::Position => &["i.position", "i.id"],
    }
}

fn is_text(field: OrderField) -> bool {
    matches!(field, OrderField::Title | OrderField::Status)
}

fn position(item: &Item, field: OrderField) -> Position {
    match field {
        OrderField::CreatedAt => Position::Number(item.created_at.0, item.id),
        OrderField::UpdatedAt => Position::Number(item.updated_at.0, item.id),
        OrderField::Priority => Position::Number(
            item.priority.map_or(9, |priority| i64::from(priority.number())),
            item.id,
        ),
        OrderField::Title => Position::Text(item.title.clone(), item.id),
        OrderField::Status => Position::Status(
            item.status.clone().unwrap_or_default(),
            item.created_at.0,
            item.id,
        ),
        OrderField::Position => Position::Number(item.position, item.id),
    }
}

/// The rows of a page and the row behind it that tells whether there is more.
pub(crate) fn page_of<T>(
    rows: &[Row],
    limit: u32,
    read: impl Fn(&Row) -> Result<T>,
    position: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>)> {
    let mut data = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    let more = data.len() > limit as usize;
    data.truncate(limit as usize);
    let next = data.last().filter(|_| more).map(position);
    Ok((data, next))
}

/// A cursor into a list of that order, for tests.
#[cfg(test)]
pub(crate) fn a_cursor(field: OrderField) -> String {
    cursor::write(&match field {
        OrderField::Title => Position::Text("a".into(), Uuid::nil()),
        OrderField::Status => Position::Status("a".into(), 1, Uuid::nil()),
        _ => Position::Number(1, Uuid::nil()),
    })
}
