//! Comments: threads on items, settled or open, and anchored to a piece of text.

use crate::Service;
use crate::context::{Context, check_rev, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::anchor::Anchor;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::{self, Comment, CommentPatch, NewComment};
use spexus_domain::limits::MAX_COMMENT_DEPTH;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid, told};
use spexus_store::{Conn, Result, Tx, comments};

/// One page of the comments of an item, oldest first; all, or only settled or open ones.
#[boxed]
pub async fn list(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    resolved: Option<bool>,
    page: PageRequest,
) -> Ruled<Page<Comment>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, kind).await?;
    comments::of_item(&mut conn, item.id, resolved, &page)
        .await
        .map_err(Refusal::from)
}

/// One comment.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Comment> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    Ok(find(&mut conn, caller, Operation::Read, id).await?.0)
}

/// Writes a comment on an item, or an answer to another comment of it.
#[boxed]
pub async fn create(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    input: NewComment,
) -> Ruled<Comment> {
    let (place, id) = ((project, Some(id)), id.to_owned());
    let job = service.change_in(caller, Operation::Comment, place, move |tx, context| {
        Box::pin(async move {
            let item = context.item(&mut tx.conn, "item", &id, kind).await?;
            let content = comment::content(&input.content)?;
            let depth = match input.parent_id {
                Some(parent) => depth_below(&mut tx.conn, &context.caller, parent, item.id).await?,
                None => 0,
            };
            let anchor = match &input.anchor {
                Some(wanted) => Some(Anchor::locate(&item.description, &wanted.quote, wanted.start)?),
                None => None,
            };
            let comment = Comment {
                id: tx.new_id(),
                item_id: item.id,
                item: item.reference_id,
                parent_id: input.parent_id,
                depth,
                author: tx.actor().username.clone(),
                author_id: tx.actor().user_id,
                content,
                resolved: false,
                anchor,
                rev: 1,
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            comments::insert(tx, item.project_id, &comment).await?;
            record(tx, Action::Created, None, &comment, item.project_id).await?;
            Ok(comment)
        })
    });
    job.await
}

/// Changes what a comment says, or settles its thread. People edit their own words; owners of the project and administrators
/// anyone's.
#[boxed]
pub async fn update(service: &Service, caller: &Caller, id: Uuid, patch: CommentPatch) -> Ruled<Comment> {
    let whole = id.to_string();
    let place = (None, Some(whole.as_str()));
    let job = service.change_at(caller, Operation::Comment, place, move |tx, caller| {
        Box::pin(async move {
            let (before, project_id) = find(&mut tx.conn, &caller, Operation::Comment, id).await?;
            check_rev("this comment", before.rev, patch.expect_rev)?;
            let mut comment = before.clone();
            if let Some(content) = &patch.content {
                check_author(&caller, (&before, project_id), Operation::ModerateComment)?;
                comment.content = comment::content(content)?;
            }
            if let Some(resolved) = patch.resolved {
                check_author(&caller, (&before, project_id), Operation::ResolveComment)?;
                comment.resolved = resolved;
            }
            if comment == before {
                return Ok(before);
            }
            comment.rev += 1;
            comment.updated_at = tx.now();
            comments::update(tx, project_id, &comment).await?;
            record(tx, Action::Updated, Some(&before), &comment, project_id).await?;
            Ok(comment)
        })
    });
    job.await
}

/// Removes a comment that nobody answered.
#[boxed]
pub async fn delete(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Comment> {
    let whole = id.to_string();
    let place = (None, Some(whole.as_str()));
    let job = service.change_at(caller, Operation::Comment, place, move |tx, caller| {
        Box::pin(async move {
            let (comment, project_id) = find(&mut tx.conn, &caller, Operation::Comment, id).await?;
            check_author(&caller, (&comment, project_id), Operation::ModerateComment)?;
            let replies = comments::count_replies(&mut tx.conn, id).await?;
            if replies > 0 {
                let message = format!("this comment has {replies} answer(s)");
                let hint = "Delete the answers first, or edit the comment instead.";
                return Err(Refusal::new(Code::RuleViolated, message).hint(hint).into());
            }
            comments::soft_delete(tx, id).await?;
            let gone = Comment {
                rev: comment.rev + 1,
                ..comment.clone()
            };
            record(tx, Action::Deleted, Some(&comment), &gone, project_id).await?;
            Ok(comment)
        })
    });
    job.await
}

async fn depth_below(conn: &mut Conn, caller: &Caller, parent: Uuid, item_id: Uuid) -> Result<usize> {
    let (parent, _) = find(conn, caller, Operation::Comment, parent).await?;
    if parent.item_id != item_id {
        let problem = format!("that comment is on {}", parent.item);
        return Err(Refusal::field(
            Code::RuleViolated,
            "parent_id",
            problem,
            "a comment on the same item",
        )
        .into());
    }
    if parent.depth + 1 > MAX_COMMENT_DEPTH {
        let problem = format!("the thread is {MAX_COMMENT_DEPTH} answers deep");
        return Err(Refusal::field(Code::RuleViolated, "parent_id", problem, "a new thread").into());
    }
    Ok(parent.depth + 1)
}

/// What is not one's own needs a further right.
//= specs/spexus-service.md#comments
//# Only its author, the owners of the project and administrators MAY change or remove what a comment says.
fn check_author(caller: &Caller, (comment, project_id): (&Comment, Uuid), otherwise: Operation) -> Ruled<()> {
    if comment.author_id == caller.user_id {
        Ok(())
    } else {
        caller.may_in(otherwise, project_id)
    }
}

/// A living comment the caller can see, and its project, in which the caller may do something.
async fn find(conn: &mut Conn, caller: &Caller, operation: Operation, id: Uuid) -> Result<(Comment, Uuid)> {
    let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no comment {id}"));
    let found = comments::by_id(conn, id).await?;
    let (comment, project_id) = found
        .filter(|(_, project_id)| caller.sees(*project_id))
        .ok_or_else(missing)?;
    caller.may_in(operation, project_id)?;
    Ok((comment, project_id))
}

/// With what a new comment answers and is anchored to.
pub(crate) fn joined(mut change: NewChange, comment: &Comment) -> NewChange {
    if let Some(parent) = comment.parent_id {
        change = change.telling(told::PARENT, parent.to_string());
    }
    if let Some(anchor) = &comment.anchor {
        change = change.telling(told::ANCHOR, comments::anchor_value(anchor));
    }
    change
}

async fn record(
    tx: &mut Tx,
    action: Action,
    before: Option<&Comment>,
    after: &Comment,
    project_id: Uuid,
) -> Result<()> {
    let fields = |comment: &Comment| {
        Attributes::from_iter([
            ("content".to_owned(), comment.content.clone().into()),
            ("resolved".to_owned(), comment.resolved.into()),
        ])
    };
    let change = NewChange::new(
        Entity::Comment,
        after.id,
        format!("comment on {}", after.item.plain()),
        action,
        after.rev,
    )
    .in_project(project_id)
    .on_item(after.item_id, None)
    .fields(before.map(fields), fields(after));
    let change = match action {
        Action::Created => joined(change, after),
        _ => change,
    };
    tx.record(change).await.map(drop)
}
