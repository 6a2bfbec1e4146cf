//! Changing an item.

use super::apply::{assignee, criterion, requirement_type, workflow};
use super::change;
use super::proof::check_step;
use crate::context::Context;
use crate::{Service, lease};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::{self, Attributes};
use spexus_domain::change::{Action, Change, FieldChange};
use spexus_domain::item::{Item, ItemPatch};
use spexus_domain::lease::intent;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Fault, Kind, Refusal, Ruled, text, told};
use spexus_store::{Conn, Error, Result, Tx, changes, comments, items, projects};

/// Changes the fields that are given; a stale `expect_rev` is refused with who changed what.
#[boxed]
pub async fn update(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    patch: ItemPatch,
) -> Ruled<Item> {
    let (place, id) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::UpdateItem, place, move |tx, context| {
        Box::pin(async move {
            let before = context.item(&mut tx.conn, "id", &id, kind).await?;
            let held_for = lease::check(tx, &context.caller, &before).await?;
            check_seen(&context.caller, &before, patch.expect_rev)?;
            check_rev(&mut tx.conn, &before, patch.expect_rev).await?;
            patch.check(before.kind)?;
            let intent = Some(intent(patch.intent.as_deref())?).filter(|intent| !intent.is_empty());
            let intent = intent.or(held_for);
            let item = patched(&mut tx.conn, &context, &before, patch).await?;
            check_step(tx, &before, &item).await?;
            store(tx, before, item, intent).await
        })
    });
    job.await
}

/// Keeps what an item became, with its history.
async fn store(tx: &mut Tx, before: Item, mut item: Item, intent: Option<String>) -> Result<Item> {
    //= specs/spexus-service.md#history
    //# A write that changes nothing SHOULD make no new revision.
    if item == before {
        return Ok(before);
    }
    item.rev += 1;
    item.updated_at = tx.now();
    items::update(tx, &before, &item).await?;
    let mut telling = change(Action::Updated, Some(&before), &item);
    if before.description != item.description {
        let anchors = follow_anchors(tx, &before, &item).await?;
        if !anchors.is_empty() {
            telling = telling.telling(told::ANCHORS, anchors);
        }
    }
    if let Some(intent) = intent {
        telling = telling.telling(told::INTENT, intent);
    }
    tx.record(telling).await?;
    Ok(item)
}

/// Refuses the change of an agent that does not say which revision it read.
//= specs/spexus-service.md#agents
//# A change of an item by an agent MUST be refused where it does not name the revision it was made for.
fn check_seen(caller: &Caller, item: &Item, expected: Option<i64>) -> Ruled<()> {
    if !caller.is_agent || expected.is_some() {
        return Ok(());
    }
    let problem = format!(
        "is missing: an agent says which revision of {} it read",
        item.reference_id
    );
    let allowed = "the `rev` of your last read";
    Err(
        Refusal::field(Code::MissingRequiredField, "expect_rev", problem, allowed)
            .hint("Read it, for instance with get_context, and send its revision."),
    )
}

/// Refuses a stale revision: one fault for each field, telling who changed it, when, and to what.
//= specs/spexus-http.md#answers
//# A write with a stale `If-Match` MUST be refused with who changed what.
pub(crate) async fn check_rev(conn: &mut Conn, item: &Item, expected: Option<i64>) -> Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != item.rev) else {
        return Ok(());
    };
    let message = format!(
        "{} has revision {} now, not {expected}",
        item.reference_id, item.rev
    );
    let mut refusal = Refusal::new(Code::StaleRevision, message).fact("current_rev", item.rev);
    let mut since = changes::since_rev(conn, item.id, item.id, expected).await?;
    for change in &mut since {
        change.show_references(|_| item.reference_id.prefix().clone());
    }
    let fault = |(field, who): (FieldChange, String)| {
        let to = field.after.as_ref();
        let to = to.map_or_else(|| "nothing".into(), |value| text::excerpt(&value.to_string(), 80));
        Fault {
            field: field.field,
            problem: format!("changed to {to} {who}"),
            allowed: format!("expect_rev {}", item.rev),
        }
    };
    refusal.faults.extend(differences(since).into_iter().map(fault));
    Err(refusal.into())
}

/// What differs after some changes, and by whom: of each field the last change, and nothing of what is again as it was.
fn differences(changes: Vec<Change>) -> Vec<(FieldChange, String)> {
    let mut found: Vec<(FieldChange, String)> = Vec::new();
    for change in changes {
        let who = format!("by {} at {} (revision {})", change.user, change.at, change.rev);
        for field in change.fields {
            match found.iter_mut().find(|(known, _)| known.field == field.field) {
                Some(known) => (known.0.after, known.1) = (field.after, who.clone()),
                None => found.push((field, who.clone())),
            }
        }
    }
    found.retain(|(field, _)| field.before != field.after);
    found
}

async fn patched(conn: &mut Conn, context: &Context, before: &Item, patch: ItemPatch) -> Result<Item> {
    let mut item = before.clone();
    if let Some(title) = patch.title {
        item.title = title.trim().to_owned();
    }
    if let Some(description) = patch.description {
        item.description = description;
    }
    if let Some(priority) = patch.priority {
        item.priority = Some(priority);
    }
    if let (Some(wanted), Some(from)) = (&patch.status, &before.status) {
        item.status = Some(workflow(conn, item.kind).await?.step(from, wanted)?);
    }
    if let Some(wanted) = &patch.requirement_type {
        item.requirement_type = requirement_type(conn, Some(wanted)).await?;
    }
    match &patch.acceptance_criterion {
        Some(Some(wanted)) => {
            let story = (before.parent.as_ref().map(|parent| parent.id), before.project_id);
            item.acceptance_criterion = Some(criterion(conn, context, wanted, story).await?);
        }
        Some(None) => item.acceptance_criterion = None,
        None => {}
    }
    match &patch.assignee {
        Some(Some(wanted)) => item.assignee = Some(assignee(conn, context, wanted).await?),
        Some(None) => item.assignee = None,
        None => {}
    }
    if let Some(attributes) = patch.attributes {
        merge(&mut item.attributes, attributes);
        let project = projects::by_id(conn, item.project_id).await?;
        let rules = project
            .ok_or_else(|| Error::Broken("an item has no project".into()))?
            .attributes;
        attribute::check(&rules, item.kind, &item.attributes)?;
    }
    if item != *before {
        item.content_hash = Item::hash(
            &item.title,
            &item.description,
            item.requirement_type.as_deref(),
            &item.attributes,
        );
    }
    Ok(item)
}

/// Sets the attributes given and removes those given as `null`.
fn merge(attributes: &mut Attributes, given: Attributes) {
    for (name, value) in given {
        if value.is_null() {
            attributes.remove(&name);
        } else {
            attributes.insert(name, value);
        }
    }
}

/// Lets anchored comments follow their quote into the edited text.
//= specs/spexus-service.md#comments
//# The anchor of a comment MUST follow the words it quotes when the text around them changes.
async fn follow_anchors(tx: &mut Tx, before: &Item, after: &Item) -> Result<Attributes> {
    let mut moved_anchors = Attributes::new();
    for (id, anchor) in comments::anchored(&mut tx.conn, after.id).await? {
        let moved = anchor.follow(&before.description, &after.description);
        if moved != anchor {
            comments::move_anchor(tx, id, &moved).await?;
            moved_anchors.insert(id.to_string(), comments::anchor_value(&moved));
        }
    }
    Ok(moved_anchors)
}
