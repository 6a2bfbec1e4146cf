//! Every tool: those of document 004 in its order, then ours. All of them only read.

mod get_citation_context;
mod get_prioritized_requirements;
mod get_requirement_status;
mod get_section;
mod list_invalid_citations;
mod list_uncited_requirements;
mod propose_fixes;
mod resolve_spec_id;
mod rows;
mod search_requirements;
mod validate_citation;

use super::desk::{DependsOn, Desk, STAMP, View};
use mcp_protocol::{Content, ToolAnnotations, ToolResult};
use mcp_server::{Context, Stop, Tool};
use refusal::Refusal;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Every tool.
pub(super) fn all(desk: &Arc<Desk>) -> Vec<Tool> {
    vec![
        validate_citation::tool(desk),
        search_requirements::tool(desk),
        get_requirement_status::tool(desk),
        list_uncited_requirements::tool(desk),
        list_invalid_citations::tool(desk),
        get_citation_context::tool(desk),
        resolve_spec_id::tool(desk),
        get_prioritized_requirements::tool(desk),
        get_section::tool(desk),
        propose_fixes::tool(desk),
    ]
}

/// A tool that takes its arguments, looks at the project as it is now, and answers.
//= specs/duvet.md#mcp-server
//# A tool MUST NOT change anything, and its annotations MUST say so.
fn tool<A>(
    desk: &Arc<Desk>,
    name: &str,
    description: &str,
    (input, output): (Value, Value),
    run: fn(&View<'_>, A) -> Result<ToolResult, Refusal>,
) -> Tool
where
    A: DeserializeOwned + Send + 'static,
{
    let desk = Arc::clone(desk);
    let shows_files = name == get_citation_context::NAME || name == propose_fixes::NAME;
    let depends_on = match name {
        get_citation_context::NAME => DependsOn::Nothing,
        "validate_citation" | "get_requirement_status" | "resolve_spec_id" => DependsOn::Settings,
        _ => DependsOn::Everything,
    };
    let answer = move |cx: Context, arguments: mcp_protocol::Arguments| {
        let desk = Arc::clone(&desk);
        async move {
            let arguments: A = arguments.parse()?;
            // Only where lines of files are shown does it matter in which folders the client works.
            let client = if shows_files {
                cx.client_roots().await?
            } else {
                None
            };
            let answer = desk.ask_inside(client, move |view| {
                stamped(view, depends_on, run(view, arguments))
            });
            Ok::<_, Stop>(answer.await??)
        }
    };
    Tool::new(name, description, answer)
        .input(input)
        .output(output)
        .annotated(ToolAnnotations {
            read_only_hint: Some(true),
            destructive_hint: Some(false),
            idempotent_hint: Some(true),
            open_world_hint: Some(false),
        })
}

//= specs/duvet.md#mcp-server
//# Every answer MUST name the snapshot it comes from and how long building that took.
fn stamped(
    view: &View<'_>,
    depends_on: DependsOn,
    result: Result<ToolResult, Refusal>,
) -> Result<ToolResult, Refusal> {
    let lacking = view.lacking(depends_on);
    let mut result = match (result, &lacking) {
        // A name that is not known may be one that was not read.
        (Err(refusal), Some(_)) => ToolResult::failed(&refusal),
        (result, _) => result?,
    };
    if let Some(reason) = lacking {
        result.is_error = true;
        result.content.insert(0, Content::text(reason));
    }
    result.meta.insert(STAMP.to_owned(), view.stamp());
    Ok(result)
}
