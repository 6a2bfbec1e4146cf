//! The rows of a table: from the list, from search where words are given, or group after group.

use super::column::Field;
use super::query::TableQuery;
use crate::answer::Answer;
use crate::visit::Visit;
use spexus_domain::item::Item;
use spexus_domain::query::{Page, Total, bad_cursor};
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_service::account::user;
use spexus_service::item::{self, ItemQuery};
use spexus_service::search::{self, SearchQuery};
use spexus_service::{network, settings};

/// Groups looked into for one page at most: empty ones cost a question each.
const MAX_GROUPS_ASKED: usize = 64;

/// What stands for nobody where a name is asked for.
pub(super) const NOBODY: &str = "none";

/// Rows that belong together.
pub(super) struct Group {
    /// The value they have in common; none where there are no groups.
    pub(super) value: Option<String>,
    /// How many there are on all pages; none on a page that goes on with a group.
    pub(super) total: Option<Total>,
    pub(super) items: Vec<Item>,
}

/// The rows of a page.
pub(super) struct Rows {
    pub(super) groups: Vec<Group>,
    /// How many there are in all; none where only groups are counted.
    pub(super) total: Option<Total>,
    pub(super) next: Option<String>,
}

impl Rows {
    pub(super) fn shown(&self) -> usize {
        self.groups.iter().map(|group| group.items.len()).sum()
    }
}

/// Reads the rows of a table.
//= specs/spexus-web.md#tables
//# A table MUST show at most 200 rows at a time, read from the list the service keeps, and MUST NOT count or sort what it does not show.
pub(super) async fn read(visit: &Visit, project: &str, query: &TableQuery) -> Answer<Rows> {
    let kind = query.kind()?;
    if query.query.is_some() {
        return found(visit, project, kind, query).await;
    }
    if let Some(field) = query.group(kind)? {
        return grouped(visit, project, kind, query, field).await;
    }
    let page = item::list(visit.service(), &visit.caller, kind, &query.items(project)).await?;
    Ok(plain(page))
}

fn plain(page: Page<Item>) -> Rows {
    let total = page.total();
    Rows {
        total: Some(total),
        next: page.next_cursor,
        groups: vec![Group {
            value: None,
            total: Some(total),
            items: page.data,
        }],
    }
}

/// The rows that words find, the best first.
async fn found(visit: &Visit, project: &str, kind: Option<Kind>, query: &TableQuery) -> Answer<Rows> {
    let wanted = SearchQuery {
        query: query.query.clone().unwrap_or_default(),
        kinds: kind.map(|kind| kind.name().to_owned()),
    };
    let filters = ItemQuery {
        order_by: None,
        ..query.items(project)
    };
    let hits = search::search(visit.service(), &visit.caller, &wanted, &filters).await?;
    // A comment that fits leads to its item, which may be there already.
    let mut ids: Vec<Uuid> = Vec::with_capacity(hits.data.len());
    for hit in &hits.data {
        if !ids.contains(&hit.id) {
            ids.push(hit.id);
        }
    }
    let items = network::several(visit.service(), &visit.caller, Some(project), &ids).await?;
    let total = hits.total();
    Ok(plain(Page::new(items, total, hits.next_cursor)))
}

/// Group after group, each a list of its own, until the page is full. The cursor says in which group it goes on, and where.
async fn grouped(
    visit: &Visit,
    project: &str,
    kind: Option<Kind>,
    query: &TableQuery,
    field: Field,
) -> Answer<Rows> {
    let values = values(visit, kind, query, field).await?;
    let (mut at, mut inner) = place(query.cursor.as_deref())?;
    let first = at;
    let mut rows = Rows {
        groups: Vec::new(),
        total: None,
        next: None,
    };
    while let Some(value) = values.get(at) {
        let room = query.rows() - u32::try_from(rows.shown()).unwrap_or(u32::MAX).min(query.rows());
        if room == 0 || at - first >= MAX_GROUPS_ASKED {
            rows.next = Some(format!("{at}."));
            break;
        }
        let mut wanted = query.items(project);
        match field {
            Field::Status => wanted.status = Some(value.clone()),
            Field::Type => wanted.requirement_type = Some(value.clone()),
            _ => wanted.assignee = Some(value.clone()),
        }
        wanted.limit = Some(room);
        wanted.cursor = inner.take();
        let goes_on = wanted.cursor.is_some();
        let page = item::list(visit.service(), &visit.caller, kind, &wanted).await?;
        let total = page.total();
        if !page.data.is_empty() {
            rows.groups.push(Group {
                value: Some(value.clone()),
                total: (!goes_on).then_some(total),
                items: page.data,
            });
        }
        if let Some(next) = page.next_cursor {
            rows.next = Some(format!("{at}.{next}"));
            break;
        }
        at += 1;
    }
    Ok(rows)
}

/// The group a cursor leads to, and the cursor within it.
fn place(cursor: Option<&str>) -> Ruled<(usize, Option<String>)> {
    let Some(cursor) = cursor else {
        return Ok((0, None));
    };
    let (at, inner) = cursor.split_once('.').ok_or_else(bad_cursor)?;
    let at = at.parse().map_err(|_| bad_cursor())?;
    Ok((at, (!inner.is_empty()).then(|| inner.to_owned())))
}

/// The values a field can have, in the order of the groups: those asked for, else all there are.
async fn values(visit: &Visit, kind: Option<Kind>, query: &TableQuery, field: Field) -> Answer<Vec<String>> {
    if let Some(asked) = query.filter(field) {
        return Ok(asked.split(',').map(|value| value.trim().to_owned()).collect());
    }
    known_values(visit, kind, field).await
}

/// The values a field can have.
pub(crate) async fn known_values(visit: &Visit, kind: Option<Kind>, field: Field) -> Answer<Vec<String>> {
    let (service, caller) = (visit.service(), &visit.caller);
    Ok(match field {
        Field::Title => Vec::new(),
        Field::Priority => ["1", "2", "3", "4"].map(str::to_owned).to_vec(),
        Field::Status => {
            let workflows = settings::workflows(service, caller).await?.data.into_iter();
            let mut names: Vec<String> = Vec::new();
            for workflow in workflows.filter(|workflow| kind.is_none_or(|kind| kind == workflow.kind)) {
                for status in workflow.statuses {
                    if !names.contains(&status.name) {
                        names.push(status.name);
                    }
                }
            }
            names
        }
        Field::Type => {
            let types = settings::requirement_types(service, caller).await?;
            types.data.into_iter().map(|known| known.name).collect()
        }
        Field::Owner => {
            let people = user::names(service, caller).await?.data.into_iter();
            // Whoever left may still own something, but is given nothing new.
            let mut names: Vec<(bool, String)> =
                people.map(|person| (!person.active, person.username)).collect();
            names.sort_by_key(|(is_gone, name)| (*is_gone, name.to_lowercase()));
            names.insert(0, (false, NOBODY.to_owned()));
            names.into_iter().map(|(_, name)| name).collect()
        }
    })
}
