//! Apps: other MCP servers that are part of this one. What an app is made of and where its files are kept is not the service's
//! to know; who may install or remove one, which there are, and that it stands in the history and the audit trail, is.

use crate::{Service, audit};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::app::{InstalledApp, LABEL};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_store::{Tx, apps};

/// Refuses whoever may not install or remove apps, nor see how they were installed.
//= specs/mcp-apps.md#installing
//# Only administrators MUST be able to install or remove apps, over MCP and by command.
pub fn check_manage(caller: &Caller) -> Ruled<()> {
    caller.may(Operation::ManageSettings)
}

/// The apps of the installation, for the server itself; who sees them is for its surface to ask.
#[boxed]
pub async fn recorded(service: &Service) -> Ruled<Vec<InstalledApp>> {
    let mut conn = service.store.read().await?;
    apps::all(&mut conn).await.map_err(Refusal::from)
}

/// Installs an app: `install` does it, `describe` says what it made, `undo` removes it where it cannot be recorded.
pub async fn install<T>(
    service: &Service,
    caller: &Caller,
    install: impl Future<Output = Ruled<T>>,
    describe: impl FnOnce(&T) -> InstalledApp,
    undo: impl FnOnce(&T),
) -> Ruled<T> {
    let mut name = String::new();
    let installing = async {
        check_manage(caller)?;
        let installed = install.await?;
        let app = describe(&installed);
        name.clone_from(&app.name);
        match record(service, caller, app).await {
            Ok(()) => Ok(installed),
            Err(refusal) => {
                undo(&installed);
                Err(refusal)
            }
        }
    };
    let installed = installing.await;
    audit::note_operation(service, caller, "apps/install", &name, outcome(&installed));
    installed
}

/// Records an app that was installed.
//= specs/mcp-apps.md#installing
//# Which apps an installation has MUST stand in its database, and in its history when one comes or goes.
#[boxed]
pub async fn record(service: &Service, caller: &Caller, app: InstalledApp) -> Ruled<()> {
    let by = caller.user_id;
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            apps::put(tx, &app, by).await?;
            let fields = fields(&app);
            chain(tx, Action::Created, None, fields).await
        })
    });
    job.await
}

/// Removes the app of this name: `remove` removes its files, which another machine may have and this one not.
pub async fn remove<T>(
    service: &Service,
    caller: &Caller,
    name: &str,
    remove: impl FnOnce() -> Ruled<Option<T>>,
) -> Ruled<Option<T>> {
    let removing = async {
        check_manage(caller)?;
        let removed = remove();
        let was_recorded = forget(service, caller, name).await?;
        match removed {
            Err(refusal) if was_recorded && refusal.code == Code::ResourceNotFound => Ok(None),
            other => other,
        }
    };
    let removed = removing.await;
    audit::note_operation(service, caller, "apps/uninstall", name, outcome(&removed));
    removed
}

/// Forgets an app that was removed. Tells whether it was recorded.
#[boxed]
pub async fn forget(service: &Service, caller: &Caller, name: &str) -> Ruled<bool> {
    let name = name.to_owned();
    let job = service.change_anywhere(caller, Operation::ManageSettings, move |tx, _| {
        Box::pin(async move {
            let was_recorded = apps::remove(tx, &name).await?;
            if was_recorded {
                let before = Attributes::from_iter([("name".to_owned(), name.into())]);
                chain(tx, Action::Deleted, Some(before.clone()), before).await?;
            }
            Ok(was_recorded)
        })
    });
    job.await
}

fn fields(app: &InstalledApp) -> Attributes {
    match serde_json::to_value(app) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => Attributes::new(),
    }
}

async fn chain(
    tx: &mut Tx,
    action: Action,
    before: Option<Attributes>,
    after: Attributes,
) -> spexus_store::Result<()> {
    let change = NewChange::new(Entity::Setting, Uuid::nil(), LABEL, action, 1).fields(before, after);
    tx.record(change).await.map(drop)
}

fn outcome<T>(done: &Result<T, Refusal>) -> &'static str {
    done.as_ref().map_or_else(|refusal| refusal.code.name(), |_| "ok")
}
