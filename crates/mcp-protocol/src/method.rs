//! The methods of MCP, by name. Names that mean the same reach the same code.

use crate::version::{Era, Version};

/// A JSON-RPC method of MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `ping`.
    Ping,
    /// `shutdown`.
    Shutdown,
    /// `requests/cancel`.
    Cancel,
    /// `tools/list`.
    ToolsList,
    /// `tools/call`.
    ToolsCall,
    /// `resources/list`.
    ResourcesList,
    /// `resources/templates/list`.
    TemplatesList,
    /// `resources/read`.
    ResourcesRead,
    /// `resources/subscribe`.
    Subscribe,
    /// `resources/unsubscribe`.
    Unsubscribe,
    /// `subscriptions/listen`.
    Listen,
    /// `prompts/list`.
    PromptsList,
    /// `prompts/get`.
    PromptsGet,
    /// `prompts/create`.
    PromptsCreate,
    /// `completion/complete`.
    Complete,
    /// `logging/setLevel`.
    SetLevel,
    /// `tasks/get`.
    TasksGet,
    /// `tasks/result`.
    TasksResult,
    /// `tasks/list`.
    TasksList,
    /// `tasks/cancel`.
    TasksCancel,
    /// `tasks/update`.
    TasksUpdate,
}

impl Method {
    /// The method with this name, or one of the names that mean the same.
    pub fn named(name: &str) -> Option<Method> {
        Some(match name {
            "tools/call" => Method::ToolsCall,
            "ping" => Method::Ping,
            "tools/list" => Method::ToolsList,
            "resources/read" | "resources/get" => Method::ResourcesRead,
            "resources/list" => Method::ResourcesList,
            "resources/templates/list" => Method::TemplatesList,
            "resources/subscribe" => Method::Subscribe,
            "resources/unsubscribe" => Method::Unsubscribe,
            "prompts/list" => Method::PromptsList,
            "prompts/get" => Method::PromptsGet,
            "prompts/create" => Method::PromptsCreate,
            "completion/complete" => Method::Complete,
            "logging/setLevel" => Method::SetLevel,
            "initialize" => Method::Initialize,
            "server/discover" => Method::Discover,
            "subscriptions/listen" => Method::Listen,
            "requests/cancel" | "cancellation/cancel_request" => Method::Cancel,
            "tasks/get" => Method::TasksGet,
            "tasks/result" => Method::TasksResult,
            "tasks/list" => Method::TasksList,
            "tasks/cancel" => Method::TasksCancel,
            "tasks/update" => Method::TasksUpdate,
            "shutdown" => Method::Shutdown,
            _ => return None,
        })
    }

    const ALL: [Method; 23] = [
        Method::Initialize,
        Method::Discover,
        Method::Ping,
        Method::Shutdown,
        Method::Cancel,
        Method::ToolsList,
        Method::ToolsCall,
        Method::ResourcesList,
        Method::TemplatesList,
        Method::ResourcesRead,
        Method::Subscribe,
        Method::Unsubscribe,
        Method::Listen,
        Method::PromptsList,
        Method::PromptsGet,
        Method::PromptsCreate,
        Method::Complete,
        Method::SetLevel,
        Method::TasksGet,
        Method::TasksResult,
        Method::TasksList,
        Method::TasksCancel,
        Method::TasksUpdate,
    ];

    /// The name of the protocol, or the one in use where the protocol has none.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Discover => "server/discover",
            Method::Ping => "ping",
            Method::Shutdown => "shutdown",
            Method::Cancel => "requests/cancel",
            Method::ToolsList => "tools/list",
            Method::ToolsCall => "tools/call",
            Method::ResourcesList => "resources/list",
            Method::TemplatesList => "resources/templates/list",
            Method::ResourcesRead => "resources/read",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::Listen => "subscriptions/listen",
            Method::PromptsList => "prompts/list",
            Method::PromptsGet => "prompts/get",
            Method::PromptsCreate => "prompts/create",
            Method::Complete => "completion/complete",
            Method::SetLevel => "logging/setLevel",
            Method::TasksGet => "tasks/get",
            Method::TasksResult => "tasks/result",
            Method::TasksList => "tasks/list",
            Method::TasksCancel => "tasks/cancel",
            Method::TasksUpdate => "tasks/update",
        }
    }

    /// Whether a message of this revision may call it.
    pub fn exists_in(self, version: Version) -> bool {
        self.is_of(version.era())
    }

    /// Whether only messages without a handshake may call it.
    pub fn is_stateless_only(self) -> bool {
        !self.is_of(Era::Handshake)
    }

    fn is_of(self, era: Era) -> bool {
        match self {
            Method::Initialize
            | Method::Ping
            | Method::Subscribe
            | Method::Unsubscribe
            | Method::SetLevel
            | Method::TasksResult
            | Method::TasksList => era == Era::Handshake,
            Method::Discover | Method::Listen | Method::TasksUpdate => era == Era::Stateless,
            _ => true,
        }
    }

    /// Whether it may be called before the handshake.
    pub fn needs_no_handshake(self) -> bool {
        matches!(self, Method::Initialize | Method::Ping)
    }
}

/// The names of all methods, each once, in both eras.
pub fn names() -> impl Iterator<Item = &'static str> {
    Method::ALL.into_iter().map(Method::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_in_the_table_and_found_by_its_name() {
        for (at, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(method as usize, at, "in the order they are written down");
            assert_eq!(Method::named(method.name()), Some(method));
        }
        assert_eq!(Method::TasksUpdate as usize + 1, Method::ALL.len());
        for (alias, method) in [
            ("resources/get", Method::ResourcesRead),
            ("cancellation/cancel_request", Method::Cancel),
        ] {
            assert_eq!(Method::named(alias), Some(method));
        }
        assert_eq!(Method::named("teapots/list"), None);
    }
}
