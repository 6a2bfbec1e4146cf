//! Batches: many operations in one transaction, all or nothing.

use crate::context::Context;
use crate::idempotent::{Key, recall, remember};
use crate::{Service, comment, item, link};
use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::batch::{self, BatchInput, BatchResult, Locals, Operation, Outcome, Step};
use spexus_domain::permission::Operation as Right;
use spexus_domain::{Ruled, Uuid};
use spexus_store::{Error, Result, Tx};

/// Does all operations, or none; with `dry_run` none, but tells what would have come of them.
pub async fn run(
    service: &Service,
    caller: &Caller,
    input: BatchInput,
    key: Option<&str>,
) -> Ruled<BatchResult> {
    caller.may(Right::CreateItem)?;
    let key = Key::new(key, caller, input.project.as_deref(), &input)?;
    let steps = batch::steps(&input)?;
    for (at, step) in steps.iter().enumerate() {
        caller
            .may(right(&step.operation))
            .map_err(|refusal| refusal.inside(&place(at)))?;
    }
    let job = service.change_anywhere(caller, Right::CreateItem, move |tx, caller| {
        Box::pin(async move {
            if let Some(kept) = recall(tx, key.as_ref()).await? {
                return again(&kept);
            }
            let context = Context::new(&mut tx.conn, &caller, input.project.as_deref()).await?;
            //= specs/spexus-service.md#writing-once
            //# A batch MUST be carried out whole or not at all.
            let results = run_in(tx, &context, steps).await?;
            let result = BatchResult {
                dry_run: input.dry_run,
                results,
            };
            //= specs/spexus-service.md#writing-once
            //# A trial MUST keep nothing.
            if input.dry_run {
                tx.discard();
            } else {
                remember(tx, key.as_ref(), &json!(result)).await?;
            }
            Ok(result)
        })
    });
    job.await
}

async fn run_in(tx: &mut Tx, context: &Context, steps: Vec<Step>) -> Result<Vec<Outcome>> {
    let mut locals = Locals::default();
    let mut results = Vec::with_capacity(steps.len());
    for (at, step) in steps.into_iter().enumerate() {
        let outcome = do_step(tx, context, &mut locals, step)
            .await
            .map_err(|error| match error {
                Error::Refused(refusal) => Error::Refused(refusal.inside(&place(at))),
                other => other,
            })?;
        results.push(outcome);
    }
    Ok(results)
}

async fn do_step(tx: &mut Tx, whole: &Context, locals: &mut Locals, step: Step) -> Result<Outcome> {
    let op = step.operation.name();
    let context = &whole.of_part(&mut tx.conn, step.project.as_deref()).await?;
    let (id, label, rev) = match step.operation {
        Operation::Create(kind, input) => {
            let made = item::create::create_in(tx, context, locals, kind, input).await?;
            (made.id, made.reference_id.to_string(), made.rev)
        }
        Operation::Update(id, patch) => {
            let changed = item::update::update_in(tx, context, locals, None, &id, patch).await?;
            (changed.id, changed.reference_id.to_string(), changed.rev)
        }
        Operation::Move(id, to) => {
            let moved = item::placement::move_in(tx, context, locals, None, &id, to).await?;
            (moved.id, moved.reference_id.to_string(), moved.rev)
        }
        Operation::Delete(id, force) => {
            let gone = context.local_item(&mut tx.conn, locals, "id", &id, None).await?;
            item::delete::delete_in(tx, context, &gone, force).await?;
            (gone.id, gone.reference_id.to_string(), gone.rev + 1)
        }
        Operation::Restore(id) => {
            let back = item::delete::restore_in(tx, context, locals, None, &id).await?;
            (back.id, back.reference_id.to_string(), back.rev)
        }
        Operation::Link(input) => {
            let made = link::create_in(tx, context, locals, &input).await?;
            (made.id, link::label(&made), 1)
        }
        Operation::Unlink(id) => {
            let ended = link::delete_in(tx, &context.caller, id).await?;
            (ended.id, link::label(&ended), 1)
        }
        Operation::Comment(id, input) => {
            let made = comment::create_in(tx, context, locals, None, &id, input).await?;
            (made.id, format!("comment on {}", made.item), made.rev)
        }
    };
    //= specs/spexus-service.md#projects
    //# A local name of a batch MUST mean the item it was given to, in whichever project that is.
    if let Some(name) = &step.name {
        locals.name(name, id)?;
    }
    Ok(Outcome {
        name: step.name,
        op,
        id,
        label,
        rev,
    })
}

/// The right each operation needs, the same as when it is done alone.
fn right(operation: &Operation) -> Right {
    match operation {
        Operation::Create(..) => Right::CreateItem,
        Operation::Update(..) | Operation::Move(..) => Right::UpdateItem,
        Operation::Delete(..) => Right::DeleteItem,
        Operation::Restore(..) => Right::RestoreItem,
        Operation::Link(..) | Operation::Unlink(..) => Right::Link,
        Operation::Comment(..) => Right::Comment,
    }
}

fn place(at: usize) -> String {
    format!("operations[{at}].")
}

/// The answer an earlier request with the same key was given.
fn again(kept: &Value) -> Result<BatchResult> {
    let outcome = |entry: &Value| {
        let op = [
            "create", "update", "move", "delete", "restore", "link", "unlink", "comment",
        ];
        Some(Outcome {
            name: entry["ref"].as_str().map(str::to_owned),
            op: op.into_iter().find(|name| entry["op"] == *name)?,
            id: entry["id"].as_str().and_then(|id| Uuid::try_parse(id).ok())?,
            label: entry["label"].as_str()?.to_owned(),
            rev: entry["rev"].as_i64()?,
        })
    };
    let results = kept["results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(outcome)
        .collect::<Option<Vec<_>>>();
    let results = results.ok_or_else(|| Error::Broken("a kept answer cannot be read".into()))?;
    Ok(BatchResult {
        dry_run: false,
        results,
    })
}
