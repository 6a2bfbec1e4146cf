//! `list_uncited_requirements`

use super::rows::{self, Detail, Filter, Page};
use super::{SnapshotHolder, View};
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::Value;
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
            ("identifier", "string"),
            ("full_path", "string"),
            ("text", "string"),
        ],
    );
    let description = "Lists the requirements that no citation of any kind mentions, todos included.";
    super::tool(
        holder,
        "list_uncited_requirements",
        description,
        (input, output),
        run,
    )
}

// Fulfils 004 §4.4
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let wanted = arguments.filter.test(view)?;
    let found = view.requirement_index.uncited().filter(wanted).collect();
    rows::answer("requirements", found, &arguments.page, |index| {
        rows::requirement(view, index, arguments.detail)
    })
}
