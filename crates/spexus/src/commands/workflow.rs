//! `spexus workflow …` and `spexus type …`: what the installation allows.

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use serde::Serialize;
use spexus_domain::Kind;
use spexus_domain::link::LinkType;
use spexus_domain::query::Page;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::trace::EvidenceDemand;
use spexus_domain::workflow::{Workflow, WorkflowInput};
use spexus_service::settings;

/// What can be done with workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the statuses of a kind, or of all kinds, and the steps between them
    Show {
        /// epic, user_story or requirement
        kind: Option<String>,
    },
    /// Lets a step demand evidence, or no longer
    Demand(Demand),
}

/// A step, and what it demands.
#[derive(Debug, Args)]
pub(crate) struct Demand {
    /// epic, user_story or requirement
    kind: String,
    /// The status before
    from: String,
    /// The status after
    to: String,
    /// passed, executed, affirmed, or none
    evidence: String,
}

/// What can be done with types.
#[derive(Debug, Subcommand)]
pub(crate) enum TypeCommand {
    /// Lists requirement types and link types
    List,
}

#[derive(Serialize)]
struct Types {
    requirement_types: Vec<RequirementType>,
    link_types: Vec<LinkType>,
}

pub(super) async fn run(session: &Session, output: Output, command: &Command) -> Outcome {
    let found = match command {
        Command::Show { kind } => shown(session, kind.as_deref()).await?,
        Command::Demand(wanted) => Page::whole(vec![demand(session, wanted).await?]),
    };
    output.show(&found, |found| {
        found.data.iter().map(steps).collect::<Vec<_>>().join("\n")
    })
}

async fn shown(session: &Session, kind: Option<&str>) -> Outcome<Page<Workflow>> {
    Ok(match kind {
        None => settings::workflows(&session.service, &session.caller).await?,
        Some(kind) => {
            let kind = Kind::parse("kind", kind)?;
            Page::whole(vec![
                settings::workflow(&session.service, &session.caller, kind).await?,
            ])
        }
    })
}

/// Writes the workflow again with one step changed, in the revision that was read.
async fn demand(session: &Session, wanted: &Demand) -> Outcome<Workflow> {
    let (service, caller) = (&session.service, &session.caller);
    let kind = Kind::parse("kind", &wanted.kind)?;
    let evidence = match wanted.evidence.as_str() {
        "none" => None,
        name => Some(EvidenceDemand::parse("evidence", name)?),
    };
    let workflow = settings::workflow(service, caller, kind).await?;
    let from = workflow.status(&wanted.from)?.name.clone();
    let to = workflow.step(&from, &wanted.to)?;
    let mut transitions = workflow.transitions;
    for step in transitions.iter_mut().filter(|step| step.joins(&from, &to)) {
        step.evidence = evidence;
    }
    let input = WorkflowInput {
        statuses: workflow.statuses,
        transitions,
        expect_rev: Some(workflow.rev),
    };
    Ok(settings::put_workflow(service, caller, kind, input).await?)
}

pub(super) async fn types(session: &Session, output: Output, command: &TypeCommand) -> Outcome {
    let TypeCommand::List = command;
    let found = Types {
        requirement_types: settings::requirement_types(&session.service, &session.caller)
            .await?
            .data,
        link_types: settings::link_types(&session.service, &session.caller)
            .await?
            .data,
    };
    output.show(&found, |found| {
        let requirement = |known: &RequirementType| [known.name.clone(), known.description.clone()];
        let link = |known: &LinkType| {
            [
                format!("{} / {}", known.name, known.inverse),
                known.description.clone(),
            ]
        };
        format!(
            "Requirement types\n{}\n\nLink types\n{}",
            table(
                &found
                    .requirement_types
                    .iter()
                    .map(requirement)
                    .collect::<Vec<_>>()
            ),
            table(&found.link_types.iter().map(link).collect::<Vec<_>>())
        )
    })
}

fn steps(workflow: &Workflow) -> String {
    let row = |status: &spexus_domain::workflow::Status| {
        let steps = workflow
            .transitions
            .iter()
            .filter(|step| step.from == status.name);
        let next: Vec<String> = steps
            .map(|step| match step.evidence {
                None => step.to.clone(),
                Some(demand) => format!("{} (evidence {})", step.to, demand.name()),
            })
            .collect();
        let mark = match (status.initial, status.is_final) {
            (true, _) => "start",
            (false, true) => "end",
            (false, false) => "",
        };
        [
            format!("  {}", status.name),
            mark.to_owned(),
            format!("→ {}", next.join(", ")),
        ]
    };
    let rows: Vec<_> = workflow.statuses.iter().map(row).collect();
    format!("{}\n{}", workflow.kind.rules().label, table(&rows))
}
