//! Toolsets, the read-only mode, and what a token does not see.

use crate::agent::{Agent, extensions};
use crate::world::{World, both};
use serde_json::json;
use spexus_mcp::{McpOptions, Toolset};

/// Every tool the source documents name.
const NAMED: [&str; 9] = [
    "create_epic",
    "update_epic",
    "create_user_story",
    "update_user_story",
    "create_requirement",
    "update_requirement",
    "create_relationship",
    "search_global",
    "search_requirements",
];

both![
    the_default_list_has_what_was_ordered_and_all_has_everything,
    the_list_fits_the_choice_and_the_token,
    read_only_is_read_only,
    agents_have_a_lean_list_of_their_own,
    an_item_is_called_id_by_every_tool,
    operations_of_a_batch_are_described,
];

// proves 002 Req-Tool-001
//= specs/spexus-mcp.md#tools
//= type=test
//# Without a choice of toolsets every tool the source documents name MUST be listed to those who may use it; `all` MUST list every tool.
async fn the_default_list_has_what_was_ordered_and_all_has_everything(world: &World) {
    let token = world.user("ann", "User").await;
    for token in [&world.token, &token] {
        let listed = Agent::with(world, token, "2025-06-18", &[]).await.tools().await;
        for name in NAMED {
            assert!(listed.contains(&name.to_owned()), "{name}: {listed:?}");
        }
    }
    let agent = Agent::with(world, &world.token, "2025-06-18", &[("x-spexus-toolsets", "all")]).await;
    let mut listed = agent.tools().await;
    let mut registered = world.mcp.server().tool_names();
    listed.sort_unstable();
    registered.sort_unstable();
    assert_eq!(listed, registered, "an administrator may use every tool");
    assert_eq!(registered.len(), spexus_mcp::reference::tools().len());
    // What is not listed stays callable, as far as the rights go.
    let core = Agent::connect(world).await;
    let unlisted = "list_audit_events";
    assert!(!core.tools().await.contains(&unlisted.to_owned()));
    core.call(unlisted, json!({})).await;
}

//= specs/spexus-mcp.md#rights
//= type=test
//# A tool that is outside of the chosen toolsets, or that the token may not use, MUST NOT be listed.
//= specs/spexus-mcp.md#tools
//= type=test
//# The core MUST have at most 25 tools, and its list at most 24 KB.
async fn the_list_fits_the_choice_and_the_token(world: &World) {
    let core = Agent::connect(world).await;
    let list = core.ask("tools/list", json!({})).await;
    let (count, bytes) = (list["tools"].as_array().unwrap().len(), list.to_string().len());
    assert!(count <= 25 && bytes <= 24 * 1024, "{count} tools, {bytes} bytes");
    let chosen = |sets: &'static str| {
        Agent::with(
            world,
            &world.token,
            "2025-06-18",
            Box::leak(Box::new([("x-spexus-toolsets", sets)])),
        )
    };
    let author = chosen("author").await.tools().await;
    let admin = chosen("admin").await.tools().await;
    let all = chosen("all").await.tools().await;
    assert!(author.contains(&"move_item".to_owned()) && !author.contains(&"put_workflow".to_owned()));
    assert!(admin.contains(&"put_workflow".to_owned()) && !admin.contains(&"move_item".to_owned()));
    assert_eq!(
        chosen("Author, ADMIN, agent").await.tools().await.len(),
        all.len()
    );
    assert!(
        core.tools()
            .await
            .iter()
            .all(|name| author.contains(name) && admin.contains(name))
    );

    let token = world.user("kim", "Commenter").await;
    let kim = Agent::with(world, &token, "2025-06-18", &[("x-spexus-toolsets", "all")])
        .await
        .tools()
        .await;
    assert!(kim.contains(&"add_comment".to_owned()) && kim.contains(&"get_item".to_owned()));
    assert!(
        !kim.contains(&"create_epic".to_owned()) && !kim.contains(&"list_audit_events".to_owned()),
        "{kim:?}"
    );
    let wanted = json!({ "name": "reader", "scopes": ["read"] });
    let reader = world.token_of("admin", wanted).await;
    let reader = Agent::with(world, &reader, "2025-06-18", &[]).await.tools().await;
    assert!(!reader.contains(&"add_comment".to_owned()));

    let odd = extensions(world, &world.token, &[("x-spexus-toolsets", "auther")]).await;
    let odd = odd.unwrap_err();
    assert_eq!(odd.code.http_status(), 400, "{odd:?}");
    assert!(format!("{odd:?}").contains("author"), "{odd:?}");
}

//= specs/spexus-mcp.md#rights
//= type=test
//# In read-only mode a tool that writes MUST be refused, whatever the token may do.
async fn read_only_is_read_only(world: &World) {
    world.seed().await;
    let agent = Agent::with(
        world,
        &world.token,
        "2025-06-18",
        &[("x-spexus-read-only", "true"), ("x-spexus-toolsets", "all")],
    )
    .await;
    let list = agent.ask("tools/list", json!({})).await;
    for tool in list["tools"].as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    let refused = agent
        .refused(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "title": "No" } }),
        )
        .await;
    assert_eq!(refused["code"], 1014);
    let refused = agent
        .refused("prompts/create", json!({ "name": "x", "template": "y" }))
        .await;
    assert_eq!(refused["code"], 1014);
    agent.call("get_item", json!({ "id": "EP-001" })).await;
}

#[tokio::test]
async fn what_the_server_is_told_beats_what_a_client_asks_for() {
    let options = McpOptions {
        read_only: true,
        toolsets: vec![Toolset::Author],
        ..McpOptions::default()
    };
    let world = World::with(options).await;
    let agent = Agent::with(
        &world,
        &world.token,
        "2025-06-18",
        &[("x-spexus-read-only", "false")],
    )
    .await;
    let tools = agent.tools().await;
    assert!(tools.contains(&"get_history".to_owned()) && !tools.contains(&"create_epic".to_owned()));
    let refused = agent
        .refused(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "title": "No" } }),
        )
        .await;
    assert_eq!(refused["code"], 1014);
}

//= specs/spexus-mcp.md#tools
//= type=test
//# The toolset `agent` MUST have at most 12 tools, and no others unless another toolset is chosen with it.
async fn agents_have_a_lean_list_of_their_own(world: &World) {
    world.seed().await;
    let chosen = |sets: &'static str| {
        let headers = Box::leak(Box::new([("x-spexus-toolsets", sets)]));
        Agent::with(world, &world.token, "2025-11-25", headers)
    };
    let lean = chosen("agent").await;
    let list = lean.ask("tools/list", json!({})).await;
    let (count, bytes) = (list["tools"].as_array().unwrap().len(), list.to_string().len());
    // A token of these schemas is four bytes and a half; a step of CI counts them.
    assert!(count <= 12 && bytes <= 14_000, "{count} tools, {bytes} bytes");
    let names = lean.tools().await;
    for name in [
        "whoami",
        "search_global",
        "get_context",
        "get_items",
        "create_item",
        "update_item",
        "apply_changes",
    ] {
        assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    assert!(!names.contains(&"create_epic".to_owned()));
    let both = chosen("agent,author").await.tools().await;
    assert!(names.iter().all(|name| both.contains(name)) && both.contains(&"create_epic".to_owned()));
    // What is not listed stays callable.
    lean.call("get_epic", json!({ "epic_id": "EP-001" })).await;
    let found = lean
        .call("get_context", json!({ "id": "REQ-001", "purpose": "test" }))
        .await;
    assert_eq!(found["criteria"][0]["id"], "AC-001");
    let made = json!({ "kind": "requirement", "parent": "US-001", "title": "More", "priority": "P1", "assignee": null });
    let made = lean.call("create_item", made).await;
    let id = made["item"]["reference_id"].clone();
    let patch = json!({ "id": id, "expect_rev": 1, "priority": "high", "acceptance_criterion": "AC-001" });
    assert_eq!(lean.call("update_item", patch).await["item"]["rev"], 2);
    let found = lean
        .call("get_items", json!({ "ids": [id, "EP-001"], "detail": "line" }))
        .await;
    assert_eq!(found["items"][0], "REQ-002 [Draft] P2: More");
}

//= specs/spexus-mcp.md#tools
//= type=test
//# The item a tool is about MUST be accepted as `id`, whatever name the source documents give the argument.
async fn an_item_is_called_id_by_every_tool(world: &World) {
    world.seed().await;
    let agent = Agent::connect(world).await;
    for (tool, id) in [
        ("get_epic", "EP-001"),
        ("get_user_story", "US-001"),
        ("get_acceptance_criteria", "AC-001"),
        ("get_requirement", "REQ-001"),
        ("epic_hierarchy", "EP-001"),
        ("get_user_story_requirements", "US-001"),
    ] {
        agent.call(tool, json!({ "id": id })).await;
    }
    agent.call("get_item", json!({ "item": "EP-001" })).await;
    let changed = agent
        .call(
            "update_requirement",
            json!({ "id": "REQ-001", "expect_rev": 1, "priority": "P2" }),
        )
        .await;
    assert_eq!(changed["item"]["priority"], 2);
    // What something is made in is not the item.
    let refused = agent
        .refused(
            "tools/call",
            json!({ "name": "create_user_story", "arguments": { "id": "EP-001", "title": "No" } }),
        )
        .await;
    assert!(refused.to_string().contains("epic_id"), "{refused}");
    let operations = json!([{ "tool": "get_requirement", "arguments": { "id": "REQ-001" } }]);
    agent
        .ask("batch/execute", json!({ "operations": operations }))
        .await;
}

//= specs/spexus-mcp.md#tools
//= type=test
//# The operations of `apply_changes` MUST be described by a schema with every field they take.
async fn operations_of_a_batch_are_described(world: &World) {
    let agent = Agent::connect(world).await;
    let list = agent.ask("tools/list", json!({})).await;
    let tools = list["tools"].as_array().unwrap();
    let batch = tools.iter().find(|tool| tool["name"] == "apply_changes").unwrap();
    let fields = &batch["inputSchema"]["properties"]["operations"]["items"]["properties"];
    for name in spexus_domain::batch::OPERATIONS {
        assert!(
            fields["op"]["description"].as_str().unwrap().contains(name),
            "{name}"
        );
    }
    // Every field that any operation refuses as unknown is named by those that are allowed.
    for op in [
        json!({ "op": "create", "kind": "epic" }),
        json!({ "op": "update", "id": "EP-001" }),
        json!({ "op": "move", "id": "EP-001" }),
        json!({ "op": "link" }),
        json!({ "op": "comment", "id": "EP-001" }),
    ] {
        let mut odd = op.clone();
        odd["colour"] = json!("red");
        let refused = agent.fails("apply_changes", json!({ "operations": [odd] })).await;
        let faults = refused["fields"].as_array().unwrap();
        let fault = faults
            .iter()
            .find(|one| one["field"] == "operations[0].colour")
            .unwrap();
        let allowed = fault["allowed"].as_str().unwrap().trim_start_matches("one of ");
        let missing: Vec<&str> = allowed
            .split(", ")
            .filter(|name| fields.get(*name).is_none() && !OTHER_NAMES.contains(name))
            .collect();
        assert!(missing.is_empty(), "{op}: {missing:?}");
    }
}

/// Fields that the source documents call otherwise, and what is rarely said.
const OTHER_NAMES: [&str; 14] = [
    "parent_id",
    "epic_id",
    "user_story_id",
    "type_id",
    "acceptance_criterion_id",
    "acceptance_criteria_id",
    "assignee_id",
    "source_id",
    "source_requirement_id",
    "target_id",
    "target_requirement_id",
    "link_type",
    "relationship_type",
    "anchor",
];
