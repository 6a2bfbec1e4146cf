//! Trees of items, built from the flat list a database gives.

use crate::item::Item;
use serde::Serialize;
use std::collections::HashMap;
use utoipa::ToSchema;
use uuid::Uuid;

/// An item with everything below it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Tree {
    /// The item itself.
    #[serde(flatten)]
    pub item: Item,
    /// What it contains, in order.
    #[schema(no_recursion)]
    pub children: Vec<Tree>,
}

impl Tree {
    /// Builds the tree from its items, the root first and containers before what they contain.
    pub fn build(items: Vec<Item>) -> Option<Self> {
        let root = items.first()?.id;
        let mut nodes: HashMap<Uuid, Tree> = HashMap::with_capacity(items.len());
        let mut order: Vec<(Uuid, Option<Uuid>)> = Vec::with_capacity(items.len());
        for item in items {
            order.push((item.id, item.parent.as_ref().map(|parent| parent.id)));
            nodes.insert(
                item.id,
                Tree {
                    item,
                    children: Vec::new(),
                },
            );
        }
        // From the last to the first, every node is complete before it moves into its container; children therefore
        // arrive in reverse and are turned around when their container moves.
        for (id, parent) in order.into_iter().rev() {
            if id == root {
                continue;
            }
            let Some(mut node) = nodes.remove(&id) else {
                continue;
            };
            node.children.reverse();
            if let Some(container) = parent.and_then(|parent| nodes.get_mut(&parent)) {
                container.children.push(node);
            }
        }
        let mut tree = nodes.remove(&root)?;
        tree.children.reverse();
        Some(tree)
    }

    /// How many items it has.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Tree::count).sum::<usize>()
    }
}
