//! Search across items of all kinds and their comments.

use crate::context::{Context, reading};
use crate::item::list::{ItemQuery, filter};
use crate::{Service, told};
use serde::Deserialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Order, OrderField, Page, PageRequest};
use spexus_domain::search::{Hit, Query};
use spexus_domain::{AnyId, Kind, Ruled, analysis, text};
use spexus_store::{Conn, Result, items, listing, search};
use utoipa::IntoParams;

/// What a search is asked for beside the filters every list has.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words, beginnings of words, "phrases in quotes", or a reference id.
    pub query: String,
    /// Kinds to look in, separated by commas; all when left out.
    pub kinds: Option<String>,
}

/// The best places for a text, an exact reference id first. No text is an error; without words the filters alone decide.
pub async fn search(
    service: &Service,
    caller: &Caller,
    wanted: &SearchQuery,
    filters: &ItemQuery,
) -> Ruled<Page<Hit>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let page = PageRequest::new(filters.limit, filters.cursor.clone())?;
    let listed = wanted
        .kinds
        .as_deref()
        .unwrap_or_default()
        .split(',')
        .filter(|part| !part.trim().is_empty());
    let kinds = listed
        .map(|name| Kind::parse("kinds", name))
        .collect::<Ruled<Vec<_>>>()?;
    let filter = filter(&mut conn, caller, kinds, filters).await.map_err(told)?;
    let query = Query::parse(&wanted.query);
    if query.is_empty() {
        let order = match &filters.order_by {
            Some(order) => Order::parse(order)?,
            None => Order {
                field: OrderField::UpdatedAt,
                descending: true,
            },
        };
        let found = listing::items(&mut conn, &filter, order, &page)
            .await
            .map_err(told)?;
        let data = found.data.iter().map(|item| hit(item, 0.0)).collect();
        return Ok(Page {
            data,
            total_count: found.total_count,
            next_cursor: found.next_cursor,
        });
    }
    let mut found = search::search(&mut conn, &query, &filter, &page)
        .await
        .map_err(told)?;
    if let Some(item) = named(&mut conn, caller, &query, filters).await.map_err(told)? {
        let before = found.data.len();
        found
            .data
            .retain(|hit| hit.id != item.id || hit.comment_id.is_some());
        if page.cursor.is_none() {
            found.total_count += i64::from(found.data.len() == before);
            found.data.insert(0, hit(&item, f64::MAX));
            found.data.truncate(page.limit as usize);
        }
    }
    Ok(found)
}

/// The item whose reference id was typed, when it is one the filters let through by project.
async fn named(conn: &mut Conn, caller: &Caller, query: &Query, filters: &ItemQuery) -> Result<Option<Item>> {
    let Some(reference) = query.reference.clone() else {
        return Ok(None);
    };
    let context = Context::new(conn, caller, filters.project.as_deref()).await?;
    let id = AnyId::Reference {
        project: None,
        reference,
    };
    let item = items::by_any_id(conn, context.project.id, &id).await?;
    Ok(item.filter(|item| item.deleted_at.is_some() == filters.deleted.unwrap_or(false)))
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
