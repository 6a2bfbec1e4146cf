//! On whose behalf a request comes, and what it wants to see.

use crate::{McpOptions, Toolset};
use http::{Extensions, HeaderMap};
use mcp_server::Context;
use mcp_server::streamable_http::{Account, SessionOwner};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, hint, text};

/// The header by which a request chooses its toolsets.
pub(crate) const TOOLSETS_HEADER: &str = "x-spexus-toolsets";
/// The header by which a request gives up writing.
pub(crate) const READ_ONLY_HEADER: &str = "x-spexus-read-only";
/// The header by which a request asks for structured content alone.
pub(crate) const CONTENT_HEADER: &str = "x-spexus-content";

/// Who asks, and which part of the product is shown. Every tool, resource, prompt and completion asks the service as this caller,
/// and what is told of changes is filtered by what the caller sees.
//= specs/spexus-mcp.md#rights
//# A token bound to a project MUST be shown and told nothing of another project, by any tool, resource, prompt, completion or
//# notification.
#[derive(Clone, Debug)]
pub struct Visit {
    caller: Caller,
    toolsets: Vec<Toolset>,
    read_only: bool,
    mirrors: bool,
}

impl Visit {
    /// A visit as the options have it.
    pub fn new(caller: Caller, options: &McpOptions) -> Self {
        Self {
            caller,
            toolsets: options.toolsets.clone(),
            read_only: options.read_only,
            mirrors: options.mirrors_content,
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
        match header(headers, CONTENT_HEADER)? {
            None => {}
            Some("text") => visit.mirrors = true,
            Some("structured") => visit.mirrors = false,
            Some(other) => return Err(odd(CONTENT_HEADER, other, "text or structured")),
        }
        Ok(visit)
    }

    /// What a transport attaches to requests. A session belongs to the token it was opened with, not only to its owner.
    pub fn attach(self, extensions: &mut Extensions) {
        let owner = self.caller.token_id.unwrap_or(self.caller.user_id);
        extensions.insert(SessionOwner(owner.to_string()));
        // However many tokens a user has: what can be exhausted is counted for the user.
        extensions.insert(Account(self.caller.user_id.to_string()));
        extensions.insert(self);
    }

    /// The visit a request belongs to.
    pub(crate) fn of(cx: &Context) -> Ruled<&Visit> {
        cx.extension::<Visit>()
            .ok_or_else(|| Refusal::new(Code::AuthMissing, "this needs a token").hint(hint::NO_TOKEN))
    }

    /// Whose rights count.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whether what belongs to the installation and to no project is kept from this visit; `shares` is what the operator
    /// said.
    pub(crate) fn is_shut_out(&self, shares: bool) -> bool {
        self.caller.bound_project.is_some() && !shares
    }

    pub(crate) fn toolsets(&self) -> &[Toolset] {
        &self.toolsets
    }

    /// Whether structured results are given as text, too.
    pub(crate) fn mirrors(&self) -> bool {
        self.mirrors
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }
}

/// The refusal for what belongs to no project, to a token that is bound to one.
pub(crate) fn shut_out(what: &str) -> Refusal {
    let message = format!("this token is bound to a project, and {what} belong to the installation");
    Refusal::new(Code::AuthzForbidden, message).hint(
        "Use a token that is not bound to a project, or ask the operator for `mcp.share_with_bound_tokens`.",
    )
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
