//! What a token bound to a project learns and touches of another: every tool, address, prompt, argument and method, on
//! things of its own project, of the other one, and of a link between them. The tables are those the server lists, so
//! that whatever is added without a row fails here.

use crate::agent::Agent;
use crate::pair::{self, SECRET, Who, stateless};
use crate::rows::{Scope, Target, in_order, row, takes_project, with_project};
use crate::world::{World, both};
use serde_json::{Value, json};

/// Nothing of the other project stands in it.
fn is_clean(what: &str, answer: &Value) {
    // A name that was asked for is repeated in quotes; nothing else knows it.
    let text = answer.to_string().replace(&format!("\\\"{SECRET}-base\\\""), "");
    assert!(!text.contains(SECRET), "{what} tells of another project: {text}");
}

fn is_refused(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}

/// Everything that happened in a project, and the links of its requirement.
async fn state(world: &World, project: &str) -> (usize, usize) {
    let links = world.links(&format!("{project}/REQ-001")).await;
    let links = links["data"].as_array().unwrap().len();
    (world.changes(project).await, links)
}

pub(crate) async fn tools(agent: &Agent) -> Vec<Value> {
    in_order(
        agent.ask("tools/list", json!({})).await["tools"]
            .as_array()
            .unwrap(),
    )
}

/// The addresses a server tells of: a kind's templates with `{id}`, and collections as they are.
pub(crate) async fn addresses(agent: &Agent) -> Vec<String> {
    let templates = agent.ask("resources/templates/list", json!({})).await;
    let templates = templates["resourceTemplates"].as_array().unwrap().clone();
    let listed = agent.ask("resources/list", json!({})).await;
    let listed = listed["resources"].as_array().unwrap().clone();
    let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let templates = templates.iter().map(|one| text(one, "uriTemplate"));
    // Items are walked through by their templates; views hold no data.
    let listed = listed.iter().map(|one| text(one, "uri"));
    templates
        .chain(listed.filter(|uri| uri.starts_with("requirements://") || uri.starts_with("skill://")))
        .collect()
}

/// An address for things named in some way. What every token may see is no item.
pub(crate) fn filled(template: &str, on: &Target) -> (String, bool) {
    let query = |uri: String| match &on.project {
        Some(project) if uri.contains('?') => format!("{uri}&project={project}"),
        Some(project) => format!("{uri}?project={project}"),
        None => uri,
    };
    let (scheme, rest) = template.split_once("://").unwrap();
    let reference = match scheme {
        "epic" => "EP-001",
        "user-story" => "US-001",
        "requirement" | "trace" => "REQ-001",
        "acceptance-criteria" => "AC-001",
        "steering-document" => "STD-001",
        "skill" => return (template.to_owned(), false),
        "prompt" => return (template.replace("{id}", "PROMPT-001"), false),
        "epics" => return (query("epics://list?status=&priority=".to_owned()), true),
        "user-stories" => {
            let uri = format!("user-stories://list?epic_id={}&status=", on.id("EP-001"));
            return (query(uri), true);
        }
        "requirements" if rest.starts_with("search") => {
            return (
                query("requirements://search?query=requirement&type=".to_owned()),
                true,
            );
        }
        "requirements" => {
            let for_all = [
                "prompts",
                "prompts/active",
                "types",
                "relationship-types",
                "workflows",
                "users",
            ];
            return match for_all.contains(&rest) {
                true => (template.to_owned(), false),
                false => (query(template.to_owned()), true),
            };
        }
        other => panic!("addresses with {other}:// have no row"),
    };
    let id = on.id(reference);
    let rest = match rest.contains("{id}") {
        true => rest.replace("{id}", &id),
        // One that is listed may stand with its project.
        false => rest.replace("default/", "").replace(reference, &id),
    };
    (query(format!("{scheme}://{rest}")), true)
}

/// What an argument of a prompt is filled with.
pub(crate) fn value(argument: &str, on: &Target) -> String {
    match argument {
        "epic_id" => on.id("EP-001"),
        "user_story_id" => on.id("US-001"),
        "requirement_id" | "id" => on.id("REQ-001"),
        "purpose" => "review".to_owned(),
        "project" => on.project.clone().unwrap_or_else(|| "web".to_owned()),
        "need" | "role" | "focus" => "safety".to_owned(),
        "max_stories" => "3".to_owned(),
        other => panic!("the argument {other} has no row"),
    }
}

both![
    no_tool_shows_or_changes_another_project,
    no_tool_shows_or_changes_a_project_of_others,
    no_address_shows_or_tells_of_another_project,
    no_address_shows_or_tells_of_a_project_of_others,
    no_prompt_and_no_completion_tells_of_another_project,
    no_prompt_and_no_completion_tells_of_a_project_of_others,
    no_method_tells_of_another_project,
    no_method_tells_of_a_project_of_others,
];

//= specs/spexus-mcp.md#rights
//= type=test
//# A token bound to a project MUST be shown and told nothing of another project, by any tool, resource, prompt, completion or notification.
async fn no_tool_shows_or_changes_another_project(world: &World) {
    walk_tools(world, Who::BoundToken).await;
}

async fn no_tool_shows_or_changes_a_project_of_others(world: &World) {
    walk_tools(world, Who::Member).await;
}

async fn walk_tools(world: &World, who: Who) {
    pair::seed(world).await;
    let all = tools(&pair::agent(world, None).await).await;
    let others = [
        Target::bare(world, "default", true).await,
        Target::qualified(world, "default").await,
        Target::by_uuid(world, "default").await,
    ];
    let own = [
        Target::bare(world, "web", false).await,
        Target::bare(world, "web", true).await,
    ];
    let links = world.links("web/REQ-001").await;
    let across = links["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one.to_string().contains(SECRET))
        .unwrap();
    let mut linked = own[0].clone();
    linked.link = across["id"].as_str().unwrap().to_owned();
    let across = linked;
    let bound = who.agent(world).await;
    let before = state(world, "default").await;
    for tool in &all {
        let name = tool["name"].as_str().unwrap();
        let call = async |on: &Target| {
            let arguments = with_project(tool, row(name, on).0, on);
            let answer = bound
                .request("tools/call", json!({ "name": name, "arguments": arguments }))
                .await;
            is_clean(&format!("{name} {arguments}"), &answer);
            answer
        };
        let scope = row(name, &own[0]).1;
        for (at, other) in others.iter().enumerate() {
            let answer = call(other).await;
            let names_it = match scope {
                Scope::Items | Scope::Hopeless | Scope::Installation => true,
                Scope::Project => other.project.is_some() && takes_project(tool),
                Scope::Everybody => false,
            };
            assert!(
                is_refused(&answer) || !names_it,
                "{name} of another project ({at}): {answer}"
            );
        }
        if name.ends_with("_relationship") && name != "create_relationship" {
            assert!(
                is_refused(&call(&across).await),
                "{name} on a link into another project"
            );
        }
        for own in &own {
            let answer = call(own).await;
            let works = matches!(scope, Scope::Items | Scope::Project | Scope::Everybody);
            // Done once, a deletion cannot be done again.
            let again = own.project.is_some() && !tool["annotations"]["readOnlyHint"].as_bool().unwrap();
            assert!(again || is_refused(&answer) != works, "{name} {own:?}: {answer}");
        }
    }
    assert_eq!(
        state(world, "default").await,
        before,
        "nothing of the other project was touched"
    );
}

// proves 002 Req-Res-011
async fn no_address_shows_or_tells_of_another_project(world: &World) {
    walk_addresses(world, Who::BoundToken).await;
}

async fn no_address_shows_or_tells_of_a_project_of_others(world: &World) {
    walk_addresses(world, Who::Member).await;
}

async fn walk_addresses(world: &World, who: Who) {
    pair::seed(world).await;
    let bound = who.agent(world).await;
    let own = [
        Target::bare(world, "web", false).await,
        Target::bare(world, "web", true).await,
        Target::qualified(world, "web").await,
    ];
    let others = [
        Target::bare(world, "default", true).await,
        Target::qualified(world, "default").await,
        Target::by_uuid(world, "default").await,
    ];
    let all = addresses(&pair::agent(world, None).await).await;
    let listed = bound.ask("resources/list", json!({})).await;
    is_clean("resources/list", &listed);
    for template in &all {
        for (target, is_own) in own
            .iter()
            .map(|one| (one, true))
            .chain(others.iter().map(|one| (one, false)))
        {
            let (uri, of_items) = filled(template, target);
            let names_it = !is_own && of_items && uri != filled(template, &own[0]).0;
            for method in ["resources/read", "resources/get", "resources/subscribe"] {
                let answer = bound.request(method, json!({ "uri": uri })).await;
                is_clean(&format!("{method} {uri}"), &answer);
                assert_eq!(is_refused(&answer), names_it, "{method} {uri}: {answer}");
            }
        }
    }
    // What is not there and what may not be seen are refused in the same words.
    let hidden = pair::uuid(world, "default", "EP-001").await;
    let nothing = "01890000-0000-7000-8000-000000000000";
    for method in ["resources/read", "resources/subscribe"] {
        let refused = async |id: &str| {
            bound
                .refused(method, json!({ "uri": format!("epic://{id}") }))
                .await
                .to_string()
                .replace(id, "ID")
        };
        assert_eq!(refused(&hidden).await, refused(nothing).await, "{method}");
    }
    let token = who.token(world, &["read"]).await;
    for uri in [
        format!("epic://{hidden}"),
        "epic://default/EP-001".to_owned(),
        "requirements://epics?project=default".to_owned(),
    ] {
        let wish = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let refused = stateless(world, &token, "subscriptions/listen", wish).await;
        assert!(refused.get("error").is_some(), "{uri}: {refused}");
        is_clean(&uri, &refused);
    }
}

async fn no_prompt_and_no_completion_tells_of_another_project(world: &World) {
    walk_prompts(world, Who::BoundToken).await;
}

async fn no_prompt_and_no_completion_tells_of_a_project_of_others(world: &World) {
    walk_prompts(world, Who::Member).await;
}

async fn walk_prompts(world: &World, who: Who) {
    pair::seed(world).await;
    let bound = who.agent(world).await;
    let (own, others) = (
        Target::bare(world, "web", false).await,
        [
            Target::bare(world, "default", true).await,
            Target::qualified(world, "default").await,
            Target::by_uuid(world, "default").await,
        ],
    );
    let listed = bound.ask("prompts/list", json!({})).await;
    is_clean("prompts/list", &listed);
    for prompt in listed["prompts"].as_array().unwrap() {
        let name = prompt["name"].as_str().unwrap();
        let names: Vec<&str> = prompt["arguments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        if names.is_empty() {
            // What speaks of no item is everybody's.
            continue;
        }
        for (on, is_own) in [(&own, true)]
            .into_iter()
            .chain(others.iter().map(|one| (one, false)))
        {
            let arguments: Value = names
                .iter()
                .map(|name| ((*name).to_owned(), json!(value(name, on))))
                .collect::<serde_json::Map<_, _>>()
                .into();
            let answer = bound
                .request("prompts/get", json!({ "name": name, "arguments": arguments }))
                .await;
            is_clean(&format!("{name} {arguments}"), &answer);
            assert_eq!(is_refused(&answer), !is_own, "{name} {arguments}: {answer}");
        }
        for argument in &names {
            for typed in ["", "TOP", "EP", "REQ-0", "default/"] {
                for project in [None, Some("web"), Some("default")] {
                    let mut params = json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": argument, "value": typed } });
                    if let Some(project) = project {
                        params["context"] = json!({ "arguments": { "project": project } });
                    }
                    let answer = bound.request("completion/complete", params).await;
                    is_clean(&format!("{name}.{argument}"), &answer);
                    assert!(
                        !answer["result"].to_string().contains("default"),
                        "{name}.{argument}: {answer}"
                    );
                }
            }
        }
    }
    // Those a bound token is not told of can be asked for by name.
    let all = addresses(&pair::agent(world, None).await).await;
    for template in all.iter().filter(|one| one.contains('{')) {
        for variable in template
            .split('{')
            .skip(1)
            .map(|part| part.split('}').next().unwrap())
        {
            let params = json!({ "ref": { "type": "ref/resource", "uri": template }, "argument": { "name": variable, "value": "" } });
            is_clean(template, &bound.request("completion/complete", params).await);
        }
    }
}

/// The methods of the protocol and those beside it, each with what could make it speak of the other project.
async fn no_method_tells_of_another_project(world: &World) {
    walk_methods(world, Who::BoundToken).await;
}

async fn no_method_tells_of_a_project_of_others(world: &World) {
    walk_methods(world, Who::Member).await;
}

async fn walk_methods(world: &World, who: Who) {
    pair::seed(world).await;
    let bound = who.agent(world).await;
    let token = who.token(world, &["admin"]).await;
    let before = state(world, "default").await;
    let source = include_str!("../../../mcp-protocol/src/method.rs");
    let table = source
        .split("fn named")
        .nth(1)
        .unwrap()
        .split("_ => return None")
        .next()
        .unwrap();
    let mut methods: Vec<String> = table.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(
        methods.len() > 20 && methods.iter().any(|one| one == "tools/call"),
        "{methods:?}"
    );
    let declared = bound.hello["result"]["capabilities"]["experimental"]
        .as_object()
        .unwrap();
    for family in declared.keys() {
        match family.as_str() {
            "roots" => methods.extend(["roots/list", "roots/add", "roots/remove"].map(str::to_owned)),
            // Offered by the method of the protocol with other parameters.
            "completion/text" => {}
            one if one.contains('/') => methods.push(one.to_owned()),
            other => panic!("the family {other} has no row"),
        }
    }
    let hidden = pair::uuid(world, "default", "REQ-001").await;
    for method in &methods {
        let read = |id: &str| json!({ "tool": "get_item", "arguments": { "id": id } });
        let cases = match method.as_str() {
            // Walked through elsewhere, or they end what is tested here.
            "tools/call"
            | "resources/read"
            | "resources/get"
            | "resources/subscribe"
            | "prompts/get"
            | "completion/complete" => vec![],
            "shutdown" | "subscriptions/listen" => vec![],
            "initialize"
            | "server/discover"
            | "ping"
            | "tools/list"
            | "resources/list"
            | "resources/templates/list"
            | "prompts/list"
            | "tasks/list" => vec![json!({})],
            "requests/cancel" | "cancellation/cancel_request" => vec![json!({ "requestId": "none" })],
            "resources/unsubscribe" => vec![json!({ "uri": format!("requirement://{hidden}") })],
            "logging/setLevel" => vec![json!({ "level": "debug" })],
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                vec![json!({ "taskId": "none" })]
            }
            "prompts/create" => vec![json!({ "name": "mine", "template": "x" })],
            "roots/list" | "roots/add" | "roots/remove" => vec![json!({ "uri": "file:///" })],
            "elicitation/request" => vec![json!({ "prompt": "?", "schema": { "type": "string" } })],
            "sampling/request" => vec![json!({})],
            "batch/execute" => vec![
                json!({ "operations": [read("REQ-001"), read(&hidden)] }),
                json!({ "operations": [read("default/REQ-001")] }),
                json!({ "operations": [{ "tool": "list_relationships", "arguments": { "id": "REQ-001" } }] }),
                json!({ "operations": [{ "tool": "create_epic", "arguments": { "title": "x", "project": "default" } }] }),
                json!({ "operations": [{ "tool": "create_epic", "arguments": { "title": "x" }, "ref": "e" }, { "tool": "update_requirement", "arguments": { "requirement_id": hidden, "priority": 1 } }] }),
            ],
            other => panic!("the method {other} has no row: say what could make it speak of another project"),
        };
        for params in cases {
            is_clean(method, &bound.request(method, params.clone()).await);
            is_clean(method, &stateless(world, &token, method, params).await);
        }
    }
    // A text is completed from texts of one project.
    for text in ["TOPSECRET requi", "TOP"] {
        let answer = bound
            .request(
                "completion/complete",
                json!({ "text": text, "project": "default" }),
            )
            .await;
        assert!(is_refused(&answer), "{answer}");
        let answer = bound
            .request("completion/complete", json!({ "text": text }))
            .await;
        assert!(
            !answer["result"].to_string().replace(text, "").contains("SECRET"),
            "{answer}"
        );
    }
    assert_eq!(
        state(world, "default").await,
        before,
        "nothing of the other project was touched"
    );
}
