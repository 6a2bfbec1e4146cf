//! Subscriptions: a change by anyone reaches those who watch.

use super::Agent;
use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_http::HttpOptions;

const UPDATED: &str = "notifications/resources/updated";

async fn watching(server: &Server, uris: &[&str]) -> (Agent, super::Notices) {
    let agent = Agent::connect(server).await;
    let notices = agent.listen().await;
    for uri in uris {
        agent.ask("resources/subscribe", json!({ "uri": uri })).await;
    }
    (agent, notices)
}

/// The next notice of a resource.
async fn notice_of(notices: &mut super::Notices, uri: &str) -> Value {
    loop {
        let notice = notices.next(UPDATED).await.unwrap();
        if notice["uri"] == uri {
            return notice;
        }
    }
}

both![
    a_change_by_rest_or_another_agent_reaches_a_watcher,
    a_stream_ends_with_its_token,
];

// proves 003 R3.6
//= specs/spexus-mcp.md#changes
//= type=test
//# A change by anyone MUST be told to those who watch a resource it concerns.
async fn a_change_by_rest_or_another_agent_reaches_a_watcher(server: &mut Server) {
    server.seed().await;
    let (_agent, mut notices) = watching(
        server,
        &[
            "requirement://REQ-001",
            "epic://EP-001/hierarchy",
            "requirement://REQ-001/comments",
        ],
    )
    .await;
    server
        .patch("/api/v1/requirements/REQ-001", json!({ "title": "Changed" }))
        .await
        .ok();
    let mut missing = vec!["requirement://REQ-001", "epic://EP-001/hierarchy"];
    while !missing.is_empty() {
        let told = notices.next(UPDATED).await.unwrap();
        assert!(told["timestamp"].is_string() && told["resource_uri"].is_string());
        // What was written just before the subscription may be told, too.
        missing.retain(|uri| told["uri"] != *uri || told["change_type"] != "updated");
    }
    let other = Agent::connect(server).await;
    other
        .call("add_comment", json!({ "id": "REQ-001", "content": "Seen." }))
        .await;
    notice_of(&mut notices, "requirement://REQ-001/comments").await;
    server
        .delete("/api/v1/requirements/REQ-001?force=true")
        .await
        .ok();
    while notice_of(&mut notices, "requirement://REQ-001").await["change_type"] != "deleted" {}
    assert!(
        notices
            .next("notifications/resources/list_changed")
            .await
            .is_some()
    );
    server
        .post(
            "/api/v1/prompts",
            json!({ "name": "p", "messages": [{ "role": "user", "text": "x" }] }),
        )
        .await
        .created();
    assert!(notices.next("notifications/prompts/list_changed").await.is_some());
    assert_eq!(
        notices.next("notifications/capabilities/changed").await.unwrap()["changed"],
        json!(["prompts"])
    );
}

//= specs/spexus-mcp.md#rights
//= type=test
//# A stream MUST end when its token does.
async fn a_stream_ends_with_its_token(server: &mut Server) {
    server.seed().await;
    let made = server
        .post("/api/v1/tokens", json!({ "name": "short" }))
        .await
        .created();
    let agent = Agent::with(server, made["token"].as_str().unwrap(), "2025-06-18", &[]).await;
    let mut notices = agent.listen().await;
    server
        .delete(&format!("/api/v1/tokens/{}", made["id"].as_str().unwrap()))
        .await
        .ok();
    assert!(notices.next(UPDATED).await.is_none());
}

/// Two nodes on one PostgreSQL, a subscriber on each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_one_node_reaches_subscribers_of_both() {
    let Some(one) = Server::on_postgres().await else {
        return;
    };
    let two = Server::second_node(&one, HttpOptions::default()).await;
    one.seed().await;
    let (_first, mut on_one) = watching(&one, &["epic://EP-001"]).await;
    let (_second, mut on_two) = watching(&two, &["epic://EP-001"]).await;
    let (status, _) = two
        .as_token(
            &one.token,
            Method::PATCH,
            "/api/v1/epics/EP-001",
            Some(json!({ "title": "From the second" })),
        )
        .await;
    assert_eq!(status, 200);
    assert_eq!(on_one.next(UPDATED).await.unwrap()["uri"], "epic://EP-001");
    assert_eq!(on_two.next(UPDATED).await.unwrap()["uri"], "epic://EP-001");
    drop((on_one, on_two));
    two.stop().await;
    one.stop().await;
}
