//! A save that came too late: what was before, what they made of it and what I made of it, side by side. What does not clash is
//! merged; for the rest one chooses, or writes it once for both.

use super::fields::{Input, shown, typed_over};
use super::merge::{Merged, Outcome, at_revision, merge};
use super::{AddressedItem, words};
use crate::answer::{Answer, faulty};
use crate::mark::{Markup, escaped, icon, person};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use spexus_domain::change::Change;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::item;

#[derive(Template)]
#[template(path = "item_conflict.html")]
struct ConflictPage {
    shell: Shell,
    path: String,
    reference: String,
    /// The revision one began with, and that which stands now.
    began: i64,
    rev: i64,
    saved_by: Markup,
    saved_at: Markup,
    rows: Vec<Row>,
    clashes: usize,
}

/// One field in three columns.
struct Row {
    field: String,
    name: String,
    before: Markup,
    theirs: Markup,
    mine: Markup,
    /// What I typed, to be sent again.
    typed: String,
    choice: Choice,
}

/// What is to be decided about a field.
#[derive(PartialEq)]
enum Choice {
    Theirs,
    Mine,
    /// With a text for both, if it is a text.
    Open(Option<String>),
}

//= specs/spexus-web.md#documents
//# A save for a revision that is no longer the last MUST show what was before, what others made of it and what was typed, with
//# everything merged that does not clash, and MUST NOT overwrite anything.
/// Three columns, and a form that saves what comes of them.
pub(super) async fn page(visit: &Visit, place: &AddressedItem, began: i64, typed: Input) -> Answer {
    visit.ask(Operation::UpdateItem, &place.project)?;
    let t = visit.texts();
    let since = since(visit, place, began).await?;
    let theirs = place.item.fields();
    let before = at_revision(&theirs, &since, began);
    let mine = typed_over(&before, &place.project.attributes, typed)?;
    let merged = merge(&before, &theirs, &mine);
    let rows: Vec<Row> = merged
        .into_iter()
        .filter(|merged| merged.field != "position")
        .map(|merged| row(t, merged))
        .collect();
    let last = since.first();
    let page = ConflictPage {
        shell: visit
            .shell_in(&place.project, View::Inside, t.conflict)
            .await?
            .crumbs(place.crumbs(t.save)),
        path: place.path(),
        reference: place.item.reference_id.to_string(),
        began,
        rev: place.item.rev,
        saved_by: person(last.map_or(place.item.creator.username.as_str(), |change| {
            change.user.as_str()
        })),
        saved_at: when(t, place.item.updated_at, visit.now()),
        clashes: rows
            .iter()
            .filter(|row| matches!(row.choice, Choice::Open(_)))
            .count(),
        rows,
    };
    faulty(&page, &Refusal::new(Code::StaleRevision, ""))
}

/// What happened to the item after a revision, newest first.
async fn since(visit: &Visit, place: &AddressedItem, rev: i64) -> Ruled<Vec<Change>> {
    let (of, id) = (Some(place.project.key.as_str()), place.item.id.to_string());
    let mut found: Vec<Change> = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest::new(Some(MAX_PAGE_ROWS), cursor)?;
        let part = item::history(visit.service(), &visit.caller, of, None, &id, page).await?;
        let own = |change: &Change| change.entity_id == place.item.id;
        let reached = part.data.iter().any(|change| own(change) && change.rev <= rev);
        found.extend(
            part.data
                .into_iter()
                .filter(|change| own(change) && change.rev > rev),
        );
        cursor = part.next_cursor;
        if reached || cursor.is_none() {
            return Ok(found);
        }
    }
}

fn row(t: &Texts, merged: Merged) -> Row {
    let (before, theirs, mine) = (shown(&merged.before), shown(&merged.theirs), shown(&merged.mine));
    let choice = match merged.outcome {
        Outcome::Theirs => Choice::Theirs,
        Outcome::Mine => Choice::Mine,
        // A text that cannot be made for both is written by hand, beginning with mine.
        Outcome::Clash(text) => Choice::Open(match merged.field.as_str() {
            "title" | "description" => Some(text.unwrap_or_else(|| mine.clone())),
            _ => None,
        }),
    };
    Row {
        name: super::history::field_word(t, &merged.field),
        before: Markup(escaped(&before)),
        theirs: words::difference(&before, &theirs),
        mine: words::difference(&before, &mine),
        typed: mine,
        field: merged.field,
        choice,
    }
}

/// Takes the choices out of what was sent: theirs is what stands, mine what was typed, both what was written for both.
pub(super) fn settle(typed: &mut Input) {
    let picked: Vec<(String, String)> = typed
        .iter()
        .filter_map(|(name, choice)| Some((name.strip_prefix("pick.")?.to_owned(), choice.clone())))
        .collect();
    for (field, choice) in picked {
        typed.remove(&format!("pick.{field}"));
        let both = typed.remove(&format!("both.{field}"));
        match (choice.as_str(), both) {
            ("theirs", _) => drop(typed.remove(&field)),
            ("both", Some(text)) => drop(typed.insert(field, text)),
            _ => {}
        }
    }
}
