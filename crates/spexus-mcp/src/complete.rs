//! Suggestions for arguments while they are typed: ids, statuses, types and people, by the argument's name.

mod closeness;
mod uses;

pub(crate) use uses::Uses;

use crate::audit;
use crate::resources::sees_several;
use closeness::Closeness;
use mcp_server::{Completer, Completing, Context, Stop};
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::prompt::Prompt;
use spexus_domain::{Kind, Ruled, ShownReference};
use spexus_service::account::user;
use spexus_service::item::ItemQuery;
use spexus_service::search::SearchQuery;
use spexus_service::{Service, item, project, prompt, search, settings};
use std::cmp::Reverse;
use uses::Used;

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
    Project,
    Nothing,
}

/// Suggests values for arguments; ids without a kind in their name are of this kind.
pub(crate) fn completer(service: &Service, uses: &Uses, kind: Option<Kind>) -> Completer {
    let (service, uses) = (service.clone(), uses.clone());
    Completer::new(move |cx: Context, typing: Completing| {
        let (service, uses) = (service.clone(), uses.clone());
        async move {
            let caller = audit::caller(&cx)?;
            let known = known(&service, &caller, kind, &typing).await?;
            Ok::<_, Stop>(ranked(&uses, &caller, known, typing.value.trim()))
        }
    })
}

/// A value that may be meant, what is said about it, and how it is written where the value alone is not enough.
struct Candidate {
    value: String,
    about: String,
    whole: Option<String>,
}

impl From<String> for Candidate {
    fn from(value: String) -> Self {
        Self {
            value,
            about: String::new(),
            whole: None,
        }
    }
}

/// Those close to what was typed: typing errors last, among the rest what was used before first, then the closest.
fn ranked(uses: &Uses, caller: &Caller, known: Vec<Candidate>, typed: &str) -> Vec<String> {
    let used = uses.of(caller.user_id, known.iter().map(|one| one.value.as_str()));
    let close = |(one, used): (Candidate, Used)| {
        let closeness = closeness::of(&one.value, &one.about, typed)?;
        let rank = (closeness == Closeness::Error, Reverse(used), closeness);
        Some((rank, one.whole.unwrap_or(one.value)))
    };
    let mut found: Vec<_> = known.into_iter().zip(used).filter_map(close).collect();
    found.sort_by_key(|(rank, _)| *rank);
    let mut values: Vec<String> = Vec::with_capacity(found.len());
    for (_, value) in found {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

//= specs/spexus-mcp.md#completion
//# Every argument that takes an id, a status, a type, a priority or a user MUST be completed from what the caller can see.
async fn known(
    service: &Service,
    caller: &Caller,
    kind: Option<Kind>,
    typing: &Completing,
) -> Ruled<Vec<Candidate>> {
    let described = |value: String, about: String| Candidate {
        value,
        about,
        whole: None,
    };
    Ok(match meaning(&typing.argument, kind) {
        Meaning::Id(kind) => ids(service, caller, kind, typing).await?,
        Meaning::Prompt => {
            let prompts = prompt::list(service, caller).await?.data;
            let candidate = |one: Prompt| described(one.reference_id.to_string(), one.name);
            prompts.into_iter().map(candidate).collect()
        }
        Meaning::Status => {
            let given = typing.context.get("kind").map(|name| Kind::parse("kind", name));
            statuses(service, caller, kind.or(given.and_then(Result::ok))).await?
        }
        Meaning::Priority => ["1", "2", "3", "4", "critical", "high", "medium", "low"]
            .map(|name| name.to_owned().into())
            .into(),
        Meaning::Type => {
            let types = settings::requirement_types(service, caller).await?.data;
            types
                .into_iter()
                .map(|one| described(one.name, one.description))
                .collect()
        }
        Meaning::LinkType => {
            let types = settings::link_types(service, caller).await?.data;
            types.into_iter().map(|one| one.name.into()).collect()
        }
        Meaning::User => {
            let users = user::names(service, caller).await?.data;
            let active = users.into_iter().filter(|one| one.active);
            active.map(|one| one.username.into()).collect()
        }
        Meaning::Project => {
            let projects = project::list(service, caller).await?.data;
            projects
                .into_iter()
                .map(|one| described(one.key, one.name))
                .collect()
        }
        Meaning::Nothing => Vec::new(),
    })
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
        "project" => Meaning::Project,
        _ => Meaning::Nothing,
    }
}

/// Items that may be meant: the latest, the one with this very id, and those whose texts hold the words.
/// They are of the project that is filled in already; where none is and there are several, they are written with theirs.
//= specs/spexus-mcp.md#completion
//# An id MUST be completed from the project that is filled in already, and with its project where it may mean several.
async fn ids(
    service: &Service,
    caller: &Caller,
    kind: Option<Kind>,
    typing: &Completing,
) -> Ruled<Vec<Candidate>> {
    let typed = typing.value.trim();
    let project = typing.context.get("project").map(|key| key.trim());
    let project = project.filter(|key| !key.is_empty());
    let query = ItemQuery {
        project: project.map(str::to_owned),
        under: container(service, caller, (project, kind), typing).await,
        order_by: Some("-updated_at".to_owned()),
        limit: Some(200),
        ..ItemQuery::default()
    };
    let several = project.is_none() && sees_several(service, caller).await?;
    let whole = |key: &str, reference: &ShownReference| several.then(|| reference.in_project(key));
    let candidate = |one: &Item| Candidate {
        whole: whole(&one.project, &one.reference_id),
        about: one.heading(),
        value: one.reference_id.to_string(),
    };
    let recent = item::list(service, caller, kind, &query).await?.data;
    let mut found: Vec<Candidate> = recent.iter().map(candidate).collect();
    if typed.is_empty() {
        return Ok(found);
    }
    if let Ok(exact) = item::get(service, caller, project, kind, typed).await {
        found.push(candidate(&exact));
    }
    let is_close = |one: &Candidate| closeness::of(&one.value, &one.about, typed).is_some();
    if !found.iter().any(is_close) {
        let wanted = SearchQuery {
            query: typed.to_owned(),
            kinds: kind.map(|kind| kind.name().to_owned()),
        };
        let filters = ItemQuery {
            project: project.map(str::to_owned),
            limit: Some(MAX_IDS),
            ..ItemQuery::default()
        };
        let hits = search::search(service, caller, &wanted, &filters).await?.data;
        // The search knows better than letters what is meant.
        let usual = project::of_request(service, caller, project).await?.key;
        found.extend(hits.iter().map(|hit| Candidate {
            whole: whole(&usual, &hit.reference_id),
            about: typed.to_owned(),
            value: hit.reference_id.to_string(),
        }));
    }
    Ok(found)
}

/// What was filled in already that contains what is looked for: the epic of a story, the story of a requirement. What names nothing
/// narrows nothing.
//= specs/spexus-mcp.md#completion
//# An id MUST be completed from what contains it, where that is filled in already.
async fn container(
    service: &Service,
    caller: &Caller,
    (project, kind): (Option<&str>, Option<Kind>),
    typing: &Completing,
) -> Option<String> {
    let stories: &[&str] = &["user_story_id", "user_story"];
    let epics: &[&str] = &["epic_id", "epic", "under", "parent"];
    let above: [&[&str]; 2] = match kind {
        Some(Kind::Epic) => [&[], &[]],
        Some(Kind::UserStory) => [&[], epics],
        _ => [stories, epics],
    };
    let others = above
        .into_iter()
        .flatten()
        .filter(|name| **name != typing.argument);
    let given = others.filter_map(|name| typing.context.get(*name));
    for id in given.map(|id| id.trim()).filter(|id| !id.is_empty()) {
        if item::get(service, caller, project, None, id).await.is_ok() {
            return Some(id.to_owned());
        }
    }
    None
}

async fn statuses(service: &Service, caller: &Caller, kind: Option<Kind>) -> Ruled<Vec<Candidate>> {
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
    Ok(names.into_iter().map(Candidate::from).collect())
}
