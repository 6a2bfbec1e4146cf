//! The feed: what happened since a cursor, for everyone who wants to stay current.

use crate::context::{Context, reading};
use crate::{Service, told};
use spexus_domain::Ruled;
use spexus_domain::account::Caller;
use spexus_domain::change::Change;
use spexus_domain::item::Item;
use spexus_domain::limits::{DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_store::{changes, tree};

/// The changes of a project after a cursor, oldest first. The cursor of the last one is where to go on.
pub async fn since(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    after: i64,
    limit: Option<u32>,
) -> Ruled<Vec<Change>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let limit = PageRequest::new(Some(limit.unwrap_or(DEFAULT_PAGE_ROWS.min(MAX_PAGE_ROWS))), None)?.limit;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    changes::since(&mut conn, Some(context.project.id), after, limit)
        .await
        .map_err(told)
}

/// The number of the last change: where a feed that wants only news begins.
pub async fn head(service: &Service, caller: &Caller) -> Ruled<i64> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    changes::head(&mut conn).await.map_err(told)
}

/// A change with the items it is about, each behind what contains it.
#[derive(Clone, Debug)]
pub struct News {
    /// What happened.
    pub change: Change,
    /// From the top down to the item; two for links, none for what is not about an item.
    pub paths: Vec<Vec<Item>>,
}

/// The changes of all projects after a cursor, for a listener that decides itself who hears of what. Without `places` the
/// items are not looked up.
pub async fn news(service: &Service, after: i64, limit: u32, places: bool) -> Ruled<Vec<News>> {
    let mut conn = service.store.read().await.map_err(told)?;
    let found = changes::since(&mut conn, None, after, limit)
        .await
        .map_err(told)?;
    let mut news = Vec::with_capacity(found.len());
    for change in found {
        let mut paths = Vec::new();
        if places {
            for id in [change.item_id, change.other_item_id].into_iter().flatten() {
                paths.push(tree::path(&mut conn, id).await.map_err(told)?);
            }
        }
        news.push(News { change, paths });
    }
    Ok(news)
}
