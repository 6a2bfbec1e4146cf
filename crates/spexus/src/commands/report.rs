//! `spexus report …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::Reference;
use spexus_domain::report::Analysis;
use spexus_service::report::{self, StatusReport};
use std::collections::BTreeMap;

/// What can be reported.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Counts items by kind, status, type and assignee
    Status(Part),
    /// Finds what lacks stories, criteria, requirements or links, suspect links and cycles
    Gaps(Part),
}

/// What a report is about.
#[derive(Debug, Args)]
pub(crate) struct Part {
    /// Any id: only this item and what is below it
    #[arg(long, value_name = "ID")]
    under: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, command: &Command) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    match command {
        Command::Status(part) => {
            let found = report::status(service, caller, project, part.under.as_deref()).await?;
            output.show(&found, counts)
        }
        Command::Gaps(part) => {
            let found = report::analysis(service, caller, project, part.under.as_deref()).await?;
            output.show(&found, gaps)
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

fn gaps(found: &Analysis) -> String {
    let names = |list: &[Reference]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rows: Vec<[String; 3]> = [
        ("epics without stories", names(&found.epics_without_stories)),
        ("stories without criteria", names(&found.stories_without_criteria)),
        (
            "stories without requirements",
            names(&found.stories_without_requirements),
        ),
        (
            "criteria without requirements",
            names(&found.criteria_without_requirements),
        ),
        (
            "requirements without criterion",
            names(&found.requirements_without_criterion),
        ),
        (
            "requirements without links",
            names(&found.requirements_without_links),
        ),
        ("suspect links", found.suspect_links.clone()),
        ("cycles", found.cycles.clone()),
    ]
    .into_iter()
    .filter(|(_, list)| !list.is_empty())
    .map(|(name, list)| [name.to_owned(), list.len().to_string(), list.join(", ")])
    .collect();
    match rows.is_empty() {
        true => "No gaps found.".to_owned(),
        false => table(&rows),
    }
}
