//! Requirement types, link types and workflows: read by everyone, changed by administrators, never pulled from under
//! items that use them.

use crate::Service;
use crate::context::{check_rev, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::link::LinkType;
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::{Workflow, WorkflowInput};
use spexus_domain::{Code, Kind, Refusal, Ruled, Uuid, nearest};
use spexus_store::{Result, Tx, settings};

/// The requirement types.
#[boxed]
pub async fn requirement_types(service: &Service, caller: &Caller) -> Ruled<Page<RequirementType>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    Ok(Page::whole(settings::requirement_types(&mut conn).await?))
}

/// Makes a requirement type, or changes what it means.
#[boxed]
pub async fn put_requirement_type(
    service: &Service,
    caller: &Caller,
    wanted: RequirementType,
) -> Ruled<RequirementType> {
    caller.may(Operation::ManageSettings)?;
    wanted.check()?;
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let known = settings::requirement_types(&mut tx.conn).await?;
            // The name keeps the letter case it was made with.
            let name = nearest::find(&known, |known| &known.name, &wanted.name)
                .map_or(wanted.name, |known| known.name.clone());
            let wanted = RequirementType {
                name,
                description: wanted.description,
            };
            settings::put_requirement_type(tx, &wanted).await?;
            record(
                tx,
                Action::Updated,
                &format!("requirement type {}", wanted.name),
                &wanted,
            )
            .await?;
            Ok(wanted)
        })
    });
    job.await
}

/// Removes a requirement type nothing uses.
#[boxed]
pub async fn delete_requirement_type(
    service: &Service,
    caller: &Caller,
    name: &str,
) -> Ruled<RequirementType> {
    let name = name.to_owned();
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let known = settings::requirement_types(&mut tx.conn).await?;
            let found = nearest::find(&known, |known| &known.name, &name)
                .ok_or_else(|| missing("requirement type", &name))?;
            let used = settings::count_of_requirement_type(&mut tx.conn, &found.name).await?;
            refuse_in_use("requirement type", &found.name, used)?;
            if known.len() == 1 {
                return Err(Refusal::new(Code::RuleViolated, "the last requirement type cannot go").into());
            }
            settings::remove_requirement_type(tx, &found.name).await?;
            record(
                tx,
                Action::Deleted,
                &format!("requirement type {}", found.name),
                found,
            )
            .await?;
            Ok(found.clone())
        })
    });
    job.await
}

/// The link types.
#[boxed]
pub async fn link_types(service: &Service, caller: &Caller) -> Ruled<Page<LinkType>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    Ok(Page::whole(settings::link_types(&mut conn).await?))
}

/// Makes a link type, or changes its rules; links that exist stay.
#[boxed]
pub async fn put_link_type(service: &Service, caller: &Caller, wanted: LinkType) -> Ruled<LinkType> {
    caller.may(Operation::ManageSettings)?;
    wanted.check()?;
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let known = settings::link_types(&mut tx.conn).await?;
            let clash = known.iter().find(|other| {
                other.name != wanted.name
                    && [&other.name, &other.inverse]
                        .iter()
                        .any(|name| **name == wanted.name || **name == wanted.inverse)
            });
            if let Some(other) = clash {
                let problem = format!("{:?} is a name of the link type {:?}", wanted.inverse, other.name);
                return Err(Refusal::field(
                    Code::EntityDuplicate,
                    "inverse",
                    problem,
                    "names no other type has",
                )
                .into());
            }
            settings::put_link_type(tx, &wanted).await?;
            record(
                tx,
                Action::Updated,
                &format!("link type {}", wanted.name),
                &wanted,
            )
            .await?;
            Ok(wanted)
        })
    });
    job.await
}

/// Removes a link type nothing uses.
#[boxed]
pub async fn delete_link_type(service: &Service, caller: &Caller, name: &str) -> Ruled<LinkType> {
    let name = name.to_owned();
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let known = settings::link_types(&mut tx.conn).await?;
            let found = nearest::find(&known, |known| &known.name, &name)
                .ok_or_else(|| missing("link type", &name))?;
            let used = settings::count_of_link_type(&mut tx.conn, &found.name).await?;
            refuse_in_use("link type", &found.name, used)?;
            settings::remove_link_type(tx, &found.name).await?;
            record(tx, Action::Deleted, &format!("link type {}", found.name), found).await?;
            Ok(found.clone())
        })
    });
    job.await
}

/// The workflows of all kinds that have a status.
#[boxed]
pub async fn workflows(service: &Service, caller: &Caller) -> Ruled<Page<Workflow>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let mut found = Vec::new();
    for kind in Kind::ALL {
        found.extend(settings::workflow(&mut conn, kind).await?);
    }
    Ok(Page::whole(found))
}

/// The workflow of one kind.
#[boxed]
pub async fn workflow(service: &Service, caller: &Caller, kind: Kind) -> Ruled<Workflow> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let found = settings::workflow(&mut conn, kind).await?;
    found.ok_or_else(|| no_status(kind))
}

/// Replaces the workflow of a kind. A status that items have now must stay.
#[boxed]
pub async fn put_workflow(
    service: &Service,
    caller: &Caller,
    kind: Kind,
    input: WorkflowInput,
) -> Ruled<Workflow> {
    caller.may(Operation::ManageSettings)?;
    if !kind.rules().has_status {
        return Err(no_status(kind));
    }
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let rev = settings::workflow(&mut tx.conn, kind)
                .await?
                .map_or(0, |workflow| workflow.rev);
            check_rev("this workflow", rev, input.expect_rev)?;
            let workflow = Workflow {
                kind,
                statuses: input.statuses,
                transitions: input.transitions,
                rev: rev + 1,
            };
            workflow.check()?;
            for status in settings::statuses_in_use(&mut tx.conn, kind).await? {
                if !workflow.statuses.iter().any(|known| known.name == status) {
                    let problem = format!("{status:?} is missing, but items have it");
                    return Err(Refusal::field(
                        Code::RuleViolated,
                        "statuses",
                        problem,
                        "keep it, or move the items first",
                    )
                    .into());
                }
            }
            settings::put_workflow(tx, &workflow).await?;
            record(
                tx,
                Action::Updated,
                &format!("workflow of {}", kind.name()),
                &workflow,
            )
            .await?;
            Ok(workflow)
        })
    });
    job.await
}

fn no_status(kind: Kind) -> Refusal {
    Refusal::new(
        Code::ResourceNotFound,
        format!("{} has no status and no workflow", kind.rules().label),
    )
}

fn missing(what: &str, name: &str) -> Refusal {
    Refusal::new(
        Code::ResourceNotFound,
        format!("there is no {what} {:?}", spexus_domain::text::excerpt(name, 60)),
    )
}

fn refuse_in_use(what: &str, name: &str, used: i64) -> Ruled<()> {
    if used == 0 {
        return Ok(());
    }
    let message = format!("the {what} {name:?} is in use {used} time(s)");
    Err(Refusal::new(Code::RuleViolated, message).hint("Change what uses it first; deleted items count too."))
}

async fn record(tx: &mut Tx, action: Action, label: &str, value: &impl serde::Serialize) -> Result<()> {
    let fields = match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => Attributes::new(),
    };
    let before = (action == Action::Deleted).then(|| fields.clone());
    let change = NewChange::new(Entity::Setting, Uuid::nil(), label, action, 1).fields(before, fields);
    tx.record(change).await.map(drop)
}
