//! Who may do what, asked before every tool, resource and prompt; and who sees what in the lists.

use refusal::Refusal;

use crate::server::context::Context;

/// What somebody is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Call the tool of this name.
    CallTool(&'a str),
    /// Read the resource at this canonical address.
    ReadResource(&'a str),
    /// Hear of changes of the resource at this canonical address.
    SubscribeResource(&'a str),
    /// Get the prompt of this name.
    GetPrompt(&'a str),
    /// Create a prompt of this name.
    CreatePrompt(&'a str),
}

/// An entry of a list, or of what the server declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// The tool of this name.
    Tool(&'a str),
    /// The resource at this canonical address.
    Resource(&'a str),
    /// The pattern of resources.
    Template(&'a str),
    /// The prompt of this name.
    Prompt(&'a str),
    /// The family of methods outside MCP, as it is declared in the capabilities.
    Family(&'a str),
}

// Fulfils 002 Req-Res-011
/// Decides by what the transport attached to the request (see [`Context::extension`]).
pub trait Guard: Send + Sync + 'static {
    /// Refuses with 1014 what is not allowed.
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal>;

    /// The audience a request belongs to, such as the user's role; `None` sees all there is.
    ///
    /// Lists are written once for each audience and kept, so there should be few: the reason why users see different
    /// things, not the users themselves.
    fn audience(&self, cx: &Context) -> Option<String> {
        let _ = cx;
        None
    }

    /// Whose resources and lists a request sees, where they belong to somebody; several tenants are separated by spaces, and `None`
    /// sees everybody's. A session that has tenants is not told of what belongs to others. When the answer changes for an owner of
    /// sessions, [`Server::belong_to`](crate::Server::belong_to) says so.
    fn tenant(&self, cx: &Context) -> Option<String> {
        let _ = cx;
        None
    }

    /// Whether an audience sees this entry in the list. Asked when a list is written, not when it is read: call
    /// [`Server::list_changed`](crate::Server::list_changed) when the answer changes. An entry that is not seen can still
    /// be asked for by name, unless [`check`](Guard::check) refuses it.
    fn shows(&self, audience: &str, entry: Entry<'_>) -> bool {
        let _ = (audience, entry);
        true
    }
}
