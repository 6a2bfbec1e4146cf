//! Tools that others add to the product while it runs: who may see and call them, and what is noted of it.

use crate::audit::{self, AuditEntry};
use crate::visit::Visit;
use mcp_server::Context;
use parking_lot::RwLock;
use spexus_domain::app::InstalledApp;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::{Service, app};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The registry of tools that apps add, for the guard and the audit trail. Clones are the same.
#[derive(Clone)]
pub struct AppTools {
    service: Service,
    /// Tools by name, and whether they only read.
    tools: Arc<RwLock<HashMap<String, bool>>>,
    /// Whether tokens bound to a project may see them.
    shares: bool,
}

impl AppTools {
    pub(crate) fn new(service: &Service, shares: bool) -> Self {
        Self {
            service: service.clone(),
            tools: Arc::default(),
            shares,
        }
    }

    /// Lets a tool be seen and called: by everyone who may read when it only reads, else by those who may write.
    pub fn admit(&self, tool: &str, only_reads: bool) {
        let mut tools = self.tools.write();
        tools.insert(tool.to_owned(), only_reads);
    }

    /// Forgets a tool.
    pub fn dismiss(&self, tool: &str) {
        let mut tools = self.tools.write();
        tools.remove(tool);
    }

    /// Refuses whoever may not see which apps there are.
    pub fn check_list(&self, cx: &Context) -> Ruled<()> {
        let visit = Visit::of(cx)?;
        if visit.is_shut_out(self.shares) {
            return Err(crate::visit::shut_out("apps"));
        }
        visit.caller().may(Operation::ReadSettings)
    }

    /// Refuses whoever may not install or remove apps.
    pub fn check_manage(&self, cx: &Context) -> Ruled<()> {
        let visit = Visit::of(cx)?;
        if visit.is_read_only() {
            return Err(Refusal::new(Code::AuthzForbidden, "this connection is read-only"));
        }
        app::check_manage(visit.caller())
    }

    /// Records an app that was installed.
    pub async fn record(&self, cx: &Context, app: InstalledApp) -> Ruled<()> {
        app::record(&self.service, Visit::of(cx)?.caller(), app).await
    }

    /// Forgets an app that was removed. Tells whether it was recorded.
    pub async fn forget(&self, cx: &Context, name: &str) -> Ruled<bool> {
        app::forget(&self.service, Visit::of(cx)?.caller(), name).await
    }

    /// The apps of the installation, on whatever machine.
    pub async fn recorded(&self) -> Ruled<Vec<InstalledApp>> {
        app::recorded(&self.service).await
    }

    /// Notes what was done, like everything else that is done over MCP.
    pub fn note(
        &self,
        cx: &Context,
        method: &'static str,
        name: &str,
        took: Duration,
        outcome: Result<(), &Refusal>,
    ) {
        // Whoever has no visit was refused before anything could be done.
        if let Ok(caller) = audit::caller(cx) {
            AuditEntry::start(&self.service, &caller, method, name)
                .backdated(took)
                .stop(outcome);
        }
    }

    /// Whether a tool is a guest's that only reads; `None` when it is no guest's.
    pub(crate) fn only_reads(&self, tool: &str) -> Option<bool> {
        let tools = self.tools.read();
        tools.get(tool).copied()
    }
}
