//! For those who keep a record: requests the runtime answered by itself, which no handler of the server's saw. Lists,
//! levels, reads, subscriptions, and everything that was refused before its handler.

use crate::server::context::Context;
use http::Extensions;
use mcp_protocol::Client;
use mcp_protocol::Elicited;
use refusal::Refusal;
use std::time::Duration;

/// A request that was answered without a handler of the server's.
#[derive(Debug)]
pub struct Answered<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its parameters as they came, for what is answered at once.
    pub params: Option<&'a str>,
    /// Who sent it, as far as it introduced itself.
    pub client: &'a Client,
    /// What the transport or a layer before it attached.
    pub extensions: &'a Extensions,
    /// Why it was refused, when it was.
    pub refusal: Option<&'a Refusal>,
    /// Whether it was cancelled, and not answered at all.
    pub stopped: bool,
    /// How long it was served.
    pub took: Duration,
}

/// Hears of such requests.
pub(crate) type OnAnswered = dyn Fn(&Answered<'_>) + Send + Sync;

/// The hook that hears of every question that came to an end: by its name, with what became of it.
pub(crate) type OnElicited = dyn Fn(&Context, &str, Result<&Elicited, &Refusal>) + Send + Sync;
