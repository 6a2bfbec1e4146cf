//! Moving an item: to another container, or to another place among its siblings.

use super::apply::pointer;
use super::record;
use super::update::check_rev;
use crate::context::Context;
use crate::{Service, lease};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::change::Action;
use spexus_domain::item::{Item, Move};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_store::{Conn, Result, Tx, items};

/// Moves an item.
#[boxed]
pub async fn move_to(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    to: Move,
) -> Ruled<Item> {
    let (about, id) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::UpdateItem, about, move |tx, context| {
        Box::pin(async move {
            let before = context.item(&mut tx.conn, "id", &id, kind).await?;
            place(tx, &context, before, to).await
        })
    });
    job.await
}

async fn place(tx: &mut Tx, context: &Context, before: Item, to: Move) -> Result<Item> {
    lease::check(tx, &context.caller, &before).await?;
    check_rev(&mut tx.conn, &before, to.expect_rev).await?;
    let mut item = before.clone();
    if let Some(wanted) = &to.parent {
        let parent = context
            .item_beside(&mut tx.conn, ("parent", wanted), None, item.project_id)
            .await?;
        item.kind.check_parent(Some(parent.kind))?;
        item.parent = Some(pointer(&parent));
        if item.parent != before.parent {
            check_leaving(&mut tx.conn, &before, &parent).await?;
        }
    }
    item.position = position(tx, context, &item, &to).await?;
    if item == before {
        return Ok(before);
    }
    item.rev += 1;
    item.updated_at = tx.now();
    items::update(tx, &before, &item).await?;
    record(tx, Action::Updated, Some(&before), &item).await?;
    Ok(item)
}

/// Refuses to leave a story in a state its rules forbid.
async fn check_leaving(conn: &mut Conn, item: &Item, parent: &Item) -> Result<()> {
    if parent.project_id != item.project_id {
        let problem = format!("{} belongs to another project", parent.reference_id);
        return Err(Refusal::field(
            Code::RuleViolated,
            "parent",
            problem,
            "a container in the same project",
        )
        .into());
    }
    if let Some(criterion) = &item.acceptance_criterion {
        let problem = format!("it serves {}, which stays behind", criterion.reference_id);
        let allowed = "clear acceptance_criterion first";
        return Err(Refusal::field(Code::RuleViolated, "parent", problem, allowed).into());
    }
    if item.kind == Kind::AcceptanceCriterion {
        if let Some(first) = items::pointing_to(conn, item.id).await?.first() {
            let problem = format!("{} serves it and stays behind", first.reference_id);
            return Err(Refusal::field(
                Code::RuleViolated,
                "parent",
                problem,
                "clear its acceptance_criterion first",
            )
            .into());
        }
        if let Some(story) = &item.parent
            && items::count_children(conn, story.id, item.kind).await? <= 1
        {
            let problem = format!(
                "it is the last acceptance criterion of {}; a story keeps at least one",
                story.reference_id
            );
            return Err(Refusal::field(
                Code::RuleViolated,
                "parent",
                problem,
                "add another criterion first",
            )
            .into());
        }
    }
    Ok(())
}

async fn position(tx: &mut Tx, context: &Context, item: &Item, to: &Move) -> Result<i64> {
    let (field, wanted, after) = match (&to.after, &to.before) {
        (Some(_), Some(_)) => {
            let problem = "is given together with after";
            return Err(Refusal::field(Code::InvalidParams, "before", problem, "one of the two").into());
        }
        (Some(wanted), None) => ("after", wanted, true),
        (None, Some(wanted)) => ("before", wanted, false),
        (None, None) => {
            let parent = item.parent.as_ref().map(|parent| parent.id);
            return items::last_position(&mut tx.conn, item.project_id, item.kind, parent).await;
        }
    };
    let sibling = context
        .item_beside(&mut tx.conn, (field, wanted), None, item.project_id)
        .await?;
    if sibling.id == item.id {
        return Ok(item.position);
    }
    let siblings = sibling.parent == item.parent && sibling.project_id == item.project_id;
    if !siblings || (item.parent.is_none() && sibling.kind != item.kind) {
        let problem = format!("{} is not a sibling", sibling.reference_id);
        return Err(Refusal::field(
            Code::InvalidParams,
            field,
            problem,
            "an item with the same container",
        )
        .into());
    }
    items::position_beside(tx, &sibling, after).await
}
