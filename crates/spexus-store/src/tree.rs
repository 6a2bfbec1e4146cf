//! Trees: everything below an item, and the way from it to the top.

use crate::directory::project_of;
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

/// How much of a tree is wanted.
#[derive(Clone, Copy, Debug)]
pub struct SubtreeLimits {
    /// Levels below the root.
    pub max_depth: u32,
    /// Items.
    pub max_nodes: u32,
    /// Bytes of what is shown of them.
    pub max_bytes: usize,
    /// Whether only the beginnings of descriptions are shown.
    pub brief: bool,
}

/// The beginning of a tree, as far as one answer holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subtree {
    /// Containers before what they contain, siblings in their order.
    pub nodes: Vec<Node>,
    /// How many items there are down to the depth that was asked for.
    pub total: i64,
    /// Whether there are items below that depth.
    pub deeper: bool,
}

/// What an item takes in an answer beside its texts.
const NODE_BYTES: i64 = 400;

//= specs/spexus-store.md#trees
//# A tree MUST be cut by the bytes of its texts before they are read, and its total MUST count what was cut.
/// The item and what is below it, as much as the limits allows. What does not fit is counted but not read.
pub async fn within(conn: &mut Conn, root: Uuid, limits: &SubtreeLimits) -> Result<Subtree> {
    const SQL: &str = concat!(
        "WITH RECURSIVE down (project, node, depth) AS (",
        "SELECT project_id, id, CAST(0 AS BIGINT) FROM item WHERE id = $1 AND project_id = ",
        project_of!("$1"),
        " UNION ALL ",
        "SELECT o.project_id, o.id, d.depth + 1 FROM item o JOIN down d ON o.project_id = d.project AND o.parent_id = d.node ",
        "WHERE o.deleted_at IS NULL AND d.depth <= $2), ",
        "sized (project, node, depth, total, deepest, running) AS (SELECT d.project, d.node, d.depth, ",
        "CAST(sum(CASE WHEN d.depth <= $2 THEN 1 ELSE 0 END) OVER () AS BIGINT), max(d.depth) OVER (), ",
        "CAST(sum($5 + octet_length(i.title) + CASE WHEN octet_length(i.description) < $6 THEN octet_length(i.description) ",
        "ELSE $6 END + octet_length(i.attributes)) OVER (ORDER BY d.depth, i.position, i.id) AS BIGINT) ",
        "FROM down d CROSS JOIN item i WHERE i.project_id = d.project AND i.id = d.node) ",
        select_items!(
            ", z.depth, z.total, z.deepest",
            "sized z CROSS JOIN item i",
            "WHERE i.project_id = z.project AND i.id = z.node AND z.depth <= $2 \
             AND (z.depth = 0 OR z.running <= $4) ORDER BY z.depth, i.position, i.id LIMIT $3"
        )
    );
    let (sql, longest) = match limits.brief {
        true => {
            let beginning = format!("substr(i.description, 1, {BRIEF_CHARS}) AS description,");
            (SQL.replacen("i.description,", &beginning, 1), BRIEF_CHARS)
        }
        false => (SQL.to_owned(), i64::MAX),
    };
    let max_bytes = i64::try_from(limits.max_bytes).unwrap_or(i64::MAX);
    let values = params![
        root,
        limits.max_depth,
        limits.max_nodes,
        max_bytes,
        NODE_BYTES,
        longest
    ];
    let rows = conn.all(sql, values).await?;
    let first = rows.first();
    let deepest = first.map(|row| row.int("deepest")).transpose()?;
    Ok(Subtree {
        total: first.map(|row| row.int("total")).transpose()?.unwrap_or(0),
        deeper: deepest.is_some_and(|depth| depth > i64::from(limits.max_depth)),
        nodes: rows
            .iter()
            .map(|row| {
                Ok(Node {
                    item: item(row)?,
                    depth: row.int("depth")?,
                })
            })
            .collect::<Result<_>>()?,
    })
}

/// Characters of a description that an outline may need.
const BRIEF_CHARS: i64 = 200;

/// What contains the item, from the top down to the item itself.
pub async fn path(conn: &mut Conn, id: Uuid) -> Result<Vec<Item>> {
    const SQL: &str = concat!(
        "WITH RECURSIVE up (project, node, above, depth) AS (",
        "SELECT project_id, id, parent_id, CAST(0 AS BIGINT) FROM item WHERE id = $1 AND project_id = ",
        project_of!("$1"),
        " UNION ALL ",
        "SELECT o.project_id, o.id, o.parent_id, u.depth + 1 FROM item o JOIN up u ON o.project_id = u.project AND o.id = u.above ",
        "WHERE u.depth < 100) ",
        select_items!(
            "",
            "up u CROSS JOIN item i",
            "WHERE i.project_id = u.project AND i.id = u.node ORDER BY u.depth DESC"
        )
    );
    items(&conn.all(SQL, params![id]).await?)
}
