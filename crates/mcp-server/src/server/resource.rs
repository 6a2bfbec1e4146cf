//! Resources: what can be read by address, one by one or by a pattern of addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::Refusal;
use serde_json::{Map, Value, json};

use crate::server::Server;
use crate::server::completion::Completer;
use crate::server::context::Context;
use crate::server::registry::Listing;
use crate::server::tool::Stop;
use mcp_protocol::{Annotations, Icon, ResourceContents, UriTemplate, uri};

type Read =
    dyn Fn(Context, ReadRequest) -> BoxFuture<'static, Result<Vec<ResourceContents>, Stop>> + Send + Sync;

/// What is asked of a resource.
#[derive(Clone, Debug, Default)]
pub struct ReadRequest {
    /// The canonical address.
    pub uri: String,
    /// The values of a template's variables.
    pub variables: BTreeMap<String, String>,
}

// Fulfils 002 Req-Res-006
/// One resource.
#[derive(Clone)]
pub struct Resource {
    /// Its address, in canonical form.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: String,
    /// Its MIME type.
    pub mime_type: String,
    /// Its size in bytes, when known.
    pub size: Option<u64>,
    /// For whom it is and how much it matters.
    pub annotations: Option<Annotations>,
    /// Icons, for clients that show them.
    pub icons: Vec<Icon>,
    /// MCP `_meta`.
    pub meta: Map<String, Value>,
    /// Further members of its list entry; the protocol's own names keep their meaning.
    pub extra: Map<String, Value>,
    /// Whether what was read may be kept until a change is told.
    pub cached: bool,
    read: Arc<Read>,
}

impl Resource {
    /// A resource and what reads it.
    pub fn new<F, Fut, E>(
        uri: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
        mime_type: impl Into<String>,
        read: F,
    ) -> Self
    where
        F: Fn(Context, ReadRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<ResourceContents>, E>> + Send + 'static,
        E: Into<Stop>,
    {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: description.into(),
            mime_type: mime_type.into(),
            size: None,
            annotations: None,
            icons: Vec::new(),
            meta: Map::new(),
            extra: Map::new(),
            cached: false,
            read: Arc::new(move |cx, request| read(cx, request).map(|r| r.map_err(Into::into)).boxed()),
        }
    }

    /// Lets the runtime keep what was read until a change is told.
    #[must_use]
    pub fn cached(self) -> Self {
        Self { cached: true, ..self }
    }

    /// Its entry in `resources/list`.
    pub fn entry(&self) -> Value {
        let mut entry = json!({
            "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "mimeType": self.mime_type,
        });
        if let Some(title) = &self.title {
            entry["title"] = json!(title);
        }
        if let Some(size) = self.size {
            entry["size"] = json!(size);
        }
        if let Some(annotations) = &self.annotations {
            entry["annotations"] = json!(annotations);
        }
        if !self.icons.is_empty() {
            entry["icons"] = json!(self.icons);
        }
        if !self.meta.is_empty() {
            entry["_meta"] = json!(self.meta);
        }
        if let Value::Object(members) = &mut entry {
            for (name, value) in &self.extra {
                members.entry(name).or_insert_with(|| value.clone());
            }
        }
        entry
    }
}

/// Resources whose addresses follow a pattern: `test://template/{id}/data`.
///
/// `{name}` stands for one part of the path, `{+name}` for the rest of it, `{?a,b}` for optional queries.
#[derive(Clone)]
pub struct ResourceTemplate {
    /// The pattern.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: String,
    /// The MIME type of all resources it stands for.
    pub mime_type: Option<String>,
    /// Suggests values for its variables.
    pub completer: Option<Completer>,
    read: Arc<Read>,
}

impl ResourceTemplate {
    /// A pattern and what reads the resources it stands for.
    pub fn new<F, Fut, E>(
        uri_template: impl Into<String>,
        name: impl Into<String>,
        description: impl Into<String>,
        read: F,
    ) -> Self
    where
        F: Fn(Context, ReadRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<ResourceContents>, E>> + Send + 'static,
        E: Into<Stop>,
    {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: description.into(),
            mime_type: None,
            completer: None,
            read: Arc::new(move |cx, request| read(cx, request).map(|r| r.map_err(Into::into)).boxed()),
        }
    }
}

/// Resources that live elsewhere, such as in a database; asked after the registered ones.
pub trait ResourceSource: Send + Sync + 'static {
    /// One page, from a place this source gave before; empty is the start. Gives the place of the next page.
    /// `under` is the beginning the addresses must have, when the client asked for a part.
    fn list<'a>(
        &'a self,
        cx: &'a Context,
        from: &'a str,
        under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>>;
    /// What stands at an address; `None` when it is not one of this source.
    fn read<'a>(
        &'a self,
        cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>>;
    /// Somebody is about to hear of changes of an address: refuses what cannot be watched, and begins to look.
    ///
    /// Gives the topic under which news of it are told, where the address alone does not say what is meant: one name may
    /// stand for another thing to everyone who uses it. `None` means the address itself.
    fn subscribe<'a>(&'a self, cx: &'a Context, uri: &'a str) -> BoxFuture<'a, Result<Option<String>, Stop>> {
        let _ = (cx, uri);
        async { Ok(None) }.boxed()
    }
    /// A session that watches an address came back, here or from another node: begins to look again.
    fn resubscribe(&self, server: &Server, uri: &str) {
        let _ = (server, uri);
    }
}

pub(crate) struct Registered {
    pub(crate) resource: Resource,
    pub(crate) entry: Bytes,
}

impl Registered {
    pub(crate) fn new(resource: Resource) -> Result<Self, Refusal> {
        uri::require_canonical(&resource.uri)?;
        let entry = resource.entry().to_string().into();
        Ok(Self { resource, entry })
    }

    pub(crate) fn read(
        &self,
        cx: Context,
        request: ReadRequest,
    ) -> BoxFuture<'static, Result<Vec<ResourceContents>, Stop>> {
        (self.resource.read)(cx, request)
    }
}

pub(crate) struct RegisteredTemplate {
    pub(crate) template: ResourceTemplate,
    pub(crate) entry: Bytes,
    pattern: UriTemplate,
}

impl RegisteredTemplate {
    pub(crate) fn new(template: ResourceTemplate) -> Result<Self, Refusal> {
        let pattern = UriTemplate::parse(&template.uri_template)?;
        let mut entry = json!({
            "uriTemplate": template.uri_template,
            "name": template.name,
            "description": template.description,
        });
        if let Some(title) = &template.title {
            entry["title"] = json!(title);
        }
        if let Some(mime_type) = &template.mime_type {
            entry["mimeType"] = json!(mime_type);
        }
        Ok(Self {
            template,
            entry: entry.to_string().into(),
            pattern,
        })
    }

    /// The variables' values, when the address fits the pattern.
    pub(crate) fn fit(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.pattern.fit(uri)
    }

    pub(crate) fn read(
        &self,
        cx: Context,
        request: ReadRequest,
    ) -> BoxFuture<'static, Result<Vec<ResourceContents>, Stop>> {
        (self.template.read)(cx, request)
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource").field(&self.resource.uri).finish()
    }
}

impl fmt::Debug for RegisteredTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResourceTemplate")
            .field(&self.template.uri_template)
            .finish()
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Resource").field(&self.uri).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_members_of_an_entry_never_replace_the_protocols_own() {
        let nothing = |_cx: Context, _request| async { Ok::<_, Refusal>(Vec::new()) };
        let mut resource = Resource::new("x:///a", "a", "one", "text/plain", nothing);
        resource.extra = Map::from_iter([("id".to_owned(), json!(7)), ("uri".to_owned(), json!("y:///b"))]);
        let entry = resource.entry();
        assert_eq!((&entry["id"], &entry["uri"]), (&json!(7), &json!("x:///a")));
    }
}
