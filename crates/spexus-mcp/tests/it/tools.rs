//! Tools: listed with their schemas, checked before they run, and doing the same as anyone else.

use crate::agent::Agent;
use crate::world::{World, both};
use serde_json::{Value, json};

/// The tools listed to an agent, in full.
async fn listed(agent: &Agent) -> Vec<Value> {
    let list = agent.ask("tools/list", json!({})).await;
    list["tools"].as_array().unwrap().clone()
}

both![
    tools_are_listed_with_all_an_agent_needs,
    arguments_are_checked_before_anything_runs,
    a_tree_is_built_changed_and_linked,
    what_the_rules_forbid_is_told_to_the_model,
    reports_count_and_find_gaps,
    a_whole_tree_comes_in_one_call,
    deleting_shows_first_what_falls_and_can_be_undone,
    an_answer_is_written_once,
    lists_are_short_and_tell_how_to_get_more,
    names_are_told_and_prompts_are_kept,
];

// proves 003 R6.1
// proves 003 R6.2
// proves 003 R6.5
// proves 003 R6.6
// proves 003 R7.1
// proves 003 R7.2
//= specs/spexus-mcp.md#tools
//= type=test
//# Every tool MUST say whether it only reads, may destroy and may be repeated.
//= specs/spexus-mcp.md#tools
//= type=test
//# Every tool MUST have a title, a description, a flat input schema that refuses unknown arguments, and an output schema.
async fn tools_are_listed_with_all_an_agent_needs(world: &World) {
    let agent = Agent::with(world, &world.token, "2025-06-18", &[("x-spexus-toolsets", "all")]).await;
    let tools = listed(&agent).await;
    for name in [
        "create_epic",
        "update_epic",
        "create_user_story",
        "update_user_story",
        "create_requirement",
        "update_requirement",
        "create_relationship",
        "search_global",
        "search_requirements",
    ] {
        assert!(tools.iter().any(|tool| tool["name"] == name), "{name}");
    }
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 40 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert!(
            tool["title"].is_string() && tool["description"].as_str().unwrap().ends_with('.'),
            "{name}"
        );
        let input = &tool["inputSchema"];
        assert_eq!(
            (&input["type"], &input["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{name}"
        );
        for word in ["anyOf", "oneOf", "allOf", "$ref"] {
            assert!(input.get(word).is_none(), "{name}: {word}");
        }
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let hints = &tool["annotations"];
        let reads = hints["readOnlyHint"].as_bool().unwrap();
        assert_eq!(
            reads,
            hints["destructiveHint"].is_null() && hints["idempotentHint"].is_null(),
            "{name}"
        );
    }
    assert_eq!(
        tools.iter().find(|tool| tool["name"] == "delete_item").unwrap()["annotations"]["destructiveHint"],
        true
    );
}

// proves 003 R6.3
// proves 003 R6.10
// proves 003 R13.6
// proves 003 R13.7
// proves 003 R16.4
async fn arguments_are_checked_before_anything_runs(world: &World) {
    world.seed().await;
    let head = world.chain_head().await;
    let agent = Agent::connect(world).await;
    let wrong = [
        ("create_epic", json!({}), "title"),
        ("create_epic", json!({ "title": "A", "colour": "red" }), "colour"),
        (
            "create_requirement",
            json!({ "title": 7, "user_story_id": ["US-001"] }),
            "user_story_id",
        ),
        ("get_item", json!({ "id": "EP-001", "detail": "loud" }), "detail"),
    ];
    for (tool, arguments, field) in wrong {
        let error = agent
            .refused("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await;
        assert_eq!(
            (&error["code"], &error["data"]["refusal"]["code"]),
            (&json!(-32602), &json!(1021)),
            "{error}"
        );
        let named = error["data"]["fields"].to_string();
        assert!(named.contains(field), "{tool} {field}: {named}");
        assert!(!error["data"]["refusal"]["hint"].as_str().unwrap().is_empty());
    }
    assert_eq!(world.chain_head().await, head);
    // The same fault is a result the model can read where the revision says so.
    let newer = Agent::with(world, &world.token, "2025-11-25", &[]).await;
    assert_eq!(
        newer.fails("create_epic", json!({})).await["refusal"]["code"],
        1021
    );
    // What arrives as text is taken for what it says.
    agent
        .call("create_epic", json!({ "title": "Text", "priority": "2" }))
        .await;
    assert_eq!(world.item("EP-002").await["priority"], 2);
}

// proves 003 R6.4
// proves 003 R6.7
// proves 003 R9.8
// proves 003 R10.2
// proves 003 R10.5
// proves 003 R10.7
async fn a_tree_is_built_changed_and_linked(world: &World) {
    let agent = Agent::connect(world).await;
    let epic = agent
        .ask(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "title": "Sign in", "priority": "high" } }),
        )
        .await;
    assert_eq!(epic["content"][0]["text"], "Created EP-001 (rev 1).");
    assert_eq!(epic["structuredContent"]["item"]["reference_id"], "EP-001");
    agent
        .call(
            "create_user_story",
            json!({ "epic_id": "ep-1", "title": "With a passkey", "assignee": "me" }),
        )
        .await;
    agent
        .call(
            "create_acceptance_criteria",
            json!({ "user_story_id": "US-001", "description": "It opens within a second." }),
        )
        .await;
    agent.call("create_requirement", json!({ "user_story_id": "US-001", "title": "Passkeys work", "type": "non-functional", "acceptance_criterion": "AC-001" })).await;
    agent
        .call(
            "create_requirement",
            json!({ "user_story_id": "US-001", "title": "Keys are stored" }),
        )
        .await;
    let linked = agent
        .call(
            "create_relationship",
            json!({ "source": "REQ-001", "target": "REQ-002", "type": "depends_on" }),
        )
        .await;
    assert_eq!(linked["line"], "REQ-001 depends_on REQ-002");
    for (tool, id, value) in [
        ("update_epic", "epic_id", "EP-001"),
        ("update_user_story", "user_story_id", "US-001"),
    ] {
        let changed = agent
            .call(
                tool,
                json!({ id: value, "status": "in progress", "expect_rev": 1 }),
            )
            .await;
        assert_eq!(
            (&changed["item"]["status"], &changed["item"]["rev"]),
            (&json!("In Progress"), &json!(2))
        );
    }
    agent
        .call(
            "update_requirement",
            json!({ "requirement_id": "REQ-001", "status": "Active", "acceptance_criterion": null }),
        )
        .await;
    let kept = world.item("REQ-001").await;
    assert_eq!(
        (&kept["status"], &kept["type"]),
        (&json!("Active"), &json!("Non-Functional"))
    );
    assert!(kept.get("acceptance_criterion").is_none());
    let tree = agent.call("epic_hierarchy", json!({ "epic": "EP-001" })).await;
    let outline = tree["outline"].as_str().unwrap();
    assert!(
        outline.contains("\n  US-001 [In Progress] P3 @admin: With a passkey\n    "),
        "{outline}"
    );
    assert_eq!(tree["total_count"], 5);
    let links = agent.call("list_relationships", json!({ "id": "REQ-002" })).await;
    assert_eq!(links["total_count"], 1);
}

// proves 003 R6.8
// proves 003 R6.9
async fn what_the_rules_forbid_is_told_to_the_model(world: &World) {
    world.seed().await;
    let agent = Agent::connect(world).await;
    let missing = agent.fails("get_item", json!({ "id": "REQ-999" })).await;
    assert_eq!(missing["refusal"]["name"], "RESOURCE_NOT_FOUND");
    let status = agent
        .fails(
            "update_epic",
            json!({ "epic_id": "EP-001", "status": "Finished" }),
        )
        .await;
    assert_eq!(status["refusal"]["code"], 1021);
    assert!(
        status["fields"][0]["allowed"]
            .as_str()
            .unwrap()
            .contains("Backlog"),
        "{status}"
    );
    world.update("EP-001", json!({ "title": "Sign in again" })).await;
    let stale = agent
        .fails(
            "update_epic",
            json!({ "epic_id": "EP-001", "title": "Mine", "expect_rev": 1 }),
        )
        .await;
    assert_eq!(stale["refusal"]["code"], 1053);
    assert!(
        stale["fields"].to_string().contains("admin"),
        "who changed what: {stale}"
    );
    let parent = agent
        .fails(
            "create_requirement",
            json!({ "user_story_id": "EP-001", "title": "Lost" }),
        )
        .await;
    assert!(
        parent["message"].as_str().unwrap().contains("user_story_id"),
        "{parent}"
    );
}

// proves 003 R7.6
// proves 003 R7.7
async fn reports_count_and_find_gaps(world: &World) {
    world.seed().await;
    let agent = Agent::connect(world).await;
    agent
        .call("create_epic", json!({ "title": "Empty", "assignee": "me" }))
        .await;
    agent
        .call(
            "create_user_story",
            json!({ "epic_id": "EP-001", "title": "Bare" }),
        )
        .await;
    agent
        .call(
            "create_requirement",
            json!({ "user_story_id": "US-001", "title": "Second" }),
        )
        .await;
    agent
        .call(
            "create_relationship",
            json!({ "source": "REQ-001", "target": "REQ-002", "type": "relates_to" }),
        )
        .await;
    agent
        .call(
            "update_requirement",
            json!({ "requirement_id": "REQ-002", "title": "Second, changed" }),
        )
        .await;
    let report = agent.call("status_report", json!({})).await;
    assert_eq!(report["total_count"], 7);
    assert_eq!(
        report["kinds"]["epic"],
        json!({ "total": 2, "by_status": { "Backlog": 2 }, "by_assignee": { "admin": 1, "none": 1 } })
    );
    assert_eq!(report["kinds"]["requirement"]["by_type"]["Functional"], 2);
    let below = agent.call("status_report", json!({ "under": "US-001" })).await;
    assert_eq!(below["total_count"], 4);
    let found = agent.call("analyze_hierarchy", json!({})).await["findings"].clone();
    assert_eq!(found["epics_without_stories"]["items"], json!(["EP-002"]));
    assert_eq!(found["stories_without_criteria"]["items"], json!(["US-002"]));
    assert_eq!(
        found["requirements_without_criterion"]["items"],
        json!(["REQ-002"])
    );
    assert_eq!(found["requirements_without_links"]["total_count"], 0);
    assert_eq!(found["suspect_links"]["total_count"], 1, "{found}");
    assert_eq!(found["cycles"]["total_count"], 0);
    let inside = agent
        .call("analyze_hierarchy", json!({ "under": "US-002" }))
        .await;
    assert_eq!(inside["findings"]["suspect_links"]["total_count"], 0);
}

//= specs/spexus-mcp.md#tools
//= type=test
//# A batch MUST be applied whole or not at all, once for each idempotency key.
async fn a_whole_tree_comes_in_one_call(world: &World) {
    let agent = Agent::connect(world).await;
    let operations = json!([
        { "op": "create", "kind": "epic", "title": "Payments", "ref": "e" },
        { "op": "create", "kind": "user_story", "epic_id": "@e", "title": "By card", "ref": "s" },
        { "op": "create", "kind": "acceptance_criterion", "user_story_id": "@s", "description": "A receipt is sent." },
        { "op": "comment", "item": "@s", "content": "Which cards?" },
    ]);
    let trial = agent
        .call(
            "apply_changes",
            json!({ "operations": operations, "dry_run": true }),
        )
        .await;
    assert_eq!(trial["results"].as_array().unwrap().len(), 4);
    assert_eq!(
        agent.call("list_epics", json!({})).await["total_count"],
        0,
        "a trial keeps nothing"
    );
    for _ in 0..2 {
        let done = agent
            .call(
                "apply_changes",
                json!({ "operations": operations, "idempotency_key": "k1" }),
            )
            .await;
        assert_eq!(done["results"][1]["label"], "US-001");
    }
    assert_eq!(
        agent.call("list_epics", json!({})).await["total_count"],
        1,
        "the same key applies once"
    );
    let broken = json!([{ "op": "create", "kind": "epic", "title": "A" }, { "op": "update", "id": "US-999", "title": "B" }]);
    let error = agent
        .fails("apply_changes", json!({ "operations": broken }))
        .await;
    assert!(
        error.to_string().contains("operations[1]") || error["message"].as_str().unwrap().contains("US-999"),
        "{error}"
    );
    assert_eq!(agent.call("list_epics", json!({})).await["total_count"], 1);
    let since = agent.call("changes_since", json!({ "since": "0" })).await;
    assert!(since["changes"].to_string().contains("created US-001"), "{since}");
    let next = agent
        .call("changes_since", json!({ "since": since["next_since"] }))
        .await;
    assert_eq!(next["changes"], json!([]));
}

async fn deleting_shows_first_what_falls_and_can_be_undone(world: &World) {
    world.seed().await;
    let agent = Agent::with(
        world,
        &world.token,
        "2025-06-18",
        &[("x-spexus-toolsets", "author")],
    )
    .await;
    let preview = agent.call("preview_deletion", json!({ "id": "EP-001" })).await;
    assert_eq!(
        (&preview["can_delete"], preview["items"].as_array().unwrap().len()),
        (&json!(false), 3)
    );
    assert_eq!(
        agent.fails("delete_item", json!({ "id": "EP-001" })).await["refusal"]["code"],
        1055
    );
    agent
        .call("delete_item", json!({ "id": "EP-001", "force": true }))
        .await;
    assert_eq!(
        agent.fails("get_item", json!({ "id": "REQ-001" })).await["refusal"]["name"],
        "RESOURCE_NOT_FOUND"
    );
    agent.call("restore_item", json!({ "id": "EP-001" })).await;
    agent
        .call("get_requirement", json!({ "requirement_id": "REQ-001" }))
        .await;
    agent.call("create_epic", json!({ "title": "Other" })).await;
    let moved = agent
        .call("move_item", json!({ "id": "US-001", "parent": "EP-002" }))
        .await;
    assert_eq!(moved["item"]["parent"], "EP-002");
    let history = agent
        .call("get_history", json!({ "id": "US-001", "limit": 1 }))
        .await;
    assert_eq!(history["rows"][0]["fields"], json!(["parent"]));
}

//= specs/spexus-mcp.md#answers
//= type=test
//# The payload of an answer MUST be sent as structured content and as text beside a short sentence; a client that asks for structured content alone MUST be spared the text, and one that knows nothing else MUST be sent the text alone.
//= specs/mcp-server.md#tools
//= type=test
//# A structured result with a short text MUST be sent as text where the revision knows no structured results.
async fn an_answer_is_written_once(world: &World) {
    world.seed().await;
    let call = json!({ "name": "get_item", "arguments": { "id": "AC-001" } });
    let newer = Agent::connect(world).await.ask("tools/call", call.clone()).await;
    let text: Value = serde_json::from_str(newer["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, newer["structuredContent"]);
    assert_eq!(text["item"]["rev"], 1);
    let alone = [("x-spexus-content", "structured")];
    let alone = Agent::with(world, &world.token, "2025-11-25", &alone).await;
    let alone = alone.ask("tools/call", call.clone()).await;
    assert_eq!(alone["content"].as_array().unwrap().len(), 1, "{alone}");
    assert_eq!(alone["structuredContent"]["item"]["rev"], 1);
    let older = Agent::with(world, &world.token, "2025-03-26", &[])
        .await
        .ask("tools/call", call)
        .await;
    assert!(older.get("structuredContent").is_none());
    let payload: Value = serde_json::from_str(older["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(payload["item"]["rev"], 1);
}

//= specs/spexus-mcp.md#answers
//= type=test
//# A row of a list MUST be one line with the id, the status and the title unless more detail is asked for.
//= specs/spexus-mcp.md#answers
//= type=test
//# A list MUST tell how many there are in all, whether it was cut, and how to get the rest.
async fn lists_are_short_and_tell_how_to_get_more(world: &World) {
    let agent = Agent::connect(world).await;
    let long = "word ".repeat(90);
    for _ in 0..3 {
        agent
            .call(
                "create_epic",
                json!({ "title": long, "description": "Much text. ".repeat(50), "assignee": "me" }),
            )
            .await;
    }
    let first = agent.call("list_epics", json!({ "limit": 2 })).await;
    assert_eq!(
        (&first["total_count"], &first["truncated"]),
        (&json!(3), &json!(true))
    );
    for row in first["rows"].as_array().unwrap() {
        let row = row.as_str().unwrap();
        assert!(row.starts_with("EP-00") && row.contains("[Backlog]"), "{row}");
        assert!(
            row.split_whitespace().count() <= 60 && row.chars().count() <= 240,
            "at most 60 tokens: {row}"
        );
    }
    let rest = agent
        .call(
            "list_epics",
            json!({ "limit": 2, "cursor": first["next_cursor"] }),
        )
        .await;
    assert_eq!(
        (rest["rows"].as_array().unwrap().len(), &rest["truncated"]),
        (1, &json!(false))
    );
    let ids = agent.call("list_epics", json!({ "detail": "ids" })).await;
    assert_eq!(ids["rows"].as_array().unwrap().len(), 3);
    assert!(ids["rows"][0].as_str().unwrap().starts_with("EP-"));
    let some = agent
        .call("list_epics", json!({ "fields": "priority,rev", "limit": 1 }))
        .await;
    assert_eq!(some["rows"][0].as_object().unwrap().len(), 3);
    let whole = agent
        .call("list_epics", json!({ "detail": "full", "limit": 1 }))
        .await;
    assert!(whole["rows"][0]["description"].is_string());
}

async fn names_are_told_and_prompts_are_kept(world: &World) {
    let agent = Agent::with(
        world,
        &world.token,
        "2025-06-18",
        &[("x-spexus-toolsets", "author,admin")],
    )
    .await;
    let words = agent.call("list_vocabulary", json!({})).await;
    assert_eq!(
        words["statuses"]["requirement"]["Draft"],
        json!(["Active", "Obsolete"])
    );
    assert!(words["types"].as_array().unwrap().contains(&json!("Functional")));
    let made = agent
        .call(
            "create_prompt",
            json!({ "name": "tester", "content": "Test {{what}}." }),
        )
        .await;
    assert_eq!(made["prompt"]["messages"][0]["text"], "Test {{what}}.");
    agent
        .call("activate_prompt", json!({ "prompt_id": "tester" }))
        .await;
    assert_eq!(
        agent.call("get_active_prompt", json!({})).await["prompt"]["name"],
        "tester"
    );
    agent
        .call(
            "update_prompt",
            json!({ "prompt_id": "tester", "title": "Testing" }),
        )
        .await;
    assert!(
        agent.call("list_prompts", json!({})).await["rows"]
            .to_string()
            .contains("[active] tester: Testing")
    );
    agent
        .call("delete_prompt", json!({ "prompt_id": "tester" }))
        .await;
    agent
        .call(
            "create_steering_document",
            json!({ "title": "House style", "description": "Short." }),
        )
        .await;
    world.seed().await;
    agent
        .call(
            "link_steering_to_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
        )
        .await;
    assert_eq!(
        agent
            .call("get_epic_steering_documents", json!({ "epic_id": "EP-001" }))
            .await["total_count"],
        1
    );
    agent
        .call(
            "unlink_steering_from_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
        )
        .await;
    agent.call("create_baseline", json!({ "name": "v1" })).await;
    agent
        .call(
            "update_epic",
            json!({ "epic_id": "EP-001", "title": "Sign in, changed" }),
        )
        .await;
    let diff = agent.call("diff_baselines", json!({ "from": "v1" })).await;
    assert_eq!(diff["rows"][0]["item"], "EP-001");
    let note = agent
        .call("add_comment", json!({ "id": "REQ-001", "content": "Why?" }))
        .await;
    agent
        .call(
            "update_comment",
            json!({ "comment_id": note["comment"]["id"], "resolved": true }),
        )
        .await;
    assert_eq!(
        agent
            .call("list_comments", json!({ "id": "REQ-001", "resolved": true }))
            .await["total_count"],
        1
    );
    agent.call("verify_history", json!({})).await;
    assert!(
        agent.call("list_users", json!({})).await["rows"]
            .to_string()
            .contains("admin Administrator")
    );
    agent.call("create_project", json!({ "key": "web" })).await;
    assert_eq!(agent.call("list_projects", json!({})).await["total_count"], 2);
}
