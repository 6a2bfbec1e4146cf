//! Deleting an item with what falls with it, telling so before, and bringing it all back.

use super::record;
use crate::Service;
use crate::context::Context;
use crate::link;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::Action;
use spexus_domain::deletion::{DeletionFacts, DeletionPreview, Subject};
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_TREE_NODES;
use spexus_domain::link::Link;
use spexus_domain::permission::Operation;
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Error, Result, Tx, deletion, items, links};
use std::collections::{BTreeMap, HashSet};

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
    let id = id.to_owned();
    let job = service.change(caller, Operation::DeleteItem, project, move |tx, context| {
        Box::pin(async move {
            let item = context.item(&mut tx.conn, "id", &id, kind).await?;
            super::update::check_rev(&mut tx.conn, &item, expect_rev).await?;
            delete_all(tx, &context, &item, force).await
        })
    });
    job.await
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
    let job = service.change(caller, Operation::DeleteItem, project, move |tx, context| {
        Box::pin(async move {
            //= specs/spexus-service.md#rules
            //# What was shown MUST be deleted by its UUID and in the revision that was shown.
            let id = agreed.id.to_string();
            let item = context.item(&mut tx.conn, "id", &id, None).await?;
            super::update::check_rev(&mut tx.conn, &item, expect_rev).await?;
            super::update::check_rev(&mut tx.conn, &item, Some(agreed.rev)).await?;
            if consequences(&mut tx.conn, &context.caller, &item).await? != agreed {
                let message = format!(
                    "{}/{} was not deleted: what falls with it changed meanwhile",
                    agreed.project, agreed.reference_id
                );
                return Err(Refusal::new(Code::StaleRevision, message)
                    .hint("Look at the preview again.")
                    .into());
            }
            delete_all(tx, &context, &item, true).await
        })
    });
    job.await
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
    let id = id.to_owned();
    let job = service.change(caller, Operation::RestoreItem, project, move |tx, context| {
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
            restore_all(tx, &context, deletion_id).await?;
            let back = items::by_id(&mut tx.conn, item.id).await?;
            back.ok_or_else(|| Error::Broken("a restored item is gone".into()))
        })
    });
    job.await
}

/// Deletes an item and everything it takes with it. Each item is read when its turn comes, so that no tree of long texts is
/// ever in memory whole.
async fn delete_all(tx: &mut Tx, context: &Context, item: &Item, force: bool) -> Result<DeletionPreview> {
    let preview = consequences(&mut tx.conn, &context.caller, item).await?;
    //= specs/spexus-service.md#rules
    //# An item that others depend on MUST be deleted only with `force`, after a preview that tells what falls with it.
    preview.check(force)?;
    let deletion_id = tx.new_id();
    let below = preview.items.iter().map(|falling| (falling.id, falling.kind));
    let falling: Vec<(Uuid, Kind)> = std::iter::once((item.id, item.kind)).chain(below).collect();
    end_links(tx, &falling, deletion_id).await?;
    free_requirements(tx, &falling).await?;
    // The deepest first, so that the history never shows a child without its container.
    for (id, _) in falling.iter().rev() {
        let falling = items::by_id(&mut tx.conn, *id).await?;
        let falling = falling.ok_or_else(|| Error::Broken("an item that falls is gone".into()))?;
        items::soft_delete(tx, &falling, deletion_id).await?;
        let gone = Item {
            rev: falling.rev + 1,
            ..falling.clone()
        };
        record(tx, Action::Deleted, Some(&falling), &gone).await?;
    }
    Ok(preview)
}

/// Ends the links of what falls, each once.
async fn end_links(tx: &mut Tx, falling: &[(Uuid, Kind)], deletion_id: Uuid) -> Result<()> {
    let mut ending: BTreeMap<Uuid, Link> = BTreeMap::new();
    for (id, _) in falling {
        let found = links::of_item(&mut tx.conn, *id).await?;
        ending.extend(found.into_iter().map(|link| (link.id, link)));
    }
    for link in ending.values() {
        links::soft_delete(tx, link.id, Some(deletion_id)).await?;
        link::record(tx, Action::Deleted, link).await?;
    }
    Ok(())
}

/// Takes the criteria that fall away from the requirements that stay.
async fn free_requirements(tx: &mut Tx, falling: &[(Uuid, Kind)]) -> Result<()> {
    let all: HashSet<Uuid> = falling.iter().map(|(id, _)| *id).collect();
    let criteria = falling
        .iter()
        .filter(|(_, kind)| *kind == Kind::AcceptanceCriterion);
    for (criterion, _) in criteria {
        let pointing = items::pointing_to(&mut tx.conn, *criterion).await?;
        for requirement in pointing.iter().filter(|other| !all.contains(&other.id)) {
            let mut freed = requirement.clone();
            freed.acceptance_criterion = None;
            freed.rev += 1;
            freed.updated_at = tx.now();
            items::update(tx, requirement, &freed).await?;
            record(tx, Action::Updated, Some(requirement), &freed).await?;
        }
    }
    Ok(())
}

/// Brings back everything that one deletion took.
async fn restore_all(tx: &mut Tx, context: &Context, deletion_id: Uuid) -> Result<()> {
    //= specs/spexus-service.md#rules
    //# What was deleted together MUST come back together.
    let fallen = items::deleted_by(&mut tx.conn, deletion_id).await?;
    check_container(&mut tx.conn, &fallen).await?;
    for gone in &fallen {
        items::undelete(tx, gone).await?;
        let back = Item {
            rev: gone.rev + 1,
            deleted_at: None,
            ..gone.clone()
        };
        record(tx, Action::Restored, None, &back).await?;
    }
    for link in links::undelete_by(tx, deletion_id).await? {
        // The refusal undoes all of it: who may not see the other end must not bring the link back either.
        link::check_ends(&context.caller, &link)?;
        link::record(tx, Action::Restored, &link).await?;
    }
    Ok(())
}

/// What falls together must not come back into a container that is itself deleted.
async fn check_container(conn: &mut Conn, fallen: &[Item]) -> Result<()> {
    for parent in fallen.iter().filter_map(|item| item.parent.as_ref()) {
        if fallen.iter().any(|item| item.id == parent.id) {
            continue;
        }
        let container = items::by_id(conn, parent.id).await?;
        if container.is_none_or(|container| container.deleted_at.is_some()) {
            let message = format!("{} contains it and is deleted", parent.reference_id);
            return Err(Refusal::new(Code::RuleViolated, message)
                .hint(format!("Restore {} first.", parent.reference_id))
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
