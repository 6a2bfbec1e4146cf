//! What the server that has apps decides for them: who may do what, and what is audited.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use mcp_server::Context;
use refusal::Refusal;

use crate::AppRecord;

/// What somebody is about to do with apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppOperation {
    /// See which there are.
    List,
    /// Install or remove one.
    Manage,
}

/// An app that the server has a record of, whether its files are here or on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedApp {
    /// Its name.
    pub name: String,
    /// The version it had when it was installed.
    pub version: String,
    /// `bundle`, `manifest` or `url`.
    pub source: String,
    /// When it was installed.
    pub installed_at: String,
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

    /// An app was installed here: the server may keep a record of it that other machines see.
    fn record<'a>(&'a self, cx: &'a Context, app: &'a AppRecord) -> BoxFuture<'a, Result<(), Refusal>> {
        let _ = (cx, app);
        ready(Ok(())).boxed()
    }

    /// An app is removed. Tells whether there was a record of it.
    fn forget<'a>(&'a self, cx: &'a Context, app: &'a str) -> BoxFuture<'a, Result<bool, Refusal>> {
        let _ = (cx, app);
        ready(Ok(false)).boxed()
    }

    /// Every app there is a record of.
    fn recorded(&self) -> BoxFuture<'_, Result<Vec<RecordedApp>, Refusal>> {
        ready(Ok(Vec::new())).boxed()
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
