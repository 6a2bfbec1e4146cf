//! Links: making them under their type's rules, confirming suspect ones, ending them.

use crate::context::{Context, reading};
use crate::{Service, told};
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::batch::Locals;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::link::{Link, NewLink, find_type};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::{Actor, Conn, Error, Result, Tx, items, links, settings};

/// The links of an item, in both directions; with a type name or an inverse name, only those.
pub async fn list(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
    link_type: Option<&str>,
) -> Ruled<Page<Link>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    let item = context.item(&mut conn, "id", id, kind).await.map_err(told)?;
    let mut found = links::of_item(&mut conn, item.id).await.map_err(told)?;
    if let Some(wanted) = link_type {
        let types = settings::link_types(&mut conn).await.map_err(told)?;
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
    Ok(Page::whole(found))
}

/// Makes a link.
pub async fn create(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    input: NewLink,
) -> Ruled<Link> {
    caller.may(Operation::Link)?;
    let (caller, project) = (caller.clone(), project.map(str::to_owned));
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let context = Context::new(&mut tx.conn, &caller, project.as_deref()).await?;
            create_in(tx, &context, &Locals::default(), &input).await
        })
    });
    job.await.map_err(told)
}

/// Says that a link still holds although an end has changed.
pub async fn confirm(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Link> {
    caller.may(Operation::Link)?;
    let caller = caller.clone();
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let (link, project_id) = find(&mut tx.conn, &caller, id).await?;
            if !link.suspect {
                return Ok(link);
            }
            links::confirm(tx, id).await?;
            let link = Link {
                suspect: false,
                ..link
            };
            record(tx, Action::Updated, &link, project_id).await?;
            Ok(link)
        })
    });
    job.await.map_err(told)
}

/// Ends a link.
pub async fn delete(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Link> {
    caller.may(Operation::Link)?;
    let caller = caller.clone();
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move { delete_in(tx, &caller, id).await })
    });
    job.await.map_err(told)
}

/// Makes a link as part of a larger transaction.
pub(crate) async fn create_in(
    tx: &mut Tx,
    context: &Context,
    locals: &Locals,
    input: &NewLink,
) -> Result<Link> {
    let types = settings::link_types(&mut tx.conn).await?;
    let (link_type, swapped) = find_type(&types, &input.link_type)?;
    let first = context
        .local_item(&mut tx.conn, locals, "source", &input.source, None)
        .await?;
    let second = context
        .local_item(&mut tx.conn, locals, "target", &input.target, None)
        .await?;
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
    record(tx, Action::Created, &link, source.project_id).await?;
    Ok(link)
}

/// Ends a link as part of a larger transaction.
pub(crate) async fn delete_in(tx: &mut Tx, caller: &Caller, id: Uuid) -> Result<Link> {
    let (link, project_id) = find(&mut tx.conn, caller, id).await?;
    links::bury(tx, id, None).await?;
    record(tx, Action::Deleted, &link, project_id).await?;
    Ok(link)
}

/// Writes a change of a link into the history of both ends.
pub(crate) async fn record(tx: &mut Tx, action: Action, link: &Link, project_id: Uuid) -> Result<()> {
    let ends = Attributes::from_iter([
        ("type".to_owned(), link.link_type.clone().into()),
        ("source".to_owned(), link.source.reference_id.to_string().into()),
        ("target".to_owned(), link.target.reference_id.to_string().into()),
    ]);
    let suspect = |value: bool| Attributes::from_iter([("suspect".to_owned(), value.into())]);
    let (before, after) = match action {
        Action::Deleted => (Some(ends), Attributes::new()),
        Action::Updated => (Some(suspect(true)), suspect(false)),
        Action::Created | Action::Restored => (None, ends),
    };
    let change = NewChange::new(Entity::Link, link.id, label(link), action, 1)
        .in_project(project_id)
        .on_item(link.source.id, Some(link.target.id))
        .fields(before, after);
    tx.record(change).await.map(drop)
}

/// What the history and batches call a link.
pub(crate) fn label(link: &Link) -> String {
    format!(
        "{} {} {}",
        link.source.reference_id, link.link_type, link.target.reference_id
    )
}

/// A living link the caller can see, and its project.
async fn find(conn: &mut Conn, caller: &Caller, id: Uuid) -> Result<(Link, Uuid)> {
    let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no link {id}"));
    let link = links::by_id(conn, id).await?.ok_or_else(missing)?;
    let source = items::by_id(conn, link.source.id).await?.ok_or_else(missing)?;
    if caller
        .bound_project
        .is_some_and(|bound| bound != source.project_id)
    {
        return Err(missing().into());
    }
    Ok((link, source.project_id))
}
