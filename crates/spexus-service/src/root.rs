//! Folders that administrators open to agents while the server runs, kept so that they are open after a restart.

use crate::Service;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Change, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::root::{AddedRoot, LABEL};
use spexus_domain::{Refusal, Ruled, Uuid};
use spexus_store::{Result, Tx, roots};

/// The roots that were added, for the server itself; who sees them is for its surface to ask.
#[boxed]
pub async fn added(service: &Service) -> Ruled<Vec<AddedRoot>> {
    let mut conn = service.store.read().await?;
    roots::all(&mut conn).await.map_err(Refusal::from)
}

/// Keeps a root.
#[boxed]
pub async fn add(service: &Service, caller: &Caller, root: AddedRoot) -> Ruled<()> {
    let by = caller.user_id;
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            roots::put(tx, &root, by).await?;
            record(tx, Action::Created, &root).await
        })
    });
    job.await
}

/// Forgets a root.
#[boxed]
pub async fn remove(service: &Service, caller: &Caller, root: AddedRoot) -> Ruled<()> {
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            roots::remove(tx, &root.uri).await?;
            record(tx, Action::Deleted, &root).await
        })
    });
    job.await
}

/// Whether a change is one of the roots.
pub fn is_concerned(change: &Change) -> bool {
    change.entity == Entity::Setting && change.label == LABEL
}

async fn record(tx: &mut Tx, action: Action, root: &AddedRoot) -> Result<()> {
    let fields = match serde_json::to_value(root) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => Attributes::new(),
    };
    let before = (action == Action::Deleted).then(|| fields.clone());
    let change = NewChange::new(Entity::Setting, Uuid::nil(), LABEL, action, 1).fields(before, fields);
    tx.record(change).await.map(drop)
}
