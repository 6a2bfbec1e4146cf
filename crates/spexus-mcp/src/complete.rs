//! Suggestions for arguments while they are typed: ids, statuses, types and people, by the argument's name.

use crate::audit;
use mcp_runtime::{Completer, Completing, Context};
use spexus_domain::account::Caller;
use spexus_domain::{Kind, Ruled};
use spexus_service::account::user;
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;
use spexus_service::{Service, item, prompt, search, settings};

/// Ids suggested at once.
const MAX_IDS: u32 = 50;

/// What an argument stands for.
enum Meaning {
    Id(Option<Kind>),
    Prompt,
    Status,
    Priority,
    Type,
    LinkType,
    User,
    Nothing,
}

/// Suggests values for arguments; ids without a kind in their name are of this kind.
pub(crate) fn completer(service: &Service, kind: Option<Kind>) -> Completer {
    let service = service.clone();
    Completer::new(move |cx: Context, typing: Completing| {
        let service = service.clone();
        async move { suggest(&service, &audit::caller(&cx)?, kind, &typing).await }
    })
}

//= specs/spexus-mcp.md#completion
//# Every argument that takes an id, a status, a type, a priority or a user MUST be completed from what the caller can see.
async fn suggest(
    service: &Service,
    caller: &Caller,
    kind: Option<Kind>,
    typing: &Completing,
) -> Ruled<Vec<String>> {
    let typed = typing.value.trim();
    let known = match meaning(&typing.argument, kind) {
        Meaning::Id(kind) => return ids(service, caller, kind, typed).await,
        Meaning::Prompt => {
            let prompts = prompt::list(service, caller).await?.data;
            prompts
                .into_iter()
                .map(|one| one.reference_id.to_string())
                .collect()
        }
        Meaning::Status => statuses(service, caller, kind).await?,
        Meaning::Priority => ["1", "2", "3", "4", "critical", "high", "medium", "low"]
            .map(str::to_owned)
            .to_vec(),
        Meaning::Type => {
            let types = settings::requirement_types(service, caller).await?.data;
            types.into_iter().map(|one| one.name).collect()
        }
        Meaning::LinkType => {
            let types = settings::link_types(service, caller).await?.data;
            types.into_iter().map(|one| one.name).collect()
        }
        Meaning::User => {
            let users = user::names(service, caller).await?.data;
            users
                .into_iter()
                .filter(|one| one.active)
                .map(|one| one.username)
                .collect()
        }
        Meaning::Nothing => Vec::new(),
    };
    Ok(known
        .into_iter()
        .filter(|value: &String| begins(value, typed))
        .collect())
}

fn meaning(argument: &str, kind: Option<Kind>) -> Meaning {
    match argument {
        "epic" | "epic_id" => Meaning::Id(Some(Kind::Epic)),
        "user_story" | "user_story_id" => Meaning::Id(Some(Kind::UserStory)),
        "requirement" | "requirement_id" => Meaning::Id(Some(Kind::Requirement)),
        "acceptance_criteria_id" | "acceptance_criterion" => Meaning::Id(Some(Kind::AcceptanceCriterion)),
        "steering_document_id" => Meaning::Id(Some(Kind::SteeringDocument)),
        "prompt_id" => Meaning::Prompt,
        "id" if kind.is_none() => Meaning::Prompt,
        "id" | "source" | "target" | "under" | "parent" | "item_id" => {
            Meaning::Id(kind.filter(|_| argument == "id"))
        }
        "status" => Meaning::Status,
        "priority" => Meaning::Priority,
        "type" => Meaning::Type,
        "relationship_type" => Meaning::LinkType,
        "assignee" | "creator" | "user" => Meaning::User,
        _ => Meaning::Nothing,
    }
}

/// Reference ids that begin as typed, the latest first; words find items by what they say.
async fn ids(service: &Service, caller: &Caller, kind: Option<Kind>, typed: &str) -> Ruled<Vec<String>> {
    let query = ItemQuery {
        order_by: Some("-updated_at".to_owned()),
        limit: Some(200),
        ..ItemQuery::default()
    };
    let recent = item::list(service, caller, kind, &query).await?.data;
    let mut found: Vec<String> = recent.iter().map(|one| one.reference_id.to_string()).collect();
    found.retain(|id| begins(id, typed));
    if found.is_empty() && !typed.is_empty() {
        let wanted = SearchQuery {
            query: typed.to_owned(),
            kinds: kind.map(|kind| kind.name().to_owned()),
        };
        let filters = ItemQuery {
            limit: Some(MAX_IDS),
            ..ItemQuery::default()
        };
        let hits = search::search(service, caller, &wanted, &filters).await?.data;
        found = hits.iter().map(|hit| hit.reference_id.to_string()).collect();
        found.dedup();
    }
    Ok(found)
}

async fn statuses(service: &Service, caller: &Caller, kind: Option<Kind>) -> Ruled<Vec<String>> {
    let workflows = settings::workflows(service, caller).await?.data;
    let mut names: Vec<String> = Vec::new();
    for workflow in workflows
        .iter()
        .filter(|one| kind.is_none_or(|kind| kind == one.kind))
    {
        for status in &workflow.statuses {
            if !names.contains(&status.name) {
                names.push(status.name.clone());
            }
        }
    }
    Ok(names)
}

fn begins(value: &str, typed: &str) -> bool {
    value.to_lowercase().starts_with(&typed.to_lowercase())
}
