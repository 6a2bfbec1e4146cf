//! What news are told under. An address says how somebody calls a thing; two projects call different things alike. A
//! topic names the thing itself: an item by its UUID, a list by its kind and project.

use super::address::{Address, ItemAddress, Part};
use super::{missing, read, scheme_of};
use spexus_domain::account::Caller;
use spexus_domain::{Kind, Ruled, Uuid};
use spexus_service::item::{self, ItemQuery};
use spexus_service::{Service, project, search};

/// The topic of an address, for a caller who can see what stands there. What does not exist and what may not be seen are
/// refused alike.
//= specs/spexus-mcp.md#changes
//# What the caller cannot see MUST be refused like what is not there, and MUST NOT be told of.
pub(super) async fn of(service: &Service, caller: &Caller, uri: &str) -> Ruled<String> {
    let Some(address) = Address::parse(uri)? else {
        return Err(missing(uri));
    };
    Ok(match address {
        Address::Item(ItemAddress {
            kind,
            project,
            id,
            part,
            ..
        }) => {
            let found = item::get(service, caller, project.as_deref(), Some(kind), &id).await;
            let found = found.map_err(read::no_resource)?;
            match part {
                Part::Context => of_contexts(found.project_id),
                part => of_item(kind, found.id, part.name()),
            }
        }
        // A trace moves with its item.
        Address::Trace(of) => {
            let found = item::get(service, caller, of.project.as_deref(), None, &of.id).await;
            let found = found.map_err(read::no_resource)?;
            of_item(found.kind, found.id, "")
        }
        Address::List(kind, mut query) => {
            // What the filters name must be there and visible, too.
            query.limit = Some(1);
            item::list(service, caller, Some(kind), &query).await?;
            of_list(kind, project_of(service, caller, &query).await?)
        }
        Address::Search(wanted, mut query) => {
            query.limit = Some(1);
            search::search(service, caller, &wanted, &query).await?;
            of_search(project_of(service, caller, &query).await?)
        }
        Address::Prompt(id) => {
            let found = spexus_service::prompt::get(service, caller, &id).await;
            of_prompt(found.map_err(read::no_resource)?.id)
        }
        // These are the same for everyone who may read.
        Address::Prompts
        | Address::ActivePrompt
        | Address::Types
        | Address::LinkTypes
        | Address::Workflows
        | Address::Users => uri.to_owned(),
    })
}

/// The project whose items a list holds: that of the items its filters name, as when it is read.
//= specs/spexus-mcp.md#changes
//# Whoever watches a list or a search MUST be told of the project it is read from, be it named or that of what its filters name.
async fn project_of(service: &Service, caller: &Caller, query: &ItemQuery) -> Ruled<Uuid> {
    let places = [&query.parent, &query.under, &query.acceptance_criterion];
    let named = match places.into_iter().flatten().next() {
        Some(id) => {
            let place = item::get(service, caller, query.project.as_deref(), None, id).await?;
            Some(place.project)
        }
        None => query.project.clone(),
    };
    Ok(project::of_request(service, caller, named.as_deref()).await?.id)
}

/// An item, or a part of what is told about it.
pub(crate) fn of_item(kind: Kind, id: Uuid, part: &str) -> String {
    match part {
        "" => format!("{}://{id}", scheme_of(kind)),
        part => format!("{}://{id}/{part}", scheme_of(kind)),
    }
}

/// The items of a kind in a project.
pub(crate) fn of_list(kind: Kind, project: Uuid) -> String {
    format!("requirements://{}/of/{project}", kind.rules().path)
}

/// Whatever a search in a project finds.
pub(crate) fn of_search(project: Uuid) -> String {
    format!("requirements://search/of/{project}")
}

/// The working contexts of a project: each tells of many items.
pub(crate) fn of_contexts(project: Uuid) -> String {
    format!("requirements://context/of/{project}")
}

/// A stored prompt.
pub(crate) fn of_prompt(id: Uuid) -> String {
    format!("prompt://{id}")
}
