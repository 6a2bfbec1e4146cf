//! Search across items of all kinds and their comments.

use crate::Service;
use crate::context::reading;
use crate::item::list::{ItemQuery, filter};
use async_recursion::async_recursion as boxed;
use serde::Deserialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, Page, PageRequest};
use spexus_domain::search::{Hit, Query};
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, analysis, text};
use spexus_store::{Conn, Result, items, listing, search, tree};
use utoipa::IntoParams;

/// What a search is asked for beside the filters every list has.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, beginnings of words, "phrases in quotes", or a reference id; without it the filters alone decide.
    #[serde(default, alias = "q")]
    #[param(required = false)]
    pub query: String,
    /// Kinds to look in, separated by commas; all when left out.
    #[serde(alias = "entity_types")]
    pub kinds: Option<String>,
}

/// The cursor of the second page when the first one held only the item whose reference id was typed.
const AFTER_NAMED: &str = "after-named";

/// The best places for a text, an exact reference id first. No text is an error; without words the filters alone decide.
#[boxed]
pub async fn search(
    service: &Service,
    caller: &Caller,
    wanted: &SearchQuery,
    filters: &ItemQuery,
) -> Ruled<Page<Hit>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let page = filters.page()?;
    let listed = wanted
        .kinds
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .filter(|part| !part.trim().is_empty());
    let kinds = listed
        .map(|name| Kind::parse("kinds", name))
        .collect::<Ruled<Vec<_>>>()?;
    let filter = filter(&mut conn, caller, kinds, filters).await?;
    let query = Query::parse(&wanted.query);
    if query.is_empty() {
        let order = match &filters.order_by {
            Some(order) => Order::parse(order)?,
            None => Order {
                field: OrderField::UpdatedAt,
                descending: true,
            },
        };
        let found = listing::items(&mut conn, &filter, order, &page).await?;
        let data = found.data.iter().map(|item| hit(item, 0.0)).collect();
        return Ok(Page::new(data, found.total(), found.next_cursor));
    }
    if let Some(order) = &filters.order_by {
        Order::parse(order)?;
        let problem = "does not go with words: what fits them best comes first";
        let allowed = "leave it out, or leave out the words";
        return Err(Refusal::field(Code::InvalidParams, "order_by", problem, allowed));
    }
    match named(&mut conn, &query, &filter).await? {
        Some(item) => with_first(&mut conn, &query, &filter, page, &item)
            .await
            .map_err(Refusal::from),
        None => search::search(&mut conn, &query, &filter, &page)
            .await
            .map_err(Refusal::from),
    }
}

/// What is found, behind an item that goes first and is not told again on a later page.
async fn with_first(
    conn: &mut Conn,
    query: &Query,
    filter: &ItemFilter,
    page: PageRequest,
    first: &Item,
) -> Result<Page<Hit>> {
    let is_first_page = page.cursor.is_none();
    let rest = PageRequest {
        limit: page.limit - u32::from(is_first_page && page.limit > 1),
        cursor: page.cursor.filter(|cursor| cursor != AFTER_NAMED),
        count: page.count,
    };
    let mut found = search::search(conn, query, filter, &rest).await?;
    let listed = found.data.len();
    found
        .data
        .retain(|hit| hit.id != first.id || hit.comment_id.is_some());
    if is_first_page {
        // Its own row is found among the best; where it is not, it is one more.
        let total = found.total().plus(i64::from(found.data.len() == listed));
        if page.limit == 1 {
            found.data.clear();
            found.next_cursor = (total.at_least() > 1).then(|| AFTER_NAMED.to_owned());
        }
        found = Page::new(found.data, total, found.next_cursor);
        //= specs/spexus-service.md#search
        //# An item whose reference id was typed MUST come first, once, and only when the filters let it through.
        found.data.insert(0, hit(first, f64::MAX));
    }
    Ok(found)
}

/// The item whose reference id was typed, when the filters let it through.
async fn named(conn: &mut Conn, query: &Query, filter: &ItemFilter) -> Result<Option<Item>> {
    let Some(reference) = query.reference.clone() else {
        return Ok(None);
    };
    let project = query.project.clone();
    let id = AnyId::Reference { project, reference };
    // A search is of one project, and so is a reference id typed into it.
    let found = items::by_any_id(conn, filter.project_id.unwrap_or_default(), &id).await?;
    let Some(item) = found.filter(|item| Some(item.project_id) == filter.project_id) else {
        return Ok(None);
    };
    let inside = match filter.under {
        Some(container) => tree::path(conn, item.id)
            .await?
            .iter()
            .any(|above| above.id == container && above.id != item.id),
        None => true,
    };
    Ok(Some(item).filter(|item| inside && filter.admits(item)))
}

fn hit(item: &Item, score: f64) -> Hit {
    Hit {
        id: item.id,
        reference_id: item.reference_id.clone(),
        kind: item.kind,
        title: item.heading(),
        status: item.status.clone(),
        priority: item.priority,
        comment_id: None,
        snippet: text::excerpt(&analysis::snippet(&item.description, |_| false, 160), 160),
        score,
        updated_at: item.updated_at,
    }
}
