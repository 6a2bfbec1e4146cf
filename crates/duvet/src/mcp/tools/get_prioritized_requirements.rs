//! `get_prioritized_requirements`

use super::rows::{self, Detail, Filter, Page};
use super::{SnapshotHolder, View};
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    #[serde(default)]
    detail: Detail,
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    page: Page,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let input = rows::list_input(Value::Null, &[], true);
    let output = rows::list_output(
        "requirements",
        &[
            ("full_path", "string"),
            ("text", "string"),
            ("level", "string"),
            ("status", "string"),
            ("todo_count", "integer"),
        ],
    );
    let description = "Lists all requirements in the order of work: by level, then those begun, then those not started, \
                       then by todos.";
    super::tool(
        holder,
        "get_prioritized_requirements",
        description,
        (input, output),
        run,
    )
}

// Fulfils 004 §4.8
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let wanted = arguments.filter.test(view)?;
    let order = view.snapshot().by_priority().iter().copied();
    let order = order.filter(wanted).collect();
    rows::answer("requirements", order, &arguments.page, |index| {
        to_json(view, index, arguments.detail)
    })
}

fn to_json(view: &View<'_>, index: usize, detail: Detail) -> Value {
    let mut row = json!(view.requirement_index.prioritized(index));
    if detail == Detail::Full {
        let status = view.requirement_index.status(index);
        row["identifier"] = status.identifier.into();
        row["places"] = status.places.into();
        row["citations"] = status.citations.into();
    }
    row
}
