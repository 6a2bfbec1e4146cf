//! Reports: how far the work has come, and where the tree has gaps.

use super::items::project;
use super::spec::{Spec, Work};
use crate::render::Answer;
use crate::schema::{answer, object, text};
use mcp_runtime::Arguments;
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_service::report;

/// Entries shown of one finding; the count is always told.
const MAX_SHOWN: usize = 50;

// Fulfils 003 R7.6
/// The tools of reports.
pub(super) fn tools() -> Vec<Spec> {
    vec![status_report(), analyze_hierarchy()]
}

fn status_report() -> Spec {
    let description = "Counts items by kind, status, type and assignee: of the project, or below one item.";
    Spec::new("status_report", "Status report", description, run_status).takes(
        object([text("under", "any id"), project()]),
        answer(&[("total_count", "integer"), ("kinds", "object")]),
    )
}

async fn run_status(work: Work, arguments: Arguments) -> Ruled<Answer> {
    let (under, project) = (arguments.text("under"), arguments.text("project"));
    let found = report::status(&work.service, &work.caller, project, under).await?;
    Ok(Answer::new(format!("{} items.", found.total_count), &found))
}

fn analyze_hierarchy() -> Spec {
    let description = "Finds gaps in the project or below one item: epics without stories, stories without criteria or requirements, criteria nobody serves, requirements without links, suspect links and cycles.";
    Spec::new(
        "analyze_hierarchy",
        "Analyze a hierarchy",
        description,
        run_analysis,
    )
    .takes(
        object([text("under", "any id"), project()]),
        answer(&[("total_count", "integer"), ("findings", "object")]),
    )
}

// Fulfils 003 R7.7
async fn run_analysis(work: Work, arguments: Arguments) -> Ruled<Answer> {
    let (under, project) = (arguments.text("under"), arguments.text("project"));
    let found = report::analysis(&work.service, &work.caller, project, under).await?;
    let mut total = 0;
    let mut findings = json!(found);
    for finding in findings
        .as_object_mut()
        .into_iter()
        .flat_map(|all| all.values_mut())
    {
        let list = finding.as_array_mut().map(std::mem::take).unwrap_or_default();
        total += list.len();
        let shown: Vec<Value> = list.iter().take(MAX_SHOWN).cloned().collect();
        *finding = json!({ "count": list.len(), "items": shown });
    }
    let text = match total {
        0 => "No gaps found.".to_owned(),
        total => format!("{total} findings."),
    };
    Ok(Answer::new(
        text,
        json!({ "total_count": total, "findings": findings }),
    ))
}
