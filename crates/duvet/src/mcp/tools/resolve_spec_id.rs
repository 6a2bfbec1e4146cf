//! `resolve_spec_id`

use super::{SnapshotHolder, View};
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    url: String,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "url": { "type": "string", "description": "URL of the specification in any of its spellings, or its path in the project." },
        },
        "required": ["url"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "spec_id": { "type": "string" },
            "error": { "type": "string", "description": "Why there is no id, and which specification may be meant." },
        },
    });
    let description = "Gives the id of a specification, which resources are named by.";
    super::tool(holder, "resolve_spec_id", description, (input, output), run)
}

// Fulfils 004 §4.7
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let answer = match view.requirement_index.resolve_spec_id(&arguments.url) {
        Ok(id) => {
            // An id is made of the name alone. That there is none may be because something was not read.
            view.needs_no_text();
            json!({ "spec_id": id })
        }
        Err(error) => json!({ "error": error }),
    };
    Ok(ToolResult::structured(answer))
}
