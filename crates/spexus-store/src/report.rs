//! What reports count: items by what is said of them, and the gaps in a tree. Every section is counted to its end and
//! read page by page; each statement walks an index once, so a report costs as much as there are items and links.

use crate::cursor;
use crate::directory::project_of;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::items::kind;
use crate::listing::page_of;
use crate::reference_prefix::{prefix, prefix_of};
use serde::{Deserialize, Serialize};
use spexus_domain::query::{Page, PageRequest, bad_cursor};
use spexus_domain::report::{Circle, Section, Tally, circles};
use spexus_domain::{Kind, Reference, ShownReference, Uuid};
use std::collections::{BTreeMap, HashMap};

/// Links read at once to look for circles.
const EDGE_ROWS: u32 = 5_000;

/// The scope of a report: what it is about.
#[derive(Clone, Debug)]
pub struct ReportScope {
    /// The project.
    pub project_id: Uuid,
    /// Only this item and what is below it.
    pub under: Option<Uuid>,
    /// The projects whose links are in sight; of all of them where nothing is said.
    pub seen: Option<Vec<Uuid>>,
}

/// The position of a page cursor: where a page of a section ended.
#[derive(Serialize, Deserialize)]
struct Position {
    section: Section,
    number: i64,
    id: Uuid,
}

/// How many items there are of each kind, status, type and assignee.
pub async fn tallies(conn: &mut Conn, project_id: Uuid, under: Option<Uuid>) -> Result<Vec<Tally>> {
    let scope = ReportScope {
        project_id,
        under,
        seen: None,
    };
    let sql = format!(
        "{with}SELECT i.kind, i.status, i.type, a.username, count(*) AS n FROM {from} LEFT JOIN account a ON a.id = i.assignee_id \
         WHERE {condition} GROUP BY i.kind, i.status, i.type, a.username ORDER BY i.kind, i.status, i.type, a.username",
        with = scope.with(),
        from = scope.items(),
        condition = scope.condition(),
    );
    let rows = conn.all(sql, scope.place()).await?;
    rows.iter().map(tally).collect()
}

/// The section a cursor belongs to.
pub fn section_of(cursor: &str) -> Result<Section> {
    Ok(cursor::read::<Position>(cursor)?.section)
}

//= specs/spexus-service.md#reports
//# The total of each section of a report MUST be counted to its end, and its rows MUST come in pages.
/// One page of a section, and how many findings it has in all.
pub async fn section(
    conn: &mut Conn,
    scope: &ReportScope,
    section: Section,
    page: &PageRequest,
) -> Result<Page<String>> {
    let behind: Option<Position> = page.cursor.as_deref().map(cursor::read).transpose()?;
    if behind
        .as_ref()
        .is_some_and(|position| position.section != section)
    {
        return Err(bad_cursor().into());
    }
    match section {
        Section::SuspectLinks => suspect_links(conn, scope, page, behind).await,
        Section::Cycles => cycles(conn, scope, page, behind).await,
        _ => lacking(conn, scope, section, page, behind).await,
    }
}

impl ReportScope {
    fn with(&self) -> &'static str {
        match self.under {
            None => "",
            Some(_) => {
                "WITH RECURSIVE scope (node) AS (SELECT id FROM item WHERE project_id = $1 AND id = $2 AND deleted_at IS NULL UNION ALL \
                 SELECT o.id FROM item o JOIN scope d ON o.project_id = $1 AND o.parent_id = d.node WHERE o.deleted_at IS NULL) "
            }
        }
    }

    /// Where items come from; crosswise, because SQLite would rather look through all items for those of the tree.
    fn items(&self) -> &'static str {
        match self.under {
            None => "item i",
            Some(_) => "scope d CROSS JOIN item i",
        }
    }

    fn condition(&self) -> &'static str {
        match self.under {
            None => "i.project_id = $1 AND i.deleted_at IS NULL",
            Some(_) => "i.project_id = $1 AND i.id = d.node",
        }
    }

    /// What every statement binds: the project as `$1`, the root as `$2` where there is one.
    fn place(&self) -> Vec<Param> {
        let mut values = params![self.project_id];
        values.extend(self.under.map(Param::from));
        values
    }

    /// What the statements of a section bind: behind the place, the projects in sight where links are asked for.
    fn params(&self, section: Section) -> Vec<Param> {
        let mut values = self.place();
        if matches!(
            section,
            Section::RequirementsWithoutLinks | Section::SuspectLinks | Section::Cycles
        ) {
            let seen = self.seen.iter().flatten();
            values.extend(seen.map(|project| Param::from(*project)));
        }
        values
    }

    /// The projects in sight as they are bound, unless it is all of them.
    fn in_sight(&self) -> Option<String> {
        let first = self.place().len() + 1;
        let last = first + self.seen.as_ref()?.len();
        let numbers: Vec<String> = (first..last).map(|at| format!("${at}")).collect();
        Some(format!("IN ({})", numbers.join(", ")))
    }

    /// The links of the project, or those that touch the tree; with both their ends where those are asked about.
    fn links(&self, with_ends: bool) -> String {
        let in_sight = self.in_sight();
        let (ends, joined) = match with_ends {
            true => (
                " CROSS JOIN item b CROSS JOIN item e",
                " AND b.project_id = l.source_project_id AND b.id = l.source_id \
                 AND e.project_id = l.target_project_id AND e.id = l.target_id",
            ),
            false => ("", ""),
        };
        let inside = in_sight.map_or_else(String::new, |seen| format!(" AND l.target_project_id {seen}"));
        let condition = format!(
            "l.project_id = $1 AND l.source_project_id = $1 AND l.deleted_at IS NULL{joined}{inside}"
        );
        match self.under {
            None => format!("link l{ends} WHERE {condition}"),
            Some(_) => format!(
                "(SELECT l.id FROM scope d CROSS JOIN link l WHERE l.project_id = $1 AND l.source_id = d.node AND l.deleted_at IS NULL \
                 UNION SELECT l.id FROM scope d CROSS JOIN link l WHERE l.project_id = $1 AND l.target_id = d.node \
                 AND l.deleted_at IS NULL) touching \
                 CROSS JOIN link l{ends} WHERE l.id = touching.id AND {condition}"
            ),
        }
    }
}

/// What stands before the references of the project that is reported on.
const OWN_PREFIX: &str = concat!(
    "(SELECT ",
    prefix_of!("p"),
    " FROM project p WHERE p.id = $1) AS prefix"
);

/// The same, of what a link leads to.
const TARGET_PREFIX: &str = concat!(
    "(SELECT ",
    prefix_of!("p"),
    " FROM project p WHERE p.id = e.project_id) AS target_prefix"
);

/// Items that lack what they should have.
async fn lacking(
    conn: &mut Conn,
    scope: &ReportScope,
    section: Section,
    page: &PageRequest,
    behind: Option<Position>,
) -> Result<Page<String>> {
    let (kind, lack) = lack(section, scope.in_sight());
    let from_where = format!(
        "FROM {} WHERE {} AND i.kind = '{}' AND {lack}",
        scope.items(),
        scope.condition(),
        kind.name()
    );
    let total = count(conn, scope, section, &from_where).await?;
    let mut values = scope.params(section);
    let (number, limit) = (values.len() + 1, values.len() + 2);
    values.extend(params![
        behind.map_or(0, |position| position.number),
        page.limit.saturating_add(1)
    ]);
    let sql = format!(
        "{}SELECT i.number, {OWN_PREFIX} {from_where} AND i.number > ${number} ORDER BY i.number LIMIT ${limit}",
        scope.with()
    );
    let rows = conn.all(sql, values).await?;
    let position = |found: &ShownReference| {
        cursor::write(&Position {
            section,
            number: found.number(),
            id: Uuid::nil(),
        })
    };
    let named = |row: &Row| Ok(prefix(row, "prefix")?.show(Reference::of_kind(kind, row.int("number")?)));
    let (found, next) = page_of(&rows, page.limit, named, position)?;
    let data = found.iter().map(ShownReference::to_string).collect();
    Ok(Page::new(data, total, next))
}

/// The kind of item a section is about, and what it says of an item `i`. Each question is one look into an index: a
/// single `OR` over both ends of a link would be a walk through all links for each requirement.
fn lack(section: Section, in_sight: Option<String>) -> (Kind, String) {
    // The kind is asked in a way no index serves: one by kind would be a walk through all items of it for each container.
    let childless = |kind: Kind| {
        format!(
            "NOT EXISTS (SELECT 1 FROM item c WHERE c.project_id = i.project_id AND c.parent_id = i.id \
             AND coalesce(c.kind, '') = '{}' AND c.deleted_at IS NULL)",
            kind.name()
        )
    };
    match section {
        Section::EpicsWithoutStories => (Kind::Epic, childless(Kind::UserStory)),
        Section::StoriesWithoutCriteria => (Kind::UserStory, childless(Kind::AcceptanceCriterion)),
        Section::StoriesWithoutRequirements => (Kind::UserStory, childless(Kind::Requirement)),
        Section::CriteriaWithoutRequirements => (
            Kind::AcceptanceCriterion,
            "NOT EXISTS (SELECT 1 FROM item c WHERE c.project_id = i.project_id AND c.criterion_id = i.id AND c.deleted_at IS NULL)"
                .to_owned(),
        ),
        Section::RequirementsWithoutCriterion => (Kind::Requirement, "i.criterion_id IS NULL".to_owned()),
        Section::RequirementsWithoutLinks | Section::SuspectLinks | Section::Cycles => {
            let (to, from) = match in_sight {
                Some(seen) => (
                    format!(" AND l.target_project_id {seen}"),
                    format!(" AND l.source_project_id {seen}"),
                ),
                None => Default::default(),
            };
            let unlinked = format!(
                "NOT EXISTS (SELECT 1 FROM link l WHERE l.project_id = i.project_id AND l.source_id = i.id AND l.deleted_at IS NULL{to}) \
                 AND NOT EXISTS (SELECT 1 FROM link l WHERE l.project_id = i.project_id AND l.target_id = i.id \
                 AND l.deleted_at IS NULL{from})"
            );
            (Kind::Requirement, unlinked)
        }
    }
}

async fn count(conn: &mut Conn, scope: &ReportScope, section: Section, from_where: &str) -> Result<i64> {
    let sql = format!("{}SELECT count(*) AS n {from_where}", scope.with());
    conn.one(sql, scope.params(section)).await?.int("n")
}

/// Links an end of which changed since they were confirmed.
async fn suspect_links(
    conn: &mut Conn,
    scope: &ReportScope,
    page: &PageRequest,
    behind: Option<Position>,
) -> Result<Page<String>> {
    let from_where = format!(
        "FROM {} AND (l.source_hash <> b.content_hash OR l.target_hash <> e.content_hash)",
        scope.links(true)
    );
    let total = count(conn, scope, Section::SuspectLinks, &from_where).await?;
    let mut values = scope.params(Section::SuspectLinks);
    let (after, limit) = (values.len() + 1, values.len() + 2);
    values.extend(params![
        behind.map_or(Uuid::nil(), |position| position.id),
        page.limit.saturating_add(1)
    ]);
    let sql = format!(
        "{}SELECT l.id, l.type, b.kind AS source_kind, b.number AS source_number, e.kind AS target_kind, \
         e.number AS target_number, {OWN_PREFIX}, {TARGET_PREFIX}, \
         (SELECT p.key FROM project p WHERE p.id = e.project_id AND p.id <> $1) AS elsewhere {from_where} AND l.id > ${after} ORDER BY l.id LIMIT ${limit}",
        scope.with()
    );
    let rows = conn.all(sql, values).await?;
    let position = |(id, _): &(Uuid, String)| {
        cursor::write(&Position {
            section: Section::SuspectLinks,
            number: 0,
            id: *id,
        })
    };
    let (found, next) = page_of(&rows, page.limit, label, position)?;
    let data = found.into_iter().map(|(_, label)| label).collect();
    Ok(Page::new(data, total, next))
}

/// `REQ-001 depends_on REQ-002`; what is in another project is named with it.
fn label(row: &Row) -> Result<(Uuid, String)> {
    let source = Reference::of_kind(kind(row, "source_kind")?, row.int("source_number")?);
    let source = prefix(row, "prefix")?.show(source);
    let target = Reference::of_kind(kind(row, "target_kind")?, row.int("target_number")?);
    let target = prefix(row, "target_prefix")?.show(target);
    let target = match row.opt_text("elsewhere")? {
        Some(key) => target.in_project(&key),
        None => target.to_string(),
    };
    let text = format!("{source} {} {target}", row.text("type")?);
    Ok((row.id("id")?, text))
}

/// Links of one type that lead back to where they began. Only the ends of links are kept in memory.
async fn cycles(
    conn: &mut Conn,
    scope: &ReportScope,
    page: &PageRequest,
    behind: Option<Position>,
) -> Result<Page<String>> {
    let mut by_type = edges(conn, scope).await?;
    for known in crate::settings::link_types(conn).await? {
        if known.name == known.inverse {
            by_type.remove(&known.name);
        }
    }
    let mut found: Vec<(String, Circle<Uuid>)> = Vec::new();
    for (name, links) in by_type {
        found.extend(circles(links).into_iter().map(|circle| (name.clone(), circle)));
    }
    let total = i64::try_from(found.len()).unwrap_or(i64::MAX);
    let from = usize::try_from(behind.map_or(0, |position| position.number)).unwrap_or(usize::MAX);
    let end = from.saturating_add(page.limit as usize);
    let shown: Vec<_> = found.drain(..).skip(from).take(page.limit as usize).collect();
    let names = names(conn, scope.project_id, &shown).await?;
    let data = shown.iter().map(|(name, circle)| sentence(name, circle, &names));
    let next = (i64::try_from(end).unwrap_or(i64::MAX) < total).then(|| {
        cursor::write(&Position {
            section: Section::Cycles,
            number: i64::try_from(end).unwrap_or(i64::MAX),
            id: Uuid::nil(),
        })
    });
    Ok(Page::new(data.collect(), total, next))
}

/// The ends of the links of each type.
async fn edges(conn: &mut Conn, scope: &ReportScope) -> Result<BTreeMap<String, Vec<(Uuid, Uuid)>>> {
    let mut by_type: BTreeMap<String, Vec<(Uuid, Uuid)>> = BTreeMap::new();
    let mut last = Uuid::nil();
    loop {
        let mut values = scope.params(Section::Cycles);
        let (after, limit) = (values.len() + 1, values.len() + 2);
        values.extend(params![last, EDGE_ROWS]);
        let sql = format!(
            "{}SELECT l.id, l.type, l.source_id, l.target_id FROM {} AND l.id > ${after} ORDER BY l.id LIMIT ${limit}",
            scope.with(),
            scope.links(false)
        );
        let rows = conn.all(sql, values).await?;
        for row in &rows {
            last = row.id("id")?;
            let links = by_type.entry(row.text("type")?).or_default();
            links.push((row.id("source_id")?, row.id("target_id")?));
        }
        if rows.len() < EDGE_ROWS as usize {
            return Ok(by_type);
        }
    }
}

/// What the places of circles are called.
async fn names(
    conn: &mut Conn,
    project_id: Uuid,
    circles: &[(String, Circle<Uuid>)],
) -> Result<HashMap<Uuid, String>> {
    let mut names = HashMap::new();
    for (_, circle) in circles {
        for id in &circle.nodes {
            if names.contains_key(id) {
                continue;
            }
            const SQL: &str = concat!(
                "SELECT i.kind, i.number, p.key, i.project_id, ",
                prefix_of!("p"),
                " AS prefix FROM item i JOIN project p ON p.id = i.project_id \
                 WHERE i.id = $1 AND i.project_id = ",
                project_of!("$1")
            );
            let row = conn.one(SQL, params![*id]).await?;
            let reference = Reference::of_kind(kind(&row, "kind")?, row.int("number")?);
            let reference = prefix(&row, "prefix")?.show(reference);
            let name = match row.id("project_id")? == project_id {
                true => reference.to_string(),
                false => reference.in_project(&row.text("key")?),
            };
            names.insert(*id, name);
        }
    }
    Ok(names)
}

/// `blocks: REQ-001 → REQ-002 → REQ-001`.
fn sentence(link_type: &str, circle: &Circle<Uuid>, names: &HashMap<Uuid, String>) -> String {
    let mut told: Vec<String> = circle
        .nodes
        .iter()
        .filter_map(|id| names.get(id).cloned())
        .collect();
    if circle.length > circle.nodes.len() {
        told.push(format!("… {} more …", circle.length - circle.nodes.len()));
    }
    told.extend(circle.nodes.first().and_then(|id| names.get(id).cloned()));
    format!("{link_type}: {}", told.join(" → "))
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
