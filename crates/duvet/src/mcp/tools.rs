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

use super::snapshots::{DependsOn, STAMP, SnapshotHolder, View};
use mcp_protocol::{Content, ToolAnnotations, ToolResult};
use mcp_server::{Context, Stop, Tool};
use refusal::Refusal;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// Every tool.
pub(super) fn all(holder: &Arc<SnapshotHolder>) -> Vec<Tool> {
    vec![
        validate_citation::tool(holder),
        search_requirements::tool(holder),
        get_requirement_status::tool(holder),
        list_uncited_requirements::tool(holder),
        list_invalid_citations::tool(holder),
        get_citation_context::tool(holder),
        resolve_spec_id::tool(holder),
        get_prioritized_requirements::tool(holder),
        get_section::tool(holder),
        propose_fixes::tool(holder),
    ]
}

/// A tool that takes its arguments, looks at the project as it is now, and answers.
//= specs/duvet.md#mcp-server
//# A tool MUST NOT change anything, and its annotations MUST say so.
fn tool<A>(
    holder: &Arc<SnapshotHolder>,
    name: &str,
    description: &str,
    (input, output): (Value, Value),
    run: fn(&View<'_>, A) -> Result<ToolResult, Refusal>,
) -> Tool
where
    A: Clone + DeserializeOwned + Send + 'static,
{
    let holder = Arc::clone(holder);
    let shows_files = name == get_citation_context::NAME || name == propose_fixes::NAME;
    let depends_on = match name {
        get_citation_context::NAME => DependsOn::Nothing,
        _ => DependsOn::Everything,
    };
    let answer = move |cx: Context, arguments: mcp_protocol::Arguments| {
        let holder = Arc::clone(&holder);
        async move {
            let arguments: A = arguments.parse()?;
            // Only where lines of files are shown does it matter in which folders the client works.
            let client = if shows_files {
                cx.client_roots().await?
            } else {
                None
            };
            let answer = holder.ask_inside(client, move |view| {
                stamped(view, depends_on, run(view, arguments.clone()))
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
    let lacking = view.lacking(if result.is_ok() {
        depends_on
    } else {
        DependsOn::Everything
    });
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
