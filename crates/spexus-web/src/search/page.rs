//! The page of search.

use super::marked;
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, kind_word, status};
use crate::shell::Shell;
use crate::table::{Field, known_values};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use askama::Template;
use serde::Deserialize;
use spexus_domain::project::Project;
use spexus_domain::query::{Page, Total};
use spexus_domain::search::Hit;
use spexus_domain::{Kind, text};
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;
use spexus_service::{project, search};

/// What one project gives where only it is searched, and where all are.
const ALONE: u32 = 50;
const TOGETHER: u32 = 10;
/// Projects searched together at most.
const MAX_PROJECTS: usize = 20;

/// What a search is asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindQuery {
    #[serde(default, alias = "q")]
    query: String,
    /// The key of a project; all of them when left out.
    #[serde(default)]
    project: String,
    /// Names of kinds, separated by commas.
    #[serde(default)]
    kinds: String,
    #[serde(default)]
    status: String,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    shell: Shell,
    query: FindQuery,
    projects: Vec<Project>,
    kinds: Vec<(&'static str, &'static str, bool)>,
    statuses: Vec<String>,
    sections: Vec<Found>,
    /// Whether there was anything to look for.
    is_asked: bool,
}

/// What was found in one project.
struct Found {
    key: String,
    name: String,
    total: String,
    hits: Vec<HitRow>,
    next: Option<String>,
}

/// A place that was found.
pub(super) struct HitRow {
    pub(super) reference: String,
    pub(super) address: String,
    pub(super) title: String,
    pub(super) kind: &'static str,
    pub(super) status: Option<Markup>,
    pub(super) place: Markup,
    pub(super) is_comment: bool,
}

impl HitRow {
    pub(super) fn of(t: &'static Texts, project: &str, hit: Hit) -> Self {
        Self {
            address: format!("/p/{project}/{}", hit.reference_id),
            reference: hit.reference_id.to_string(),
            kind: kind_word(t, hit.kind),
            status: hit.status.as_deref().map(status),
            place: marked(&hit.snippet),
            is_comment: hit.comment_id.is_some(),
            title: hit.title,
        }
    }
}

/// Search.
pub(crate) async fn page(visit: Visit, Params(query): Params<FindQuery>) -> Answer {
    let t = visit.texts();
    let projects = project::list(visit.service(), &visit.caller).await?.data;
    let is_asked = !query.query.trim().is_empty();
    let mut sections = Vec::new();
    let wanted: Vec<Project> = match query.project.as_str() {
        "" => projects.iter().take(MAX_PROJECTS).cloned().collect(),
        key => vec![visit.project(key).await?],
    };
    let limit = if wanted.len() == 1 { ALONE } else { TOGETHER };
    for project in wanted.iter().filter(|_| is_asked) {
        let page = find(&visit, &project.key, &query, limit).await?;
        if page.data.is_empty() {
            continue;
        }
        sections.push(Found {
            total: total(t, page.total()),
            next: page
                .next_cursor
                .clone()
                .map(|cursor| next(&query, &project.key, limit == ALONE, &cursor)),
            hits: page
                .data
                .into_iter()
                .map(|hit| HitRow::of(t, &project.key, hit))
                .collect(),
            key: project.key.clone(),
            name: project.name.clone(),
        });
    }
    let chosen: Vec<&str> = query.kinds.split(',').map(str::trim).collect();
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind_word(t, kind), chosen.contains(&kind.name())));
    html(&SearchPage {
        shell: visit.shell(t.search),
        kinds: kinds.to_vec(),
        statuses: known_values(&visit, None, Field::Status).await?,
        projects,
        sections,
        is_asked,
        query,
    })
}

/// What one project has for words.
pub(super) async fn find(visit: &Visit, project: &str, query: &FindQuery, limit: u32) -> Answer<Page<Hit>> {
    let given = |text: &String| (!text.trim().is_empty()).then(|| text.clone());
    let wanted = SearchQuery {
        query: query.query.clone(),
        kinds: given(&query.kinds),
    };
    let filters = ItemQuery {
        project: Some(project.to_owned()),
        status: given(&query.status),
        limit: Some(limit),
        cursor: query.cursor.clone(),
        ..ItemQuery::default()
    };
    Ok(search::search(visit.service(), &visit.caller, &wanted, &filters).await?)
}

impl FindQuery {
    /// Words, with nothing else said.
    pub(super) fn words(query: &str) -> Self {
        Self {
            query: query.to_owned(),
            ..Self::default()
        }
    }
}

fn total(t: &Texts, total: Total) -> String {
    match total {
        Total::Exact(rows) => text::grouped(rows),
        Total::AtLeast(rows) => fill(t.at_least, &[&text::grouped(rows)]),
    }
}

/// Where more of a project is: its next page, or the search of it alone.
fn next(query: &FindQuery, project: &str, is_alone: bool, cursor: &str) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.append_pair("query", &query.query)
        .append_pair("project", project);
    for (name, value) in [("kinds", &query.kinds), ("status", &query.status)] {
        if !value.is_empty() {
            text.append_pair(name, value);
        }
    }
    if is_alone {
        text.append_pair("cursor", cursor);
    }
    format!("/search?{}", text.finish())
}
