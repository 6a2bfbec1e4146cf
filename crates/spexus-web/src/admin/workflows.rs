//! Workflows and types: which statuses there are, which steps between them, which types of requirements and links.

use super::shell;
use crate::answer::{Answer, html, see};
use crate::form::Form;
use crate::mark::{kind_word, status};
use crate::shell::Shell;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::link::LinkType;
use spexus_domain::permission::Operation;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::{Status, Transition, Workflow, WorkflowInput};
use spexus_domain::{Code, Kind, Refusal};
use spexus_service::settings;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "admin_workflows.html")]
struct WorkflowsPage {
    shell: Shell,
    workflows: Vec<Workflow>,
}

/// The workflows, each as a table of steps.
pub(crate) async fn list(visit: Visit) -> Answer {
    html(&WorkflowsPage {
        shell: shell(&visit, Operation::ManageSettings, visit.texts().workflows)?,
        workflows: settings::workflows(visit.service(), &visit.caller).await?.data,
    })
}

/// Replaces the steps of a workflow by those that are ticked, `FROM>TO` by the places of both, and may add a status.
pub(crate) async fn save(
    visit: Visit,
    Path(kind): Path<String>,
    Form(mut ticked): Form<BTreeMap<String, String>>,
) -> Answer {
    let kind = Kind::parse("kind", &kind)?;
    let known = settings::workflow(visit.service(), &visit.caller, kind).await?;
    let rev = ticked.remove("rev").and_then(|rev| rev.parse().ok());
    let added = ticked.remove("added").filter(|name| !name.trim().is_empty());
    let mut statuses = known.statuses.clone();
    let mut transitions = Vec::new();
    for step in ticked.keys() {
        let ends = step.split_once('>').and_then(|(from, to)| {
            let end = |at: &str| {
                statuses
                    .get(at.parse::<usize>().ok()?)
                    .map(|status| status.name.clone())
            };
            let (from, to) = (end(from)?, end(to)?);
            let evidence = known.demand(&from, &to);
            Some(Transition { from, to, evidence })
        });
        transitions.push(ends.ok_or_else(|| {
            Refusal::field(
                Code::InvalidParams,
                step.clone(),
                "is not a step of this workflow",
                "the boxes of the table",
            )
        })?);
    }
    statuses.extend(added.map(|name| Status {
        name: name.trim().to_owned(),
        initial: false,
        is_final: false,
    }));
    let input = WorkflowInput {
        statuses,
        transitions,
        expect_rev: rev,
    };
    settings::put_workflow(visit.service(), &visit.caller, kind, input).await?;
    Ok(see("/admin/workflows"))
}

/// The evidence a step demands.
fn demanded(workflow: &Workflow, from: &str, to: &str) -> &'static str {
    workflow.demand(from, to).map_or("", |demand| demand.name())
}

/// Whether there is a step.
fn has(workflow: &Workflow, from: &str, to: &str) -> bool {
    workflow
        .transitions
        .iter()
        .any(|step| step.from == from && step.to == to)
}

#[derive(Template)]
#[template(path = "admin_types.html")]
struct TypesPage {
    shell: Shell,
    requirement_types: Vec<RequirementType>,
    link_types: Vec<LinkType>,
}

/// The types.
pub(crate) async fn types(visit: Visit) -> Answer {
    html(&TypesPage {
        shell: shell(&visit, Operation::ManageSettings, visit.texts().types)?,
        requirement_types: settings::requirement_types(visit.service(), &visit.caller)
            .await?
            .data,
        link_types: settings::link_types(visit.service(), &visit.caller).await?.data,
    })
}

/// A type of requirements.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
}

/// Adds a type of requirements, or says it in other words.
pub(crate) async fn put_type(visit: Visit, Form(named): Form<Named>) -> Answer {
    let wanted = RequirementType {
        name: named.name,
        description: named.description,
    };
    settings::put_requirement_type(visit.service(), &visit.caller, wanted).await?;
    Ok(see("/admin/types"))
}
