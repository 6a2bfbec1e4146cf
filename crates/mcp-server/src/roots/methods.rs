//! `roots/list`, `roots/add` and `roots/remove`, for clients to call.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{Root, RootSet};
use crate::changes::List;
use crate::server::Server;
use crate::server::context::Context;
use crate::server::method::CustomMethod;
use crate::server::tool::Stop;
use mcp_protocol::fields;

/// The methods of roots.
pub(crate) const METHODS: [&str; 3] = ["roots/list", "roots/add", "roots/remove"];

/// Who may change the roots, and what makes a change last.
pub trait RootKeeper: Send + Sync + 'static {
    /// Refuses a client that may not see the roots.
    fn may_list(&self, cx: &Context) -> Result<(), Refusal> {
        let _ = cx;
        Ok(())
    }

    /// Refuses a client that may not add or remove roots.
    fn may_change(&self, cx: &Context) -> Result<(), Refusal>;

    /// Keeps a root that is about to be added.
    fn add<'a>(&'a self, cx: &'a Context, root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>>;

    /// Forgets a root that is about to be removed.
    fn remove<'a>(&'a self, cx: &'a Context, root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>>;
}

/// Roots that stay as the operator configured them.
#[derive(Clone, Copy, Debug)]
pub struct FixedRoots;

impl RootKeeper for FixedRoots {
    fn may_change(&self, _cx: &Context) -> Result<(), Refusal> {
        let refusal = Refusal::new(Code::AuthzForbidden, "the roots of this server are fixed");
        Err(refusal.hint("Start the server in another folder, or start a second one."))
    }

    fn add<'a>(&'a self, cx: &'a Context, _root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async { self.may_change(cx) }.boxed()
    }

    fn remove<'a>(&'a self, cx: &'a Context, _root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async { self.may_change(cx) }.boxed()
    }
}

impl Server {
    /// Serves `roots/list`, `roots/add` and `roots/remove` over a set of roots. Declare the family `roots` under
    /// [`Settings::experimental`](crate::Settings::experimental).
    pub fn serve_roots(&self, roots: &Arc<RootSet>, keeper: impl RootKeeper) {
        let methods = Arc::new(RootMethods {
            roots: roots.clone(),
            keeper: Box::new(keeper),
            changing: Mutex::new(()),
        });
        let [list, add, remove] = METHODS;
        let listing = methods.clone();
        self.add_method(CustomMethod::new(list, move |cx, _params| {
            let methods = listing.clone();
            async move { methods.list(&cx) }
        }));
        let adding = methods.clone();
        self.add_method(CustomMethod::new(add, move |cx, params| {
            let methods = adding.clone();
            async move { methods.add(&cx, &params).await }
        }));
        self.add_method(CustomMethod::new(remove, move |cx, params| {
            let methods = methods.clone();
            async move { methods.remove(&cx, &params).await }
        }));
    }

    // Fulfils 002 Req-Root-006
    /// Tells those who follow that the roots changed, and everybody that the list of resources did.
    //= specs/mcp-server.md#roots
    //# A change of the roots MUST be told to every session that asked for them and every listener that asked to hear of it, and the list of resources MUST be told to have changed.
    pub fn roots_changed(&self) {
        self.list_changed(List::Roots);
        self.list_changed(List::Resources);
    }
}

struct RootMethods {
    roots: Arc<RootSet>,
    keeper: Box<dyn RootKeeper>,
    /// One change after the other, so that what is kept and what is served stay the same.
    changing: Mutex<()>,
}

impl RootMethods {
    // Fulfils 002 Req-Root-001
    //= specs/mcp-server.md#roots
    //# `roots/list` MUST name every root with its address, its name, its description when it has one, and whether it is managed.
    fn list(&self, cx: &Context) -> Result<Value, Refusal> {
        self.keeper.may_list(cx)?;
        cx.0.session.roots.follow();
        Ok(json!({ "roots": self.roots.list() }))
    }

    // Fulfils 002 Req-Root-003
    async fn add(&self, cx: &Context, params: &Value) -> Result<Value, Stop> {
        self.keeper.may_change(cx)?;
        let wanted = Root {
            name: text(params, "name")?,
            description: text(params, "description")?,
            ..Root::new(text(params, "uri")?.ok_or_else(|| fields::missing("uri"))?)
        };
        let _changing = self.changing.lock().await;
        let root = self.roots.check(&wanted)?;
        self.keeper.add(cx, &root).await?;
        match self.roots.add(&root) {
            // Whoever keeps the roots may have told of the new one before.
            Err(refusal) if refusal.code == Code::ResourceDuplicate => {}
            added => drop(added?),
        }
        cx.server().roots_changed();
        Ok(json!({ "root": root }))
    }

    // Fulfils 002 Req-Root-004
    async fn remove(&self, cx: &Context, params: &Value) -> Result<Value, Stop> {
        self.keeper.may_change(cx)?;
        let uri = text(params, "uri")?.ok_or_else(|| fields::missing("uri"))?;
        let _changing = self.changing.lock().await;
        let root = self.roots.removable(&uri)?;
        self.keeper.remove(cx, &root).await?;
        self.roots.remove(&root.uri);
        let server = cx.server();
        server.resources_gone_below(&root.uri);
        server.roots_changed();
        Ok(json!({ "root": root }))
    }
}

fn text(params: &Value, name: &'static str) -> Result<Option<String>, Refusal> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Refusal::field(
            Code::FieldTypeMismatch,
            name,
            "is not a string",
            "a string",
        )),
    }
}
