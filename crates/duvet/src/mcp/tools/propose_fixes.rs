//! `propose_fixes`

use super::rows::{self, Page};
use super::{SnapshotHolder, View};
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug, Deserialize)]
struct Arguments {
    file_path: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// What the tool is called.
pub(super) const NAME: &str = "propose_fixes";

pub(super) fn tool(holder: &Arc<SnapshotHolder>) -> Tool {
    let filter = json!({
        "file_path": { "type": "string", "description": "Only in this file, or in files below this folder." },
    });
    let mut input = rows::list_input(filter, &[], false);
    if let Some(properties) = input["properties"].as_object_mut() {
        properties.remove("detail");
    }
    let output = rows::list_output(
        "fixes",
        &[
            ("file_path", "string"),
            ("citations", "integer"),
            ("diff", "string"),
        ],
    );
    let description = "Shows what `duvet fix` would write, as one unified difference for each file: drifted quotes in the \
                       specification's words, moved ones with their section. Nothing is written.";
    super::tool(holder, NAME, description, (input, output), run)
}

fn run(view: &View<'_>, arguments: Arguments) -> Result<ToolResult, Refusal> {
    let Some(fixes) = view.snapshot().fixes(view.root) else {
        view.is_outdated();
        let problem = "files change faster than they can be read";
        return Err(Refusal::new(Code::DependencyUnavailable, problem));
    };
    let mut fixes: Vec<_> = fixes.iter().collect();
    if let Some(path) = &arguments.file_path {
        fixes.retain(|fixed| std::path::Path::new(&fixed.file).starts_with(path));
    }
    fixes.retain(|fixed| view.check_file(&format!("{}:1", fixed.file)).is_ok());
    rows::answer(
        "fixes",
        fixes,
        &arguments.page,
        |fixed| json!({ "file_path": fixed.file, "citations": fixed.citations, "diff": fixed.diff }),
    )
}
