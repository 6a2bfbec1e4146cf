//! Listing items: filters by name, orders from a fixed list.

use crate::context::{Context, reading};
use crate::{Service, people};
use async_recursion::async_recursion as boxed;
use serde::Deserialize;
use spexus_domain::account::Caller;
use spexus_domain::item::{Item, Priority};
use spexus_domain::permission::Operation;
use spexus_domain::query::{Count, ItemFilter, Order, Page, PageRequest};
use spexus_domain::{Code, Kind, Refusal, Ruled, Timestamp, Uuid, nearest};
use spexus_store::{Conn, Result, listing, settings};
use utoipa::IntoParams;

/// What a list is asked for, in the words of a client. Several values of one field are separated by commas.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ItemQuery {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    pub project: Option<String>,
    /// Status names.
    pub status: Option<String>,
    /// Priorities, 1 to 4 or by word.
    pub priority: Option<String>,
    /// Requirement types, by name.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    pub requirement_type: Option<String>,
    /// Who works on it: a user name, `me` or `none`.
    pub assignee: Option<String>,
    /// Who made it: a user name or `me`.
    pub creator: Option<String>,
    /// What directly contains it: any id.
    #[serde(alias = "epic_id", alias = "user_story_id")]
    pub parent: Option<String>,
    /// What contains it, at any depth: any id.
    pub under: Option<String>,
    /// The criterion a requirement serves: any id.
    pub acceptance_criterion: Option<String>,
    /// Made at or after.
    pub created_from: Option<String>,
    /// Made before.
    pub created_to: Option<String>,
    /// Changed at or after.
    pub updated_from: Option<String>,
    /// Changed before.
    pub updated_to: Option<String>,
    /// Deleted items instead of living ones.
    pub deleted: Option<bool>,
    /// `created_at`, `updated_at`, `priority`, `title`, `status` or `position`; a leading `-` turns it around.
    pub order_by: Option<String>,
    /// Rows of the page, 1 to 200.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
    /// `exact` counts to the end whatever it costs; without it `total_count` may be null beside `total_at_least`.
    pub count: Option<String>,
    /// Only these fields, separated by commas.
    pub fields: Option<String>,
}

impl ItemQuery {
    /// The page that is wanted.
    pub(crate) fn page(&self) -> Ruled<PageRequest> {
        Ok(PageRequest {
            count: Count::parse(self.count.as_deref())?,
            ..PageRequest::new(self.limit, self.cursor.clone())?
        })
    }
}

/// One page of the items of a kind, or of all kinds.
#[boxed]
pub async fn list(
    service: &Service,
    caller: &Caller,
    kind: Option<Kind>,
    query: &ItemQuery,
) -> Ruled<Page<Item>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let page = query.page()?;
    let order = query
        .order_by
        .as_deref()
        .map(Order::parse)
        .transpose()?
        .unwrap_or_default();
    let filter = filter(&mut conn, caller, kind.into_iter().collect(), query).await?;
    listing::items(&mut conn, &filter, order, &page)
        .await
        .map_err(Refusal::from)
}

/// Turns the words of a client into a filter; a name that does not exist is refused with those that do.
pub(crate) async fn filter(
    conn: &mut Conn,
    caller: &Caller,
    kinds: Vec<Kind>,
    query: &ItemQuery,
) -> Result<ItemFilter> {
    let context = Context::new(conn, caller, Operation::Read, query.project.as_deref()).await?;
    let time = |field: &'static str, text: &Option<String>| -> Ruled<Option<Timestamp>> {
        text.as_deref()
            .map(|text| Timestamp::parse(field, text))
            .transpose()
    };
    let mut filter = ItemFilter {
        statuses: statuses(conn, &kinds, query.status.as_deref()).await?,
        priorities: listed(query.priority.as_deref())
            .map(|text| Priority::parse("priority", text))
            .collect::<Ruled<_>>()?,
        types: types(conn, query.requirement_type.as_deref()).await?,
        created_from: time("created_from", &query.created_from)?,
        created_to: time("created_to", &query.created_to)?,
        updated_from: time("updated_from", &query.updated_from)?,
        updated_to: time("updated_to", &query.updated_to)?,
        deleted: query.deleted.unwrap_or(false),
        kinds,
        ..ItemFilter::default()
    };
    filter.assignee = match query.assignee.as_deref() {
        None => None,
        Some(nobody) if nobody.eq_ignore_ascii_case("none") => Some(None),
        Some(name) => Some(Some(people::find(conn, caller, "assignee", name).await?.id)),
    };
    if let Some(name) = &query.creator {
        filter.creator = Some(people::find(conn, caller, "creator", name).await?.id);
    }
    let criterion = Some(Kind::AcceptanceCriterion);
    let mut places = Vec::new();
    for (field, wanted, kind, found) in [
        ("parent", &query.parent, None, &mut filter.parent),
        ("under", &query.under, None, &mut filter.under),
        (
            "acceptance_criterion",
            &query.acceptance_criterion,
            criterion,
            &mut filter.acceptance_criterion,
        ),
    ] {
        if let Some(id) = wanted {
            let item = context.item(conn, field, id, kind).await?;
            *found = Some(item.id);
            places.push((field, item));
        }
    }
    filter.project_id = Some(project_of_list(&context, &places)?);
    Ok(filter)
}

/// The project a list is of: the one named, else that of the items it is about, else the usual one.
//= specs/spexus-service.md#projects
//# A list of what is in or below an item MUST be of the project of that item.
fn project_of_list(context: &Context, places: &[(&str, Item)]) -> Ruled<Uuid> {
    let Some((_, first)) = places.first() else {
        return Ok(context.project()?.id);
    };
    match places
        .iter()
        .find(|(_, item)| item.project_id != first.project_id)
    {
        None => Ok(first.project_id),
        Some((field, other)) => {
            let problem = format!(
                "{} and {} are in different projects",
                first.reference_id.in_project(&first.project),
                other.reference_id.in_project(&other.project)
            );
            Err(Refusal::field(
                Code::InvalidParams,
                *field,
                problem,
                "items of one project",
            ))
        }
    }
}

fn listed(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

async fn statuses(conn: &mut Conn, kinds: &[Kind], wanted: Option<&str>) -> Result<Vec<String>> {
    let wanted: Vec<&str> = listed(wanted).collect();
    if wanted.is_empty() {
        return Ok(vec![]);
    }
    let asked: Vec<Kind> = if kinds.is_empty() {
        Kind::ALL.to_vec()
    } else {
        kinds.to_vec()
    };
    let mut known: Vec<String> = Vec::new();
    for kind in asked {
        let workflow = settings::workflow(conn, kind).await?;
        known.extend(
            workflow
                .into_iter()
                .flat_map(|workflow| workflow.statuses)
                .map(|status| status.name),
        );
    }
    known.dedup();
    let find = |name: &str| match nearest::find(&known, |status| status, name) {
        Some(status) => Ok(status.clone()),
        None => Err(nearest::miss("status", name, known.iter().map(String::as_str))),
    };
    Ok(wanted.into_iter().map(find).collect::<Ruled<_>>()?)
}

async fn types(conn: &mut Conn, wanted: Option<&str>) -> Result<Vec<String>> {
    let wanted: Vec<&str> = listed(wanted).collect();
    if wanted.is_empty() {
        return Ok(vec![]);
    }
    let known = settings::requirement_types(conn).await?;
    let find = |name: &str| match nearest::find(&known, |known| &known.name, name) {
        Some(found) => Ok(found.name.clone()),
        None => Err(nearest::miss(
            "type",
            name,
            known.iter().map(|known| known.name.as_str()),
        )),
    };
    Ok(wanted.into_iter().map(find).collect::<Ruled<_>>()?)
}
