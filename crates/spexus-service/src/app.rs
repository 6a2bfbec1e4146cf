//! Apps: other MCP servers that are part of this one. What an app is and where its files are kept is not the service's
//! to know; who may install or remove one, and that it stands in the audit trail, is.

use crate::{Service, audit};
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{Refusal, Ruled};

/// Refuses whoever may not install or remove apps, nor see how they were installed.
//= specs/mcp-apps.md#installing
//# Only administrators MUST be able to install or remove apps, over MCP and by command.
pub fn check_manage(caller: &Caller) -> Ruled<()> {
    caller.may(Operation::ManageSettings)
}

/// Installs an app: `install` does it, `name` names what it made.
pub async fn install<T>(
    service: &Service,
    caller: &Caller,
    install: impl Future<Output = Ruled<T>>,
    name: impl FnOnce(&T) -> &str,
) -> Ruled<T> {
    let installed = match check_manage(caller) {
        Ok(()) => install.await,
        Err(refusal) => Err(refusal),
    };
    let named = installed.as_ref().map_or("", name);
    audit::note_operation(service, caller, "apps/install", named, outcome(&installed));
    installed
}

/// Removes the app of this name: `remove` does it.
pub fn remove<T>(
    service: &Service,
    caller: &Caller,
    name: &str,
    remove: impl FnOnce() -> Ruled<T>,
) -> Ruled<T> {
    let removed = check_manage(caller).and_then(|()| remove());
    audit::note_operation(service, caller, "apps/uninstall", name, outcome(&removed));
    removed
}

fn outcome<T>(done: &Result<T, Refusal>) -> &'static str {
    done.as_ref().map_or_else(|refusal| refusal.code.name(), |_| "ok")
}
