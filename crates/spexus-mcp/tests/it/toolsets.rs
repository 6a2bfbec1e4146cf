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
    assert_eq!(chosen("Author, ADMIN").await.tools().await.len(), all.len());
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
