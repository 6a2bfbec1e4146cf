//! Links: making them under their type's rules, confirming suspect ones, ending them.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::link::{Link, LinkEnd, LinkType, NewLink, find_type};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::visibility::Visibility;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid, told};
use spexus_store::links::{End, LinkFilter};
use spexus_store::{Conn, Error, Result, Tx, links, settings};
use utoipa::ToSchema;

/// The type of the links from a steering document to the epics that follow it, and how it reads from the epic.
pub const GUIDES: &str = "guides";
/// The same, from the epic.
pub const IS_GUIDED_BY: &str = "is_guided_by";

/// A page of the links of an item that the caller may see.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Links {
    /// The links, oldest first.
    pub data: Vec<Link>,
    /// How many there are on all pages.
    pub total_count: i64,
    /// How many more there are whose other end is in a project the caller may not see; absent when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden_count: i64,
    /// What to send as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One page of the links of an item, in both directions; with a type name or an inverse name, only those.
#[boxed]
pub async fn list(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    link_type: Option<&str>,
    page: PageRequest,
) -> Ruled<Links> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, kind).await?;
    let filter = match link_type {
        Some(wanted) => filter(&settings::link_types(&mut conn).await?, wanted)?,
        None => LinkFilter::default(),
    };
    //= specs/spexus-service.md#projects
    //# A link whose other end is in a project the caller may not see MUST be counted, and nothing else of that end shown.
    let found = links::of_item(&mut conn, item.id, &filter, caller.visibility(), &page).await?;
    Ok(Links {
        total_count: found.page.total().at_least(),
        hidden_count: found.hidden_count,
        data: found.page.data,
        next_cursor: found.page.next_cursor,
    })
}

/// The links a type name or an inverse name means; a type that reads alike from both ends means both.
pub(crate) fn filter(types: &[LinkType], wanted: &str) -> Ruled<LinkFilter> {
    let (link_type, inverse) = find_type(types, wanted)?;
    let end = if inverse { End::Target } else { End::Source };
    Ok(LinkFilter {
        link_type: Some(link_type.name.clone()),
        end: (!link_type.is_symmetric()).then_some(end),
    })
}

/// Makes a link.
#[boxed]
pub async fn create(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    input: NewLink,
) -> Ruled<Link> {
    let source = input.source.clone();
    let place = (project, Some(source.as_str()));
    let job = service.change_in(caller, Operation::Link, place, move |tx, context| {
        Box::pin(async move { make(tx, &context, &input).await })
    });
    job.await
}

/// Says that a link still holds although an end has changed.
#[boxed]
pub async fn confirm(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Link> {
    let whole = id.to_string();
    let place = (None, Some(whole.as_str()));
    let job = service.change_at(caller, Operation::ConfirmLink, place, move |tx, caller| {
        Box::pin(async move {
            let link = find(&mut tx.conn, &caller, Operation::ConfirmLink, id).await?;
            if !link.suspect {
                return Ok(link);
            }
            let hashes = links::confirm(tx, &link).await?;
            let link = Link {
                suspect: false,
                ..link
            };
            tx.record(change(Action::Updated, &link).telling(told::HASHES, hashes.to_vec()))
                .await?;
            Ok(link)
        })
    });
    job.await
}

/// Ends a link.
#[boxed]
pub async fn delete(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Link> {
    delete_in(service, caller, None, id).await
}

/// Lets an epic no longer follow a steering document.
#[boxed]
pub async fn unfollow(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    epic: &str,
    document: &str,
) -> Ruled<Link> {
    let place = (project, Some(document));
    let (epic, document) = (epic.to_owned(), document.to_owned());
    let job = service.change_in(caller, Operation::Link, place, move |tx, context| {
        Box::pin(async move {
            let (of_document, of_epic) = (Some(Kind::SteeringDocument), Some(Kind::Epic));
            let source = context.item(&mut tx.conn, "id", &document, of_document).await?;
            let target = context.item(&mut tx.conn, "id", &epic, of_epic).await?;
            let known = links::between(&mut tx.conn, GUIDES, source.id, target.id).await?;
            let missing = || {
                let message = format!("{} does not follow {}", target.reference_id, source.reference_id);
                Refusal::new(Code::ResourceNotFound, message)
            };
            end(tx, &context, known.ok_or_else(missing)?).await
        })
    });
    job.await
}

/// Ends a link that has to have an end in the project named.
pub(crate) async fn delete_in(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: Uuid,
) -> Ruled<Link> {
    let whole = id.to_string();
    let place = (project, Some(whole.as_str()));
    let job = service.change_in(caller, Operation::Link, place, move |tx, context| {
        Box::pin(async move { end(tx, &context, id).await })
    });
    job.await
}

async fn end(tx: &mut Tx, context: &Context, id: Uuid) -> Result<Link> {
    let link = find(&mut tx.conn, &context.caller, Operation::Link, id).await?;
    context.check_link(&link)?;
    links::soft_delete(tx, std::slice::from_ref(&link), None).await?;
    record(tx, Action::Deleted, &link).await?;
    Ok(link)
}

async fn make(tx: &mut Tx, context: &Context, input: &NewLink) -> Result<Link> {
    let types = settings::link_types(&mut tx.conn).await?;
    let (link_type, swapped) = find_type(&types, &input.link_type)?;
    let first = context.item(&mut tx.conn, "source", &input.source, None).await?;
    let second = context.item(&mut tx.conn, "target", &input.target, None).await?;
    let (source, target) = if swapped { (second, first) } else { (first, second) };
    link_type.check_ends((source.id, source.kind), (target.id, target.kind))?;
    let mut known = links::between(&mut tx.conn, &link_type.name, source.id, target.id).await?;
    if known.is_none() && link_type.is_symmetric() {
        known = links::between(&mut tx.conn, &link_type.name, target.id, source.id).await?;
    }
    if let Some(known) = known {
        let message = format!(
            "{} already {} {}",
            source.reference_id, link_type.name, target.reference_id
        );
        return Err(Refusal::new(Code::EntityDuplicate, message)
            .fact("link_id", known)
            .into());
    }
    //= specs/spexus-service.md#rules
    //# Links of a type that forbids cycles MUST NOT form one.
    if link_type.acyclic && links::leads_to(&mut tx.conn, &link_type.name, target.id, source.id).await? {
        return Err(link_type.cycle(&source.reference_id, &target.reference_id).into());
    }
    let id = tx.new_id();
    links::insert(tx, id, link_type, &source, &target).await?;
    let link = links::by_id(&mut tx.conn, id)
        .await?
        .ok_or_else(|| Error::Broken("a new link is gone".into()))?;
    let hashes = vec![source.content_hash, target.content_hash];
    tx.record(change(Action::Created, &link).telling(told::HASHES, hashes))
        .await?;
    Ok(link)
}

/// Writes a change of a link into the history of both ends, and into the feed of the project it starts from.
pub(crate) async fn record(tx: &mut Tx, action: Action, link: &Link) -> Result<()> {
    tx.record(change(action, link)).await.map(drop)
}

/// A change of a link as the history tells it.
pub(crate) fn change(action: Action, link: &Link) -> NewChange {
    let across = link.source.project_id != link.target.project_id;
    let name = |end: &LinkEnd| match across {
        true => format!("{}/{}", end.project, end.reference_id.plain()),
        false => end.reference_id.plain().to_string(),
    };
    let (source, target) = (name(&link.source), name(&link.target));
    let label = format!("{source} {} {target}", link.link_type);
    let ends = Attributes::from_iter([
        ("type".to_owned(), link.link_type.clone().into()),
        ("source".to_owned(), source.into()),
        ("target".to_owned(), target.into()),
    ]);
    let suspect = |value: bool| Attributes::from_iter([("suspect".to_owned(), value.into())]);
    let (before, after) = match action {
        Action::Deleted => (Some(ends), Attributes::new()),
        Action::Updated => (Some(suspect(true)), suspect(false)),
        Action::Created | Action::Restored => (None, ends),
    };
    NewChange::new(Entity::Link, link.id, label, action, 1)
        .in_project(link.source.project_id)
        .on_item(link.source.id, Some(link.target.id))
        .fields(before, after)
}

/// What batches call a link.
pub(crate) fn label(link: &Link) -> String {
    link.label(Visibility::EVERY)
}

/// Whether a caller may see both ends of a link.
pub(crate) fn is_visible(caller: &Caller, link: &Link) -> bool {
    link.is_visible(caller.visibility())
}

/// Refuses to change a link one end of which the caller may not see or not link: it is written into that item's history.
//= specs/spexus-service.md#projects
//# A link MUST be made, confirmed, ended or brought back only by a caller who may see both its ends and has the right in the projects
//# of both.
pub(crate) fn check_ends(caller: &Caller, operation: Operation, link: &Link) -> Ruled<()> {
    if is_visible(caller, link) {
        caller.may_in(operation, link.source.project_id)?;
        return caller.may_in(operation, link.target.project_id);
    }
    let message = format!(
        "the link {} leads into another project, and {} works only in its own",
        link.label(caller.visibility()),
        match caller.bound_project {
            Some(_) => "this token",
            None => "this account",
        }
    );
    Err(Refusal::new(Code::AuthzForbidden, message).hint("Ask somebody who is a member of both projects."))
}

/// A living link the caller may change. One that does not touch a project the caller can see does not exist.
async fn find(conn: &mut Conn, caller: &Caller, operation: Operation, id: Uuid) -> Result<Link> {
    let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no link {id}"));
    let link = links::by_id(conn, id).await?.ok_or_else(missing)?;
    if !caller.sees(link.source.project_id) && !caller.sees(link.target.project_id) {
        return Err(missing().into());
    }
    check_ends(caller, operation, &link)?;
    Ok(link)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &i64) -> bool {
    *count == 0
}
