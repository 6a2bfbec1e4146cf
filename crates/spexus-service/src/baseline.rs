//! Baselines: naming a position in the history, and telling what changed between two.

use crate::context::{Context, reading};
use crate::{Service, told};
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline, fold};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Uuid, nearest, text};
use spexus_store::{Actor, Conn, Error, Result, baselines, changes, items};
use std::collections::BTreeMap;

/// Changes one difference may cover.
const MAX_STEPS: u32 = 200_000;

/// The name that stands for the present end of the history.
const NOW: &str = "now";

/// The baselines of a project.
pub async fn list(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Page<Baseline>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    Ok(Page::whole(
        baselines::of_project(&mut conn, context.project.id)
            .await
            .map_err(told)?,
    ))
}

/// Names the present end of the history.
pub async fn create(service: &Service, caller: &Caller, input: NewBaseline) -> Ruled<Baseline> {
    caller.may(Operation::CreateBaseline)?;
    let caller = caller.clone();
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let context = Context::new(&mut tx.conn, &caller, input.project.as_deref()).await?;
            let name = text::name("name", &input.name)?;
            let description = text::description("description", &input.description)?;
            let taken = baselines::by_name(&mut tx.conn, context.project.id, &name)
                .await?
                .is_some();
            if taken || name == NOW {
                return Err(Refusal::field(
                    Code::EntityDuplicate,
                    "name",
                    format!("{name:?} is taken"),
                    "another name",
                )
                .into());
            }
            let id = tx.new_id();
            baselines::insert(tx, id, context.project.id, &name, &description).await?;
            let change = NewChange::new(Entity::Baseline, id, &name, Action::Created, 1)
                .in_project(context.project.id);
            tx.record(change).await?;
            let made = baselines::by_name(&mut tx.conn, context.project.id, &name).await?;
            made.ok_or_else(|| Error::Broken("a new baseline is gone".into()))
        })
    });
    job.await.map_err(told)
}

/// What differs between two baselines, item by item; `now` names the present.
pub async fn difference(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    from: &str,
    to: &str,
) -> Ruled<Page<ItemDifference>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    let project_id = context.project.id;
    let first = position(&mut conn, project_id, "from", from)
        .await
        .map_err(told)?;
    let last = position(&mut conn, project_id, "to", to).await.map_err(told)?;
    if first > last {
        let problem = format!("{from:?} is later than {to:?}");
        return Err(Refusal::field(
            Code::InvalidParams,
            "from",
            problem,
            "the earlier one first",
        ));
    }
    let steps = changes::steps_between(&mut conn, project_id, first, last, MAX_STEPS)
        .await
        .map_err(told)?;
    let mut of_items: BTreeMap<Uuid, Vec<(bool, bool, Attributes, Attributes)>> = BTreeMap::new();
    for step in steps {
        let was = matches!(step.action, Action::Updated | Action::Deleted);
        let is = step.action != Action::Deleted;
        of_items
            .entry(step.item_id)
            .or_default()
            .push((was, is, step.before, step.after));
    }
    let mut differences = Vec::new();
    for (id, steps) in of_items {
        let Some((difference, fields)) = fold(steps) else {
            continue;
        };
        let Some(item) = items::by_id(&mut conn, id).await.map_err(told)? else {
            continue;
        };
        let title = item.heading();
        differences.push(ItemDifference {
            id,
            reference_id: item.reference_id,
            kind: item.kind,
            title,
            difference,
            fields,
        });
    }
    differences.sort_by_key(|found| (found.kind, found.reference_id.number()));
    Ok(Page::whole(differences))
}

async fn position(conn: &mut Conn, project_id: Uuid, field: &str, name: &str) -> Result<i64> {
    if name == NOW {
        return changes::head(conn).await;
    }
    match baselines::by_name(conn, project_id, name).await? {
        Some(baseline) => Ok(baseline.seq),
        None => {
            let known = baselines::of_project(conn, project_id).await?;
            let names = known.iter().map(|baseline| baseline.name.as_str()).chain([NOW]);
            Err(nearest::miss(field, name, names).into())
        }
    }
}
