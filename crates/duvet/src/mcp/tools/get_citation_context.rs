//! `get_citation_context`

use super::{SnapshotHolder, View};
use crate::requirement_index::MAX_CONTEXT_LINES;
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// What the tool is called.
pub(super) const NAME: &str = "get_citation_context";

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    citation_id: String,
    #[serde(default = "usual_lines")]
    context_lines: usize,
}

fn usual_lines() -> usize {
    5
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "citation_id": { "type": "string", "description": "File and line of the citation, such as `src/main.rs:42`, or its path or URI." },
            "context_lines": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_CONTEXT_LINES,
                "default": usual_lines(),
                "description": "Lines to show before and after the citation.",
            },
        },
        "required": ["citation_id"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "file_path": { "type": "string" },
            "line_number": { "type": "integer" },
            "comment_text": { "type": "string" },
            "context": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["file_path", "line_number", "context"],
    });
    let description = "Shows the code around a citation.";
    super::tool(holder, NAME, description, (input, output), run)
}

// Fulfils 004 §4.6
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let id = bare_id(&arguments.citation_id);
    view.check_file(id)?;
    let found = crate::requirement_index::get_citation_context(
        &view.requirement_index,
        view.root,
        id,
        arguments.context_lines,
    )
    .map_err(|denied| view.denied(&denied, id))?;
    Ok(ToolResult::structured(json!(found)))
}

//= specs/duvet.md#mcp-server
//# A path MUST be accepted wherever an address is.
/// `src/main.rs:42` of `/citations/src/main.rs:42`, whatever stands before it, also as a URI.
fn bare_id(citation: &str) -> &str {
    let path = citation.strip_prefix("duvet://").unwrap_or(citation);
    match path.split_once("/citations/") {
        Some((_, id)) if path.starts_with('/') => id,
        _ => citation,
    }
}
