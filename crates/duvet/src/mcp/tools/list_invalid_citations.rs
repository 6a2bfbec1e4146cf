//! `list_invalid_citations`

use super::rows::{self, Detail, Page};
use super::{SnapshotHolder, View};
use crate::requirement_index::InvalidCitation;
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::Refusal;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    file_path: Option<String>,
    code: Option<String>,
    #[serde(default)]
    detail: Detail,
    #[serde(flatten)]
    page: Page,
}

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let filter = json!({
        "file_path": { "type": "string", "description": "Only in this file, or in files below this folder." },
        "code": { "type": "string", "description": "Only faults of this kind, as `detail: full` names them." },
    });
    let input = rows::list_input(filter, &[], false);
    let output = rows::list_output(
        "citations",
        &[
            ("file_path", "string"),
            ("line_number", "integer"),
            ("comment_text", "string"),
            ("error", "string"),
        ],
    );
    let description = "Lists citations that do not hold, with what is wrong; `detail: full` adds the kind of the fault and \
                       what to write instead.";
    super::tool(
        holder,
        "list_invalid_citations",
        description,
        (input, output),
        run,
    )
}

// Fulfils 004 §4.5
fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let mut found = view.requirement_index.invalid_citations();
    if let Some(path) = &arguments.file_path {
        found.retain(|row| std::path::Path::new(&row.file).starts_with(path));
    }
    if let Some(code) = &arguments.code {
        found.retain(|row| row.code.name() == code);
    }
    rows::answer("citations", found, &arguments.page, |row| {
        to_json(&InvalidCitation::of(row), arguments.detail)
    })
}

fn to_json(row: &InvalidCitation, detail: Detail) -> Value {
    match detail {
        Detail::Brief => json!({
            "file_path": row.file_path,
            "line_number": row.line_number,
            "comment_text": row.comment_text,
            "error": row.error,
        }),
        Detail::Full => json!(row),
    }
}
