//! A project that is named is obeyed: by every tool, prompt and address that takes one.

use crate::pair::{self, SECRET, WEB};
use crate::rows::{Scope, Target, in_order, row, takes_project, with_project};
use crate::world::{World, both};
use serde_json::{Value, json};
use std::collections::BTreeSet;

both![
    a_project_that_is_named_is_the_only_one_touched,
    a_reference_behind_its_project_and_a_slash_means_that_item,
    a_reference_behind_its_project_and_a_dash_means_that_item,
    a_prompt_is_about_the_project_it_was_given,
    what_was_left_out_leaves_no_hole,
    an_address_means_its_own_project,
    completion_stays_in_the_project_that_is_filled_in,
    a_value_that_means_nothing_is_refused_by_its_name,
    a_watched_list_is_that_of_what_its_filters_name,
];

// Found by review: the list was read from one project, and news were those of another.
//= specs/spexus-mcp.md#changes
//= type=test
//# Whoever watches a list or a search MUST be told of the project it is read from, be it named or that of what its filters name.
async fn a_watched_list_is_that_of_what_its_filters_name(world: &World) {
    pair::seed(world).await;
    let agent = pair::agent(world, None).await;
    let lists = [
        "user-stories://list?epic_id=web/EP-001",
        "requirements://list?under=web/EP-001",
        "requirements://search?query=requirement&under=web/EP-001",
    ];
    let last = "requirements://epics?project=web";
    for uri in lists.into_iter().chain([last]) {
        agent.ask("resources/subscribe", json!({ "uri": uri })).await;
    }
    let change = async |project: &str, reference: &str| {
        let fields = json!({ "title": format!("changed at {}", world.chain_head().await) });
        world.update(&format!("{project}/{reference}"), fields).await;
    };
    let mut told = Vec::new();
    for project in ["default", "web"] {
        change(project, "US-001").await;
        change(project, "REQ-001").await;
        // What is told after this was changed after it.
        change("web", "EP-001").await;
        let mut heard = BTreeSet::new();
        let wanted = if project == "web" { lists.len() + 1 } else { 1 };
        while !heard.contains(last) || heard.len() < wanted {
            let notice = agent.notice("notifications/resources/updated").await;
            heard.insert(notice["uri"].as_str().unwrap().to_owned());
        }
        heard.remove(last);
        told.push(heard);
    }
    // A search may find an epic, too: its change is one of the project.
    told[0].remove(lists[2]);
    assert_eq!(told, [BTreeSet::new(), BTreeSet::from(lists.map(str::to_owned))]);
}

//= specs/spexus-mcp.md#tools
//= type=test
//# A `project` that a tool takes MUST be the only one it reads or changes.
//= specs/spexus-mcp.md#tools
//= type=test
//# An argument that is accepted MUST be used, and a value that means nothing MUST be refused with what is allowed.
async fn a_project_that_is_named_is_the_only_one_touched(world: &World) {
    pair::seed(world).await;
    let agent = pair::agent(world, None).await;
    let before = world.changes("default").await;
    let listed = agent.ask("tools/list", json!({})).await;
    let web = Target::bare(world, "web", true).await;
    let mut walked = 0;
    for tool in &in_order(listed["tools"].as_array().unwrap()) {
        let name = tool["name"].as_str().unwrap();
        let (arguments, scope) = row(name, &web);
        let mut odd = arguments.clone();
        odd["no_such_argument"] = json!(1);
        let refused = agent
            .request("tools/call", json!({ "name": name, "arguments": odd }))
            .await;
        assert!(
            refused.to_string().contains("no_such_argument") && refused["result"]["isError"] == true,
            "{name}: {refused}"
        );
        if !takes_project(tool) || scope == Scope::Hopeless {
            continue;
        }
        walked += 1;
        let mut nowhere = arguments.clone();
        nowhere["project"] = json!("nowhere");
        let refused = agent
            .request("tools/call", json!({ "name": name, "arguments": nowhere }))
            .await;
        assert!(
            refused["result"]["isError"] == true || refused.get("error").is_some(),
            "{name}: {refused}"
        );
        let answer = agent
            .request(
                "tools/call",
                json!({ "name": name, "arguments": with_project(tool, arguments, &web) }),
            )
            .await;
        assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
        // The link that leads over there is shown by its ends' names, nothing else is.
        assert!(
            ["preview_deletion", "get_context", "next_work"].contains(&name)
                || !answer.to_string().contains(SECRET),
            "{name}: {answer}"
        );
    }
    assert!(walked > 35, "{walked} tools take a project");
    assert_eq!(
        world.changes("default").await,
        before,
        "nothing happened in the other project"
    );
}

async fn a_reference_behind_its_project_and_a_slash_means_that_item(world: &World) {
    every_tool_and_prompt_takes(world, "Web/").await;
}

async fn a_reference_behind_its_project_and_a_dash_means_that_item(world: &World) {
    every_tool_and_prompt_takes(world, "WEB-").await;
}

/// Every tool that takes references, and every prompt, called with what stands before them.
//= specs/spexus-service.md#projects
//= type=test
//# A reference id with the key of a project before it, after a slash or a dash and in any letter case, MUST mean that
//# project's item wherever an id is taken.
async fn every_tool_and_prompt_takes(world: &World, prefix: &str) {
    pair::seed(world).await;
    let agent = pair::agent(world, None).await;
    let before = world.changes("default").await;
    let web = Target::after(world, "web", prefix).await;
    let listed = agent.ask("tools/list", json!({})).await;
    let mut walked = 0;
    for tool in &in_order(listed["tools"].as_array().unwrap()) {
        let name = tool["name"].as_str().unwrap();
        let (arguments, scope) = row(name, &web);
        // A baseline has a name, and is no item.
        if scope != Scope::Items || name == "diff_baselines" {
            continue;
        }
        walked += 1;
        let call = json!({ "name": name, "arguments": arguments });
        let answer = agent.request("tools/call", call).await;
        assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
        assert!(
            ["preview_deletion", "get_context", "next_work"].contains(&name)
                || !before_links(&answer).contains(SECRET),
            "{name}: {answer}"
        );
    }
    assert!(walked > 25, "{walked} tools take references");
    assert_eq!(
        world.changes("default").await,
        before,
        "nothing happened in the other project"
    );
    let prompts = agent.ask("prompts/list", json!({})).await;
    let mut walked = 0;
    for prompt in prompts["prompts"].as_array().unwrap() {
        let mut arguments = json!({});
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            let reference = match argument["name"].as_str().unwrap() {
                "epic_id" => "EP-001",
                "user_story_id" => "US-001",
                "requirement_id" => "REQ-001",
                "acceptance_criteria_id" => "AC-001",
                name if argument["required"] == true => {
                    arguments[name] = json!("something");
                    continue;
                }
                _ => continue,
            };
            arguments[argument["name"].as_str().unwrap()] = json!(web.id(reference));
        }
        if !arguments.to_string().contains(prefix) {
            continue;
        }
        walked += 1;
        let name = &prompt["name"];
        let got = agent
            .request("prompts/get", json!({ "name": name, "arguments": arguments }))
            .await;
        assert!(got["result"].is_object(), "{name}: {got}");
        assert!(!before_links(&got).contains(SECRET), "{name}: {got}");
    }
    assert!(walked > 3, "{walked} prompts take references");
}

/// What a prompt says before its list of links: there the link that leads over there stands with the name of its other end.
fn before_links(answer: &Value) -> String {
    let text = answer.to_string();
    text.split("## Links").next().unwrap_or_default().to_owned()
}

//= specs/spexus-mcp.md#prompts
//= type=test
//# Every prompt about an item MUST take the project the item is of, and MUST refuse an argument it does not know.
//= specs/mcp-server.md#prompts
//= type=test
//# An argument a prompt does not have MUST be refused, not ignored.
async fn a_prompt_is_about_the_project_it_was_given(world: &World) {
    pair::seed(world).await;
    let agent = pair::agent(world, None).await;
    let get = async |arguments: Value| {
        agent
            .request(
                "prompts/get",
                json!({ "name": "analyze_requirement_quality", "arguments": arguments }),
            )
            .await
    };
    let web = get(json!({ "requirement_id": "REQ-001", "project": "web" })).await;
    assert!(web.to_string().contains(&format!("{WEB} requirement")), "{web}");
    let uri = web["result"]["messages"][1]["content"]["resource"]["uri"]
        .as_str()
        .unwrap();
    assert_eq!(
        agent.read(uri).await["title"],
        format!("{WEB} requirement"),
        "{uri}"
    );
    let other = get(json!({ "requirement_id": "REQ-001", "project": "default" })).await;
    assert!(
        other.to_string().contains(&format!("{SECRET} requirement")),
        "{other}"
    );
    let unclear = get(json!({ "requirement_id": "REQ-001" })).await;
    assert!(
        unclear["error"].to_string().contains("web/REQ-001")
            && unclear["error"].to_string().contains("default/REQ-001"),
        "{unclear}"
    );
    let odd = get(json!({ "requirement_id": "web/REQ-001", "colour": "red" })).await;
    assert_eq!(odd["error"]["data"]["fields"][0]["field"], "colour", "{odd}");
}

//= specs/spexus-mcp.md#prompts
//= type=test
//# A prompt MUST say nothing of an optional argument that was left out.
async fn what_was_left_out_leaves_no_hole(world: &World) {
    world.seed().await;
    let agent = pair::agent(world, None).await;
    let get = async |name: &str, arguments: Value| {
        let got = agent
            .ask("prompts/get", json!({ "name": name, "arguments": arguments }))
            .await;
        got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    for (name, arguments, optional, sentence) in [
        (
            "decompose_epic",
            json!({ "epic_id": "EP-001" }),
            "max_stories",
            "at most this many: 7.",
        ),
        (
            "generate_user_story",
            json!({ "epic_id": "EP-001", "need": "rest" }),
            "role",
            "It is needed by: 7.",
        ),
        (
            "suggest_acceptance_criteria",
            json!({ "user_story_id": "US-001" }),
            "focus",
            "Pay most attention to: 7.",
        ),
    ] {
        let without = get(name, arguments.clone()).await;
        assert!(
            !without.contains(": .") && !without.contains('{') && !without.contains(&sentence[..12]),
            "{without}"
        );
        let mut with = arguments;
        with[optional] = json!("7");
        assert!(get(name, with).await.contains(sentence), "{name}");
    }
}

async fn an_address_means_its_own_project(world: &World) {
    pair::seed(world).await;
    let agent = pair::agent(world, None).await;
    for uri in [
        "requirement://WEB-REQ-001",
        "requirement://web-req-1",
        "requirement://web/WEB-REQ-001",
        "requirement://web/REQ-001",
        "requirement://REQ-001?project=web",
        "requirement://web/REQ-001?project=web",
    ] {
        assert_eq!(
            agent.read(uri).await["title"],
            format!("{WEB} requirement"),
            "{uri}"
        );
    }
    for part in ["hierarchy", "user-stories", "comments", "history"] {
        let (scheme, reference) = if part == "comments" {
            ("requirement", "REQ-001")
        } else {
            ("epic", "EP-001")
        };
        let uri = format!("{scheme}://web/{reference}/{part}");
        assert!(!agent.read(&uri).await.to_string().contains(SECRET), "{uri}");
    }
    let unclear = agent
        .refused("resources/read", json!({ "uri": "requirement://REQ-001" }))
        .await;
    assert!(
        unclear.to_string().contains("web/REQ-001") && unclear.to_string().contains("default/REQ-001"),
        "{unclear}"
    );
    let unclear = agent
        .refused("resources/subscribe", json!({ "uri": "requirement://REQ-001" }))
        .await;
    assert!(unclear.to_string().contains("web/REQ-001"), "{unclear}");
    for (uri, word) in [
        ("requirement://web/REQ-001?project=default", "project"),
        ("requirement://web/REQ-001?colour=red", "colour"),
        ("requirements://types?project=web", "project"),
    ] {
        let refused = agent.refused("resources/read", json!({ "uri": uri })).await;
        assert_eq!(refused["data"]["fields"][0]["field"], word, "{refused}");
    }
    // What is listed can be read.
    let mut listed = agent.ask("resources/list", json!({})).await;
    while let Some(cursor) = listed.get("nextCursor").cloned() {
        listed = agent.ask("resources/list", json!({ "cursor": cursor })).await;
        for one in listed["resources"].as_array().unwrap() {
            agent.read(one["uri"].as_str().unwrap()).await;
        }
    }
}

//= specs/spexus-mcp.md#completion
//= type=test
//# An id MUST be completed from the project that is filled in already, and with its project where it may mean several.
async fn completion_stays_in_the_project_that_is_filled_in(world: &World) {
    pair::seed(world).await;
    let second = json!({ "title": "Second", "project": "web" });
    world.create("epic", second).await;
    let agent = pair::agent(world, None).await;
    let values = async |argument: &str, value: &str, context: Value| {
        let params = json!({ "ref": { "type": "ref/prompt", "name": "decompose_epic" }, "argument": { "name": argument, "value": value }, "context": { "arguments": context } });
        agent.ask("completion/complete", params).await["completion"]["values"]
            .as_array()
            .unwrap()
            .clone()
    };
    assert_eq!(
        values("epic_id", "EP-002", json!({ "project": "web" })).await[0],
        "EP-002"
    );
    assert_eq!(
        values("epic_id", WEB, json!({ "project": "web" })).await[0],
        "EP-001"
    );
    assert_eq!(values("epic_id", "", json!({})).await, ["default/EP-001"]);
    let keys = values("project", "", json!({})).await;
    assert!(
        keys.contains(&json!("web")) && keys.contains(&json!("default")),
        "{keys:?}"
    );
}

async fn a_value_that_means_nothing_is_refused_by_its_name(world: &World) {
    world.seed().await;
    let agent = pair::agent(world, None).await;
    let field = async |tool: &str, arguments: Value| agent.fails(tool, arguments).await["fields"][0].clone();
    let odd = field("update_epic", json!({ "epic_id": "EP-001", "priority": "P9" })).await;
    assert_eq!(odd["field"], "priority", "{odd}");
    let done = agent
        .call("update_epic", json!({ "epic_id": "EP-001", "priority": "P1" }))
        .await;
    assert_eq!(done["item"]["priority"], 1, "as it stands in lists: {done}");
    let odd = field("list_epics", json!({ "fields": "title,nonsense" })).await;
    assert_eq!(odd["field"], "fields");
    assert!(odd["allowed"].as_str().unwrap().contains("title"), "{odd}");
    assert_eq!(
        field("list_epics", json!({ "limit": -1 })).await["field"],
        "limit"
    );
    assert_eq!(
        field("epic_hierarchy", json!({ "epic": "EP-001", "depth": -1 })).await["field"],
        "depth"
    );
    let first = json!({ "operations": [{ "op": "update", "id": "@none", "priority": 1 }] });
    let odd = field("apply_changes", first).await;
    assert!(!odd["allowed"].as_str().unwrap().ends_with(": "), "{odd}");
    // What is again as it was is no difference.
    let rev = agent.call("create_epic", json!({ "title": "Kept" })).await["item"]["rev"].clone();
    agent.call("delete_item", json!({ "id": "EP-002" })).await;
    agent.call("restore_item", json!({ "id": "EP-002" })).await;
    let stale = agent
        .fails(
            "update_epic",
            json!({ "epic_id": "EP-002", "title": "Mine", "expect_rev": rev }),
        )
        .await;
    assert_eq!(stale["refusal"]["name"], "STALE_REVISION");
    assert_eq!(stale["fields"].as_array().map_or(0, Vec::len), 0, "{stale}");
    let odd = field("get_item", json!({ "id": "EP-001", "text": "x" })).await;
    assert!(
        odd["allowed"].as_str().unwrap().contains("detail"),
        "what is known is told: {odd}"
    );
}
