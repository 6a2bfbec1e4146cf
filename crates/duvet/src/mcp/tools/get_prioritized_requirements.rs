//! `get_prioritized_requirements`

use super::rows::{self, Detail, Filter, Page};
use super::{Desk, View};
use mcp_runtime::{Tool, ToolResult};
use refusal::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(default)]
    detail: Detail,
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    page: Page,
}

pub(super) fn tool(desk: &Arc<Desk>) -> Tool {
    let input = rows::list_input(Value::Null, &[], true);
    let output = rows::list_output(
        "requirements",
        &[
            ("full_path", "string"),
            ("level", "string"),
            ("status", "string"),
            ("todo_count", "integer"),
        ],
    );
    let description = "Lists all requirements in the order of work: by level, then those begun, then those not started, \
                       then by todos. Ask for the first few with `limit`.";
    super::tool(
        desk,
        "get_prioritized_requirements",
        description,
        (input, output),
        run,
    )
}

// Fulfils 004 §4.8
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let wanted = arguments.filter.test(view)?;
    let mut order = view.snapshot().by_priority();
    order.retain(wanted);
    rows::answer("requirements", order, &arguments.page, |index| {
        told(view, index, arguments.detail)
    })
}

fn told(view: &View<'_>, index: usize, detail: Detail) -> Value {
    let mut row = json!(view.catalogue.prioritized(index));
    if detail == Detail::Full {
        let entry = view.catalogue.requirement(index);
        row["identifier"] = entry.identifier.into();
        row["text"] = entry.text.into();
        row["citations"] = view.catalogue.requirement_citations(index).into();
    }
    row
}
