//! On whose behalf a request comes, and what it wants to see.

use crate::{McpOptions, Toolset};
use http::{Extensions, HeaderMap};
use mcp_runtime::Context;
use mcp_runtime::streamable_http::SessionOwner;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, text};

/// The header by which a request chooses its toolsets.
pub(crate) const TOOLSETS_HEADER: &str = "x-spexus-toolsets";
/// The header by which a request gives up writing.
pub(crate) const READ_ONLY_HEADER: &str = "x-spexus-read-only";

/// Who asks, and which part of the product is shown.
#[derive(Clone, Debug)]
pub struct Visit {
    caller: Caller,
    toolsets: Vec<Toolset>,
    read_only: bool,
}

impl Visit {
    /// A visit as the options have it.
    pub fn new(caller: Caller, options: &McpOptions) -> Self {
        Self {
            caller,
            toolsets: options.toolsets.clone(),
            read_only: options.read_only,
        }
    }

    /// A visit as the headers of a request ask for. They choose among tools; what the server is told not to do stays so.
    pub fn asked(caller: Caller, options: &McpOptions, headers: &HeaderMap) -> Ruled<Self> {
        let mut visit = Self::new(caller, options);
        if let Some(sets) = header(headers, TOOLSETS_HEADER)? {
            visit.toolsets = Toolset::parse_list(TOOLSETS_HEADER, sets)?;
        }
        match header(headers, READ_ONLY_HEADER)? {
            None | Some("false" | "0") => {}
            Some("true" | "1") => visit.read_only = true,
            Some(other) => return Err(odd(READ_ONLY_HEADER, other, "true or false")),
        }
        Ok(visit)
    }

    /// What a transport attaches to requests. A session belongs to the token it was opened with, not only to its owner.
    pub fn attach(self, extensions: &mut Extensions) {
        let owner = self.caller.token_id.unwrap_or(self.caller.user_id);
        extensions.insert(SessionOwner(owner.to_string()));
        extensions.insert(self);
    }

    /// The visit a request belongs to.
    pub(crate) fn of(cx: &Context) -> Ruled<&Visit> {
        cx.extension::<Visit>()
            .ok_or_else(|| Refusal::new(Code::AuthMissing, "this needs a token"))
    }

    /// Whose rights count.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(crate) fn toolsets(&self) -> &[Toolset] {
        &self.toolsets
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &'static str) -> Ruled<Option<&'a str>> {
    match headers.get(name).map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(value)) => Ok(Some(value.trim())),
        Some(Err(_)) => Err(odd(name, "it", "plain letters")),
    }
}

fn odd(name: &'static str, value: &str, allowed: &str) -> Refusal {
    let problem = format!("{:?} means nothing here", text::excerpt(value, 60));
    Refusal::field(Code::InvalidHeader, name, problem, allowed)
}
