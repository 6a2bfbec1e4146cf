//! Reading items: one, what it contains, the whole tree below it, and the way to the top.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::limits::{MAX_PAGE_BYTES, MAX_TREE_NODES};
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, Page, PageRequest};
use spexus_domain::tree::Tree;
use spexus_domain::{Code, Kind, Refusal, Ruled, ShownReference};
use spexus_store::tree::SubtreeLimits;
use spexus_store::{items, listing, tree};
use utoipa::ToSchema;

/// A tree, and whether it had to be cut.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Hierarchy {
    /// The tree.
    pub root: Tree,
    /// How many items there are, down to the depth that was asked for.
    pub total_count: i64,
    /// How many of them are shown.
    pub shown_count: i64,
    /// Whether there is more below than was asked for or than one answer may hold.
    pub truncated: bool,
    /// How to get the rest, where something was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

/// One item by any id; with a kind, only of that kind.
#[boxed]
pub async fn get(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
) -> Ruled<Item> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    context
        .item(&mut conn, "id", id, kind)
        .await
        .map_err(Refusal::from)
}

/// What an item directly contains, in order; with kinds, only of those. With a kind of its own, only an item of that kind.
#[boxed]
pub async fn children(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    kinds: Vec<Kind>,
    page: PageRequest,
) -> Ruled<Page<Item>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let parent = context.item(&mut conn, "id", id, kind).await?;
    let filter = ItemFilter {
        parent: Some(parent.id),
        kinds,
        ..ItemFilter::default()
    };
    let order = Order {
        field: OrderField::Position,
        descending: false,
    };
    listing::items(&mut conn, &filter, order, &page)
        .await
        .map_err(Refusal::from)
}

/// The tree below an item, `depth` levels deep or all of it.
#[boxed]
pub async fn hierarchy(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    depth: Option<u32>,
) -> Ruled<Hierarchy> {
    within(service, caller, project, id, depth, false).await
}

/// The tree below an item like [`hierarchy`], with only the beginnings of descriptions: for outlines.
#[boxed]
pub async fn outline(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    depth: Option<u32>,
) -> Ruled<Hierarchy> {
    within(service, caller, project, id, depth, true).await
}

async fn within(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    depth: Option<u32>,
    brief: bool,
) -> Ruled<Hierarchy> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let root = context.item(&mut conn, "id", id, None).await?;
    let extent = SubtreeLimits {
        max_depth: depth.unwrap_or(u32::MAX - 1),
        max_nodes: MAX_TREE_NODES,
        max_bytes: MAX_PAGE_BYTES,
        brief,
    };
    let found = tree::within(&mut conn, root.id, &extent).await?;
    let shown_count = i64::try_from(found.nodes.len()).unwrap_or(i64::MAX);
    let cut = shown_count < found.total;
    let tree = Tree::build(found.nodes.into_iter().map(|node| node.item).collect());
    let tree = tree.ok_or_else(|| Refusal::new(Code::ResourceNotFound, format!("there is no item {id}")))?;
    Ok(Hierarchy {
        root: tree,
        total_count: found.total,
        shown_count,
        truncated: cut || found.deeper,
        //= specs/spexus-service.md#trees
        //# A hierarchy that does not fit into one answer MUST say so, with the number of items in all and how to get the rest.
        rest: cut.then(|| {
            format!(
                "{shown_count} of {} items fit into one answer. Ask for the hierarchy of an item shown here, or list a kind with \
                 under={} page by page.",
                found.total, root.reference_id
            )
        }),
    })
}

/// What contains an item, from the top down to the item itself.
#[boxed]
pub async fn path(service: &Service, caller: &Caller, project: Option<&str>, id: &str) -> Ruled<Page<Item>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, None).await?;
    Ok(Page::whole(tree::path(&mut conn, item.id).await?))
}

/// The items of its kind before and behind an item among its siblings.
#[boxed]
pub async fn beside(service: &Service, caller: &Caller, item: &Item) -> Ruled<[Option<ShownReference>; 2]> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    caller.may_in(Operation::Read, item.project_id)?;
    let found = items::beside(&mut conn, item).await?;
    let prefix = item.reference_id.prefix();
    Ok(found.map(|reference| reference.map(|reference| prefix.show(reference))))
}
