//! Every operation of an agent leaves a trace, also those that no handler of ours ever sees.

use super::{Agent, hello};
use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_http::McpOptions;
use std::time::Duration;

/// The details of all operations noted so far, with the programs that did them.
async fn operations(server: &Server) -> Vec<String> {
    server.service.flush().await;
    let page = server
        .get("/api/v1/audit/events?limit=200&event=operation")
        .await
        .ok();
    let line = |event: &Value| {
        format!(
            "{} by {}",
            event["detail"].as_str().unwrap(),
            event["client"].as_str().unwrap()
        )
    };
    page["data"].as_array().unwrap().iter().map(line).collect()
}

on_both![
    lists_levels_and_early_refusals_are_noted,
    a_refused_greeting_is_noted_with_the_client,
];

// proves 003 R12.5
// Found by review (003 R12.5): lists, completions, levels and calls refused before their handler left no trace.
//= specs/spexus-mcp.md#audit
//= type=test
//# What is answered or refused before a handler runs, a refused `initialize` with what the client called itself included, MUST be noted too.
async fn lists_levels_and_early_refusals_are_noted(server: &mut Server) {
    server.seed().await;
    let agent = Agent::connect(server).await;
    for list in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        agent.ask(list, json!({})).await;
    }
    agent.ask("logging/setLevel", json!({ "level": "error" })).await;
    agent
        .ask("resources/subscribe", json!({ "uri": "requirement://REQ-001" }))
        .await;
    agent
        .ask("resources/unsubscribe", json!({ "uri": "requirement://REQ-001" }))
        .await;
    let reference = json!({ "type": "ref/prompt", "name": "analyze_requirement_quality" });
    agent.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "completion/complete", "params": { "ref": reference, "argument": { "name": "requirement_id", "value": "R" } } })).await;
    agent
        .refused("tools/call", json!({ "name": "no_such_tool", "arguments": {} }))
        .await;
    agent
        .refused(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "titel": "misspelt" } }),
        )
        .await;
    agent.refused("no/such/method", json!({})).await;
    let newer = Agent::with(server, &server.token, "2025-11-25", &[]).await;
    newer
        .ask(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "titel": "misspelt" } }),
        )
        .await;
    let noted = operations(server).await;
    for wanted in [
        "tools/list ok",
        "resources/list ok",
        "resources/templates/list ok",
        "prompts/list ok",
        "logging/setLevel error ok",
        "resources/subscribe requirement ok",
        "resources/unsubscribe ok",
        "completion/complete ",
        "tools/call no_such_tool TOOL_NOT_FOUND",
        "tools/call create_epic INVALID_PARAMS",
        "other ",
    ] {
        let found = noted.iter().find(|line| line.starts_with(wanted));
        assert!(
            found.is_some_and(|line| line.ends_with("by exam 1.0")),
            "no {wanted:?} in {noted:#?}"
        );
    }
    let place = |wanted: &str| noted.iter().position(|line| line.starts_with(wanted));
    assert!(
        place("prompts/list") < place("resources/list") && place("resources/list") < place("tools/list"),
        "newest first: {noted:#?}"
    );
    let misspelt: Vec<_> = noted
        .iter()
        .filter(|line| line.starts_with("tools/call create_epic INVALID_PARAMS"))
        .collect();
    assert!(
        misspelt.len() == 2 || misspelt[0].contains("×2"),
        "as an error and as a result: {noted:#?}"
    );
    assert!(
        noted
            .iter()
            .all(|line| !line.contains("titel") && !line.contains("misspelt")),
        "no argument is kept"
    );
}

// Found by review (001 D10): a greeting that was refused left no trace of who had tried.
// proves 001 D10: a refused greeting is noted with what the client called itself
async fn a_refused_greeting_is_noted_with_the_client(server: &mut Server) {
    let mut odd = hello("1999-01-01");
    odd["params"]["clientInfo"] = json!({ "name": "museum\npiece", "version": "0.1" });
    let reply = server
        .send(&server.token, Method::POST, "/mcp", Some(odd), &[])
        .await;
    assert_eq!(reply.body["error"]["code"], -32602, "{}", reply.body);
    let noted = operations(server).await;
    let line = noted
        .iter()
        .find(|line| line.starts_with("initialize 1999-01-01 "));
    assert!(
        line.is_some_and(|line| line.ends_with("by museum piece 0.1") && !line.contains(" ok ")),
        "{noted:?}"
    );
}

//= specs/spexus-mcp.md#audit
//= type=test
//# An operation that was cancelled or ran out of time MUST be noted as such.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ran_out_of_time_is_noted() {
    let options = McpOptions {
        serve_timeout_ms: 300,
        ..McpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::connect(&server).await;
    // Whoever wants to read waits for longer than the call may take.
    let mut held = vec![];
    while let Ok(conn) = tokio::time::timeout(Duration::from_millis(100), server.service.store().read()).await
    {
        held.push(conn.unwrap());
    }
    let late = agent
        .refused("tools/call", json!({ "name": "list_epics", "arguments": {} }))
        .await;
    assert_eq!(late["code"], 1069, "{late}");
    drop(held);
    let noted = operations(&server).await;
    assert!(
        noted
            .iter()
            .any(|line| line.starts_with("tools/call list_epics stopped")),
        "{noted:?}"
    );
    server.stop().await;
}
