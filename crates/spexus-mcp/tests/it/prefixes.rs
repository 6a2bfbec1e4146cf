//! References with the prefix of their project: every tool, address, prompt and completion, where the setting is on.

use crate::agent::Agent;
use crate::isolation::{addresses, filled, tools, value};
use crate::pair;
use crate::rows::{Target, row, with_project};
use crate::world::{World, both};
use serde_json::{Map, Value, json};
use spexus_service::project;
use test_support::references_without;

/// What texts of ours say of references in general.
const EXAMPLES: [&str; 3] = ["REQ-012", "EP-012", "US-003"];

both![
    every_tool_shows_references_as_their_project_has_them,
    every_address_prompt_and_completion_shows_references_as_their_project_has_them,
];

/// Both projects of the pair show prefixes.
async fn prefixed(world: &World) -> Agent {
    pair::seed(world).await;
    for key in ["default", "web"] {
        let on = serde_json::from_value(json!({ "prefix_references": true })).unwrap();
        project::update(&world.service, &world.admin, key, on)
            .await
            .unwrap();
    }
    pair::agent(world, None).await
}

fn is_prefixed(what: &str, answer: &Value) {
    // The ends of lines within texts are no letters before a reference.
    let said = answer.to_string().replace("\\n", " ");
    let plain = references_without(&["WEB", "DEFAULT"], &said);
    let plain: Vec<_> = plain
        .iter()
        .filter(|one| !EXAMPLES.contains(&one.as_str()))
        .collect();
    assert!(plain.is_empty(), "{what} shows {plain:?} plain: {answer}");
}

//= specs/spexus-service.md#projects
//= type=test
//# Where a project asks for it, every answer MUST show the references of its items with its key before them, and MUST take them
//# back in that form.
async fn every_tool_shows_references_as_their_project_has_them(world: &World) {
    let agent = prefixed(world).await;
    let mut shown = 0;
    let targets = [
        Target::after(world, "web", "WEB-").await,
        Target::bare(world, "web", true).await,
    ];
    for tool in tools(&agent).await {
        let name = tool["name"].as_str().unwrap();
        for on in &targets {
            let arguments = with_project(&tool, row(name, on).0, on);
            let params = json!({ "name": name, "arguments": arguments });
            let answer = agent.request("tools/call", params).await;
            let mut said = answer.clone();
            // A refusal repeats what it was asked.
            if on.project.is_some() && (answer["result"]["isError"] == true || answer.get("error").is_some())
            {
                said = json!(null);
            }
            is_prefixed(&format!("{name} {arguments}"), &said);
            shown += usize::from(answer.to_string().contains("WEB-"));
        }
    }
    assert!(shown > 60, "only {shown} answers name an item");
}

async fn every_address_prompt_and_completion_shows_references_as_their_project_has_them(world: &World) {
    let agent = prefixed(world).await;
    let on = Target::after(world, "web", "WEB-").await;
    let mut listed = Vec::new();
    let mut params = json!({});
    loop {
        let page = agent.ask("resources/list", params).await;
        is_prefixed("resources/list", &page);
        listed.extend(page["resources"].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert!(
        listed.iter().any(|one| one["uri"] == "epic://DEFAULT-EP-001"),
        "{listed:?}"
    );
    // What we wrote ourselves speaks of no item.
    for listed in listed
        .iter()
        .filter(|one| !one["uri"].as_str().unwrap().starts_with("skill://"))
    {
        let read = agent.ask("resources/read", json!({ "uri": listed["uri"] })).await;
        is_prefixed(&listed["uri"].to_string(), &read);
    }
    let all = addresses(&agent).await;
    for template in all.iter().filter(|one| one.contains('{')) {
        let (uri, _) = filled(template, &on);
        is_prefixed(&uri, &agent.ask("resources/read", json!({ "uri": uri })).await);
    }
    let prompts = agent.ask("prompts/list", json!({})).await;
    for prompt in prompts["prompts"].as_array().unwrap() {
        let name = prompt["name"].as_str().unwrap();
        let names = prompt["arguments"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|one| one["name"].as_str().unwrap()).collect();
        let arguments: Map<String, Value> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!(value(name, &on))))
            .collect();
        let params = json!({ "name": name, "arguments": arguments });
        is_prefixed(name, &agent.ask("prompts/get", params).await);
        for argument in names.iter().filter(|name| name.ends_with("_id")) {
            for typed in ["", "0", "EP", "REQ-0", "WEB-"] {
                let params = json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": argument, "value": typed } });
                let answer = agent.ask("completion/complete", params).await;
                is_prefixed(&format!("{name}.{argument} {typed}"), &answer);
            }
        }
    }
    // What is completed with the project that is filled in, and what is completed without.
    for (context, found) in [
        (json!({ "arguments": { "project": "web" } }), "WEB-REQ-001"),
        (json!({}), "DEFAULT-REQ-001"),
    ] {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "requirement://{id}" },
            "argument": { "name": "id", "value": "REQ-0" }, "context": context,
        });
        let answer = agent.ask("completion/complete", params).await;
        let values = answer["completion"]["values"].to_string();
        assert!(
            values.contains(&format!("\"{found}")) && !values.contains('/'),
            "{answer}"
        );
    }
}
