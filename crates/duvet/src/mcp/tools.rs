//! Every tool, in the order of document 004. All of them only read.

mod get_citation_context;
mod get_prioritized_requirements;
mod get_requirement_status;
mod list_invalid_citations;
mod list_uncited_requirements;
mod resolve_spec_id;
mod rows;
mod search_requirements;
mod validate_citation;

use super::desk::{Desk, STAMP, View};
use mcp_runtime::{Context, Stop, Tool, ToolAnnotations, ToolResult};
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
    let shows_files = name == get_citation_context::NAME;
    let answer = move |cx: Context, arguments: mcp_runtime::Arguments| {
        let desk = Arc::clone(&desk);
        async move {
            let arguments: A = arguments.parse()?;
            // Only where lines of files are shown does it matter in which folders the client works.
            let client = if shows_files {
                cx.client_roots().await?
            } else {
                None
            };
            let answer = desk.ask_inside(client, move |view| stamped(view, run(view, arguments)));
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
fn stamped(view: &View<'_>, result: Result<ToolResult, Refusal>) -> Result<ToolResult, Refusal> {
    let mut result = result?;
    result.meta.insert(STAMP.to_owned(), view.stamp());
    Ok(result)
}
