//! Who may do what: asked before every tool, resource and prompt.

use refusal::Refusal;

use crate::context::Context;

/// What somebody is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// Call the tool of this name.
    CallTool(&'a str),
    /// Read the resource at this canonical address.
    ReadResource(&'a str),
    /// Hear of changes of the resource at this canonical address.
    WatchResource(&'a str),
    /// Get the prompt of this name.
    GetPrompt(&'a str),
    /// Create a prompt of this name.
    CreatePrompt(&'a str),
}

/// Decides by what the transport attached to the request (see [`Context::extension`]).
pub trait Guard: Send + Sync + 'static {
    /// Refuses with 1014 what is not allowed.
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal>;
}
