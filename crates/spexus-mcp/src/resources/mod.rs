//! Resources: everything that can be read by address. One function reads them all; templates only tell of them.

mod address;
mod catalogue;
mod read;
pub(crate) mod topic;

pub(crate) use address::{SCHEMES, scheme_of};
pub(crate) use catalogue::{COLLECTIONS, Form, forms};

use crate::audit;
use crate::complete::{Uses, completer};
use address::Address;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::{Annotations, ResourceContents};
use mcp_server::{Context, Listing, ReadRequest, Resource, ResourceSource, ResourceTemplate, Stop};
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::{Refusal, Ruled};
use spexus_service::item::{self, ItemQuery};
use spexus_service::{Service, project};

const JSON: &str = "application/json";

// Fulfils 003 R5.1, 003 R5.2
/// The patterns of addresses.
pub(crate) fn templates(service: &Service, uses: &Uses) -> Vec<ResourceTemplate> {
    let template = |form: Form| {
        let (reader, counter) = (service.clone(), uses.clone());
        let read = move |cx: Context, request: ReadRequest| {
            let (service, uses) = (reader.clone(), counter.clone());
            async move {
                let read = existing(&cx, &service, &request.uri).await?;
                uses.note(
                    audit::caller(&cx)?.user_id,
                    request.variables.values().map(String::as_str),
                );
                Ok::<_, Stop>(read)
            }
        };
        let mut template = ResourceTemplate::new(form.template, form.name, form.description, read);
        template.mime_type = Some(JSON.to_owned());
        template.completer = Some(completer(service, uses, form.kind));
        template
    };
    forms().into_iter().map(template).collect()
}

// Fulfils 003 R4.1, 003 R4.2
/// The collections that are always there.
pub(crate) fn collections(service: &Service) -> Vec<Resource> {
    let collection = |(uri, name, description): (&'static str, &'static str, &'static str)| {
        let reader = service.clone();
        let read = move |cx: Context, request: ReadRequest| {
            let service = reader.clone();
            async move { existing(&cx, &service, &request.uri).await }
        };
        Resource::new(uri, name, description, JSON, read)
    };
    COLLECTIONS.into_iter().map(collection).collect()
}

/// The items of the database.
pub(crate) struct Items(pub(crate) Service);

// Fulfils 003 R10.1, 003 R15.6
impl ResourceSource for Items {
    //= specs/spexus-mcp.md#resources
    //# A list of resources MUST come in pages and name each thing once.
    fn list<'a>(
        &'a self,
        cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        async move {
            let caller = audit::caller(cx)?;
            let query = ItemQuery {
                order_by: Some("created_at".to_owned()),
                limit: Some(100),
                cursor: Some(from.to_owned()).filter(|from| !from.is_empty()),
                ..ItemQuery::default()
            };
            let kind = under
                .and_then(|under| under.split_once("://"))
                .and_then(|(scheme, _)| address::kind_of(scheme));
            let page = item::list(&self.0, &caller, kind, &query).await?;
            let inside = |one: &Resource| under.is_none_or(|under| one.uri.starts_with(under));
            let several = sees_several(&self.0, &caller).await?;
            let entries = page
                .data
                .iter()
                .map(|item| self.entry(item, several))
                .filter(inside)
                .collect();
            Ok(Listing {
                entries,
                next: page.next_cursor,
            })
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        read(cx, &self.0, uri).boxed()
    }

    fn subscribe<'a>(&'a self, cx: &'a Context, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, Stop>> {
        async move {
            // What the address of an app stands for is for the app to say, and skills change with the program only.
            if ["app://", "skill://", "ui://"]
                .iter()
                .any(|own| uri.starts_with(own))
            {
                return Ok(None);
            }
            Ok(Some(topic::of(&self.0, &audit::caller(cx)?, uri).await?))
        }
        .boxed()
    }
}

impl Items {
    fn entry(&self, item: &Item, several: bool) -> Resource {
        let service = self.0.clone();
        let read = move |cx: Context, request: ReadRequest| {
            let service = service.clone();
            async move { existing(&cx, &service, &request.uri).await }
        };
        let uri = address_of(item, several);
        let label = item.kind.rules().label;
        let description = match &item.status {
            Some(status) => format!("{label}, {status}"),
            None => label.to_owned(),
        };
        let name = format!(
            "{}: {}",
            item.reference_id,
            spexus_domain::text::excerpt(&item.heading(), 80)
        );
        let mut resource = Resource::new(uri, name, description, JSON, read);
        //= specs/spexus-mcp.md#resources
        //# A listed item MUST say when it changed last.
        resource.annotations = Some(Annotations {
            last_modified: Some(item.updated_at.to_string()),
            ..Annotations::default()
        });
        resource
    }
}

/// Where an item is read: with its project, where a reference alone may mean several.
pub(crate) fn address_of(item: &Item, several: bool) -> String {
    let scheme = scheme_of(item.kind);
    match several {
        true => format!("{scheme}://{}", item.reference_id.in_project(&item.project)),
        false => format!("{scheme}://{}", item.reference_id),
    }
}

/// What kind of address it is, for logs: without the id. Empty when it is none of ours.
pub(crate) fn form_of(uri: &str) -> &'static str {
    let address = Address::parse(uri).ok().flatten();
    address.as_ref().map_or("", Address::form)
}

/// Whether a caller sees more than one project.
pub(crate) async fn sees_several(service: &Service, caller: &Caller) -> Ruled<bool> {
    Ok(caller.bound_project.is_none() && project::list(service, caller).await?.data.len() > 1)
}

/// What stands at an address that must be one of ours.
async fn existing(cx: &Context, service: &Service, uri: &str) -> Result<Vec<ResourceContents>, Stop> {
    let found = read(cx, service, uri).await?;
    found.ok_or_else(|| missing(uri).into())
}

// Fulfils 003 R4.4, 003 R9.7
/// What stands at an address; `None` when nothing of ours can.
async fn read(cx: &Context, service: &Service, uri: &str) -> Result<Option<Vec<ResourceContents>>, Stop> {
    let caller = audit::caller(cx)?;
    let Some(address) = Address::parse(uri)? else {
        return Ok(None);
    };
    let mut value = read::read(service, &caller, &address).await?;
    crate::render::visible(&mut value);
    Ok(Some(vec![ResourceContents::text(uri, JSON, value.to_string())]))
}

// Fulfils 003 R4.8
fn missing(uri: &str) -> Refusal {
    let problem = format!("there is nothing at {:?}", spexus_domain::text::excerpt(uri, 100));
    Refusal::new(spexus_domain::Code::ResourceNotFound, problem)
}
