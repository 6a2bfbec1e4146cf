//! Trees: everything below an item, and the way from it to the top.

use crate::engine::{Conn, params};
use crate::error::Result;
use crate::items::{item, items, select_items};
use spexus_domain::Uuid;
use spexus_domain::item::Item;

/// An item and how deep below the root it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The item.
    pub item: Item,
    /// 0 for the root.
    pub depth: i64,
}

/// The item and everything living below it, down to `max_depth`, at most `max_nodes` of them. Containers come before
/// what they contain, siblings in their order.
pub async fn below(conn: &mut Conn, root: Uuid, max_depth: u32, max_nodes: u32) -> Result<Vec<Node>> {
    const SQL: &str = concat!(
        "WITH RECURSIVE down (node, depth) AS (",
        "SELECT id, CAST(0 AS BIGINT) FROM item WHERE id = $1 UNION ALL ",
        "SELECT o.id, d.depth + 1 FROM item o JOIN down d ON o.parent_id = d.node ",
        "WHERE o.deleted_at IS NULL AND d.depth < $2) ",
        select_items!(
            ", d.depth",
            // Crosswise, because SQLite would rather look through all items for those of the tree.
            "down d CROSS JOIN item i",
            "WHERE i.id = d.node ORDER BY d.depth, i.position, i.id LIMIT $3"
        )
    );
    let rows = conn.all(SQL, params![root, max_depth, max_nodes]).await?;
    rows.iter()
        .map(|row| {
            Ok(Node {
                item: item(row)?,
                depth: row.int("depth")?,
            })
        })
        .collect()
}

/// What contains the item, from the top down to the item itself.
pub async fn path(conn: &mut Conn, id: Uuid) -> Result<Vec<Item>> {
    const SQL: &str = concat!(
        "WITH RECURSIVE up (node, above, depth) AS (",
        "SELECT id, parent_id, CAST(0 AS BIGINT) FROM item WHERE id = $1 UNION ALL ",
        "SELECT o.id, o.parent_id, u.depth + 1 FROM item o JOIN up u ON o.id = u.above WHERE u.depth < 100) ",
        select_items!(
            "",
            "up u CROSS JOIN item i",
            "WHERE i.id = u.node ORDER BY u.depth DESC"
        )
    );
    items(&conn.all(SQL, params![id]).await?)
}
