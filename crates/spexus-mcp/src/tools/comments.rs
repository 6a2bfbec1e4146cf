//! Comments: threads on items.

use super::items::{project, rows};
use super::links::uuid;
use super::spec::{Effect, Invocation, Spec, read, take};
use super::structure::page_request;
use crate::Toolset;
use crate::render::{Answer, rows_of};
use crate::schema::{answer, flag, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_domain::comment::{Comment, CommentPatch, NewAnchor, NewComment};
use spexus_domain::permission::Operation;
use spexus_service::comment;

/// The tools of comments.
pub(super) fn tools() -> Vec<Spec> {
    vec![list(), add(), update(), delete()]
}

fn list() -> Spec {
    let description = "Lists the comments on an item, oldest first; all, or only open or settled threads.";
    Spec::new("list_comments", "List comments", description, run_list).takes(
        object([
            text("id", "the item, any id").required(),
            flag("resolved", "true: settled, false: open"),
            number("limit", "1-200, default 50"),
            text("cursor", ""),
            project(),
        ]),
        rows(),
    )
}

async fn run_list(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let resolved = arguments.get("resolved").and_then(Value::as_bool);
    let page = page_request(&arguments)?;
    let found = comment::list(
        &invocation.service,
        &invocation.caller,
        project,
        None,
        id,
        resolved,
        page,
    )
    .await?;
    let rows = found.data.iter().map(shown).collect();
    Ok(rows_of(
        "comments",
        rows,
        found.total(),
        found.next_cursor.as_deref(),
    ))
}

fn add() -> Spec {
    let description = "Comments on an item, answers a comment, or comments on the words it quotes.";
    Spec::new("add_comment", "Add a comment", description, run_add)
        .does(Effect::Add, Operation::Comment)
        .takes(
            object([
                text("id", "the item, any id").required(),
                text("content", "Markdown").required(),
                text("reply_to", "comment UUID"),
                text("quote", "words of the description it is about"),
                project(),
            ]),
            written(),
        )
}

async fn run_add(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let parent_id = arguments
        .text("reply_to")
        .map(|id| uuid("reply_to", id))
        .transpose()?;
    let anchor = arguments.text("quote").map(|quote| NewAnchor {
        quote: quote.to_owned(),
        start: None,
    });
    let input = NewComment {
        content: arguments.text("content").unwrap_or_default().to_owned(),
        parent_id,
        anchor,
    };
    let (id, project) = (
        arguments.text("id").unwrap_or_default(),
        arguments.text("project"),
    );
    let made = comment::create(&invocation.service, &invocation.caller, project, None, id, input).await?;
    Ok(summary("Commented on", &made))
}

fn update() -> Spec {
    let description = "Changes what a comment says, or settles or reopens its thread.";
    Spec::new("update_comment", "Update a comment", description, run_update)
        .does(Effect::Set, Operation::Comment)
        .set(Toolset::Author)
        .takes(
            object([
                text("comment_id", "UUID").required(),
                text("content", ""),
                flag("resolved", ""),
                number("expect_rev", ""),
            ]),
            written(),
        )
}

async fn run_update(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let id = uuid(
        "comment_id",
        &take(&mut arguments, "comment_id").unwrap_or_default(),
    )?;
    let patch: CommentPatch = read(arguments)?;
    let changed = comment::update(&invocation.service, &invocation.caller, id, patch).await?;
    Ok(summary("Changed a comment on", &changed))
}

fn delete() -> Spec {
    let description = "Removes a comment nobody answered.";
    Spec::new("delete_comment", "Delete a comment", description, run_delete)
        .does(Effect::Remove, Operation::Comment)
        .set(Toolset::Author)
        .takes(object([text("comment_id", "UUID").required()]), written())
}

async fn run_delete(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let id = uuid("comment_id", arguments.text("comment_id").unwrap_or_default())?;
    let gone = comment::delete(&invocation.service, &invocation.caller, id).await?;
    Ok(summary("Removed a comment on", &gone))
}

fn written() -> Value {
    answer(&[("comment", "object")])
}

fn summary(verb: &str, comment: &Comment) -> Answer {
    Answer::new(
        format!("{verb} {}.", comment.item),
        json!({ "comment": shown(comment) }),
    )
}

/// A comment without what a reader of the thread knows already.
fn shown(comment: &Comment) -> Value {
    let mut value = json!({
        "id": comment.id, "author": comment.author, "content": comment.content,
        "resolved": comment.resolved, "rev": comment.rev, "at": comment.created_at,
    });
    if let Some(parent) = comment.parent_id {
        value["reply_to"] = json!(parent);
    }
    if let Some(anchor) = &comment.anchor {
        value["quote"] = json!(anchor.quote);
    }
    value
}
