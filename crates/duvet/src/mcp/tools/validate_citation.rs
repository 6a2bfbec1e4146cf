//! `validate_citation`

use super::{SnapshotHolder, View};
use crate::requirement_index::About;
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    citation: String,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "citation": {
                "type": "string",
                "maxLength": 65536,
                "description": "One line (`//= https://…#section-2.1`), a bare target, or a whole comment block with its quote, in any comment style.",
            },
        },
        "required": ["citation"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "valid": { "type": "boolean" },
            "error": { "type": "string", "description": "What does not hold." },
            "grade": { "type": "string", "description": "How well the quote agrees: exact, normalised, ambiguous, drifted, moved, missing." },
            "suggestion": { "type": "string", "description": "What to write instead." },
            "requirements": { "type": "array", "items": { "type": "string" }, "description": "Paths of the requirements it touches." },
        },
        "required": ["valid"],
    });
    let description = "Checks a citation before it is written: does its specification exist, its section, and does \
                       the quote stand there word for word?";
    super::tool(holder, "validate_citation", description, (input, output), run)
}

// Fulfils 004 §4.1
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let answer = crate::requirement_index::validate_citation(&view.requirement_index, &arguments.citation);
    match answer.about {
        About::Specification(index) => view.narrow_to(index),
        About::Form => view.needs_no_text(),
        About::Anything => {}
    }
    Ok(ToolResult::structured(json!(answer)))
}
