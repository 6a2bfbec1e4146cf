//! Deleting an item: first what would fall with it, then exactly that.

use super::{AddressedItem, At};
use crate::answer::{Answer, html, see};
use crate::form::Form;
use crate::mark::{icon, kind_word};
use crate::shell::{Shell, View};
use crate::texts::fill;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::deletion::DeletionPreview;
use spexus_domain::permission::Operation;
use spexus_service::item;

/// What falls is named up to so many; then counted.
const MAX_NAMED: usize = 100;

#[derive(Template)]
#[template(path = "item_delete.html")]
struct DeletePage {
    shell: Shell,
    path: String,
    preview: DeletionPreview,
    /// How many more fall than are named.
    unnamed: usize,
}

/// What would fall.
pub(crate) async fn preview(visit: Visit, Path((key, reference)): At) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    visit.ask(Operation::DeleteItem, &place.project)?;
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    let preview = item::delete::preview(visit.service(), &visit.caller, of, None, &id).await?;
    let title = fill(visit.texts().delete_item, &[&preview.reference_id]);
    html(&DeletePage {
        shell: visit
            .shell_in(&place.project, View::Inside, title)
            .await?
            .crumbs(place.crumbs(visit.texts().delete)),
        path: place.path(),
        unnamed: preview.items.len().saturating_sub(MAX_NAMED),
        preview,
    })
}

/// The revision that was looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agreed {
    rev: i64,
}

/// Deletes what was shown; an item that changed meanwhile stays, and is shown again.
pub(crate) async fn delete(visit: Visit, Path((key, reference)): At, Form(agreed): Form<Agreed>) -> Answer {
    let of = Some(key.as_str());
    let above = item::path(visit.service(), &visit.caller, of, &reference).await?;
    item::delete(
        visit.service(),
        &visit.caller,
        of,
        None,
        &reference,
        true,
        Some(agreed.rev),
    )
    .await?;
    let parent = above.data.iter().rev().nth(1);
    Ok(see(&parent.map_or_else(|| format!("/p/{key}"), super::address)))
}
