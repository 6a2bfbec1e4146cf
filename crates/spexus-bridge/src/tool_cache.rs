//! Cache of the backend's tools: how their arguments must look, and whether a call may be repeated.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use mcp_client::{HttpEndpoint, HttpReply, PROTOCOL_VERSION};
use mcp_protocol::envelope::{self, Message};
use mcp_protocol::{Schema, Version};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::message::META_VERSION;
use crate::session::NAME;

/// The argument by which a tool knows a call it has seen before.
pub(crate) const KEY: &str = "idempotency_key";

/// A tool of the backend.
#[derive(Debug, Deserialize)]
pub(crate) struct CachedTool {
    name: String,
    #[serde(rename = "inputSchema", default)]
    input: Value,
    #[serde(default)]
    annotations: Hints,
    #[serde(skip)]
    schema: OnceLock<Option<Schema>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Hints {
    read_only_hint: bool,
    idempotent_hint: bool,
}

impl CachedTool {
    /// Whether twice is once.
    pub(crate) fn repeatable(&self) -> bool {
        self.annotations.read_only_hint || self.annotations.idempotent_hint
    }

    /// Whether the backend recognises a call by a key.
    pub(crate) fn takes_key(&self) -> bool {
        self.input["properties"].get(KEY).is_some()
    }

    /// The schema, compiled when it is first needed; a schema that cannot be compiled is the backend's to check.
    pub(crate) fn schema(&self) -> Option<&Schema> {
        self.schema
            .get_or_init(|| Schema::compile(self.input.clone()).ok())
            .as_ref()
    }

    /// Arguments that must stand in headers, too: `(header, argument)`.
    pub(crate) fn header_arguments(&self) -> Vec<(String, String)> {
        let properties = self.input["properties"].as_object().into_iter().flatten();
        properties
            .filter_map(|(argument, property)| {
                let header = property["x-mcp-header"].as_str()?;
                Some((
                    format!("mcp-param-{}", header.to_ascii_lowercase()),
                    argument.clone(),
                ))
            })
            .collect()
    }
}

/// The backend's list of tools, as it was at one time.
#[derive(Debug)]
pub(crate) struct ToolList {
    by_name: HashMap<String, CachedTool>,
    read_at: Instant,
}

impl ToolList {
    pub(crate) fn get(&self, name: &str) -> Option<&CachedTool> {
        self.by_name.get(name)
    }

    pub(crate) fn is_older_than(&self, age: Duration) -> bool {
        self.read_at.elapsed() >= age
    }
}

// Fulfils 003 R15.3
/// Cache of the backend's list of tools.
#[derive(Debug, Default)]
pub(crate) struct ToolCache {
    list: Mutex<Option<Arc<ToolList>>>,
    reading: tokio::sync::Mutex<()>,
}

impl ToolCache {
    /// The tools as they were last read; read now when they never were. `None` when the backend does not say.
    //= specs/spexus-bridge.md#calling-the-backend
    //# What is known of the tools MUST be kept, and read again when the backend says that it changed.
    pub(crate) async fn get(&self, backend: &HttpEndpoint, version: &str) -> Option<Arc<ToolList>> {
        if let Some(tools) = self.cached() {
            return Some(tools);
        }
        let _one = self.reading.lock().await;
        if let Some(tools) = self.cached() {
            return Some(tools);
        }
        self.refresh(backend, version).await
    }

    /// The tools as they are now.
    pub(crate) async fn refresh(&self, backend: &HttpEndpoint, version: &str) -> Option<Arc<ToolList>> {
        let listed = list(backend, version).await?;
        let tools: Vec<CachedTool> = serde_json::from_value(listed).ok()?;
        let tools = Arc::new(ToolList {
            by_name: tools.into_iter().map(|tool| (tool.name.clone(), tool)).collect(),
            read_at: Instant::now(),
        });
        *self.list.lock() = Some(tools.clone());
        Some(tools)
    }

    /// The list changed.
    pub(crate) fn clear(&self) {
        *self.list.lock() = None;
    }

    fn cached(&self) -> Option<Arc<ToolList>> {
        self.list.lock().clone()
    }
}

/// Asks for the tools without a session, so that it works for hosts of both eras.
async fn list(backend: &HttpEndpoint, version: &str) -> Option<Value> {
    let era = Version::STATELESS.name();
    let body = json!({
        "jsonrpc": "2.0", "id": "spexus-bridge/tools", "method": "tools/list",
        "params": { "_meta": {
            META_VERSION: era,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": NAME, "version": version },
        } },
    });
    let mut headers = HeaderMap::new();
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(era));
    headers.insert("mcp-method", HeaderValue::from_static("tools/list"));
    let Ok(HttpReply::Text { body, .. }) = backend.post(body.to_string().into(), &headers).await else {
        return None;
    };
    let text = std::str::from_utf8(&body).ok()?;
    let Ok(Message::Response(response)) = envelope::message(text) else {
        return None;
    };
    let mut result: Value = serde_json::from_str(response.outcome.ok()?).ok()?;
    Some(result["tools"].take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_says_whether_it_may_be_repeated_and_what_it_takes() {
        let tool: CachedTool = serde_json::from_value(json!({
            "name": "create_epic",
            "inputSchema": {
                "type": "object",
                "properties": { "title": { "type": "string" }, KEY: { "type": "string" }, "region": { "x-mcp-header": "Region" } },
                "required": ["title"],
            },
            "annotations": { "readOnlyHint": false },
        }))
        .unwrap();
        assert!(!tool.repeatable() && tool.takes_key());
        assert!(tool.schema().unwrap().check(&json!({})).is_err());
        assert_eq!(
            tool.header_arguments(),
            [("mcp-param-region".to_owned(), "region".to_owned())]
        );
        let bare: CachedTool = serde_json::from_value(json!({ "name": "x" })).unwrap();
        assert!(!bare.repeatable() && !bare.takes_key());
    }
}
