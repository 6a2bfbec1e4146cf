//! What is served by address beside the registered resources: items to everyone, and files to those who may see them.

use crate::guard::Gate;
use crate::resources::Items;
use crate::visit::Visit;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::ResourceContents;
use mcp_server::{Context, Files, Listing, Resource, ResourceSource, Server, Stop, WithFiles};
use spexus_domain::Refusal;
use spexus_service::Service;

/// The resource source of the product: items, and files below the roots.
pub(crate) struct ProductResources {
    gate: Gate,
    items: Items,
    all: WithFiles<Items>,
}

impl ProductResources {
    pub(crate) fn new(service: &Service, gate: &Gate, files: Files) -> Self {
        Self {
            gate: gate.clone(),
            items: Items(service.clone()),
            all: WithFiles::new(Items(service.clone()), files),
        }
    }
}

impl ResourceSource for ProductResources {
    fn list<'a>(
        &'a self,
        cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        async move {
            match self.gate.is_shut_out(Visit::of(cx)?) {
                true => self.items.list(cx, from, under).await,
                false => self.all.list(cx, from, under).await,
            }
        }
        .boxed()
    }

    // The gate has looked at the address before it comes here.
    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        self.all.read(cx, uri)
    }

    fn subscribe<'a>(&'a self, cx: &'a Context, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, Stop>> {
        self.all.subscribe(cx, uri)
    }

    fn resubscribe(&self, server: &Server, uri: &str) {
        self.all.resubscribe(server, uri);
    }
}
