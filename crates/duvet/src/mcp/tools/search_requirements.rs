//! `search_requirements`

use super::rows::{self, Detail, Filter, Page};
use super::{SnapshotHolder, View};
use mcp_protocol::{Content, ToolResult};
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    query: String,
    #[serde(default)]
    detail: Detail,
    #[serde(flatten)]
    filter: Filter,
    #[serde(flatten)]
    page: Page,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let query = json!({
        "query": {
            "type": "string",
            "maxLength": 4096,
            "description": "Words in any order; a \"phrase in quotes\" as it stands. Case and hyphens do not matter.",
        },
    });
    let input = rows::list_input(query, &["query"], true);
    let output = rows::list_output(
        "requirements",
        &[
            ("identifier", "string"),
            ("full_path", "string"),
            ("text", "string"),
        ],
    );
    let description = "Finds requirements of all specifications by keywords or phrases, best first.";
    super::tool(holder, "search_requirements", description, (input, output), run)
}

// Fulfils 004 §4.2
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let wanted = arguments.filter.test(view)?;
    let (mut found, instead) = view.requirement_index.ranked_nearly(&arguments.query);
    found.retain(wanted);
    let mut result = rows::answer("requirements", found, &arguments.page, |index| {
        rows::requirement(view, index, arguments.detail)
    })?;
    if let Some(words) = instead {
        let note = format!("Nothing holds all of these words; this is what {words:?} finds.");
        result.content.push(Content::text(note));
        if let Some(structured) = &mut result.structured_content {
            structured["searched_for"] = words.into();
        }
    }
    Ok(result)
}
