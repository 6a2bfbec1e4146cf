//! MCP `clientInfo` and `ClientCapabilities`: the client as it described itself: its name, and what it can do for the server.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A client: its `clientInfo` and its capabilities.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it can do.
    pub capabilities: ClientCapabilities,
}

/// The capabilities a client declared. Anything it names that is not known here is kept and ignored.
///
/// Kept as text, shared by a session and its record: as values, a few declarations would outweigh the rest of an idle
/// session.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientCapabilities(Arc<str>);

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self("{}".into())
    }
}

/// The extension under which tasks are negotiated in the stateless era.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

impl Client {
    /// From `clientInfo` and what was declared beside it.
    pub fn new(info: Option<&Value>, capabilities: ClientCapabilities) -> Self {
        let text = |name: &str| {
            info.and_then(|i| i.get(name))
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            name: text("name"),
            version: text("version"),
            capabilities,
        }
    }
}

impl ClientCapabilities {
    /// From the object of `initialize` or `_meta`.
    pub fn new(declared: Map<String, Value>) -> Self {
        Self(Value::Object(declared).to_string().into())
    }

    /// From what [`as_json`](Self::as_json) gave; `None` when it is not an object.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self::new)
    }

    /// All that was declared, for a store to keep.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// True when the capability was declared: `sampling`, `elicitation`, `elicitation.url`, `roots`.
    pub fn has(&self, capability: &str) -> bool {
        let (family, part) = capability.split_once('.').unwrap_or((capability, ""));
        match (self.declared().get(family), part) {
            (None, _) => false,
            (Some(_), "") => true,
            // An empty `elicitation` means forms, as it did before there was anything else.
            (Some(Value::Object(parts)), "form") => parts.is_empty() || parts.contains_key("form"),
            (Some(value), part) => value.get(part).is_some(),
        }
    }

    /// True when the client named this extension.
    pub fn has_extension(&self, id: &str) -> bool {
        // A look at the text spares most requests of the stateless era taking it apart.
        self.0.contains(id)
            && self
                .declared()
                .get("extensions")
                .and_then(|e| e.get(id))
                .is_some()
    }

    /// Whether the client may have declared experimental capabilities: a look at the text spares nearly all clients taking it
    /// apart.
    pub fn names_experimental(&self) -> bool {
        self.0.contains("\"experimental\"")
    }

    /// All that was declared.
    pub fn declared(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn capabilities_are_looked_up_by_name_and_part() {
        let declared = json!({ "elicitation": {}, "sampling": { "tools": {} }, "extensions": { "x/y": {} }, "teapot": 1 });
        let capabilities = ClientCapabilities::new(declared.as_object().unwrap().clone());
        for name in ["elicitation", "elicitation.form", "sampling.tools", "teapot"] {
            assert!(capabilities.has(name), "{name}");
        }
        for name in ["elicitation.url", "roots", "sampling.context"] {
            assert!(!capabilities.has(name), "{name}");
        }
        assert!(capabilities.has_extension("x/y") && !capabilities.has_extension(TASKS_EXTENSION));
        assert!(
            !capabilities.has_extension("teapot"),
            "a capability is no extension"
        );
        assert_eq!(
            ClientCapabilities::from_json(capabilities.as_json()),
            Some(capabilities)
        );
        assert_eq!(ClientCapabilities::from_json("[]"), None);
    }
}
