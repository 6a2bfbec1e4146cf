//! The palette: every page one may see and every item, by a few letters. As a page of its own it is a list of links; a module shows
//! it over any page and adds what can be done there.

use super::page::{FindQuery, HitRow, find};
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::icon;
use crate::shell::{Shell, View};
use crate::visit::Visit;
use askama::Template;
use serde::Deserialize;
use spexus_domain::account::Role;
use spexus_domain::project::Project;
use spexus_service::project;

/// Items and projects of one answer at most.
const MAX_ITEMS: u32 = 8;
const MAX_PROJECTS: usize = 8;

/// What is typed, and where.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PaletteQuery {
    #[serde(default)]
    query: String,
    /// The project one is in; its pages come first.
    #[serde(default)]
    project: String,
}

#[derive(Template)]
#[template(path = "palette.html")]
struct PalettePage {
    shell: Shell,
    query: String,
    project: String,
    items: Vec<HitRow>,
    places: Vec<Destination>,
}

/// A page to go to.
struct Destination {
    path: String,
    icon: &'static str,
    words: String,
    beside: String,
}

/// The palette.
//= specs/spexus-web.md#search
//# The palette MUST reach every page the caller may see and every item of their projects, and nothing else.
pub(crate) async fn page(visit: Visit, Params(query): Params<PaletteQuery>) -> Answer {
    let projects = project::list(visit.service(), &visit.caller).await?.data;
    let here = projects.iter().find(|project| project.key == query.project);
    let words = query.query.trim();
    let mut items = Vec::new();
    if !words.is_empty() {
        let others = projects.iter().filter(|project| project.key != query.project);
        for project in here.into_iter().chain(others).take(MAX_PROJECTS) {
            if items.len() >= MAX_ITEMS as usize {
                break;
            }
            let found = find(&visit, &project.key, &FindQuery::words(words), MAX_ITEMS).await?;
            let rows = found
                .data
                .into_iter()
                .map(|hit| HitRow::of(visit.texts(), &project.key, hit));
            items.extend(rows);
        }
        items.truncate(MAX_ITEMS as usize);
    }
    let mut places = pages(&visit, here);
    places.extend(projects.iter().map(|project| Destination {
        path: format!("/p/{}", project.key),
        icon: "doc",
        words: project.name.clone(),
        beside: project.key.clone(),
    }));
    let lower = words.to_lowercase();
    places.retain(|place| fits(&lower, &place.words) || fits(&lower, &place.beside));
    places.truncate(24);
    html(&PalettePage {
        shell: visit.shell(visit.texts().search_or_command),
        items,
        places,
        query: query.query,
        project: query.project,
    })
}

/// Whether a text has every word that was typed.
fn fits(words: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    words.split_whitespace().all(|word| text.contains(word))
}

/// The pages there are: of the project one is in, and of the installation.
fn pages(visit: &Visit, project: Option<&Project>) -> Vec<Destination> {
    let t = visit.texts();
    let mut places = Vec::new();
    if let Some(project) = project {
        for (view, path, icon) in View::PLACES {
            places.push(Destination {
                path: format!("/p/{}{path}", project.key),
                icon,
                words: view.words(t).to_owned(),
                beside: project.name.clone(),
            });
        }
    }
    let mut place = |path: &str, icon: &'static str, words: &str| {
        places.push(Destination {
            path: path.to_owned(),
            icon,
            words: words.to_owned(),
            beside: String::new(),
        });
    };
    place("/", "home", t.home);
    place("/search", "search", t.search);
    place("/settings", "person", t.own_settings);
    place("/connect", "plug", t.connect_agent);
    place("/keys", "keys", t.all_keys);
    if visit.caller.role == Role::Administrator {
        place("/admin", "settings", t.administration);
    }
    places
}
