//! The history of one item, its comments and its links.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::Change;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Page, PageRequest, bad_cursor};
use spexus_domain::{AnyId, Kind, Ruled};
use spexus_store::changes;

/// One page of what happened to an item, newest first; deleted items have a history too.
#[boxed]
pub async fn history(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    page: PageRequest,
) -> Ruled<Page<Change>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let id = AnyId::parse("id", id)?;
    let item = context.any_item(&mut conn, "id", &id).await?;
    if kind.is_some_and(|kind| kind != item.kind) {
        return Err(spexus_store::items::not_found(&id));
    }
    let before = match &page.cursor {
        Some(cursor) => cursor.parse().map_err(|_| bad_cursor())?,
        None => i64::MAX,
    };
    let (mut data, more) = changes::of_item(&mut conn, item.id, before, page.limit).await?;
    let total_count = changes::count_of_item(&mut conn, item.id).await?;
    crate::changes::hide_unseen(&mut conn, caller.visibility(), &mut data).await?;
    crate::changes::show_references(service, &mut conn, &mut data).await?;
    let next_cursor = data.last().filter(|_| more).map(|last| last.seq.to_string());
    Ok(Page::new(data, total_count, next_cursor))
}
