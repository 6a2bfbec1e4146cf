//! `spexus report …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::report::GapReport;
use spexus_service::report::{self, GapQuery, StatusReport};
use std::collections::BTreeMap;

/// What can be reported.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Counts items by kind, status, type and assignee
    Status(Part),
    /// Finds what lacks stories, criteria, requirements or links, suspect links and cycles
    Gaps(Gaps),
}

/// What a report is about.
#[derive(Debug, Args)]
pub(crate) struct Part {
    /// Any id: only this item and what is below it
    #[arg(long, value_name = "ID")]
    under: Option<String>,
}

/// Which gaps are shown.
#[derive(Debug, Args)]
pub(crate) struct Gaps {
    /// Any id: only this item and what is below it
    #[arg(long, value_name = "ID")]
    under: Option<String>,
    /// Only this section, by its name with underscores, such as suspect_links
    #[arg(long)]
    section: Option<String>,
    /// Rows of each section, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Where the page of a section before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, command: &Command) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    match command {
        Command::Status(part) => {
            let found = report::status(service, caller, project, part.under.as_deref()).await?;
            output.show(&found, counts)
        }
        Command::Gaps(wanted) => {
            let query = GapQuery {
                project: session.project.clone(),
                under: wanted.under.clone(),
                section: wanted.section.clone(),
                limit: wanted.limit,
                cursor: wanted.cursor.clone(),
            };
            output.show(&report::gaps(service, caller, &query).await?, gaps)
        }
    }
}

fn counts(report: &StatusReport) -> String {
    let list = |counts: &BTreeMap<String, i64>| {
        let each: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        each.join(", ")
    };
    let mut rows = Vec::new();
    for (kind, counts) in &report.kinds {
        rows.push([
            (*kind).to_owned(),
            counts.total.to_string(),
            list(&counts.by_status),
        ]);
        for (name, part) in [("type", &counts.by_type), ("assignee", &counts.by_assignee)] {
            if !part.is_empty() {
                rows.push([format!("  by {name}"), String::new(), list(part)]);
            }
        }
    }
    rows.push(["all".to_owned(), report.total_count.to_string(), String::new()]);
    table(&rows)
}

fn gaps(found: &GapReport) -> String {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (section, page) in &found.sections {
        if page.total().at_least() == 0 {
            continue;
        }
        rows.push([
            section.name().replace('_', " "),
            page.total().to_string(),
            page.data.join(", "),
        ]);
        if let Some(cursor) = &page.next_cursor {
            let more = format!("… {} shown; the next page: --cursor {cursor}", page.data.len());
            rows.push([String::new(), String::new(), more]);
        }
    }
    match rows.is_empty() {
        true => "No gaps found.".to_owned(),
        false => table(&rows),
    }
}
