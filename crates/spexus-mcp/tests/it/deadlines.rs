//! Time limits of agents: "too late" is the truth.

use crate::agent::Agent;
use crate::world::World;
use serde_json::json;
use spexus_mcp::McpOptions;
use test_support::HeldWriter;

/// Short enough to wait for, and long enough for what is not held up.
fn hurried() -> McpOptions {
    McpOptions {
        serve_timeout_ms: 1_500,
        ..McpOptions::default()
    }
}

// Found by review: a call that was answered "too late" was carried out when the writer was free again.
//= specs/spexus-mcp.md#tools
//= type=test
//# A write that is answered "too late" MUST NOT be carried out afterwards, unless the answer says that its outcome is unknown.
async fn a_1069_is_the_truth(world: &World) {
    let agent = Agent::with(world, &world.token, "2025-11-25", &[]).await;
    agent.call("create_epic", json!({ "title": "before" })).await;
    let held = HeldWriter::by_another_node(&world.location).await;
    let create = |title: &str| json!({ "name": "create_epic", "arguments": { "title": title } });
    let batch = json!({ "operations": [{ "tool": "create_epic", "arguments": { "title": "late batch" } }] });
    let prompt = json!({ "name": "late", "template": "Too late" });
    for (method, params) in [
        ("tools/call", create("late")),
        ("tools/call", create("later")),
        ("batch/execute", batch),
        ("prompts/create", prompt),
    ] {
        let error = agent.refused(method, params).await;
        assert_eq!(error["code"], 1069, "{method}: {error}");
        assert_eq!(error["data"]["outcome"], "nothing_done", "{method}: {error}");
    }
    held.release().await;
    agent.call("create_epic", json!({ "title": "after" })).await;
    let epics = agent.call("list_epics", json!({})).await;
    assert_eq!(epics["total_count"], 2, "{epics}");
    let prompts = agent.ask("prompts/list", json!({})).await;
    assert!(!prompts.to_string().contains("Too late") && !prompts.to_string().contains("\"late\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_1069_is_the_truth_on_sqlite() {
    a_1069_is_the_truth(&World::with(hurried()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_1069_is_the_truth_on_postgres() {
    if let Some(world) = World::on_postgres_with(hurried()).await {
        a_1069_is_the_truth(&world).await;
    }
}
