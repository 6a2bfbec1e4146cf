//! Deleting an item with what falls with it, telling so before, and bringing it all back.

use super::{change, record};
use crate::Service;
use crate::context::Context;
use crate::{lease, link};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::{Action, NewChange};
use spexus_domain::deletion::{DeletionFacts, DeletionPreview, Subject};
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_TREE_NODES;
use spexus_domain::permission::Operation;
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, ShownReference, Uuid, text, told};
use spexus_store::recording::record_all;
use spexus_store::{Conn, Error, Result, Tx, deletion, items, links};
use std::collections::HashSet;

/// Items that are read and written together: a trip to a server is worth many, and their texts are in memory together.
const ITEMS_AT_ONCE: usize = 100;

/// Links that are ended together.
const LINKS_AT_ONCE: u32 = 500;

/// What deleting an item would do.
#[boxed]
pub async fn preview(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
) -> Ruled<DeletionPreview> {
    caller.may(Operation::Read)?;
    let mut conn = service.store.read().await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, kind).await?;
    Ok(consequences(&mut conn, caller, &item).await?)
}

/// Deletes an item and what falls with it; without `force` only when nothing does.
#[boxed]
pub async fn delete(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    force: bool,
    expect_rev: Option<i64>,
) -> Ruled<DeletionPreview> {
    let (place, wanted) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::DeleteItem, place, move |tx, context| {
        Box::pin(async move {
            let item = context.item(&mut tx.conn, "id", &wanted, kind).await?;
            super::update::check_rev(&mut tx.conn, &item, expect_rev).await?;
            delete_all(tx, &context, &item, force).await
        })
    });
    job.await.map_err(|refusal| too_much(refusal, id))
}

/// What is said of a deletion that takes longer than a transaction may.
//= specs/spexus-service.md#rules
//# A deletion that takes longer than a transaction may MUST be undone, and MUST be refused with the advice to delete its parts first.
fn too_much(refusal: Refusal, id: &str) -> Refusal {
    if refusal.code != Code::Timeout {
        return refusal;
    }
    let message = format!(
        "{} was not deleted: too much falls with it for one transaction, for which all other writes wait",
        text::excerpt(id, 60)
    );
    Refusal::new(Code::Timeout, message)
        .hint("Nothing was changed. Delete its parts first, then it.")
        .fact("outcome", "nothing_done")
}

/// Deletes an item of which somebody saw the preview and agreed to it. When something else falls by now, nothing does.
//= specs/spexus-service.md#rules
//# A deletion somebody agreed to MUST take with it exactly what they were shown, else nothing MUST be deleted.
#[boxed]
pub async fn delete_agreed(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    agreed: DeletionPreview,
    expect_rev: Option<i64>,
) -> Ruled<DeletionPreview> {
    let (shown, id) = (agreed.reference_id.to_string(), agreed.id.to_string());
    let place = (project, Some(id.as_str()));
    let job = service.change_in(caller, Operation::DeleteItem, place, move |tx, context| {
        Box::pin(async move {
            //= specs/spexus-service.md#rules
            //# What was shown MUST be deleted by its UUID and in the revision that was shown.
            let id = agreed.id.to_string();
            let item = context.item(&mut tx.conn, "id", &id, None).await?;
            super::update::check_rev(&mut tx.conn, &item, expect_rev).await?;
            super::update::check_rev(&mut tx.conn, &item, Some(agreed.rev)).await?;
            if consequences(&mut tx.conn, &context.caller, &item).await? != agreed {
                let message = format!(
                    "{} was not deleted: what falls with it changed meanwhile",
                    agreed.reference_id.in_project(&agreed.project)
                );
                return Err(Refusal::new(Code::StaleRevision, message)
                    .hint("Look at the preview again.")
                    .into());
            }
            delete_all(tx, &context, &item, true).await
        })
    });
    job.await.map_err(|refusal| too_much(refusal, &shown))
}

/// Brings a deleted item back, with everything that fell with it.
#[boxed]
pub async fn restore(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
) -> Ruled<Item> {
    let (place, id) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::RestoreItem, place, move |tx, context| {
        Box::pin(async move {
            let id = AnyId::parse("id", &id)?;
            let item = context.any_item(&mut tx.conn, "id", &id).await?;
            let of_kind = kind.is_none_or(|kind| kind == item.kind);
            let deletion = items::deletion_of(&mut tx.conn, item.id).await?;
            let Some(deletion_id) = deletion.filter(|_| of_kind) else {
                let message = format!("{} is not deleted", item.reference_id);
                return Err(Refusal::new(Code::RuleViolated, message)
                    .hint("There is nothing to restore.")
                    .into());
            };
            restore_all(tx, &context, item.project_id, deletion_id).await?;
            let back = items::by_id(&mut tx.conn, item.id).await?;
            back.ok_or_else(|| Error::Broken("a restored item is gone".into()))
        })
    });
    job.await
}

/// Deletes an item and everything it takes with it. Items are read when their turn comes, so that no tree of long texts is
/// ever in memory whole.
async fn delete_all(tx: &mut Tx, context: &Context, item: &Item, force: bool) -> Result<DeletionPreview> {
    tx.takes_many_steps();
    lease::check(tx, &context.caller, item).await?;
    let preview = consequences(&mut tx.conn, &context.caller, item).await?;
    //= specs/spexus-service.md#rules
    //# An item that others depend on MUST be deleted only with `force`, after a preview that tells what falls with it.
    preview.check(force)?;
    let deletion_id = tx.new_id();
    end_links(tx, context, item.id, deletion_id).await?;
    free_requirements(tx, item.project_id, &preview.unpointed).await?;
    // The deepest first, so that the history never shows a child without its container.
    let below = preview.items.iter().map(|falling| falling.id);
    let mut ids: Vec<Uuid> = std::iter::once(item.id).chain(below).collect();
    ids.reverse();
    for some in ids.chunks(ITEMS_AT_ONCE) {
        let falling = items::by_ids(&mut tx.conn, some).await?;
        for one in &falling {
            lease::check(tx, &context.caller, one).await?;
        }
        items::soft_delete(tx, &falling, deletion_id).await?;
        let changes = falling.iter().map(|item| fallen_with(gone(item), deletion_id));
        record_all(tx, changes.collect()).await?;
    }
    Ok(preview)
}

/// With the deletion it fell with, so that the history knows what will come back together.
fn fallen_with(change: NewChange, deletion_id: Uuid) -> NewChange {
    change.telling(told::DELETION, deletion_id.to_string())
}

/// A deletion as the history tells it.
fn gone(item: &Item) -> NewChange {
    let gone = Item {
        rev: item.rev + 1,
        ..item.clone()
    };
    change(Action::Deleted, Some(item), &gone)
}

/// Ends the links of what falls, each once. Those that have ended are found no more.
async fn end_links(tx: &mut Tx, context: &Context, root: Uuid, deletion_id: Uuid) -> Result<()> {
    loop {
        let ending = deletion::links(&mut tx.conn, root, LINKS_AT_ONCE).await?;
        if ending.is_empty() {
            return Ok(());
        }
        ending
            .iter()
            .try_for_each(|link| link::check_ends(&context.caller, Operation::Link, link))?;
        links::soft_delete(tx, &ending, Some(deletion_id)).await?;
        let ended = |ended| fallen_with(link::change(Action::Deleted, ended), deletion_id);
        let changes = ending.iter().map(ended);
        record_all(tx, changes.collect()).await?;
    }
}

/// Takes the criteria that fall away from the requirements that stay.
async fn free_requirements(tx: &mut Tx, project_id: Uuid, staying: &[ShownReference]) -> Result<()> {
    for reference in staying {
        let id = AnyId::Reference {
            project: None,
            reference: reference.plain().clone(),
        };
        let Some(requirement) = items::by_any_id(&mut tx.conn, project_id, &id).await? else {
            continue;
        };
        let mut freed = requirement.clone();
        freed.acceptance_criterion = None;
        freed.rev += 1;
        freed.updated_at = tx.now();
        items::update(tx, &requirement, &freed).await?;
        record(tx, Action::Updated, Some(&requirement), &freed).await?;
    }
    Ok(())
}

/// Brings back everything that one deletion took. It cannot be done in parts, and words are indexed anew, so it may take longer
/// than the deletion did: as long as any one change.
//= specs/spexus-service.md#rules
//# What could be deleted MUST be able to come back, although that takes longer.
async fn restore_all(tx: &mut Tx, context: &Context, project_id: Uuid, deletion_id: Uuid) -> Result<()> {
    //= specs/spexus-service.md#rules
    //# What was deleted together MUST come back together.
    let fallen = items::deleted_by(&mut tx.conn, project_id, deletion_id).await?;
    check_container(&mut tx.conn, &fallen).await?;
    let ids: Vec<Uuid> = fallen.iter().map(|(id, _)| *id).collect();
    for some in ids.chunks(ITEMS_AT_ONCE) {
        let some = items::by_ids(&mut tx.conn, some).await?;
        items::undelete(tx, &some).await?;
        record_all(tx, some.iter().map(back).collect()).await?;
    }
    let back = links::undelete_by(tx, project_id, deletion_id).await?;
    // The refusal undoes all of it: who may not see the other end must not bring the link back either.
    back.iter()
        .try_for_each(|link| link::check_ends(&context.caller, Operation::Link, link))?;
    let changes = back.iter().map(|link| link::change(Action::Restored, link));
    record_all(tx, changes.collect()).await
}

/// A return as the history tells it.
fn back(item: &Item) -> NewChange {
    let back = Item {
        rev: item.rev + 1,
        deleted_at: None,
        ..item.clone()
    };
    change(Action::Restored, None, &back)
}

/// What falls together must not come back into a container that is itself deleted.
async fn check_container(conn: &mut Conn, fallen: &[(Uuid, Option<Uuid>)]) -> Result<()> {
    let known: HashSet<Uuid> = fallen.iter().map(|(id, _)| *id).collect();
    let containers = fallen.iter().filter_map(|(_, parent)| *parent);
    for parent in containers.filter(|parent| !known.contains(parent)) {
        let container = items::by_id(conn, parent).await?;
        if let Some(container) = container.filter(|container| container.deleted_at.is_some()) {
            let message = format!("{} contains it and is deleted", container.reference_id);
            return Err(Refusal::new(Code::RuleViolated, message)
                .hint(format!("Restore {} first.", container.reference_id))
                .into());
        }
    }
    Ok(())
}

/// What deleting an item would do, from names and numbers only.
async fn consequences(conn: &mut Conn, caller: &Caller, item: &Item) -> Result<DeletionPreview> {
    let mut falling = deletion::items(conn, item.id, MAX_TREE_NODES + 1).await?;
    if falling.len() > MAX_TREE_NODES as usize {
        let message = format!("{} contains more than {MAX_TREE_NODES} items", item.reference_id);
        return Err(Refusal::new(Code::RuleViolated, message)
            .hint("Delete its parts first.")
            .into());
    }
    falling.retain(|other| other.id != item.id);
    //= specs/spexus-service.md#rules
    //# The last criterion of a story MUST stay as long as the story does.
    let last_criterion = match (&item.parent, item.kind) {
        (Some(story), Kind::AcceptanceCriterion)
            if items::count_children(conn, story.id, item.kind).await? <= 1 =>
        {
            Some(story.reference_id.clone())
        }
        _ => None,
    };
    let (links, hidden_links) = deletion::count_links(conn, item.id, caller.visibility()).await?;
    let facts = DeletionFacts {
        items: falling,
        links,
        hidden_links,
        comments: deletion::count_comments(conn, item.id).await?,
        unpointed: deletion::unpointed(conn, item.id).await?,
        last_criterion,
    };
    Ok(DeletionPreview::decide(Subject::from(item), facts))
}
