//! What falls with an item, as far as a preview tells it: names and numbers, in as many statements as there are questions,
//! whatever the size of the tree and of its texts.

use crate::directory::project_of;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::items::kind;
use crate::links::{self, select_links};
use crate::reference_prefix::prefix;
use spexus_domain::deletion::Falling;
use spexus_domain::item::heading;
use spexus_domain::link::Link;
use spexus_domain::visibility::Visibility;
use spexus_domain::{Reference, ShownReference, Uuid};

/// The item and everything living below it.
macro_rules! with_tree {
    ($rest:literal) => {
        concat!(
            "WITH RECURSIVE down (project, node, depth) AS (",
            "SELECT project_id, id, CAST(0 AS BIGINT) FROM item WHERE id = $1 AND project_id = ",
            project_of!("$1"),
            " UNION ALL SELECT o.project_id, o.id, d.depth + 1 FROM item o JOIN down d ON o.project_id = d.project ",
            "AND o.parent_id = d.node WHERE o.deleted_at IS NULL)",
            $rest
        )
    };
}

//= specs/spexus-store.md#trees
//# What falls with an item MUST be told without reading whole texts, in a number of statements that does not grow with it.
/// The item and everything living below it, at most `max_items`. Containers come before what they contain, siblings in
/// their order.
pub async fn items(conn: &mut Conn, root: Uuid, max_items: u32) -> Result<Vec<Falling>> {
    const SQL: &str = with_tree!(
        " SELECT i.id, i.kind, i.number, i.title, CASE WHEN p.prefix_references = 1 THEN p.key END AS prefix, \
         CASE WHEN i.title = '' THEN substr(i.description, 1, 200) ELSE '' END AS beginning \
         FROM down d CROSS JOIN item i CROSS JOIN project p \
         WHERE i.project_id = d.project AND i.id = d.node AND p.id = d.project ORDER BY d.depth, i.position, i.id LIMIT $2"
    );
    let rows = conn.all(SQL, params![root, max_items]).await?;
    rows.iter()
        .map(|row| {
            let kind = kind(row, "kind")?;
            Ok(Falling {
                id: row.id("id")?,
                reference_id: prefix(row, "prefix")?.show(Reference::of_kind(kind, row.int("number")?)),
                kind,
                title: heading(&row.text("title")?, &row.text("beginning")?),
            })
        })
        .collect()
}

/// How many living links the tree is an end of, and how many of them lead to what may not be seen.
pub async fn count_links(conn: &mut Conn, root: Uuid, seen: Visibility<'_>) -> Result<(i64, i64)> {
    const SQL: &str = with_tree!(
        ", ends (project, id) AS (\
         SELECT l.project_id, l.id FROM down d CROSS JOIN link l WHERE l.project_id = d.project AND l.source_id = d.node \
         AND l.deleted_at IS NULL UNION \
         SELECT l.project_id, l.id FROM down d CROSS JOIN link l WHERE l.project_id = d.project AND l.target_id = d.node \
         AND l.deleted_at IS NULL) \
         SELECT l.source_project_id AS source, l.target_project_id AS target, count(*) AS n \
         FROM ends n CROSS JOIN link l WHERE l.project_id = n.project AND l.id = n.id \
         GROUP BY l.source_project_id, l.target_project_id"
    );
    let (mut all, mut hidden) = (0, 0);
    for row in conn.all(SQL, params![root]).await? {
        let count = row.int("n")?;
        all += count;
        if !seen.sees(row.id("source")?) || !seen.sees(row.id("target")?) {
            hidden += count;
        }
    }
    Ok((all, hidden))
}

/// Some of the living links the tree is an end of, at most `max_links`.
pub async fn links(conn: &mut Conn, root: Uuid, max_links: u32) -> Result<Vec<Link>> {
    const ENDS: &str = with_tree!(
        ", ends (project, id) AS (\
         SELECT l.project_id, l.id FROM down d CROSS JOIN link l WHERE l.project_id = d.project AND l.source_id = d.node \
         AND l.deleted_at IS NULL UNION \
         SELECT l.project_id, l.id FROM down d CROSS JOIN link l WHERE l.project_id = d.project AND l.target_id = d.node \
         AND l.deleted_at IS NULL) "
    );
    const LINKS: &str =
        select_links!("WHERE (l.project_id, l.id) IN (SELECT project, id FROM ends) ORDER BY l.id LIMIT $2");
    let rows = conn
        .all(format!("{ENDS}{LINKS}"), params![root, max_links])
        .await?;
    rows.iter().map(links::link).collect()
}

/// How many living comments the tree has.
pub async fn count_comments(conn: &mut Conn, root: Uuid) -> Result<i64> {
    const SQL: &str = with_tree!(
        " SELECT count(*) AS n FROM down d CROSS JOIN comment m WHERE m.project_id = d.project AND m.item_id = d.node \
         AND m.deleted_at IS NULL"
    );
    conn.one(SQL, params![root]).await?.int("n")
}

/// The requirements outside the tree that point to a criterion in it.
pub async fn unpointed(conn: &mut Conn, root: Uuid) -> Result<Vec<ShownReference>> {
    const SQL: &str = with_tree!(
        " SELECT i.kind, i.number, CASE WHEN p.prefix_references = 1 THEN p.key END AS prefix \
         FROM down d CROSS JOIN item i CROSS JOIN project p \
         WHERE i.project_id = d.project AND i.criterion_id = d.node AND p.id = d.project \
         AND i.deleted_at IS NULL AND i.id NOT IN (SELECT node FROM down) ORDER BY i.number"
    );
    let rows = conn.all(SQL, params![root]).await?;
    rows.iter()
        .map(|row| {
            let reference = Reference::of_kind(kind(row, "kind")?, row.int("number")?);
            Ok(prefix(row, "prefix")?.show(reference))
        })
        .collect()
}
