//! Reading: each address calls one function of the service.

use super::address::{Address, ItemAddress, Part};
use serde::Serialize;
use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::item_context::ContextRequest;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::account::user;
use spexus_service::{Service, comment, evidence, item, link, prompt, search, settings};

// Fulfils 003 R4.6, 003 R5.6
/// What stands at an address.
pub(super) async fn read(service: &Service, caller: &Caller, address: &Address) -> Ruled<Value> {
    match address {
        Address::Item(item) => about(service, caller, item).await,
        Address::Trace(of) => {
            let found = evidence::trace(service, caller, of.project.as_deref(), None, &of.id).await;
            Ok(json!(found.map_err(no_resource)?))
        }
        Address::List(kind, query) => {
            let page = item::list(service, caller, Some(*kind), query).await?;
            Ok(list(kind.rules().path, &page))
        }
        Address::Search(wanted, filters) => Ok(list(
            "requirements",
            &search::search(service, caller, wanted, filters).await?,
        )),
        Address::Prompt(id) => Ok(json!(
            prompt::get(service, caller, id).await.map_err(no_resource)?
        )),
        Address::Prompts => Ok(list("prompts", &prompt::list(service, caller).await?)),
        Address::ActivePrompt => match prompt::active(service, caller).await? {
            Some(active) => Ok(json!(active)),
            None => Err(Refusal::new(Code::ResourceNotFound, "no prompt is active")),
        },
        Address::Types => Ok(list(
            "requirement types",
            &settings::requirement_types(service, caller).await?,
        )),
        Address::LinkTypes => Ok(list(
            "relationship types",
            &settings::link_types(service, caller).await?,
        )),
        Address::Workflows => Ok(list("workflows", &settings::workflows(service, caller).await?)),
        Address::Users => Ok(list("users", &user::names(service, caller).await?)),
    }
}

// Fulfils 003 R4.7
async fn about(service: &Service, caller: &Caller, address: &ItemAddress) -> Ruled<Value> {
    //= specs/spexus-mcp.md#resources
    //# A list below an item that does not end on its page MUST go on at the same address with `cursor`.
    let page = PageRequest::new(Some(MAX_PAGE_ROWS), address.cursor.clone())?;
    let (of_kind, project, id) = (
        Some(address.kind),
        address.project.as_deref(),
        address.id.as_str(),
    );
    Ok(match address.part {
        Part::Itself => json!(
            item::get(service, caller, project, of_kind, id)
                .await
                .map_err(no_resource)?
        ),
        Part::Context => {
            let found = item::get(service, caller, project, of_kind, id).await;
            let id = found.map_err(no_resource)?.id.to_string();
            json!(item::context(service, caller, None, &id, ContextRequest::default()).await?)
        }
        Part::Hierarchy => {
            // Of another kind means it does not stand here.
            let root = item::get(service, caller, project, of_kind, id)
                .await
                .map_err(no_resource)?;
            json!(item::hierarchy(service, caller, None, &root.id.to_string(), None).await?)
        }
        Part::Children(child) => {
            let found = item::children(service, caller, project, of_kind, id, vec![child], page)
                .await
                .map_err(no_resource)?;
            list(child.rules().path, &found)
        }
        Part::Relationships => {
            let links = link::list(service, caller, project, of_kind, id, None, page).await;
            let links = links.map_err(no_resource)?;
            let mut value = json!(links);
            if links.data.is_empty() {
                value["message"] = json!("No relationships found.");
            }
            value
        }
        Part::Comments => list(
            "comments",
            &comment::list(service, caller, project, of_kind, id, None, page)
                .await
                .map_err(no_resource)?,
        ),
        Part::History => list(
            "changes",
            &item::history(service, caller, project, of_kind, id, page)
                .await
                .map_err(no_resource)?,
        ),
    })
}

// Fulfils 003 R5.8
/// Rows with their total; an empty list says so in words.
//= specs/spexus-mcp.md#resources
//# An empty list MUST be an empty array with a sentence.
fn list<T: Serialize>(noun: &str, page: &Page<T>) -> Value {
    let mut value = json!(page);
    if page.data.is_empty() {
        value["message"] = json!(format!("No {noun} found."));
    }
    value
}

/// A thing that is named by an address and not there is a missing resource, whatever it is missing as. An id that is
/// none names nothing either.
//= specs/spexus-mcp.md#resources
//# An address of nothing MUST be refused with -32002.
pub(super) fn no_resource(refusal: Refusal) -> Refusal {
    let of_id = refusal.faults.iter().any(|fault| fault.field == "id");
    match refusal.code {
        Code::PromptNotFound => Refusal {
            code: Code::ResourceNotFound,
            ..refusal
        },
        // What may mean several things is there; its candidates say how to name it.
        Code::InvalidParams if of_id && !is_ambiguous(&refusal) => Refusal {
            code: Code::ResourceNotFound,
            ..refusal
        },
        _ => refusal,
    }
}

fn is_ambiguous(refusal: &Refusal) -> bool {
    refusal.facts.iter().any(|(name, _)| *name == "candidates")
}
