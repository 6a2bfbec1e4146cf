//! Links: making them under their type's rules, confirming suspect ones, ending them.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::link::{Link, LinkEnd, NewLink, find_type};
use spexus_domain::permission::Operation;
use spexus_domain::visibility::Visibility;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Error, Result, Tx, links, settings};
use utoipa::ToSchema;

/// The links of an item that the caller may see.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Links {
    /// The links, oldest first.
    pub data: Vec<Link>,
    /// How many they are.
    pub total_count: i64,
    /// How many more there are whose other end is in a project the caller may not see; absent when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub hidden_count: i64,
}

/// The links of an item, in both directions; with a type name or an inverse name, only those.
#[boxed]
pub async fn list(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    link_type: Option<&str>,
) -> Ruled<Links> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, kind).await?;
    let mut found = links::of_item(&mut conn, item.id).await?;
    if let Some(wanted) = link_type {
        let types = settings::link_types(&mut conn).await?;
        let (link_type, inverse) = find_type(&types, wanted)?;
        found.retain(|link| {
            let from_here = if inverse {
                link.target.id == item.id
            } else {
                link.source.id == item.id
            };
            link.link_type == link_type.name && (from_here || link_type.is_symmetric())
        });
    }
    //= specs/spexus-service.md#projects
    //# A link whose other end is in a project the caller may not see MUST be counted, and nothing else of that end shown.
    let all = found.len();
    found.retain(|link| is_visible(caller, link));
    let counted = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(Links {
        total_count: counted(found.len()),
        hidden_count: counted(all - found.len()),
        data: found,
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
    let job = service.change(caller, Operation::Link, project, move |tx, context| {
        Box::pin(async move { make(tx, &context, &input).await })
    });
    job.await
}

/// Says that a link still holds although an end has changed.
#[boxed]
pub async fn confirm(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Link> {
    let job = service.change_anywhere(caller, Operation::Link, move |tx, caller| {
        Box::pin(async move {
            let link = find(&mut tx.conn, &caller, id).await?;
            if !link.suspect {
                return Ok(link);
            }
            links::confirm(tx, id).await?;
            let link = Link {
                suspect: false,
                ..link
            };
            record(tx, Action::Updated, &link).await?;
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

/// Ends a link that has to have an end in the project named.
pub(crate) async fn delete_in(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: Uuid,
) -> Ruled<Link> {
    let job = service.change(caller, Operation::Link, project, move |tx, context| {
        Box::pin(async move {
            let link = find(&mut tx.conn, &context.caller, id).await?;
            context.check_link(&link)?;
            links::soft_delete(tx, id, None).await?;
            record(tx, Action::Deleted, &link).await?;
            Ok(link)
        })
    });
    job.await
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
    record(tx, Action::Created, &link).await?;
    Ok(link)
}

/// Writes a change of a link into the history of both ends, and into the feed of the project it starts from.
pub(crate) async fn record(tx: &mut Tx, action: Action, link: &Link) -> Result<()> {
    let across = link.source.project_id != link.target.project_id;
    let name = |end: &LinkEnd| match across {
        true => format!("{}/{}", end.project, end.reference_id),
        false => end.reference_id.to_string(),
    };
    let ends = Attributes::from_iter([
        ("type".to_owned(), link.link_type.clone().into()),
        ("source".to_owned(), name(&link.source).into()),
        ("target".to_owned(), name(&link.target).into()),
    ]);
    let suspect = |value: bool| Attributes::from_iter([("suspect".to_owned(), value.into())]);
    let (before, after) = match action {
        Action::Deleted => (Some(ends), Attributes::new()),
        Action::Updated => (Some(suspect(true)), suspect(false)),
        Action::Created | Action::Restored => (None, ends),
    };
    let change = NewChange::new(Entity::Link, link.id, label(link), action, 1)
        .in_project(link.source.project_id)
        .on_item(link.source.id, Some(link.target.id))
        .fields(before, after);
    tx.record(change).await.map(drop)
}

/// What the history and batches call a link.
pub(crate) fn label(link: &Link) -> String {
    link.label(Visibility::Every)
}

/// Whether a caller may see both ends of a link.
pub(crate) fn is_visible(caller: &Caller, link: &Link) -> bool {
    link.is_visible(caller.visibility())
}

/// Refuses to change a link one end of which the caller may not see: it would be written into that item's history.
//= specs/spexus-service.md#projects
//# A link MUST be made, confirmed, ended or brought back only by a caller who may see both its ends.
pub(crate) fn check_ends(caller: &Caller, link: &Link) -> Ruled<()> {
    if is_visible(caller, link) {
        return Ok(());
    }
    let message = format!(
        "the link {} leads into another project, and this token works only in its own",
        link.label(caller.visibility())
    );
    Err(Refusal::new(Code::AuthzForbidden, message).hint("Use a token that is not bound to a project."))
}

/// A living link the caller may change. One that does not touch a project the caller can see does not exist.
async fn find(conn: &mut Conn, caller: &Caller, id: Uuid) -> Result<Link> {
    let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no link {id}"));
    let link = links::by_id(conn, id).await?.ok_or_else(missing)?;
    if !caller.sees(link.source.project_id) && !caller.sees(link.target.project_id) {
        return Err(missing().into());
    }
    check_ends(caller, &link)?;
    Ok(link)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &i64) -> bool {
    *count == 0
}
