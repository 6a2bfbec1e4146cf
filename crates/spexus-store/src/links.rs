//! Links between items.

use crate::cursor;
use crate::directory::{project_of, project_of_bound};
use crate::engine::{Conn, Engine, Param, Row, params};
use crate::error::{Error, Result};
use crate::items::kind;
use crate::listing::Conditions;
use crate::reference_prefix::prefix;
use crate::tx::Tx;
use spexus_domain::item::{Item, heading};
use spexus_domain::link::{Link, LinkEnd, LinkType};
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::visibility::Visibility;
use spexus_domain::{Reference, Uuid};
use std::collections::BTreeSet;

/// Links that are read together by their ids.
const LINKS_AT_ONCE: usize = 500;

//= specs/spexus-store.md#links
//# The texts of the ends of a link MUST NOT be read beyond what names an item without a title.
macro_rules! beginning {
    ($item:literal, $name:literal) => {
        concat!(
            "CASE WHEN ",
            $item,
            ".title = '' THEN substr(",
            $item,
            ".description, 1, 200) ELSE '' END AS ",
            $name,
            ", "
        )
    };
}

pub(crate) use beginning;

macro_rules! select_links {
    ($rest:literal) => {
        concat!(
            "SELECT l.id, l.type, t.definition, l.source_hash, l.target_hash, l.rev, l.created_at, c.username AS created_by, ",
            "s.id AS source_id, s.kind AS source_kind, s.number AS source_number, s.title AS source_title, ",
            $crate::links::beginning!("s", "source_text"), "s.content_hash AS source_now, s.project_id AS source_project_id, sp.key AS source_project, ",
            $crate::reference_prefix::prefix_of!("sp"), " AS source_prefix, ",
            "e.id AS target_id, e.kind AS target_kind, e.number AS target_number, e.title AS target_title, ",
            $crate::links::beginning!("e", "target_text"), "e.content_hash AS target_now, e.project_id AS target_project_id, ep.key AS target_project, ",
            $crate::reference_prefix::prefix_of!("ep"), " AS target_prefix ",
            "FROM link l JOIN link_type t ON t.name = l.type JOIN account c ON c.id = l.created_by ",
            "JOIN item s ON s.project_id = l.source_project_id AND s.id = l.source_id ",
            "JOIN item e ON e.project_id = l.target_project_id AND e.id = l.target_id ",
            "JOIN project sp ON sp.id = s.project_id JOIN project ep ON ep.id = e.project_id ",
            $rest
        )
    };
}
pub(crate) use select_links;

/// A living link by its id.
pub async fn by_id(conn: &mut Conn, id: Uuid) -> Result<Option<Link>> {
    const SQL: &str = concat!(
        select_links!("WHERE l.id = $1 AND l.deleted_at IS NULL AND l.project_id = "),
        project_of!("$1")
    );
    let row = conn.optional(SQL, params![id]).await?;
    row.map(|row| link(&row)).transpose()
}

/// Which links of an item are meant.
#[derive(Clone, Debug, Default)]
pub struct LinkFilter {
    /// Only those of this type.
    pub link_type: Option<String>,
    /// Only those the item is this end of.
    pub end: Option<End>,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it begins.
    Source,
    /// Where it leads.
    Target,
}

impl End {
    const BOTH: [End; 2] = [End::Source, End::Target];

    /// The column of the item at this end, and that of the project of the other end.
    const fn columns(self) -> [&'static str; 2] {
        match self {
            End::Source => ["l.source_id", "l.target_project_id"],
            End::Target => ["l.target_id", "l.source_project_id"],
        }
    }
}

/// A page of the links of an item, and how many more there are that lead to what may not be seen.
#[derive(Clone, Debug)]
pub struct LinkPage {
    /// Those that may be seen.
    pub page: Page<Link>,
    /// How many others pass the filter.
    pub hidden_count: i64,
}

//= specs/spexus-store.md#links
//# The links of an item MUST come in pages, each link once and oldest first, with the number of all of them.
/// One page of the living links an item is an end of, oldest first.
pub async fn of_item(
    conn: &mut Conn,
    item_id: Uuid,
    filter: &LinkFilter,
    seen: Visibility<'_>,
    page: &PageRequest,
) -> Result<LinkPage> {
    let behind: Option<(i64, Uuid)> = page.cursor.as_deref().map(cursor::read).transpose()?;
    let (mut found, mut total, mut shown) = (Vec::new(), 0, 0);
    let ends = End::BOTH.into_iter();
    for end in ends.filter(|end| filter.end.is_none_or(|wanted| wanted == *end)) {
        let all = Conditions::of_end(item_id, filter, end, Visibility::EVERY);
        total += count(conn, all).await?;
        if !seen.is_complete() {
            shown += count(conn, Conditions::of_end(item_id, filter, end, seen)).await?;
        }
        let mut query = Conditions::of_end(item_id, filter, end, seen);
        if let Some((at, id)) = behind {
            let (at, id) = (query.bind(at), query.bind(id));
            query.add(format!("(l.created_at, l.id) > ({at}, {id})"));
        }
        let limit = query.bind(page.limit + 1);
        let sql = format!(
            "{} WHERE {} ORDER BY l.created_at, l.id LIMIT {limit}",
            select_links!(""),
            query.text()
        );
        found.extend(conn.all(sql, query.params).await?);
    }
    let mut data = found.iter().map(link).collect::<Result<Vec<_>>>()?;
    data.sort_by_key(|link| (link.created_at, link.id));
    let more = data.len() > page.limit as usize;
    data.truncate(page.limit as usize);
    let last = data.last().filter(|_| more);
    let next_cursor = last.map(|last| cursor::write(&(last.created_at.0, last.id)));
    let shown = if seen.is_complete() { total } else { shown };
    Ok(LinkPage {
        page: Page::new(data, shown, next_cursor),
        hidden_count: total - shown,
    })
}

//= specs/spexus-store.md#links
//# The links of many items MUST come in a number of statements that does not grow with the items, each link once, oldest first,
//# and cut at a number that is asked for.
/// The living links that some items of one project are an end of, each once, oldest first, and whether there are more than `limit`.
pub async fn of_items(
    conn: &mut Conn,
    project_id: Uuid,
    items: &[Uuid],
    filter: &LinkFilter,
    seen: Visibility<'_>,
    limit: u32,
) -> Result<(Vec<Link>, bool)> {
    let mut found = Vec::new();
    let ends = End::BOTH.into_iter();
    for end in ends.filter(|end| filter.end.is_none_or(|wanted| wanted == *end)) {
        let [here, there] = end.columns();
        let mut query = Conditions::default();
        query.among("l.project_id", [project_id]);
        query.among(here, items.iter().copied());
        query.add("l.deleted_at IS NULL".to_owned());
        query.any_of("l.type", filter.link_type.iter().map(Param::from));
        if let Some(projects) = seen.projects() {
            query.among(there, projects);
        }
        let limit = query.bind(limit + 1);
        let sql = format!(
            "{} WHERE {} ORDER BY l.created_at, l.id LIMIT {limit}",
            select_links!(""),
            query.text()
        );
        let rows = conn.all(sql, query.params).await?;
        found.extend(rows.iter().map(link).collect::<Result<Vec<_>>>()?);
    }
    found.sort_by_key(|link| (link.created_at, link.id));
    found.dedup_by_key(|link| link.id);
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    Ok((found, more))
}

/// No page is cheaper than this count: the links of an item have no index in their order.
async fn count(conn: &mut Conn, query: Conditions) -> Result<i64> {
    let sql = format!("SELECT count(*) AS n FROM link l WHERE {}", query.text());
    conn.one(sql, query.params).await?.int("n")
}

impl Conditions {
    /// Of links an item is one end of, and the other end of which may be seen.
    fn of_end(item_id: Uuid, filter: &LinkFilter, end: End, seen: Visibility<'_>) -> Self {
        let [here, there] = end.columns();
        let mut query = Self::default();
        let item = query.bind(item_id);
        query.add(format!(
            "l.project_id = {} AND {here} = {item}",
            project_of_bound(&item)
        ));
        query.add("l.deleted_at IS NULL".to_owned());
        query.any_of("l.type", filter.link_type.iter().map(Param::from));
        if let Some(projects) = seen.projects() {
            query.among(there, projects);
        }
        query
    }
}

/// The id of the living link that joins two items with a type.
pub async fn between(conn: &mut Conn, link_type: &str, source: Uuid, target: Uuid) -> Result<Option<Uuid>> {
    const SQL: &str = concat!(
        "SELECT id FROM link WHERE source_id = $1 AND target_id = $2 AND type = $3 AND deleted_at IS NULL AND project_id = ",
        project_of!("$1")
    );
    conn.optional(SQL, params![source, target, link_type])
        .await?
        .map(|row| row.id("id"))
        .transpose()
}

/// Whether following living links of a type leads from one item to another, however long the way is. Every item is
/// visited once, and the search ends where it is found.
pub async fn leads_to(conn: &mut Conn, link_type: &str, from: Uuid, to: Uuid) -> Result<bool> {
    const SQLITE: &str = "WITH RECURSIVE reach (project, node) AS (SELECT project_id, id FROM directory WHERE id = $1 UNION \
                          SELECT l.target_project_id, l.target_id FROM link l JOIN reach r ON l.project_id = r.project \
                          AND l.source_id = r.node WHERE l.type = $2 AND l.deleted_at IS NULL) \
                          SELECT node FROM reach WHERE node = $3 LIMIT 1";
    // Where it knows little of the table, PostgreSQL would read all of it for every step; a look-up it may not merge
    // into the join is made by index. A chain of 10,000 took minutes and takes 0.14 s.
    const POSTGRES: &str = "WITH RECURSIVE reach (project, node) AS (SELECT project_id, id FROM directory WHERE id = $1 UNION \
                            SELECT n.target_project_id, n.target_id FROM reach r CROSS JOIN LATERAL \
                            (SELECT l.target_project_id, l.target_id FROM link l WHERE l.project_id = r.project \
                            AND l.source_id = r.node AND l.type = $2 AND l.deleted_at IS NULL OFFSET 0) n) \
                            SELECT node FROM reach WHERE node = $3 LIMIT 1";
    let sql = match conn.engine() {
        Engine::Sqlite => SQLITE,
        Engine::Postgres => POSTGRES,
    };
    let found = conn.optional(sql, params![from, link_type, to]).await?;
    Ok(found.is_some())
}

/// Writes a new link, confirmed against both ends as they are.
//= specs/spexus-store.md#keys
//# A link of two projects MUST have a row in each, written in one transaction, and the two MUST always say the same.
pub async fn insert(tx: &mut Tx, id: Uuid, link_type: &LinkType, source: &Item, target: &Item) -> Result<()> {
    let sql = "INSERT INTO link (project_id, id, type, source_project_id, source_id, target_project_id, target_id, source_hash, \
               target_hash, rev, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, $10, $11)";
    let (user, now) = (tx.actor().user_id, tx.now());
    tx.concerns(source.project_id)?;
    tx.concerns(target.project_id)?;
    let mut projects = vec![source.project_id];
    if source.project_id != target.project_id {
        projects.push(target.project_id);
    }
    for project in projects {
        let values = params![
            project,
            id,
            &link_type.name,
            source.project_id,
            source.id,
            target.project_id,
            target.id,
            &source.content_hash,
            &target.content_hash,
            user,
            now
        ];
        tx.conn.run(sql, values).await?;
    }
    Ok(())
}

/// Confirms a link against both ends as they are now. Tells what they say, as hashes.
pub async fn confirm(tx: &mut Tx, link: &Link) -> Result<[String; 2]> {
    let sql = "UPDATE link SET source_hash = \
               (SELECT content_hash FROM item WHERE item.project_id = link.source_project_id AND item.id = link.source_id), \
               target_hash = \
               (SELECT content_hash FROM item WHERE item.project_id = link.target_project_id AND item.id = link.target_id), \
               rev = rev + 1 WHERE project_id IN ($2, $3) AND id = $1 RETURNING source_hash, target_hash";
    stay_in_lane(tx, std::slice::from_ref(link))?;
    let (source, target) = (link.source.project_id, link.target.project_id);
    let rows = tx.conn.all(sql, params![link.id, source, target]).await?;
    let row = rows
        .first()
        .ok_or_else(|| Error::Broken("a link is gone".into()))?;
    Ok([row.text("source_hash")?, row.text("target_hash")?])
}

/// Soft delete of links, alone or with the items that go under `deletion_id`.
pub async fn soft_delete(tx: &mut Tx, links: &[Link], deletion_id: Option<Uuid>) -> Result<()> {
    let mut query = Conditions::default();
    stay_in_lane(tx, links)?;
    let (now, deletion) = (query.bind(tx.now()), query.bind(deletion_id));
    query.among("project_id", projects_of(links));
    query.among("id", links.iter().map(|link| link.id));
    let sql = format!(
        "UPDATE link SET deleted_at = {now}, deletion_id = {deletion}, rev = rev + 1 WHERE {}",
        query.text()
    );
    tx.conn.run(sql, query.params).await.map(drop)
}

/// Says that the projects of both ends of some links are concerned.
fn stay_in_lane(tx: &mut Tx, links: &[Link]) -> Result<()> {
    projects_of(links)
        .into_iter()
        .try_for_each(|project| tx.concerns(project))
}

/// The projects in which some links have rows.
fn projects_of(links: &[Link]) -> BTreeSet<Uuid> {
    let ends = links.iter();
    ends.flat_map(|link| [link.source.project_id, link.target.project_id])
        .collect()
}

/// Undeletes the links that one deletion took with its items, where both ends live again. Returns them.
pub async fn undelete_by(tx: &mut Tx, project_id: Uuid, deletion_id: Uuid) -> Result<Vec<Link>> {
    let sql = "SELECT l.id FROM link l WHERE l.project_id = $1 AND l.deletion_id = $2 \
               AND NOT EXISTS (SELECT 1 FROM item i WHERE i.project_id = l.source_project_id AND i.id = l.source_id \
               AND i.deleted_at IS NOT NULL) \
               AND NOT EXISTS (SELECT 1 FROM item i WHERE i.project_id = l.target_project_id AND i.id = l.target_id \
               AND i.deleted_at IS NOT NULL) \
               AND NOT EXISTS (SELECT 1 FROM link o WHERE o.project_id = $1 AND o.source_id = l.source_id \
               AND o.target_id = l.target_id AND o.type = l.type AND o.deleted_at IS NULL)";
    let rows = tx.conn.all(sql, params![project_id, deletion_id]).await?;
    let ids = rows.iter().map(|row| row.id("id")).collect::<Result<Vec<_>>>()?;
    let mut links = Vec::with_capacity(ids.len());
    for some in ids.chunks(LINKS_AT_ONCE) {
        let mut query = Conditions::default();
        query.among("l.project_id", [project_id]);
        query.among("l.id", some.iter().copied());
        let sql = format!("{} WHERE {} ORDER BY l.id", select_links!(""), query.text());
        let rows = tx.conn.all(sql, query.params).await?;
        let found = rows.iter().map(link).collect::<Result<Vec<_>>>()?;
        stay_in_lane(tx, &found)?;
        let mut query = Conditions::default();
        query.among("project_id", projects_of(&found));
        query.among("id", some.iter().copied());
        let sql = format!(
            "UPDATE link SET deleted_at = NULL, deletion_id = NULL, rev = rev + 1 WHERE {}",
            query.text()
        );
        tx.conn.run(sql, query.params).await?;
        links.extend(found);
    }
    Ok(links)
}

pub(crate) fn link(row: &Row) -> Result<Link> {
    let definition: LinkType = row.json("definition")?;
    let suspect = row.text("source_hash")? != row.text("source_now")?
        || row.text("target_hash")? != row.text("target_now")?;
    Ok(Link {
        id: row.id("id")?,
        link_type: definition.name,
        inverse: definition.inverse,
        source: end(
            row,
            [
                "source_id",
                "source_kind",
                "source_number",
                "source_title",
                "source_text",
                "source_project",
                "source_project_id",
                "source_prefix",
            ],
        )?,
        target: end(
            row,
            [
                "target_id",
                "target_kind",
                "target_number",
                "target_title",
                "target_text",
                "target_project",
                "target_project_id",
                "target_prefix",
            ],
        )?,
        suspect,
        created_by: row.text("created_by")?,
        created_at: row.time("created_at")?,
    })
}

fn end(
    row: &Row,
    [id, kind_of, number, title, text, project, project_id, of_project]: [&str; 8],
) -> Result<LinkEnd> {
    let kind = kind(row, kind_of)?;
    Ok(LinkEnd {
        id: row.id(id)?,
        reference_id: prefix(row, of_project)?.show(Reference::of_kind(kind, row.int(number)?)),
        project: row.text(project)?,
        project_id: row.id(project_id)?,
        kind,
        title: heading(&row.text(title)?, &row.text(text)?),
    })
}
