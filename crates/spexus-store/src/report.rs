//! What reports count: items by what is said of them, and the gaps in a tree.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::items::kind;
use spexus_domain::report::{Gap, Tally};
use spexus_domain::{Reference, Uuid};

/// The items a report is about: all living ones of a project, or those below one item.
macro_rules! scoped {
    ($select:literal, $rest:literal) => {
        concat!(
            "WITH RECURSIVE scope (node) AS (",
            "SELECT id FROM item WHERE project_id = $1 AND deleted_at IS NULL ",
            "AND (CAST($2 AS TEXT) = 'all' OR id = $3) ",
            "UNION SELECT o.id FROM item o JOIN scope s ON o.parent_id = s.node WHERE o.deleted_at IS NULL) ",
            $select,
            " FROM scope s CROSS JOIN item i ",
            $rest
        )
    };
}

/// How many items there are of each kind, status, type and assignee.
pub async fn tallies(conn: &mut Conn, project_id: Uuid, under: Option<Uuid>) -> Result<Vec<Tally>> {
    const SQL: &str = scoped!(
        "SELECT i.kind, i.status, i.type, a.username, count(*) AS n",
        "LEFT JOIN account a ON a.id = i.assignee_id WHERE i.id = s.node GROUP BY i.kind, i.status, i.type, a.username ORDER BY i.kind, i.status, i.type, a.username"
    );
    let rows = conn.all(SQL, scope(project_id, under)).await?;
    rows.iter().map(tally).collect()
}

/// Items that lack what they should have, by the name of the gap; at most so many of each.
pub async fn gaps(
    conn: &mut Conn,
    project_id: Uuid,
    under: Option<Uuid>,
    gap: Gap,
) -> Result<Vec<Reference>> {
    const NO_CHILD: &str = scoped!(
        "SELECT i.kind, i.number",
        "WHERE i.id = s.node AND i.kind = $4 AND NOT EXISTS (SELECT 1 FROM item c WHERE c.parent_id = i.id AND c.kind = $5 AND c.deleted_at IS NULL) ORDER BY i.number LIMIT 1000"
    );
    const UNSERVED: &str = scoped!(
        "SELECT i.kind, i.number",
        "WHERE i.id = s.node AND i.kind = 'acceptance_criterion' AND NOT EXISTS (SELECT 1 FROM item c WHERE c.criterion_id = i.id AND c.deleted_at IS NULL) ORDER BY i.number LIMIT 1000"
    );
    const UNLINKED: &str = scoped!(
        "SELECT i.kind, i.number",
        "WHERE i.id = s.node AND i.kind = 'requirement' AND NOT EXISTS (SELECT 1 FROM link l WHERE (l.source_id = i.id OR l.target_id = i.id) AND l.deleted_at IS NULL) ORDER BY i.number LIMIT 1000"
    );
    const SERVING_NONE: &str = scoped!(
        "SELECT i.kind, i.number",
        "WHERE i.id = s.node AND i.kind = 'requirement' AND i.criterion_id IS NULL ORDER BY i.number LIMIT 1000"
    );
    let mut values = scope(project_id, under);
    let sql = match gap {
        Gap::Childless(parent, child) => {
            values.extend(params![parent.name(), child.name()]);
            NO_CHILD
        }
        Gap::UnservedCriterion => UNSERVED,
        Gap::UnlinkedRequirement => UNLINKED,
        Gap::RequirementWithoutCriterion => SERVING_NONE,
    };
    let rows = conn.all(sql, values).await?;
    let reference = |row: &Row| Ok(Reference::of_kind(kind(row, "kind")?, row.int("number")?));
    rows.iter().map(reference).collect()
}

fn scope(project_id: Uuid, under: Option<Uuid>) -> Vec<crate::engine::Param> {
    let mode = if under.is_none() { "all" } else { "below" };
    params![project_id, mode, under.unwrap_or_default()]
}

fn tally(row: &Row) -> Result<Tally> {
    Ok(Tally {
        kind: kind(row, "kind")?,
        status: row.opt_text("status")?,
        requirement_type: row.opt_text("type")?,
        assignee: row.opt_text("username")?,
        count: row.int("n")?,
    })
}
