//! What can be asked for: filters, orders and pages. Names come from fixed lists; what is not in a list is refused, so
//! nothing a client sends ever becomes part of a query's text.

use crate::item::{Item, Priority};
use crate::page_key::PageKey;
use crate::{Code, Kind, Refusal, Ruled, Timestamp, limits, nearest, text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// Which items are meant. Empty lists and `None` mean any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemFilter {
    /// The project.
    pub project_id: Option<Uuid>,
    /// The kinds.
    pub kinds: Vec<Kind>,
    /// The statuses, as stored.
    pub statuses: Vec<String>,
    /// The priorities.
    pub priorities: Vec<Priority>,
    /// The requirement types, by name.
    pub types: Vec<String>,
    /// Who works on it; `Some(None)` means nobody.
    pub assignee: Option<Option<Uuid>>,
    /// Who made it.
    pub creator: Option<Uuid>,
    /// What directly contains it.
    pub parent: Option<Uuid>,
    /// What contains it, at any depth.
    pub under: Option<Uuid>,
    /// The criterion a requirement serves.
    pub acceptance_criterion: Option<Uuid>,
    /// Made at or after.
    pub created_from: Option<Timestamp>,
    /// Made before.
    pub created_to: Option<Timestamp>,
    /// Changed at or after.
    pub updated_from: Option<Timestamp>,
    /// Changed before.
    pub updated_to: Option<Timestamp>,
    /// Deleted items instead of living ones.
    pub deleted: bool,
}

impl ItemFilter {
    /// Whether an item is meant, as far as the item alone can tell: not `under`, which needs the tree.
    pub fn admits(&self, item: &Item) -> bool {
        fn any<T: PartialEq>(wanted: &[T], has: Option<&T>) -> bool {
            wanted.is_empty() || has.is_some_and(|has| wanted.contains(has))
        }
        let assignee = item.assignee.as_ref().map(|person| person.id);
        let within = |at: Timestamp, from: Option<Timestamp>, to: Option<Timestamp>| {
            from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to)
        };
        self.project_id.is_none_or(|id| id == item.project_id)
            && any(&self.kinds, Some(&item.kind))
            && any(&self.statuses, item.status.as_ref())
            && any(&self.priorities, item.priority.as_ref())
            && any(&self.types, item.requirement_type.as_ref())
            && self.assignee.is_none_or(|wanted| wanted == assignee)
            && self.creator.is_none_or(|id| id == item.creator.id)
            && (self.parent.is_none() || self.parent == item.parent.as_ref().map(|parent| parent.id))
            && (self.acceptance_criterion.is_none()
                || self.acceptance_criterion == item.acceptance_criterion.as_ref().map(|served| served.id))
            && within(item.created_at, self.created_from, self.created_to)
            && within(item.updated_at, self.updated_from, self.updated_to)
            && self.deleted == item.deleted_at.is_some()
    }
}

/// What a list is ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OrderField {
    /// When it was made, which is also the order of reference ids.
    #[default]
    CreatedAt,
    /// When it was last changed.
    UpdatedAt,
    /// Critical first.
    Priority,
    /// By title.
    Title,
    /// By status name.
    Status,
    /// As people arranged them.
    Position,
}

impl OrderField {
    /// All of them.
    pub const ALL: [OrderField; 6] = [
        OrderField::CreatedAt,
        OrderField::UpdatedAt,
        OrderField::Priority,
        OrderField::Title,
        OrderField::Status,
        OrderField::Position,
    ];

    /// As it is written in a request, and as the column is called.
    pub const fn name(self) -> &'static str {
        match self {
            OrderField::CreatedAt => "created_at",
            OrderField::UpdatedAt => "updated_at",
            OrderField::Priority => "priority",
            OrderField::Title => "title",
            OrderField::Status => "status",
            OrderField::Position => "position",
        }
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Order {
    /// By what.
    pub field: OrderField,
    /// Largest first.
    pub descending: bool,
}

impl Order {
    /// Reads `priority`, `-updated_at` or `updated_at desc`.
    pub fn parse(text: &str) -> Ruled<Self> {
        let text = text.trim();
        let (name, descending) = match (text.strip_prefix('-'), text.rsplit_once(' ')) {
            (Some(name), _) => (name, true),
            (None, Some((name, direction))) if direction.eq_ignore_ascii_case("desc") => (name, true),
            (None, Some((name, direction))) if direction.eq_ignore_ascii_case("asc") => (name, false),
            _ => (text, false),
        };
        let field = OrderField::ALL
            .into_iter()
            .find(|field| field.name() == name.trim());
        let field =
            field.ok_or_else(|| nearest::miss("order_by", text, OrderField::ALL.map(OrderField::name)))?;
        Ok(Self { field, descending })
    }
}

/// Which part of a list is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// How many rows at most.
    pub limit: u32,
    /// Where the last page ended; opaque.
    pub cursor: Option<String>,
    /// Whether the total is counted to its end, whatever that costs.
    pub count: Count,
}

/// How far a list is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// As far as it costs no more than a page.
    #[default]
    Cheap,
    /// To the end.
    Exact,
}

impl Count {
    /// Reads `exact`; nothing means cheap.
    pub fn parse(text: Option<&str>) -> Ruled<Self> {
        match text.map(str::trim) {
            None | Some("") => Ok(Self::Cheap),
            Some(word) if word.eq_ignore_ascii_case("exact") => Ok(Self::Exact),
            Some(word) => Err(nearest::miss("count", word, ["exact"])),
        }
    }
}

impl Default for PageRequest {
    fn default() -> Self {
        Self {
            limit: limits::DEFAULT_PAGE_ROWS,
            cursor: None,
            count: Count::Cheap,
        }
    }
}

impl PageRequest {
    /// Refuses a page that is empty or too large.
    pub fn new(limit: Option<u32>, cursor: Option<String>) -> Ruled<Self> {
        let limit = limit.unwrap_or(limits::DEFAULT_PAGE_ROWS);
        if (1..=limits::MAX_PAGE_ROWS).contains(&limit) {
            return Ok(Self {
                limit,
                cursor,
                count: Count::Cheap,
            });
        }
        let allowed = format!("1 to {}", limits::MAX_PAGE_ROWS);
        Err(Refusal::field(
            Code::InvalidParams,
            "limit",
            format!("{limit} is out of range"),
            allowed,
        ))
    }
}

/// How many rows a list has on all its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// So many.
    Exact(i64),
    /// So many and perhaps more: nobody counted to the end.
    AtLeast(i64),
}

impl Total {
    /// The number that is certain.
    pub fn at_least(self) -> i64 {
        let (Total::Exact(rows) | Total::AtLeast(rows)) = self;
        rows
    }

    /// With so many more.
    #[must_use]
    pub fn plus(self, more: i64) -> Self {
        match self {
            Total::Exact(rows) => Total::Exact(rows + more),
            Total::AtLeast(rows) => Total::AtLeast(rows + more),
        }
    }
}

impl From<i64> for Total {
    fn from(rows: i64) -> Self {
        Total::Exact(rows)
    }
}

/// `1,234` or `at least 1,000`.
impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if matches!(self, Total::AtLeast(_)) {
            f.write_str("at least ")?;
        }
        f.write_str(&text::grouped(self.at_least()))
    }
}

/// One page of a list: the one envelope every list comes in.
//= specs/spexus-http.md#answers
//# Every list MUST come in one envelope with `data`, `total_count` and, where there is a next page, `next_cursor`.
//= specs/spexus-http.md#answers
//# `total_count` MUST be exact or null, and where it is null `total_at_least` MUST say how many there certainly are.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// How many there are on all pages; null where nobody counted to the end, which `count=exact` asks for.
    #[schema(required)]
    pub total_count: Option<i64>,
    /// Where `total_count` is null: how many there certainly are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_at_least: Option<i64>,
    /// What to send as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A page of a list.
    pub fn new(data: Vec<T>, total: impl Into<Total>, next_cursor: Option<String>) -> Self {
        let (total_count, total_at_least) = match total.into() {
            Total::Exact(rows) => (Some(rows), None),
            Total::AtLeast(rows) => (None, Some(rows)),
        };
        Self {
            data,
            total_count,
            total_at_least,
            next_cursor,
        }
    }

    /// A list that is one page.
    pub fn whole(data: Vec<T>) -> Self {
        let rows = i64::try_from(data.len()).unwrap_or(i64::MAX);
        Self::new(data, rows, None)
    }

    /// The first rows of a list without further pages. `data` has one more than are shown where there are more, so that the total
    /// says that it is not all.
    pub fn beginning(mut data: Vec<T>, shown: u32) -> Self {
        let shown = shown as usize;
        if data.len() <= shown {
            return Self::whole(data);
        }
        let rows = i64::try_from(data.len()).unwrap_or(i64::MAX);
        data.truncate(shown);
        Self::new(data, Total::AtLeast(rows), None)
    }

    /// How many rows there are on all pages.
    pub fn total(&self) -> Total {
        match (self.total_count, self.total_at_least) {
            (Some(rows), _) => Total::Exact(rows),
            (None, rows) => Total::AtLeast(rows.unwrap_or(0)),
        }
    }

    /// The same page with other rows.
    pub fn map<U>(self, row: impl FnMut(T) -> U) -> Page<U> {
        let total = self.total();
        Page::new(self.data.into_iter().map(row).collect(), total, self.next_cursor)
    }
}

impl<T: PageKey> Page<T> {
    /// One page of a list that was read whole, in the order of its keys.
    //= specs/spexus-http.md#answers
    //# A list that can grow MUST come in pages, and the pages together MUST hold every row once.
    #[must_use]
    pub fn part(self, page: &PageRequest) -> Self {
        let total = self.total();
        let mut rows = self.data;
        rows.sort_by_cached_key(T::page_key);
        if let Some(last) = &page.cursor {
            rows.retain(|row| row.page_key() > *last);
        }
        let limit = page.limit as usize;
        let next = (rows.len() > limit).then(|| rows[limit - 1].page_key());
        rows.truncate(limit);
        Page::new(rows, total, next)
    }
}

/// The refusal for a cursor that was not made by us, or for another list.
pub fn bad_cursor() -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "cursor",
        "is not one this list gave out",
        "`next_cursor` of the page before, unchanged",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_was_cut_does_not_call_itself_whole() {
        let whole = Page::beginning(vec![1, 2, 3], 3);
        assert_eq!(
            (whole.data.len(), whole.total_count, whole.total_at_least),
            (3, Some(3), None)
        );
        let cut = Page::beginning(vec![1, 2, 3, 4], 3);
        assert_eq!(
            (cut.data.len(), cut.total_count, cut.total_at_least),
            (3, None, Some(4))
        );
    }

    #[test]
    fn an_order_comes_from_the_list_and_nowhere_else() {
        assert_eq!(
            Order::parse("-updated_at").unwrap(),
            Order {
                field: OrderField::UpdatedAt,
                descending: true
            }
        );
        assert_eq!(
            Order::parse("title DESC").unwrap(),
            Order {
                field: OrderField::Title,
                descending: true
            }
        );
        assert_eq!(
            Order::parse("priority asc").unwrap(),
            Order {
                field: OrderField::Priority,
                descending: false
            }
        );
        for bad in [
            "",
            "id",
            "title;--",
            "(SELECT pg_sleep(5))",
            "title desc, id",
            "created_at desc desc",
        ] {
            assert_eq!(
                Order::parse(bad).unwrap_err().faults[0].field,
                "order_by",
                "{bad:?}"
            );
        }
    }

    //= specs/spexus-http.md#answers
    //= type=test
    //# `total_count` MUST be exact or null, and where it is null `total_at_least` MUST say how many there certainly are.
    #[test]
    fn a_number_nobody_counted_to_the_end_is_never_called_a_total() {
        let page = Page::new(vec![1, 2], Total::AtLeast(1_000), None);
        let told = serde_json::to_value(&page).unwrap();
        assert_eq!(
            told,
            serde_json::json!({"data": [1, 2], "total_count": null, "total_at_least": 1_000})
        );
        assert_eq!(page.total().to_string(), "at least 1,000");
        let whole = serde_json::to_value(Page::whole(vec![1])).unwrap();
        assert_eq!(whole, serde_json::json!({"data": [1], "total_count": 1}));
    }

    #[test]
    fn pages_have_an_upper_bound() {
        assert!(PageRequest::new(Some(limits::MAX_PAGE_ROWS), None).is_ok());
        for bad in [0, limits::MAX_PAGE_ROWS + 1, u32::MAX] {
            assert_eq!(
                PageRequest::new(Some(bad), None).unwrap_err().faults[0].field,
                "limit"
            );
        }
    }
}
