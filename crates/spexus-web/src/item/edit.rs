//! Editing an item. A form may hold only some of the fields: what it does not hold stays. Who saves what somebody else has saved
//! meanwhile is shown both.

use super::conflict;
use super::fields::{self, Input, ItemForm};
use super::{AddressedItem, At};
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form};
use crate::mark::icon;
use crate::shell::{Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::item;

#[derive(Template)]
#[template(path = "item_edit.html")]
struct EditPage {
    shell: Shell,
    path: String,
    reference: String,
    rev: i64,
    form: ItemForm,
}

async fn page(visit: &Visit, place: &AddressedItem, typed: Input, faults: Faults) -> Answer<EditPage> {
    let title = crate::texts::fill(visit.texts().edit_item, &[&place.item.reference_id]);
    let crumbs = place.crumbs(visit.texts().edit);
    Ok(EditPage {
        shell: visit
            .shell_in(&place.project, View::Inside, title)
            .await?
            .crumbs(crumbs),
        path: place.path(),
        reference: place.item.reference_id.to_string(),
        rev: place.item.rev,
        form: ItemForm::of(visit, &place.project, &place.item, typed, faults).await?,
    })
}

/// The form.
pub(crate) async fn form(visit: Visit, Path((key, reference)): At) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    visit.ask(Operation::UpdateItem, &place.project)?;
    html(&page(&visit, &place, Input::new(), Faults::default()).await?)
}

/// Saves what was typed, for the revision the form was made for.
//= specs/spexus-web.md#documents
//# An answer to a form MUST lead to a page that can be reloaded without doing it again.
pub(crate) async fn save(visit: Visit, Path((key, reference)): At, Form(mut typed): Form<Input>) -> Answer {
    let place = AddressedItem::of(&visit, &key, &reference).await?;
    let rev = revision(typed.remove("rev"))?;
    if typed.remove("preview").is_some() {
        let page = page(&visit, &place, typed, Faults::default()).await?;
        return html(&EditPage {
            rev,
            form: page.form.previewed(),
            ..page
        });
    }
    conflict::settle(&mut typed);
    if rev != place.item.rev {
        return conflict::page(&visit, &place, rev, typed).await;
    }
    match write(&visit, &place, rev, typed.clone()).await {
        Ok(()) => Ok(see(&place.path())),
        Err(refusal) if refusal.code == Code::StaleRevision => {
            let place = AddressedItem::of(&visit, &key, &reference).await?;
            conflict::page(&visit, &place, rev, typed).await
        }
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => faulty(
            &page(&visit, &place, typed, Faults::of(&refusal)).await?,
            &refusal,
        ),
    }
}

async fn write(visit: &Visit, place: &AddressedItem, rev: i64, typed: Input) -> Ruled<()> {
    let before = place.item.fields();
    let after = fields::typed_over(&before, &place.project.attributes, typed)?;
    let patch = fields::patch(&before, &after, rev)?;
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    item::update(visit.service(), &visit.caller, of, None, &id, patch).await?;
    Ok(())
}

fn revision(text: Option<String>) -> Ruled<i64> {
    let number = text.as_deref().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let allowed = "the revision the form was made for";
        Refusal::field(Code::InvalidParams, "rev", "is not a revision", allowed)
    })
}
