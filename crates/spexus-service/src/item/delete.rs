//! Deleting an item with what falls with it, telling so before, and bringing it all back.

use super::record;
use crate::Service;
use crate::context::Context;
use crate::link;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::Action;
use spexus_domain::deletion::{DeletionFacts, DeletionPreview, Falling, Subject};
use spexus_domain::item::Item;
use spexus_domain::limits::MAX_TREE_NODES;
use spexus_domain::link::Link;
use spexus_domain::permission::Operation;
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Error, Result, Tx, comments, items, links, tree};
use std::collections::BTreeMap;

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
    let found = consequences(&mut conn, caller, &item).await?;
    Ok(found.preview)
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
            if consequences(&mut tx.conn, &context.caller, &item).await?.preview != agreed {
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

/// Deletes an item and everything it takes with it.
async fn delete_all(tx: &mut Tx, context: &Context, item: &Item, force: bool) -> Result<DeletionPreview> {
    let found = consequences(&mut tx.conn, &context.caller, item).await?;
    //= specs/spexus-service.md#rules
    //# An item that others depend on MUST be deleted only with `force`, after a preview that tells what falls with it.
    found.preview.check(force)?;
    let deletion_id = tx.new_id();
    for link in &found.links {
        links::soft_delete(tx, link.id, Some(deletion_id)).await?;
        link::record(tx, Action::Deleted, link).await?;
    }
    for requirement in &found.unpointed {
        let mut freed = requirement.clone();
        freed.acceptance_criterion = None;
        freed.rev += 1;
        freed.updated_at = tx.now();
        items::update(tx, requirement, &freed).await?;
        record(tx, Action::Updated, Some(requirement), &freed).await?;
    }
    // The deepest first, so that the history never shows a child without its container.
    for falling in found.items.iter().rev() {
        items::soft_delete(tx, falling, deletion_id).await?;
        let gone = Item {
            rev: falling.rev + 1,
            ..falling.clone()
        };
        record(tx, Action::Deleted, Some(falling), &gone).await?;
    }
    Ok(found.preview)
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

struct Consequences {
    preview: DeletionPreview,
    /// The item and everything below it, containers first.
    items: Vec<Item>,
    links: Vec<Link>,
    unpointed: Vec<Item>,
}

async fn consequences(conn: &mut Conn, caller: &Caller, item: &Item) -> Result<Consequences> {
    let nodes = tree::below(conn, item.id, u32::MAX, MAX_TREE_NODES + 1).await?;
    if nodes.len() > MAX_TREE_NODES as usize {
        let message = format!("{} contains more than {MAX_TREE_NODES} items", item.reference_id);
        return Err(Refusal::new(Code::RuleViolated, message)
            .hint("Delete its parts first.")
            .into());
    }
    let items: Vec<Item> = nodes.into_iter().map(|node| node.item).collect();
    let mut ending: BTreeMap<Uuid, Link> = BTreeMap::new();
    let mut unpointed: Vec<Item> = Vec::new();
    for falling in &items {
        ending.extend(
            links::of_item(conn, falling.id)
                .await?
                .into_iter()
                .map(|link| (link.id, link)),
        );
        if falling.kind == Kind::AcceptanceCriterion {
            let pointing = items::pointing_to(conn, falling.id).await?;
            unpointed.extend(
                pointing
                    .into_iter()
                    .filter(|other| !items.iter().any(|gone| gone.id == other.id)),
            );
        }
    }
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
    let ids: Vec<Uuid> = items.iter().map(|falling| falling.id).collect();
    let comments = comments::count_on(conn, &ids).await?;
    let falling = items.iter().skip(1).map(falling).collect();
    let losing = unpointed
        .iter()
        .map(|requirement| requirement.reference_id.clone())
        .collect();
    let counted = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let hidden = ending.values().filter(|link| !link::is_visible(caller, link));
    let facts = DeletionFacts {
        items: falling,
        links: counted(ending.len()),
        hidden_links: counted(hidden.count()),
        comments,
        unpointed: losing,
        last_criterion,
    };
    let preview = DeletionPreview::decide(Subject::from(item), facts);
    Ok(Consequences {
        preview,
        items,
        links: ending.into_values().collect(),
        unpointed,
    })
}

fn falling(item: &Item) -> Falling {
    Falling {
        id: item.id,
        reference_id: item.reference_id.clone(),
        kind: item.kind,
        title: item.heading(),
    }
}
