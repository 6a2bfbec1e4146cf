//! Folders of the server's machine that agents may read: those of the configuration, and those administrators add.

use crate::McpOptions;
use crate::audit;
use crate::visit::{self, Visit};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::{Context, FileLimits, Files, Root, RootKeeper, RootSet, Server};
use spexus_domain::permission::Operation;
use spexus_domain::root::AddedRoot;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::{Service, root};
use std::sync::Arc;

/// The family of methods and its version.
pub(crate) const FAMILY: (&str, &str) = ("roots", "1.0.0");

/// The roots of the product. Clones are the same.
#[derive(Clone)]
pub(crate) struct OpenFolders {
    service: Service,
    set: Arc<RootSet>,
    files: Files,
    /// Whether tokens bound to a project may see them.
    shares: bool,
}

impl OpenFolders {
    /// The folders of the configuration; those that were added are looked up by [`reload`](Self::reload).
    pub(crate) fn new(service: &Service, options: &McpOptions) -> Ruled<Self> {
        let set = Arc::new(RootSet::new(&options.roots, &options.roots_allow)?);
        Ok(Self {
            service: service.clone(),
            files: Files::new(set.clone(), FileLimits::default()),
            set,
            shares: options.share_with_bound_tokens,
        })
    }

    /// Their files, as resources.
    pub(crate) fn files(&self) -> Files {
        self.files.clone()
    }

    /// Lets the server serve them. Without any, and without a folder where one may be added, there are no files.
    pub(crate) fn serve(&self, server: &Server) -> Ruled<()> {
        //= specs/spexus-mcp.md#roots
        //# Without a configured folder no file MUST be served, and the methods of roots MUST be neither declared nor served.
        if self.set.is_open() {
            server.serve_roots(&self.set, self.clone());
            server.add_template(self.files.template())?;
            server.declare(FAMILY.0, FAMILY.1);
        }
        Ok(())
    }

    /// Whether there are files to read now.
    pub(crate) fn has_files(&self) -> bool {
        !self.set.list().is_empty()
    }

    // Fulfils 002 Req-Root-003, 002 Req-Root-004
    /// Takes over what was added here, before a restart or on another node.
    //= specs/spexus-mcp.md#roots
    //# A root that was added MUST be there after a restart and on every node.
    pub(crate) async fn reload(&self, server: &Server) -> Ruled<()> {
        let added = root::added(&self.service).await?;
        let before = self.set.list();
        let (changed, refused) = self.set.restore(added.into_iter().map(open).collect());
        for (_, refusal) in refused {
            // Not the folder itself: the log is no place for what was meant for agents of this machine only.
            tracing::warn!(
                code = refusal.code.name(),
                "a root that was added is not served any more"
            );
        }
        if changed {
            let now = self.set.list();
            for gone in before.iter().filter(|root| !now.contains(root)) {
                server.resources_gone_below(&gone.uri);
            }
            server.roots_changed();
        }
        Ok(())
    }
}

impl RootKeeper for OpenFolders {
    //= specs/spexus-mcp.md#roots
    //# Roots and their files MUST be shown to those who may read, and changed by administrators alone.
    fn may_list(&self, cx: &Context) -> Result<(), Refusal> {
        let visit = Visit::of(cx)?;
        if visit.is_shut_out(self.shares) {
            return Err(visit::shut_out("file roots"));
        }
        visit.caller().may(Operation::Read)
    }

    fn may_change(&self, cx: &Context) -> Result<(), Refusal> {
        let visit = Visit::of(cx)?;
        if visit.is_read_only() {
            return Err(Refusal::new(Code::AuthzForbidden, "this connection is read-only")
                .hint("Connect without the read-only mode."));
        }
        visit.caller().may(Operation::ManageSettings)
    }

    fn add<'a>(&'a self, cx: &'a Context, added: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async move {
            let caller = audit::caller(cx)?;
            root::add(&self.service, &caller, kept(added)).await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, cx: &'a Context, removed: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async move {
            let caller = audit::caller(cx)?;
            root::remove(&self.service, &caller, kept(removed)).await
        }
        .boxed()
    }
}

fn kept(root: &Root) -> AddedRoot {
    AddedRoot {
        uri: root.uri.clone(),
        name: root.name.clone().unwrap_or_default(),
        description: root.description.clone().unwrap_or_default(),
    }
}

fn open(root: AddedRoot) -> Root {
    let said = |text: String| Some(text).filter(|text| !text.is_empty());
    Root {
        name: said(root.name),
        description: said(root.description),
        ..Root::new(root.uri)
    }
}
