//! The tree: looking at it, moving within it, deleting and bringing back.

use super::items::{project, shown, summary};
use super::spec::{Effect, Invocation, Spec, read, take};
use crate::render::{Answer, outline, rows_of};
use crate::schema::{answer, flag, number, object, text};
use crate::{Toolset, ask};
use mcp_protocol::Arguments;
use mcp_server::Stop;
use serde_json::{Value, json};
use spexus_domain::deletion::DeletionPreview;
use spexus_domain::item::Move;
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::text::grouped;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::item;

/// The tools of the tree.
pub(super) fn tools() -> Vec<Spec> {
    vec![
        hierarchy(),
        story_requirements(),
        history(),
        move_item(),
        preview_deletion(),
        delete_item(),
        restore_item(),
    ]
}

fn hierarchy() -> Spec {
    let description =
        "Shows the whole tree below an epic (or any item) as an indented outline, one line for each item.";
    Spec::new("epic_hierarchy", "Show a hierarchy", description, run_hierarchy).takes(
        object([
            text("epic", "EP-001 or any id").required(),
            number("depth", "levels; all when left out"),
            project(),
        ]),
        answer(&[
            ("outline", "string"),
            ("total_count", "integer"),
            ("truncated", "boolean"),
        ]),
    )
}

async fn run_hierarchy(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let depth = match arguments.get("depth").and_then(Value::as_i64) {
        Some(depth) if depth < 0 => {
            let problem = format!("{depth} is no number of levels");
            return Err(Refusal::field(Code::InvalidParams, "depth", problem, "0 or more"));
        }
        depth => depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
    };
    let (id, project) = (
        arguments.text("epic").unwrap_or_default(),
        arguments.text("project"),
    );
    let tree = item::outline(&invocation.service, &invocation.caller, project, id, depth).await?;
    let (outline, cut) = outline(&tree.root);
    let mut value =
        json!({ "outline": outline, "total_count": tree.total_count, "truncated": tree.truncated || cut });
    if cut || tree.rest.is_some() {
        value["rest"] =
            json!("The outline was cut. Ask for the hierarchy of an item in it, or list a kind with under.");
    }
    Ok(Answer::new(
        format!("{} items.", grouped(tree.total_count)),
        value,
    ))
}

fn story_requirements() -> Spec {
    let description = "Lists the requirements of a user story in their order, one line each.";
    Spec::new(
        "get_user_story_requirements",
        "Requirements of a story",
        description,
        run_story_requirements,
    )
    .set(Toolset::Author)
    .takes(
        object([
            text("user_story", "US-001 or UUID").required(),
            number("limit", "1-200, default 50"),
            text("cursor", ""),
            project(),
        ]),
        super::items::rows(),
    )
}

async fn run_story_requirements(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("user_story").unwrap_or_default(),
        arguments.text("project"),
    );
    let page = page_request(&arguments)?;
    let (story, kinds) = (Some(Kind::UserStory), vec![Kind::Requirement]);
    let found = item::children(
        &invocation.service,
        &invocation.caller,
        project,
        story,
        id,
        kinds,
        page,
    )
    .await?;
    Ok(crate::render::page(
        "requirements",
        &found,
        Default::default(),
        &[],
    ))
}

fn history() -> Spec {
    let description = "Tells who changed an item, when and what, newest first.";
    Spec::new("get_history", "History of an item", description, run_history)
        .set(Toolset::Author)
        .takes(
            object([
                text("id", "any id").required(),
                number("limit", "1-200, default 50"),
                text("cursor", ""),
                project(),
            ]),
            super::items::rows(),
        )
}

async fn run_history(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let page = page_request(&arguments)?;
    let found = item::history(&invocation.service, &invocation.caller, project, None, id, page).await?;
    let rows = found.data.iter().map(crate::render::change).collect();
    Ok(rows_of(
        "changes",
        rows,
        found.total(),
        found.next_cursor.as_deref(),
    ))
}

fn move_item() -> Spec {
    let description = "Moves an item to another container, or to another place among its siblings.";
    Spec::new("move_item", "Move an item", description, run_move)
        .does(Effect::Set, Operation::UpdateItem)
        .set(Toolset::Author)
        .takes(
            object([
                text("id", "any id").required(),
                text("parent", "the new container"),
                text("after", "sibling to stand behind"),
                text("before", "sibling to stand before"),
                number("expect_rev", ""),
                project(),
            ]),
            shown(),
        )
}

async fn run_move(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let id = take(&mut arguments, "id").unwrap_or_default();
    let project = take(&mut arguments, "project");
    let to: Move = read(arguments)?;
    let moved = item::move_to(
        &invocation.service,
        &invocation.caller,
        project.as_deref(),
        None,
        &id,
        to,
    )
    .await?;
    Ok(summary("Moved", &moved))
}

fn preview_deletion() -> Spec {
    let description = "Tells what deleting an item would take with it, without deleting anything.";
    Spec::new("preview_deletion", "Preview a deletion", description, run_preview)
        .set(Toolset::Author)
        .takes(object([text("id", "any id").required(), project()]), deletion())
        .rest("Counts are whole. Preview its parts, or list a kind with under, to see the others.")
}

async fn run_preview(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let preview = item::preview(&invocation.service, &invocation.caller, project, None, id).await?;
    let text = match (preview.can_delete, preview.forbidden) {
        (true, _) => format!("{} can be deleted.", preview.reference_id),
        (false, false) => format!(
            "{} needs force: {}.",
            preview.reference_id,
            preview.reasons.join("; ")
        ),
        (false, true) => format!(
            "{} cannot be deleted: {}.",
            preview.reference_id,
            preview.reasons.join("; ")
        ),
    };
    Ok(Answer::new(text, fallen(&preview)).about(preview.id))
}

fn delete_item() -> Spec {
    let description = "Deletes an item. With force also what depends on it: call preview_deletion first. restore_item brings it back.";
    Spec::new("delete_item", "Delete an item", description, run_delete)
        .does(Effect::Remove, Operation::DeleteItem)
        .set(Toolset::Author)
        .takes(
            object([
                text("id", "any id").required(),
                flag("force", ""),
                number("expect_rev", ""),
                project(),
            ]),
            deletion(),
        )
        .rest("All of it was deleted, and counts are whole. changes_since names the others.")
}

//= specs/spexus-mcp.md#asking
//# A deletion with consequences nobody agreed to MUST be put to the person with what falls, where the client can ask; without a yes nothing MUST be changed.
async fn run_delete(invocation: Invocation, arguments: Arguments) -> Result<Answer, Stop> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let force = arguments.get("force").and_then(Value::as_bool).unwrap_or(false);
    let rev = arguments.get("expect_rev").and_then(Value::as_i64);
    let (service, caller) = (&invocation.service, &invocation.caller);
    let gone = match invocation.asker.filter(|asker| !force && asker.cx.can_elicit()) {
        None => item::delete(service, caller, project, None, id, force, rev).await?,
        Some(asker) => {
            let preview = item::preview(service, caller, project, None, id).await?;
            if preview.can_delete || preview.forbidden {
                item::delete(service, caller, project, None, id, false, rev).await?
            } else {
                ask::agree_to_deletion(&asker, &preview).await?;
                item::delete_agreed(service, caller, project, preview, rev).await?
            }
        }
    };
    let text = format!(
        "Deleted {} and {} item(s) with it.",
        gone.reference_id,
        gone.items.len()
    );
    Ok(Answer::new(text, fallen(&gone)).about(gone.id))
}

fn restore_item() -> Spec {
    let description = "Brings a deleted item back with everything that fell with it.";
    Spec::new("restore_item", "Restore an item", description, run_restore)
        .does(Effect::Set, Operation::RestoreItem)
        .set(Toolset::Author)
        .takes(object([text("id", "any id").required(), project()]), shown())
}

async fn run_restore(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let back = item::restore(&invocation.service, &invocation.caller, project, None, id).await?;
    Ok(summary("Restored", &back))
}

/// The page a list was asked for.
pub(super) fn page_request(arguments: &Arguments) -> Ruled<PageRequest> {
    PageRequest::new(limit(arguments), arguments.text("cursor").map(str::to_owned))
}

/// The rows a list was asked for; what is below any limit is refused like none at all.
pub(super) fn limit(arguments: &Arguments) -> Option<u32> {
    let wanted = arguments.get("limit").and_then(Value::as_i64)?;
    Some(u32::try_from(wanted.max(0)).unwrap_or(u32::MAX))
}

fn deletion() -> Value {
    answer(&[
        ("can_delete", "boolean"),
        ("reasons", "array"),
        ("items", "array"),
    ])
}

/// What falls, by reference id: a preview may name thousands.
fn fallen(preview: &DeletionPreview) -> Value {
    json!({
        "reference_id": preview.reference_id,
        "project": preview.project,
        "title": preview.title,
        "rev": preview.rev,
        "can_delete": preview.can_delete,
        "forbidden": preview.forbidden,
        "reasons": preview.reasons,
        "items_count": preview.items.len(),
        "items": preview.items.iter().map(|item| &item.reference_id).collect::<Vec<_>>(),
        "links": preview.links,
        "comments": preview.comments,
        "unpointed_count": preview.unpointed.len(),
        "unpointed": preview.unpointed,
    })
}
