//! Links of an item: found and made, confirmed, ended.

use super::{AddressedItem, At, AtId};
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form, Params};
use crate::mark::{icon, kind_word};
use crate::shell::{Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::Kind;
use spexus_domain::link::{LinkType, NewLink};
use spexus_domain::permission::Operation;
use spexus_domain::search::Hit;
use spexus_service::item::list::ItemQuery;
use spexus_service::search::SearchQuery;
use spexus_service::{link, search, settings};

/// Places found that are offered.
const OFFERED: u32 = 20;

#[derive(Template)]
#[template(path = "item_link.html")]
struct LinkPage {
    shell: Shell,
    path: String,
    reference: String,
    relations: Vec<Relation>,
    wanted: LinkRequest,
    found: Vec<Hit>,
    faults: Faults,
}

/// How a link reads from the item.
struct Relation {
    name: String,
    words: String,
    explained: String,
}

/// What is looked for, and what is made of it.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkRequest {
    #[serde(default)]
    query: String,
    #[serde(default, rename = "type")]
    relation: String,
    #[serde(default)]
    target: String,
}

/// The form, with what was found.
pub(crate) async fn form(
    visit: Visit,
    Path((key, reference)): At,
    Params(wanted): Params<LinkRequest>,
) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    visit.ask(Operation::Link, &place.project)?;
    html(&page(&visit, &place, wanted, Faults::default()).await?)
}

async fn page(visit: &Visit, place: &AddressedItem, wanted: LinkRequest, faults: Faults) -> Answer<LinkPage> {
    let types = settings::link_types(visit.service(), &visit.caller).await?;
    let mut found = Vec::new();
    if !wanted.query.trim().is_empty() {
        let words = SearchQuery {
            query: wanted.query.clone(),
            kinds: None,
        };
        let filters = ItemQuery {
            project: Some(place.project.key.clone()),
            limit: Some(OFFERED),
            ..ItemQuery::default()
        };
        found = search::search(visit.service(), &visit.caller, &words, &filters)
            .await?
            .data;
        found.retain(|hit| hit.id != place.item.id);
        found.dedup_by_key(|hit| hit.id);
    }
    let title = fill(visit.texts().link_item, &[&place.item.reference_id]);
    Ok(LinkPage {
        shell: visit
            .shell_in(&place.project, View::Inside, title)
            .await?
            .crumbs(place.crumbs(visit.texts().add_link)),
        path: place.path(),
        reference: place.item.reference_id.to_string(),
        relations: relations(&types.data, place.item.kind),
        wanted,
        found,
        faults,
    })
}

/// The ways an item of a kind can be linked, in both directions.
fn relations(types: &[LinkType], kind: Kind) -> Vec<Relation> {
    let mut relations = Vec::new();
    for known in types {
        let fits = |kinds: &[Kind]| kinds.is_empty() || kinds.contains(&kind);
        let relation = |name: &str| Relation {
            words: words(name),
            name: name.to_owned(),
            explained: known.description.clone(),
        };
        if fits(&known.sources) {
            relations.push(relation(&known.name));
        }
        if fits(&known.targets) && !known.is_symmetric() {
            relations.push(relation(&known.inverse));
        }
    }
    relations
}

/// The name of a link type as words.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// Makes a link.
pub(crate) async fn create(
    visit: Visit,
    Path((key, reference)): At,
    Form(wanted): Form<LinkRequest>,
) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    let input = NewLink {
        source: place.item.id.to_string(),
        target: wanted.target.clone(),
        link_type: wanted.relation.clone(),
    };
    match link::create(visit.service(), &visit.caller, Some(&place.project.key), input).await {
        Ok(_) => Ok(see(&format!("{}#links", place.path()))),
        Err(refusal) if refusal.code.http_status() == 403 => Err(refusal.into()),
        Err(refusal) => faulty(
            &page(&visit, &place, wanted, Faults::of(&refusal)).await?,
            &refusal,
        ),
    }
}

/// Says that a link still holds.
pub(crate) async fn confirm(visit: Visit, Path((key, reference, id)): AtId) -> Answer {
    link::confirm(visit.service(), &visit.caller, id).await?;
    Ok(see(&format!("/p/{key}/{reference}#links")))
}

/// Ends a link.
pub(crate) async fn end(visit: Visit, Path((key, reference, id)): AtId) -> Answer {
    link::delete(visit.service(), &visit.caller, id).await?;
    Ok(see(&format!("/p/{key}/{reference}#links")))
}
