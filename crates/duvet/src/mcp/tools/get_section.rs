//! `get_section`

use super::rows;
use super::{SnapshotHolder, View};
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    spec_id: String,
    section_id: String,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "spec_id": { "type": "string", "description": "Id, URL or path of the specification, or `RFC 9000`." },
            "section_id": { "type": "string", "description": "The part of a citation's target behind `#`." },
        },
        "required": ["spec_id", "section_id"],
        "additionalProperties": false,
    });
    let output = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "title": { "type": "string" },
            "target": { "type": "string", "description": "What a citation of this section writes." },
            "content": { "type": "string" },
            "requirements": { "type": "array", "description": "Its requirements: identifier, text, status." },
        },
        "required": ["id", "title", "target", "content", "requirements"],
    });
    let description = "Reads the text of one section of a specification, with the state of its requirements.";
    super::tool(holder, "get_section", description, (input, output), run)
}

//= specs/duvet.md#mcp-server
//# The text of a section and the changes that `duvet fix` would make MUST be tools.
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let specification = rows::specification(view, &arguments.spec_id)?;
    view.narrow_to(specification);
    let section = rows::section(view, specification, &arguments.section_id)?;
    let entry = view
        .requirement_index
        .section(specification, section)
        .ok_or_else(|| {
            let problem = format!("the text of {:?} is not here", arguments.spec_id);
            Refusal::new(Code::ResourceNotFound, problem)
        })?;
    let analysis = &view.snapshot().analysis;
    let inside = |index: &usize| {
        let requirement = &analysis.requirements[*index];
        (requirement.specification, requirement.section) == (specification, Some(section))
    };
    let requirement = |index: usize| {
        let status = view.requirement_index.status(index);
        json!({ "identifier": status.identifier, "text": status.text, "level": status.level, "status": status.status })
    };
    let requirements: Vec<_> = view
        .snapshot()
        .distinct()
        .filter(inside)
        .map(requirement)
        .collect();
    Ok(ToolResult::structured(json!({
        "id": entry.id,
        "title": entry.title,
        "target": format!("{}#{}", analysis.specifications[specification].name(), entry.id),
        "content": entry.content,
        "requirements": requirements,
    })))
}
