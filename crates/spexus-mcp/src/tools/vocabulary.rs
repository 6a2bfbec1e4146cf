//! The words a project uses: what can stand in arguments that take names.

use super::spec::{Invocation, Spec};
use crate::render::Answer;
use crate::schema::{answer, object};
use mcp_protocol::Arguments;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use spexus_domain::permission::Operation;
use spexus_domain::{Ruled, Uuid};
use spexus_service::account::user;
use spexus_service::{project, settings};
use std::sync::Arc;

/// Who was told: the project of the token, and the projects that are seen.
type Audience = (Option<Uuid>, Option<Vec<Uuid>>);

/// What was told last, the number of the last change it was read at, and to whom.
type VocabularyCache = Arc<Mutex<Option<(i64, Audience, Value)>>>;

/// The one tool of names.
pub(super) fn tools() -> Vec<Spec> {
    let description = "Tells the names arguments take: statuses with their transitions, requirement types, relationship types, users and projects.";
    let output = answer(&[
        ("statuses", "object"),
        ("demands", "array"),
        ("types", "array"),
        ("relationship_types", "array"),
        ("users", "array"),
        ("projects", "array"),
    ]);
    let cache = VocabularyCache::default();
    let run = move |invocation, _: Arguments| run(invocation, cache.clone());
    vec![
        Spec::new("list_vocabulary", "List names", description, run)
            .does(super::spec::Effect::Read, Operation::ReadSettings)
            .takes(object([]), output)
            .rest("list_users and list_projects give all of them in pages."),
    ]
}

/// Names change seldom and are asked for often: as long as nothing changed they are told from memory.
async fn run(invocation: Invocation, cache: VocabularyCache) -> Ruled<Answer> {
    // What is read inside a transaction may never have been.
    if invocation.service.is_inside() {
        return Ok(Answer::new(
            "Names by what they are for.",
            read(&invocation).await?,
        ));
    }
    let head = *invocation.service.follow().borrow();
    let seen = (
        invocation.caller.bound_project,
        invocation.caller.visibility().projects(),
    );
    let known = cache.lock().clone();
    let value = match known {
        Some((at, of, value)) if at == head && of == seen => value,
        _ => {
            let value = read(&invocation).await?;
            *cache.lock() = Some((head, seen, value.clone()));
            value
        }
    };
    Ok(Answer::new("Names by what they are for.", value))
}

async fn read(invocation: &Invocation) -> Ruled<Value> {
    let (service, caller) = (&invocation.service, &invocation.caller);
    let mut statuses = Map::new();
    let mut demands = Vec::new();
    for workflow in settings::workflows(service, caller).await?.data {
        let mut next: Map<String, Value> = Map::new();
        for status in &workflow.statuses {
            let to = workflow
                .transitions
                .iter()
                .filter(|step| step.from == status.name)
                .map(|step| &step.to);
            next.insert(status.name.clone(), json!(to.collect::<Vec<_>>()));
            demands.extend(workflow.demands(&status.name).map(|(to, demand)| {
                let (kind, from) = (workflow.kind.name(), &status.name);
                format!("{kind}: {from} → {to} demands evidence {}", demand.name())
            }));
        }
        statuses.insert(workflow.kind.name().to_owned(), next.into());
    }
    let types = settings::requirement_types(service, caller).await?.data;
    let links = settings::link_types(service, caller).await?.data;
    let users = user::names(service, caller).await?.data;
    let projects = project::list(service, caller).await?.data;
    let mut names = json!({
        "statuses": statuses,
        "types": types.iter().map(|one| &one.name).collect::<Vec<_>>(),
        "relationship_types": links.iter().map(|one| format!("{} / {}", one.name, one.inverse)).collect::<Vec<_>>(),
        "users": users.iter().filter(|one| one.active).map(|one| &one.username).collect::<Vec<_>>(),
        "projects": projects.iter().map(|one| &one.key).collect::<Vec<_>>(),
    });
    if !demands.is_empty() {
        names["demands"] = json!(demands);
    }
    Ok(names)
}
