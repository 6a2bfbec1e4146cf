//! Tables that are made from others, computed again and compared.

use crate::engine::{Conn, Engine, Row, params};
use crate::error::Result;
use crate::state_verdict::StateVerdict;

/// What one statement finds wrong: the table, what is wrong, and the statement, which tells an id and a label.
type Look = (&'static str, &'static str, &'static str);

const LOOKS: &[Look] = &[
    (
        "item_count",
        "it is not how many items there are",
        "SELECT coalesce(c.project_id, n.project_id) AS id, coalesce(c.kind, n.kind) || ' ' || coalesce(c.status, n.status) AS label \
         FROM (SELECT project_id, kind, coalesce(status, '') AS status, count(*) AS n FROM item WHERE deleted_at IS NULL \
         GROUP BY project_id, kind, coalesce(status, '')) n \
         FULL JOIN (SELECT project_id, kind, status, n FROM item_count WHERE n <> 0) c \
         ON c.project_id = n.project_id AND c.kind = n.kind AND c.status = n.status \
         WHERE c.n IS NULL OR n.n IS NULL OR c.n <> n.n ORDER BY 1, 2",
    ),
    (
        "comment",
        "its depth is not that of an answer to what it answers",
        "SELECT m.id, '' AS label FROM comment m LEFT JOIN comment p ON p.project_id = m.project_id AND p.id = m.parent_id \
         WHERE m.depth <> coalesce(p.depth + 1, 0) ORDER BY m.id",
    ),
    (
        "directory",
        "it lists what is not there",
        "SELECT w.id, '' AS label FROM directory w WHERE \
         NOT EXISTS (SELECT 1 FROM item t WHERE t.project_id = w.project_id AND t.id = w.id) AND \
         NOT EXISTS (SELECT 1 FROM comment t WHERE t.project_id = w.project_id AND t.id = w.id) AND \
         NOT EXISTS (SELECT 1 FROM link t WHERE t.project_id = w.project_id AND t.id = w.id) AND \
         w.id NOT IN (SELECT id FROM staged_item UNION ALL SELECT id FROM staged_comment UNION ALL SELECT id FROM staged_link) \
         ORDER BY w.id",
    ),
    (
        "trace_part",
        "no push brought it",
        "SELECT t.push_id AS id, '' AS label FROM trace_part t WHERE NOT EXISTS (SELECT 1 FROM trace_push p \
         WHERE p.project_id = t.project_id AND p.id = t.push_id) ORDER BY t.push_id, t.ordinal",
    ),
    (
        "search_doc",
        "an item is not found as it should be",
        "SELECT i.id, '' AS label FROM item i LEFT JOIN search_doc d ON d.project_id = i.project_id AND d.item_id = i.id \
         AND d.comment_id IS NULL AND d.kind = i.kind \
         WHERE i.deleted_at IS NULL GROUP BY i.project_id, i.id HAVING count(d.doc) <> 1 ORDER BY i.id",
    ),
    (
        "search_doc",
        "a comment is not found as it should be",
        "SELECT m.id, '' AS label FROM comment m JOIN item i ON i.project_id = m.project_id AND i.id = m.item_id \
         LEFT JOIN search_doc d ON d.project_id = m.project_id AND d.comment_id = m.id AND d.item_id = i.id AND d.kind = i.kind \
         WHERE m.deleted_at IS NULL AND i.deleted_at IS NULL GROUP BY m.project_id, m.id HAVING count(d.doc) <> 1 ORDER BY m.id",
    ),
    (
        "search_doc",
        "it is of nothing that lives",
        "SELECT d.item_id AS id, '' AS label FROM search_doc d \
         LEFT JOIN item i ON i.project_id = d.project_id AND i.id = d.item_id AND i.deleted_at IS NULL \
         LEFT JOIN comment m ON m.project_id = d.project_id AND m.id = d.comment_id AND m.deleted_at IS NULL \
         WHERE (i.id IS NULL OR (d.comment_id IS NOT NULL AND m.id IS NULL)) \
         AND NOT EXISTS (SELECT 1 FROM staged_import s WHERE d.doc BETWEEN s.first_doc AND s.last_doc) ORDER BY d.doc",
    ),
];

/// The words of documents that SQLite keeps apart from them.
const SQLITE_LOOKS: &[Look] = &[(
    "search_doc",
    "there are no words of it",
    "SELECT d.item_id AS id, '' AS label FROM search_doc d LEFT JOIN search_text_docsize t ON t.id = d.doc \
     WHERE t.id IS NULL ORDER BY d.doc",
)];

/// Compares what is derived. The connection must see one moment.
//= specs/spexus-store.md#history
//# Verification MUST compute totals, numbers given out and the documents of search again, and find those that differ.
pub(crate) async fn compare(conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
    let own = match conn.engine() {
        Engine::Sqlite => SQLITE_LOOKS,
        Engine::Postgres => &[],
    };
    for (table, problem, sql) in LOOKS.iter().chain(own) {
        for row in &conn.all(*sql, params![]).await? {
            verdict.note(table, row.id("id")?, &row.text("label")?, *problem);
        }
    }
    crate::trace::compare(conn, verdict).await?;
    compare_counters(conn, verdict).await
}

/// A number that was given out must not be given out again. One that is skipped does no harm, and an import brings such.
async fn compare_counters(conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
    let sql = "SELECT i.project_id AS id, i.kind, max(i.number) AS given FROM item i GROUP BY i.project_id, i.kind ORDER BY 1, 2";
    let mut given = Vec::new();
    for row in &conn.all(sql, params![]).await? {
        // An item of no kind is told by the replay.
        let Ok(kind) = crate::items::kind(row, "kind") else {
            continue;
        };
        let prefix = kind.rules().prefix;
        given.push((row.id("id")?, prefix, row.int("given")?));
    }
    let sql = "SELECT max(number) AS given FROM prompt";
    let prompts = conn.one(sql, params![]).await?.opt_int("given")?;
    let nowhere = spexus_domain::Uuid::nil();
    given.extend(prompts.map(|number| (nowhere, spexus_domain::id::PROMPT_PREFIX, number)));
    let last = |row: &Row| Ok(((row.id("project_id")?, row.text("prefix")?), row.int("last")?));
    let rows = conn
        .all("SELECT project_id, prefix, last FROM counter", params![])
        .await?;
    let counters = rows
        .iter()
        .map(last)
        .collect::<Result<std::collections::HashMap<_, _>>>()?;
    for (project, prefix, number) in given {
        if counters
            .get(&(project, prefix.to_owned()))
            .is_none_or(|last| *last < number)
        {
            verdict.note(
                "counter",
                project,
                prefix,
                "it would give a number out a second time",
            );
        }
    }
    Ok(())
}
