//! Reports: how far the work has come, and where the tree has gaps.

use super::items::project;
use super::spec::{Invocation, Spec, read};
use crate::Toolset;
use crate::render::Answer;
use crate::schema::{answer, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Map, json};
use spexus_domain::Ruled;
use spexus_domain::text::grouped;
use spexus_service::report::{self, GapQuery};

// Fulfils 003 R7.6
/// The tools of reports.
pub(super) fn tools() -> Vec<Spec> {
    vec![status_report(), analyze_hierarchy()]
}

fn status_report() -> Spec {
    let description = "Counts items by kind, status, type and assignee: of the project, or below one item.";
    Spec::new("status_report", "Status report", description, run_status)
        .takes(
            object([text("under", "any id"), project()]),
            answer(&[("total_count", "integer"), ("kinds", "object")]),
        )
        .long()
        .rest("Totals are whole. Ask under one item, or list a kind with assignee, for the others.")
}

async fn run_status(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (under, project) = (arguments.text("under"), arguments.text("project"));
    let found = report::status(&invocation.service, &invocation.caller, project, under).await?;
    Ok(Answer::new(format!("{} items.", found.total_count), &found))
}

fn analyze_hierarchy() -> Spec {
    let description = "Finds gaps in the project or below one item: epics without stories, stories without criteria or requirements, criteria nobody serves, requirements without links, suspect links and cycles. Counts are whole; rows come in pages.";
    Spec::new(
        "analyze_hierarchy",
        "Analyze a hierarchy",
        description,
        run_analysis,
    )
    .set(Toolset::Author)
    .takes(
        object([
            text("under", "any id"),
            text("section", "one finding, by name"),
            number("limit", "rows of each finding, 1-200, default 50"),
            text("cursor", "next_cursor of a finding"),
            project(),
        ]),
        answer(&[
            ("total_count", "integer"),
            ("findings", "object"),
            ("truncated", "boolean"),
        ]),
    )
    .long()
}

// Fulfils 003 R7.7
async fn run_analysis(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let query: GapQuery = read(arguments.0)?;
    let found = report::gaps(&invocation.service, &invocation.caller, &query).await?;
    let (mut findings, mut truncated) = (Map::new(), false);
    for (section, rows) in &found.sections {
        let mut finding = json!({ "total_count": rows.total_count, "items": rows.data });
        if let Some(cursor) = &rows.next_cursor {
            finding["next_cursor"] = json!(cursor);
            truncated = true;
        }
        findings.insert(section.name().to_owned(), finding);
    }
    let text = match found.total_count {
        0 => "No gaps found.".to_owned(),
        total => format!("{} findings.", grouped(total)),
    };
    let mut value = json!({ "total_count": found.total_count, "findings": findings, "truncated": truncated });
    if truncated {
        value["rest"] = json!("The rest of a finding: its name as section, its next_cursor as cursor.");
    }
    Ok(Answer::new(text, value))
}
