//! Making an item.

use super::apply::{assignee, criterion, pointer, requirement_type, workflow};
use super::record_for;
use crate::Service;
use crate::context::Context;
use crate::idempotent::{Key, recall, remember};
use async_recursion::async_recursion as boxed;
use serde_json::json;
use spexus_domain::account::Caller;
use spexus_domain::change::Action;
use spexus_domain::item::{Item, NewItem, Person, Priority};
use spexus_domain::lease::intent;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{AnyId, Kind, Reference, Ruled, Uuid, attribute};
use spexus_store::{Error, Result, Tx, items, projects};

/// Makes an item. With an idempotency key the same request makes it once and is answered alike every time.
#[boxed]
pub async fn create(
    service: &Service,
    caller: &Caller,
    kind: Kind,
    input: NewItem,
    key: Option<&str>,
) -> Ruled<Item> {
    let key = Key::new(key, caller, input.project.as_deref(), &(kind, &input))?;
    let (named, parent) = (input.project.clone(), input.parent.clone());
    let place = (named.as_deref(), parent.as_deref());
    let job = service.change_at(caller, Operation::CreateItem, place, move |tx, caller| {
        Box::pin(async move {
            if let Some(kept) = recall(tx, key.as_ref()).await? {
                return again(tx, &caller, &kept).await;
            }
            let context = Context::new(
                &mut tx.conn,
                &caller,
                Operation::CreateItem,
                input.project.as_deref(),
            )
            .await?;
            let item = make(tx, &context, kind, input).await?;
            remember(tx, key.as_ref(), &json!({"id": item.id})).await?;
            Ok(item)
        })
    });
    job.await
}

async fn make(tx: &mut Tx, context: &Context, kind: Kind, input: NewItem) -> Result<Item> {
    let rules = kind.rules();
    input.check(kind)?;
    let parent = match &input.parent {
        Some(id) => Some(context.item(&mut tx.conn, kind.parent_field(), id, None).await?),
        None => None,
    };
    kind.check_parent(parent.as_ref().map(|parent| parent.kind))?;
    let project = project(tx, context, parent.as_ref()).await?;
    let status = match rules.has_status {
        true => Some(
            workflow(&mut tx.conn, kind)
                .await?
                .start(input.status.as_deref())?,
        ),
        false => None,
    };
    let requirement_type = match rules.has_type {
        true => requirement_type(&mut tx.conn, input.requirement_type.as_deref()).await?,
        false => None,
    };
    let parent_id = parent.as_ref().map(|parent| parent.id);
    let acceptance_criterion = match &input.acceptance_criterion {
        Some(wanted) => Some(criterion(&mut tx.conn, context, wanted, (parent_id, project.id)).await?),
        None => None,
    };
    let assignee = match &input.assignee {
        Some(wanted) => Some(assignee(&mut tx.conn, context, wanted).await?),
        None => None,
    };
    attribute::check(&project.attributes, kind, &input.attributes)?;
    let intent = intent(input.intent.as_deref())?;
    let (number, position) =
        items::next_number_and_position(&mut tx.conn, project.id, kind, parent_id).await?;
    let title = input.title.trim().to_owned();
    let content_hash = Item::hash(
        &title,
        &input.description,
        requirement_type.as_deref(),
        &input.attributes,
    );
    let item = Item {
        id: tx.new_id(),
        reference_id: project.prefix().show(Reference::of_kind(kind, number)),
        content_hash,
        project: project.key,
        project_id: project.id,
        kind,
        title,
        description: input.description,
        status,
        priority: rules
            .has_priority
            .then(|| input.priority.unwrap_or(Priority::MEDIUM)),
        requirement_type,
        parent: parent.as_ref().map(pointer),
        acceptance_criterion,
        assignee,
        creator: Person {
            id: tx.actor().user_id,
            username: tx.actor().username.clone(),
        },
        position,
        attributes: input.attributes,
        rev: 1,
        created_at: tx.now(),
        updated_at: tx.now(),
        deleted_at: None,
    };
    items::insert(tx, &item).await?;
    record_for(tx, Action::Created, None, &item, &intent).await?;
    Ok(item)
}

/// The project of something new.
//= specs/spexus-service.md#projects
//# What is made inside something MUST be made in the project of that.
async fn project(tx: &mut Tx, context: &Context, parent: Option<&Item>) -> Result<Project> {
    let Some(id) = parent.map(|parent| parent.project_id) else {
        return Ok(context.project()?.clone());
    };
    if let Some(project) = context.place_if(id) {
        return Ok(project.clone());
    }
    let found = projects::by_id(&mut tx.conn, id).await?;
    found.ok_or_else(|| Error::Broken("an item has no project".into()))
}

/// The item an earlier request with the same key made, as it is now.
async fn again(tx: &mut Tx, caller: &Caller, kept: &serde_json::Value) -> Result<Item> {
    let id = kept["id"]
        .as_str()
        .and_then(|id| Uuid::try_parse(id).ok())
        .unwrap_or_default();
    let item = items::by_id(&mut tx.conn, id).await?;
    let item = item.ok_or_else(|| Error::Broken("a kept answer names an item that does not exist".into()))?;
    // Who is no longer a member is not told again what was told then.
    match caller.sees(item.project_id) {
        true => Ok(item),
        false => Err(items::not_found(&AnyId::Uuid(id)).into()),
    }
}
