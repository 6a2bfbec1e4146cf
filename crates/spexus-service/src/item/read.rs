//! Reading items: one, what it contains, the whole tree below it, and the way to the top.

use crate::context::{Context, reading};
use crate::{Service, told};
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_TREE_NODES;
use spexus_domain::permission::Operation;
use spexus_domain::query::{ItemFilter, Order, OrderField, Page, PageRequest};
use spexus_domain::tree::Tree;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_store::{listing, tree};
use utoipa::ToSchema;

/// A tree, and whether it had to be cut.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Hierarchy {
    /// The tree.
    pub root: Tree,
    /// How many items it has.
    pub total_count: usize,
    /// Whether there is more below than was asked for or than one answer may hold.
    pub truncated: bool,
}

/// One item by any id; with a kind, only of that kind.
pub async fn get(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
) -> Ruled<Item> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    context.item(&mut conn, "id", id, kind).await.map_err(told)
}

/// What an item directly contains, in order; with kinds, only of those. With a kind of its own, only an item of that kind.
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
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    let parent = context.item(&mut conn, "id", id, kind).await.map_err(told)?;
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
        .map_err(told)
}

/// The tree below an item, `depth` levels deep or all of it.
pub async fn hierarchy(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    depth: Option<u32>,
) -> Ruled<Hierarchy> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    let root = context.item(&mut conn, "id", id, None).await.map_err(told)?;
    let wanted = depth.unwrap_or(u32::MAX);
    // One level more than wanted tells whether something was left out.
    let mut nodes = tree::below(&mut conn, root.id, wanted.saturating_add(1), MAX_TREE_NODES + 1)
        .await
        .map_err(told)?;
    let found = nodes.len();
    nodes.retain(|node| node.depth <= i64::from(wanted));
    nodes.truncate(MAX_TREE_NODES as usize);
    let truncated = nodes.len() < found;
    let total_count = nodes.len();
    let root = Tree::build(nodes.into_iter().map(|node| node.item).collect());
    let root = root.ok_or_else(|| Refusal::new(Code::ResourceNotFound, format!("there is no item {id}")))?;
    Ok(Hierarchy {
        root,
        total_count,
        truncated,
    })
}

/// What contains an item, from the top down to the item itself.
pub async fn path(service: &Service, caller: &Caller, project: Option<&str>, id: &str) -> Ruled<Page<Item>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    let item = context.item(&mut conn, "id", id, None).await.map_err(told)?;
    Ok(Page::whole(tree::path(&mut conn, item.id).await.map_err(told)?))
}
