//! What happened to an item, as sentences, with differences by words.

use super::words::difference;
use super::{AddressedItem, At};
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, escaped, person};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use serde_json::Value;
use spexus_domain::Timestamp;
use spexus_domain::change::{Action, Change, Entity, FieldChange};
use spexus_domain::query::PageRequest;
use spexus_service::item;

/// One thing that happened.
pub(crate) struct Happened {
    pub(crate) at: Markup,
    pub(crate) who: Markup,
    pub(crate) sentence: String,
    pub(crate) rev: Option<i64>,
    pub(crate) fields: Vec<Field>,
}

/// What became of one field.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) difference: Markup,
    /// Whether it is a text to be read, not a value.
    pub(crate) is_text: bool,
}

/// A change as people read it.
pub(crate) fn summary(t: &Texts, change: &Change, now: Timestamp) -> Happened {
    let of_item = change.entity == Entity::Item;
    let fields: &[FieldChange] = match (change.entity, change.action) {
        (Entity::Item, Action::Updated) => &change.fields,
        _ => &[],
    };
    Happened {
        at: when(t, change.at, now),
        who: person(&change.user),
        sentence: sentence(t, change),
        rev: of_item.then_some(change.rev),
        fields: fields
            .iter()
            .filter(|field| field.field != "position")
            .map(|field| told_field(t, field))
            .collect(),
    }
}

fn sentence(t: &Texts, change: &Change) -> String {
    let label: &dyn std::fmt::Display = &change.label.replace('_', " ");
    match (change.entity, change.action) {
        (Entity::Item, Action::Created) => t.made_it.to_owned(),
        (Entity::Item, Action::Updated) => {
            let moved = change.fields.iter().all(|field| field.field == "position");
            let names: Vec<String> = change
                .fields
                .iter()
                .filter(|field| field.field != "position")
                .map(|field| field_word(t, &field.field).to_lowercase())
                .collect();
            if moved {
                t.moved_it.to_owned()
            } else {
                fill(t.changed_fields, &[&names.join(", ")])
            }
        }
        (Entity::Item, Action::Deleted) => t.deleted_it.to_owned(),
        (Entity::Item, Action::Restored) => t.restored_it.to_owned(),
        (Entity::Link, Action::Created | Action::Restored) => fill(t.linked_to, &[label]),
        (Entity::Link, Action::Updated) => fill(t.confirmed_link, &[label]),
        (Entity::Link, Action::Deleted) => fill(t.ended_link, &[label]),
        (Entity::Comment, Action::Created | Action::Restored) => t.commented.to_owned(),
        (Entity::Comment, Action::Updated) => t.edited_comment.to_owned(),
        (Entity::Comment, Action::Deleted) => t.removed_comment.to_owned(),
        _ => fill(t.touched, &[label]),
    }
}

pub(crate) fn told_field(t: &Texts, change: &FieldChange) -> Field {
    let is_text = ["title", "description"].contains(&change.field.as_str());
    let text = |value: &Option<Value>| value.as_ref().map(super::fields::shown).unwrap_or_default();
    let (before, after) = (text(&change.before), text(&change.after));
    let named = |value: &str| match (change.field.as_str(), value) {
        (_, "") => t.nothing.to_owned(),
        ("priority", number) => priority(t, number),
        _ => value.to_owned(),
    };
    Field {
        name: field_word(t, &change.field),
        difference: match is_text {
            true => difference(&before, &after),
            false => Markup(format!(
                "<del>{}</del> → <ins>{}</ins>",
                escaped(&named(&before)),
                escaped(&named(&after))
            )),
        },
        is_text,
    }
}

fn priority(t: &Texts, number: &str) -> String {
    let priority = spexus_domain::item::Priority::parse("priority", number);
    priority.map_or_else(
        |_| number.to_owned(),
        |priority| crate::mark::priority_word(t, priority).to_owned(),
    )
}

/// What a field is called.
pub(crate) fn field_word(t: &Texts, field: &str) -> String {
    match field {
        "title" => t.title,
        "description" => t.text,
        "status" => t.status,
        "priority" => t.priority,
        "type" => t.requirement_type,
        "assignee" => t.owner,
        "parent" => t.part_of,
        "acceptance_criterion" => t.acceptance_criterion,
        other => other.strip_prefix("attributes.").unwrap_or(other),
    }
    .to_owned()
}

#[derive(Template)]
#[template(path = "item_history.html")]
struct HistoryPage {
    shell: Shell,
    path: String,
    reference: String,
    history: Vec<Happened>,
    total: String,
    next: Option<String>,
}

/// Where a page of the history begins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    cursor: Option<String>,
}

/// All of it, a page at a time.
pub(crate) async fn page(visit: Visit, Path((key, reference)): At, Params(from): Params<From>) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    let t = visit.texts();
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    let part = PageRequest::new(None, from.cursor)?;
    let found = item::history(visit.service(), &visit.caller, of, None, &id, part).await?;
    let title = fill(t.history_of, &[&place.item.reference_id]);
    html(&HistoryPage {
        shell: visit
            .shell_in(&place.project, View::Inside, title)
            .await?
            .crumbs(place.crumbs(t.history)),
        path: place.path(),
        reference: place.item.reference_id.to_string(),
        total: found.total().to_string(),
        history: found
            .data
            .iter()
            .map(|change| summary(t, change, visit.now()))
            .collect(),
        next: found.next_cursor,
    })
}
