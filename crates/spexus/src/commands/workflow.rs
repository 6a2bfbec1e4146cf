//! `spexus workflow …` and `spexus type …`: what the installation allows.

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use serde::Serialize;
use spexus_domain::Kind;
use spexus_domain::link::LinkType;
use spexus_domain::query::Page;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::Workflow;
use spexus_service::settings;

/// What can be done with workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows the statuses of a kind, or of all kinds, and the steps between them
    Show {
        /// epic, user_story or requirement
        kind: Option<String>,
    },
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
    let Command::Show { kind } = command;
    let found = match kind {
        None => settings::workflows(&session.service, &session.caller).await?,
        Some(kind) => {
            let kind = Kind::parse("kind", kind)?;
            Page::whole(vec![
                settings::workflow(&session.service, &session.caller, kind).await?,
            ])
        }
    };
    output.show(&found, |found| {
        found.data.iter().map(steps).collect::<Vec<_>>().join("\n")
    })
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
        let next: Vec<&str> = workflow
            .transitions
            .iter()
            .filter(|step| step.from == status.name)
            .map(|step| step.to.as_str())
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
