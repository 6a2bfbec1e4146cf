//! Subscriptions: a change by anyone reaches those who watch.

use crate::agent::Agent;
use crate::world::{World, both};
use serde_json::{Value, json};
use spexus_service::account::user;

const UPDATED: &str = "notifications/resources/updated";

/// The next notice of a resource.
async fn notice_of(agent: &Agent, uri: &str) -> Value {
    loop {
        let notice = agent.notice(UPDATED).await;
        if notice["uri"] == uri {
            return notice;
        }
    }
}

both![
    a_change_by_anyone_reaches_a_subscriber,
    what_subscribes_to_nothing_real_is_refused,
];

// proves 003 R3.6
//= specs/spexus-mcp.md#changes
//= type=test
//# A change by anyone MUST be told to those who watch a resource it concerns.
async fn a_change_by_anyone_reaches_a_subscriber(world: &World) {
    world.seed().await;
    let agent = Agent::connect(world).await;
    for uri in [
        "requirement://REQ-001",
        "epic://EP-001/hierarchy",
        "requirement://REQ-001/comments",
    ] {
        agent.ask("resources/subscribe", json!({ "uri": uri })).await;
    }
    world.update("REQ-001", json!({ "title": "Changed" })).await;
    let mut missing = vec!["requirement://REQ-001", "epic://EP-001/hierarchy"];
    while !missing.is_empty() {
        let notice = agent.notice(UPDATED).await;
        assert!(notice["timestamp"].is_string() && notice["resource_uri"].is_string());
        // What was written just before the subscription may be told, too.
        missing.retain(|uri| notice["uri"] != *uri || notice["change_type"] != "updated");
    }
    let other = Agent::connect(world).await;
    let comment = json!({ "id": "REQ-001", "content": "Seen." });
    other.call("add_comment", comment).await;
    notice_of(&agent, "requirement://REQ-001/comments").await;
    world.delete("REQ-001").await;
    while notice_of(&agent, "requirement://REQ-001").await["change_type"] != "deleted" {}
    agent.notice("notifications/resources/list_changed").await;
    let prompt = json!({ "name": "p", "messages": [{ "role": "user", "text": "x" }] });
    world.prompt(prompt).await;
    agent.notice("notifications/prompts/list_changed").await;
    // What changed before was told before.
    let changed = "notifications/capabilities/changed";
    while agent.notice(changed).await["changed"] != json!(["prompts"]) {}
}

async fn what_subscribes_to_nothing_real_is_refused(world: &World) {
    let agent = Agent::connect(world).await;
    let nothing = json!({ "uri": "chapter://1" });
    let error = agent.refused("resources/subscribe", nothing).await;
    assert_eq!(error["code"], -32002);
    // Another role sees other tools, and is told so.
    let secret = world.user("ann", "User").await;
    let all = [("x-spexus-toolsets", "all")];
    let ann = Agent::with(world, &secret, "2025-06-18", &all).await;
    let before = ann.tools().await;
    let patch = serde_json::from_value(json!({ "role": "Administrator" })).unwrap();
    user::update(&world.service, &world.admin, "ann", patch)
        .await
        .unwrap();
    ann.notice("notifications/tools/list_changed").await;
    let after = Agent::with(world, &secret, "2025-06-18", &all).await;
    assert!(after.tools().await.len() > before.len());
    let words = |agent: &Agent| agent.hello["result"]["instructions"].as_str().unwrap().to_owned();
    assert!(words(&after).contains("put_workflow") && !words(&ann).contains("put_workflow"));
}
