//! What the server decides for its apps.

use std::time::Duration;

use mcp_server::Context;
use refusal::Refusal;

/// What somebody is about to do with apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// See which there are.
    List,
    /// Install or remove one.
    Manage,
}

/// The server's side: who may do what, and what is noted.
pub trait House: Send + Sync + 'static {
    /// Refuses with 1014 what somebody may not do.
    fn check(&self, cx: &Context, act: Act) -> Result<(), Refusal>;

    /// A tool of an app is about to be listed; whether it says of itself that it only reads.
    fn admit(&self, tool: &str, only_reads: bool) {
        let _ = (tool, only_reads);
    }

    /// A tool of an app is no longer listed.
    fn dismiss(&self, tool: &str) {
        let _ = tool;
    }

    /// Something was done: the method, what it was done to, how long it took and how it went.
    fn note(
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
