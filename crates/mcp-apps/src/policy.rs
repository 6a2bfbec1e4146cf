//! What the server that has apps decides for them: who may do what, and what is audited.

use std::time::Duration;

use mcp_server::Context;
use refusal::Refusal;

/// What somebody is about to do with apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppOperation {
    /// See which there are.
    List,
    /// Install or remove one.
    Manage,
}

/// Policy of the server that has apps. Everything but [`check`](HostPolicy::check) may be left out.
pub trait HostPolicy: Send + Sync + 'static {
    /// Refuses with 1014 what somebody may not do.
    fn check(&self, cx: &Context, operation: AppOperation) -> Result<(), Refusal>;

    /// A tool of an app is about to be listed; whether it says of itself that it only reads.
    fn tool_added(&self, tool: &str, only_reads: bool) {
        let _ = (tool, only_reads);
    }

    /// A tool of an app is no longer listed.
    fn tool_removed(&self, tool: &str) {
        let _ = tool;
    }

    /// An operation is over: the method, what it was done to, how long it took and how it went.
    fn audit(
        &self,
        cx: &Context,
        method: &'static str,
        name: &str,
        took: Duration,
        outcome: Result<(), &Refusal>,
    ) {
        let _ = (cx, method, name, took, outcome);
    }
}
