//! Batches: many operations in one transaction, all or nothing. Each is the use case it would be alone; what the batch adds
//! is that its operations can name what earlier ones made.

use crate::context::Context;
use crate::idempotent::{Key, recall, remember};
use crate::{Service, comment, item, link};
use async_recursion::async_recursion as boxed;
use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::batch::{self, BatchInput, BatchResult, LocalNames, Operation, Outcome, Step};
use spexus_domain::item::{Item, ItemPatch, NewItem};
use spexus_domain::permission::Operation as Right;
use spexus_domain::{Ruled, Uuid};
use spexus_store::Error;
use std::collections::HashMap;

/// Does all operations, or none; with `dry_run` none, but tells what would have come of them.
#[boxed]
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
    let (dry_run, project, intent) = (input.dry_run, input.project, input.intent);
    //= specs/spexus-service.md#writing-once
    //# A batch MUST be carried out whole or not at all.
    //= specs/spexus-service.md#writing-once
    //# A trial MUST keep nothing.
    //= specs/spexus-service.md#writing-once
    //# A batch that takes longer than a transaction may MUST be undone, refused with the limit, and MUST free the writer.
    let work = |service: Service| async move {
        // Who is no longer a member of the project named is not told again what was told then.
        let whole = whole(&service, caller, project.as_deref()).await?;
        if let Some(kept) = recalled(&service, caller, key.clone()).await? {
            return again(&kept);
        }
        let mut running = Running {
            service: &service,
            caller,
            whole,
            intent,
            names: LocalNames::default(),
            made: HashMap::new(),
        };
        let results = running.all(steps).await?;
        let result = BatchResult { dry_run, results };
        if !dry_run {
            keep_answer(&service, caller, key, json!(result)).await?;
        }
        Ok(result)
    };
    service.together(caller, !dry_run, work).await
}

/// A batch inside its transaction.
struct Running<'a> {
    service: &'a Service,
    caller: &'a Caller,
    /// Where everything happens, when the batch names a project.
    whole: Option<Context>,
    /// What everything is for that does not say so itself.
    intent: Option<String>,
    names: LocalNames,
    /// The items this batch made or changed, with their revisions now: nobody else can have changed them meanwhile.
    made: HashMap<Uuid, i64>,
}

impl Running<'_> {
    async fn all(&mut self, steps: Vec<Step>) -> Ruled<Vec<Outcome>> {
        let mut results = Vec::with_capacity(steps.len());
        for (at, step) in steps.into_iter().enumerate() {
            let done = self.step(step).await;
            results.push(done.map_err(|refusal| refusal.inside(&place(at)))?);
        }
        Ok(results)
    }

    async fn step(&mut self, step: Step) -> Ruled<Outcome> {
        let op = step.operation.name();
        let project = self.project(step.project).await?;
        let operation = self.seen(step.operation.resolve(&self.names)?);
        let (id, label, rev) = Box::pin(self.perform(operation, project)).await?;
        self.made.insert(id, rev);
        //= specs/spexus-service.md#projects
        //# A local name of a batch MUST mean the item it was given to, in whichever project that is.
        if let Some(name) = &step.name {
            self.names.insert(name, id)?;
        }
        Ok(Outcome {
            name: step.name,
            op,
            id,
            label,
            rev,
        })
    }

    /// An operation that knows the revision of what this batch wrote itself.
    fn seen(&self, operation: Operation) -> Operation {
        match operation {
            Operation::Update(id, patch) if patch.expect_rev.is_none() => {
                let known = Uuid::try_parse(&id).ok().and_then(|id| self.made.get(&id));
                let expect_rev = known.copied();
                self.meant(Operation::Update(id, ItemPatch { expect_rev, ..patch }))
            }
            other => self.meant(other),
        }
    }

    /// An operation with what the batch is for.
    fn meant(&self, operation: Operation) -> Operation {
        let intent = |own: Option<String>| own.or_else(|| self.intent.clone());
        match operation {
            Operation::Create(kind, input) => {
                let intent = intent(input.intent.clone());
                Operation::Create(kind, NewItem { intent, ..input })
            }
            Operation::Update(id, patch) => {
                let intent = intent(patch.intent.clone());
                Operation::Update(id, ItemPatch { intent, ..patch })
            }
            other => other,
        }
    }

    /// The project of an operation: its own, or that of the batch; not both when they differ.
    async fn project(&self, own: Option<String>) -> Ruled<Option<String>> {
        match (&self.whole, own) {
            (Some(whole), Some(own)) => {
                let mut conn = self.service.store.read().await?;
                let part = whole.of_part(&mut conn, Some(&own)).await?;
                Ok(Some(part.project()?.key.clone()))
            }
            (Some(whole), None) => Ok(Some(whole.project()?.key.clone())),
            (None, own) => Ok(own),
        }
    }

    /// Does what an operation says; tells the id, the label and the revision of what it is about now.
    async fn perform(&self, operation: Operation, project: Option<String>) -> Ruled<(Uuid, String, i64)> {
        let (service, caller) = (self.service, self.caller);
        let item = |item: Item| (item.id, item.reference_id.to_string(), item.rev);
        let named = project.as_deref();
        Ok(match operation {
            Operation::Create(kind, input) => {
                let input = NewItem { project, ..input };
                item(item::create(service, caller, kind, input, None).await?)
            }
            Operation::Update(id, patch) => {
                item(item::update(service, caller, named, None, &id, patch).await?)
            }
            Operation::Move(id, to) => item(item::move_to(service, caller, named, None, &id, to).await?),
            Operation::Delete(id, force) => {
                let gone = item::delete(service, caller, named, None, &id, force, None).await?;
                (gone.id, gone.reference_id.to_string(), gone.rev + 1)
            }
            Operation::Restore(id) => item(item::restore(service, caller, named, None, &id).await?),
            Operation::Link(input) => {
                let made = link::create(service, caller, named, input).await?;
                (made.id, link::label(&made), 1)
            }
            Operation::Unlink(id) => {
                let ended = link::delete_in(service, caller, named, id).await?;
                (ended.id, link::label(&ended), 1)
            }
            Operation::Comment(id, input) => {
                let made = comment::create(service, caller, named, None, &id, input).await?;
                (made.id, format!("comment on {}", made.item), made.rev)
            }
        })
    }
}

/// Where a batch that names a project happens.
async fn whole(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Option<Context>> {
    let Some(project) = project else { return Ok(None) };
    let mut conn = service.store.read().await?;
    Ok(Some(
        Context::new(&mut conn, caller, Right::Read, Some(project)).await?,
    ))
}

/// The answer an earlier request with the same key was given, if there was one.
async fn recalled(service: &Service, caller: &Caller, key: Option<Key>) -> Ruled<Option<Value>> {
    let Some(key) = key else { return Ok(None) };
    let job = service.change_anywhere(caller, Right::CreateItem, move |tx, _| {
        Box::pin(async move { recall(tx, Some(&key)).await })
    });
    job.await
}

/// Keeps the answer of a request with a key.
async fn keep_answer(service: &Service, caller: &Caller, key: Option<Key>, answer: Value) -> Ruled<()> {
    let Some(key) = key else { return Ok(()) };
    let job = service.change_anywhere(caller, Right::CreateItem, move |tx, _| {
        Box::pin(async move { remember(tx, Some(&key), &answer).await })
    });
    job.await
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

/// An answer that was kept.
fn again(kept: &Value) -> Ruled<BatchResult> {
    let outcome = |entry: &Value| {
        Some(Outcome {
            name: entry["ref"].as_str().map(str::to_owned),
            op: batch::OPERATIONS.into_iter().find(|name| entry["op"] == *name)?,
            id: entry["id"].as_str().and_then(|id| Uuid::try_parse(id).ok())?,
            label: entry["label"].as_str()?.to_owned(),
            rev: entry["rev"].as_i64()?,
        })
    };
    let entries = kept["results"].as_array().into_iter().flatten();
    let results: Option<Vec<Outcome>> = entries.map(outcome).collect();
    let unreadable = || Error::Broken("a kept answer cannot be read".into());
    Ok(BatchResult {
        dry_run: false,
        results: results.ok_or_else(unreadable)?,
    })
}
