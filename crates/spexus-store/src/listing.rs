//! Lists of items: filters and orders from fixed lists, pages that cost the same wherever they are.

use crate::cursor;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::items::{item, select_items};
use serde::{Deserialize, Serialize};
use spexus_domain::item::{Item, Priority};
use spexus_domain::query::{ItemFilter, Order, OrderField, Page, PageRequest, bad_cursor};
use spexus_domain::{Kind, Uuid};

/// Where a page ended: the value it is ordered by, and the id that breaks ties.
#[derive(Serialize, Deserialize)]
enum Place {
    Number(i64, Uuid),
    Text(String, Uuid),
}

/// One page of the items that pass the filter.
pub async fn items(
    conn: &mut Conn,
    filter: &ItemFilter,
    order: Order,
    page: &PageRequest,
) -> Result<Page<Item>> {
    let mut query = Conditions::of(filter);
    let total_count = total(conn, filter, &query).await?;
    if let Some(cursor) = &page.cursor {
        query.continue_behind(order, cursor::read(cursor)?)?;
    }
    let column = order_column(order.field);
    let direction = if order.descending { "DESC" } else { "ASC" };
    let limit = query.bind(page.limit + 1);
    let sql = format!(
        "{} WHERE {} ORDER BY {column} {direction}, i.id {direction} LIMIT {limit}",
        select_items!("", ""),
        query.text()
    );
    let rows = conn.all(sql, query.params).await?;
    let (data, next_cursor) = page_of(&rows, page.limit, item, |last| {
        cursor::write(&place(last, order.field))
    })?;
    Ok(Page {
        data,
        total_count,
        next_cursor,
    })
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

/// The total comes from the kept counts when the filter is one they know, and is counted otherwise.
async fn total(conn: &mut Conn, filter: &ItemFilter, conditions: &Conditions) -> Result<i64> {
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
        return conn.one(sql, kept.params).await?.int("n");
    }
    let sql = format!("SELECT count(*) AS n FROM item i WHERE {}", conditions.text());
    conn.one(sql, conditions.params.clone()).await?.int("n")
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
        query.any_of("i.kind", filter.kinds.iter().map(|kind| Param::from(kind.name())));
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
        query.equals("i.parent_id", filter.parent);
        query.equals("i.criterion_id", filter.acceptance_criterion);
        query.compare("i.created_at >=", filter.created_from.map(|at| at.0));
        query.compare("i.created_at <", filter.created_to.map(|at| at.0));
        query.compare("i.updated_at >=", filter.updated_from.map(|at| at.0));
        query.compare("i.updated_at <", filter.updated_to.map(|at| at.0));
        if let Some(ancestor) = filter.under {
            let root = query.bind(ancestor);
            query.add(format!(
                "i.id IN (WITH RECURSIVE down (node) AS (SELECT id FROM item WHERE parent_id = {root} UNION ALL \
                 SELECT o.id FROM item o JOIN down d ON o.parent_id = d.node) SELECT node FROM down)"
            ));
        }
        query
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

    fn compare(&mut self, column_and_operator: &str, value: Option<i64>) {
        if let Some(value) = value {
            let bound = self.bind(value);
            self.add(format!("{column_and_operator} {bound}"));
        }
    }

    fn any_of(&mut self, column: &str, values: impl Iterator<Item = Param>) {
        let bound: Vec<String> = values.map(|value| self.bind(value)).collect();
        if !bound.is_empty() {
            self.add(format!("{column} IN ({})", bound.join(", ")));
        }
    }

    fn continue_behind(&mut self, order: Order, place: Place) -> Result<()> {
        let column = order_column(order.field);
        let (value, id) = match place {
            Place::Number(value, id) if !is_text(order.field) => (self.bind(value), self.bind(id)),
            Place::Text(value, id) if is_text(order.field) => (self.bind(value), self.bind(id)),
            Place::Number(..) | Place::Text(..) => return Err(bad_cursor().into()),
        };
        let beyond = if order.descending { "<" } else { ">" };
        self.add(format!("({column}, i.id) {beyond} ({value}, {id})"));
        Ok(())
    }
}

/// The column of an order. Kinds without the field sort behind those with it, in both engines.
fn order_column(field: OrderField) -> &'static str {
    match field {
        OrderField::CreatedAt => "i.created_at",
        OrderField::UpdatedAt => "i.updated_at",
        OrderField::Priority => "coalesce(i.priority, 9)",
        OrderField::Title => "i.title",
        OrderField::Status => "coalesce(i.status, '')",
        OrderField::Position => "i.position",
    }
}

fn is_text(field: OrderField) -> bool {
    matches!(field, OrderField::Title | OrderField::Status)
}

fn place(item: &Item, field: OrderField) -> Place {
    match field {
        OrderField::CreatedAt => Place::Number(item.created_at.0, item.id),
        OrderField::UpdatedAt => Place::Number(item.updated_at.0, item.id),
        OrderField::Priority => Place::Number(
            item.priority.map_or(9, |priority| i64::from(priority.number())),
            item.id,
        ),
        OrderField::Title => Place::Text(item.title.clone(), item.id),
        OrderField::Status => Place::Text(item.status.clone().unwrap_or_default(), item.id),
        OrderField::Position => Place::Number(item.position, item.id),
    }
}

/// The rows of a page and the row behind it that tells whether there is more.
pub(crate) fn page_of<T>(
    rows: &[Row],
    limit: u32,
    read: impl Fn(&Row) -> Result<T>,
    place: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>)> {
    let mut data = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
    let more = data.len() > limit as usize;
    data.truncate(limit as usize);
    let next = data.last().filter(|_| more).map(place);
    Ok((data, next))
}
