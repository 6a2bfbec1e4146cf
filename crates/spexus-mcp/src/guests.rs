//! Tools that others add to the product while it runs: who may see and call them, and what is noted of it.

use crate::audit::{self, Watch};
use crate::visit::Visit;
use mcp_server::Context;
use parking_lot::RwLock;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::Service;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// See the module. Clones are the same.
#[derive(Clone)]
pub struct Guests {
    service: Service,
    /// Tools by name, and whether they only read.
    tools: Arc<RwLock<HashMap<String, bool>>>,
    /// Whether tokens bound to a project may see them.
    shares: bool,
}

impl Guests {
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
        spexus_service::app::check_manage(visit.caller())
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
            Watch::start(&self.service, &caller, method, name)
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
