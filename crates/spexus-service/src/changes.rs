//! The feed: what happened since a cursor, for everyone who wants to stay current.

use crate::Service;
use crate::context::{Context, ProjectRequest, prefix_of, reading};
use crate::feed_cursor;
pub use crate::feed_cursor::{START, behind, behind_of_all};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::{Change, Entity};
use spexus_domain::feed::ArrivedChange;
use spexus_domain::item::Item;
use spexus_domain::limits::{DEFAULT_PAGE_ROWS, MAX_PAGE_BYTES, MAX_PAGE_ROWS};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::visibility::Visibility;
use spexus_domain::{AnyId, Reference, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Result, changes, directory, items, tree};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Bytes of text that are read ahead for one stream: there can be many, and each waits for its own reader.
const MAX_STREAM_BYTES: usize = 64 * 1024;

/// The changes of a project after a cursor, oldest first. The cursor of the last one is where to go on; only an empty answer
/// is the end.
#[boxed]
pub async fn since(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    after: &str,
    limit: Option<u32>,
) -> Ruled<Vec<Change>> {
    read(service, caller, project, after, limit, MAX_PAGE_BYTES).await
}

/// Like `since`, for a listener that keeps what it reads until it is sent.
//= specs/spexus-http.md#feed
//# A stream MUST NOT read further ahead of its reader than one small page.
#[boxed]
pub async fn stream_since(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    after: &str,
) -> Ruled<Vec<Change>> {
    read(
        service,
        caller,
        project,
        after,
        Some(MAX_PAGE_ROWS),
        MAX_STREAM_BYTES,
    )
    .await
}

async fn read(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    after: &str,
    limit: Option<u32>,
    max_bytes: usize,
) -> Ruled<Vec<Change>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let limit = PageRequest::new(Some(limit.unwrap_or(DEFAULT_PAGE_ROWS.min(MAX_PAGE_ROWS))), None)?.limit;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let ledger = context.project()?.id;
    let after = feed_cursor::number(&mut conn, ledger, after).await?;
    let mut found = changes::since_within(&mut conn, Some(ledger), after, limit, max_bytes).await?;
    hide_unseen(&mut conn, caller.visibility(), &mut found).await?;
    show_references(service, &mut conn, &mut found).await?;
    Ok(found)
}

/// The changes of all projects and of the installation itself after a cursor, in the order in which they arrived. The cursor of the
/// last one is where to go on; only an empty answer is the end.
//= specs/spexus-http.md#feed
//# The feed of the installation MUST give an administrator every change of every ledger once and in one order.
#[boxed]
pub async fn since_of_all(
    service: &Service,
    caller: &Caller,
    after: &str,
    limit: Option<u32>,
) -> Ruled<Vec<ArrivedChange>> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    let limit = PageRequest::new(Some(limit.unwrap_or(DEFAULT_PAGE_ROWS.min(MAX_PAGE_ROWS))), None)?.limit;
    let after = feed_cursor::number_of_all(&mut conn, after).await?;
    let mut found = changes::since(&mut conn, None, after, limit).await?;
    show_references(service, &mut conn, &mut found).await?;
    Ok(found.into_iter().map(ArrivedChange::from).collect())
}

/// Takes out of changes what names items a caller may not see: the other ends of links.
//= specs/spexus-service.md#projects
//# The history and the feed MUST NOT name an item the caller may not see.
pub(crate) async fn hide_unseen(conn: &mut Conn, seen: Visibility<'_>, changes: &mut [Change]) -> Result<()> {
    if seen.is_complete() {
        return Ok(());
    }
    for change in changes.iter_mut().filter(|change| change.entity == Entity::Link) {
        let source = is_seen(conn, seen, change.item_id).await?;
        let target = is_seen(conn, seen, change.other_item_id).await?;
        change.hide_ends(source, target);
    }
    Ok(())
}

/// Shows the references that changes name as their projects have them now: the history keeps them plain.
pub(crate) async fn show_references(
    service: &Service,
    conn: &mut Conn,
    changes: &mut [Change],
) -> Result<()> {
    let mut known = HashMap::new();
    for change in changes.iter_mut().filter(|change| change.names_items()) {
        let own = change.project_id.map(ProjectRequest::Id);
        let others = change
            .named_projects()
            .map(|key| ProjectRequest::Key(key.to_owned()));
        for project in own.clone().into_iter().chain(others) {
            if let Entry::Vacant(unknown) = known.entry(project) {
                let prefix = prefix_of(service, conn, unknown.key().clone()).await?;
                unknown.insert(prefix);
            }
        }
        change.show_references(|key| {
            let project = key.map_or_else(|| own.clone(), |key| Some(ProjectRequest::Key(key.to_owned())));
            project
                .and_then(|project| known.get(&project).cloned())
                .unwrap_or_default()
        });
    }
    Ok(())
}

async fn is_seen(conn: &mut Conn, seen: Visibility<'_>, item: Option<Uuid>) -> Result<bool> {
    Ok(match item {
        Some(id) => directory::project(conn, id)
            .await?
            .is_some_and(|project| seen.sees(project)),
        None => false,
    })
}

/// The cursor behind the last change of a project: where a feed that wants only news begins.
#[boxed]
pub async fn now(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<String> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let ledger = context.project()?.id;
    let end = changes::end_of(&mut conn, ledger).await?;
    Ok(end.map_or_else(
        || START.to_owned(),
        |(number, hash)| feed_cursor::write(number, ledger, &hash),
    ))
}

/// The number of the last change of all.
#[boxed]
pub async fn head(service: &Service, caller: &Caller) -> Ruled<i64> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    changes::head(&mut conn).await.map_err(Refusal::from)
}

/// A change with the items it is about, each behind what contains it.
#[derive(Clone, Debug)]
pub struct News {
    /// What happened.
    pub change: Change,
    /// From the top down to the item; two for links, none for what is not about an item.
    pub paths: Vec<Vec<Item>>,
    /// What contained it before it was moved.
    pub left: Option<Item>,
}

/// The changes of all projects after a cursor, for a listener that decides itself who hears of what. Without `places` the
/// items are not looked up.
#[boxed]
pub async fn news(service: &Service, after: i64, limit: u32, places: bool) -> Ruled<Vec<News>> {
    let mut conn = service.store.read().await?;
    let found = changes::since(&mut conn, None, after, limit).await?;
    let mut news = Vec::with_capacity(found.len());
    for change in found {
        let (mut paths, mut left) = (Vec::new(), None);
        if places {
            for id in [change.item_id, change.other_item_id].into_iter().flatten() {
                paths.push(tree::path(&mut conn, id).await?);
            }
            left = left_by(&mut conn, &change).await?;
        }
        news.push(News { change, paths, left });
    }
    Ok(news)
}

/// What contained an item before this change moved it: the history names it by its reference, which is of the same project.
async fn left_by(conn: &mut Conn, change: &Change) -> Result<Option<Item>> {
    let moved = change.fields.iter().find(|field| field.field == "parent");
    let before = moved.and_then(|field| field.before.as_ref()?.as_str());
    match (before.and_then(Reference::parse), change.project_id) {
        (Some(reference), Some(project)) => {
            let id = AnyId::Reference {
                project: None,
                reference,
            };
            items::by_any_id(conn, project, &id).await
        }
        _ => Ok(None),
    }
}
