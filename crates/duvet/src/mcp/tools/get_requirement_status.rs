//! `get_requirement_status`

use super::rows::Detail;
use super::{SnapshotHolder, View};
use crate::requirement_index::RequirementStatus;
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    req_identifier: String,
    #[serde(default)]
    detail: Detail,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "req_identifier": {
                "type": "string",
                "description": "Identifier, full path or text hash of the requirement, or a unique beginning of an identifier.",
            },
            "detail": { "enum": ["brief", "full"], "description": "`full` adds level, text, covered bytes and citations." },
        },
        "required": ["req_identifier"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "status": { "enum": ["done", "in progress", "needs tests", "excused", "not started", "several"] },
            "machine_status": { "enum": ["not_started", "partially_implemented", "fully_implemented"] },
            "requirements": { "type": "array", "description": "Every requirement the identifier means, when it means several." },
        },
        "required": ["status"],
    });
    let description =
        "Tells whether a requirement is done, in progress, needs tests, is excused or not started.";
    super::tool(
        holder,
        "get_requirement_status",
        description,
        (input, output),
        run,
    )
}

// Fulfils 004 §4.3
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let id = &arguments.req_identifier;
    let found = view.requirement_index.requirement_status(id);
    view.narrow_to_requirements(&found);
    let value = match found.as_slice() {
        [] => {
            let refusal = Refusal::new(Code::ResourceNotFound, format!("there is no requirement {id:?}"));
            return Err(refusal.hint("Find it with `search_requirements` and use its identifier."));
        }
        [one] => to_json(one, arguments.detail),
        several => {
            let rows: Vec<Value> = several.iter().map(|one| json!(one)).collect();
            json!({ "status": "several", "requirements": rows })
        }
    };
    Ok(ToolResult::structured(value))
}

fn to_json(one: &RequirementStatus, detail: Detail) -> Value {
    match detail {
        Detail::Brief => json!({ "status": one.status, "machine_status": one.machine_status }),
        Detail::Full => json!(one),
    }
}
