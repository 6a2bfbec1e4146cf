//! The words a project uses: what can stand in arguments that take names.

use super::spec::{Spec, Work};
use crate::render::Answer;
use crate::schema::{answer, object};
use mcp_runtime::Arguments;
use serde_json::{Map, Value, json};
use spexus_domain::Ruled;
use spexus_domain::permission::Operation;
use spexus_service::account::user;
use spexus_service::{project, settings};

/// The one tool of names.
pub(super) fn tools() -> Vec<Spec> {
    let description = "Tells the names arguments take: statuses with their transitions, requirement types, relationship types, users and projects.";
    let output = answer(&[
        ("statuses", "object"),
        ("types", "array"),
        ("relationship_types", "array"),
        ("users", "array"),
        ("projects", "array"),
    ]);
    vec![
        Spec::new("list_vocabulary", "List names", description, run)
            .does(super::spec::Effect::Read, Operation::ReadSettings)
            .takes(object([]), output),
    ]
}

async fn run(work: Work, _: Arguments) -> Ruled<Answer> {
    let (service, caller) = (&work.service, &work.caller);
    let mut statuses = Map::new();
    for workflow in settings::workflows(service, caller).await?.data {
        let mut next: Map<String, Value> = Map::new();
        for status in &workflow.statuses {
            let to = workflow
                .transitions
                .iter()
                .filter(|step| step.from == status.name)
                .map(|step| &step.to);
            next.insert(status.name.clone(), json!(to.collect::<Vec<_>>()));
        }
        statuses.insert(workflow.kind.name().to_owned(), next.into());
    }
    let types = settings::requirement_types(service, caller).await?.data;
    let links = settings::link_types(service, caller).await?.data;
    let users = user::names(service, caller).await?.data;
    let projects = project::list(service, caller).await?.data;
    let value = json!({
        "statuses": statuses,
        "types": types.iter().map(|one| &one.name).collect::<Vec<_>>(),
        "relationship_types": links.iter().map(|one| format!("{} / {}", one.name, one.inverse)).collect::<Vec<_>>(),
        "users": users.iter().filter(|one| one.active).map(|one| &one.username).collect::<Vec<_>>(),
        "projects": projects.iter().map(|one| &one.key).collect::<Vec<_>>(),
    });
    Ok(Answer::new("Names by what they are for.", value))
}
