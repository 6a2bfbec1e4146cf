//! Sessions kept in the database: two nodes serve them as one.

use super::Agent;
use crate::harness::Server;
use reqwest::Method;
use serde_json::{Value, json};
use spexus_http::HttpOptions;
use std::time::Duration;

const UPDATED: &str = "notifications/resources/updated";

/// Two nodes on one database, with something in it.
async fn two_nodes() -> Option<(Server, Server)> {
    let one = Server::on_postgres().await?;
    let two = Server::second_node(&one, HttpOptions::default()).await;
    one.seed().await;
    Some((one, two))
}

/// What a session is answered: asked again until it is this, for another node hears of it a moment later.
async fn until_status(agent: &Agent, wanted: u16) {
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let asked = async {
        while agent.send(&list).await.status != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asked)
        .await
        .expect("told in time");
}

// proves 002 Req-Proto-010
//= specs/spexus-mcp.md#sessions
//= type=test
//# A session MUST go on at every node of an installation, for the token it was opened with and for no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_at_the_other_node_and_only_for_its_token() {
    let Some((one, two)) = Box::pin(two_nodes()).await else {
        return;
    };
    let made = one
        .post("/api/v1/tokens", json!({ "name": "mine" }))
        .await
        .created();
    let token = made["token"].as_str().unwrap();
    let here = Agent::with(&one, token, "2025-11-25", &[]).await;
    let there = here.at(&two);
    assert_eq!(there.tools().await, here.tools().await);

    // A list that was begun here is finished there.
    for at in 0..120 {
        one.post("/api/v1/epics", json!({ "title": format!("Epic {at}") }))
            .await
            .created();
    }
    let first = here.ask("resources/list", json!({})).await;
    let cursor = first["nextCursor"].as_str().expect("more than one page");
    let rest = there.ask("resources/list", json!({ "cursor": cursor })).await;
    assert!(!rest["resources"].as_array().unwrap().is_empty());

    // Another token of the same person, another person, and nobody.
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(there.with_token(&one.token).send(&list).await.status, 404);
    let ann = one.user("ann", "User").await;
    assert_eq!(there.with_token(&ann).send(&list).await.status, 404);
    assert_eq!(there.with_token("").send(&list).await.status, 401);

    // A token that was revoked opens nothing, and its sessions are over.
    one.delete(&format!("/api/v1/tokens/{}", made["id"].as_str().unwrap()))
        .await
        .ok();
    until_status(&there, 401).await;
    assert_eq!(kept(&one).await, 0, "only the administrator's own are left");
    two.stop().await;
    one.stop().await;
}

/// Sessions in the database that live.
async fn kept(server: &Server) -> i64 {
    let conn = &mut server.service.store().read().await.unwrap();
    let written = spexus_store::mcp_sessions::written_since(conn, 0, Default::default(), 1_000);
    let living = written
        .await
        .unwrap()
        .into_iter()
        .filter(|one| one.state.is_some());
    i64::try_from(living.count()).unwrap()
}

//= specs/spexus-mcp.md#sessions
//= type=test
//# What a client asked one node for MUST be told it by the node it listens to, and what ended at one node MUST end at the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_at_one_node_is_told_by_the_other() {
    let Some((one, two)) = Box::pin(two_nodes()).await else {
        return;
    };
    let here = Agent::connect(&one).await;
    let there = here.at(&two);
    let mut notices = here.listen().await;
    // Asked at both in turn, without a pause.
    let rooms = ["", "/requirements", "/comments", "/relationships", "/history"];
    for (at, room) in rooms.iter().enumerate() {
        let agent = if at % 2 == 0 { &here } else { &there };
        agent
            .ask(
                "resources/subscribe",
                json!({ "uri": format!("user-story://US-001{room}") }),
            )
            .await;
    }
    there
        .call("add_comment", json!({ "id": "US-001", "content": "Heard." }))
        .await;
    let mut missing = vec!["user-story://US-001/comments", "user-story://US-001/history"];
    while !missing.is_empty() {
        let told = notices.next(UPDATED).await.unwrap();
        missing.retain(|uri| told["uri"] != *uri);
    }
    for round in 0..5 {
        // Asked there, changed there at once, told here.
        let uri = if round % 2 == 0 {
            "epic://EP-001"
        } else {
            "epic://EP-001/hierarchy"
        };
        there.ask("resources/subscribe", json!({ "uri": uri })).await;
        there
            .call(
                "update_epic",
                json!({ "epic_id": "EP-001", "title": format!("Round {round}") }),
            )
            .await;
        while notices.next(UPDATED).await.unwrap()["uri"] != uri {}
        there.ask("resources/unsubscribe", json!({ "uri": uri })).await;
    }
    assert_eq!(
        there.request_to(Method::DELETE).send().await.unwrap().status(),
        204
    );
    until_status(&here, 404).await;
    assert!(notices.next("no/such").await.is_none(), "the stream ends");
    two.stop().await;
    one.stop().await;
}

// proves 002 Req-Proto-011
//= specs/spexus-mcp.md#sessions
//= type=test
//# A client that was told of another history, or was away for long, MUST be told that everything it watches may have changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_missed_too_much_is_told_that_everything_may_have_changed() {
    let server = Server::on_sqlite().await;
    server.seed().await;
    let operations = |from: usize| -> Vec<Value> {
        let create = |at| json!({ "op": "create", "kind": "epic", "title": format!("Epic {at}") });
        (from..from + 500).map(create).collect()
    };
    for from in (0..3_000).step_by(500) {
        server
            .post("/api/v1/batch", json!({ "operations": operations(from) }))
            .await
            .ok();
    }
    let agent = Agent::connect(&server).await;
    agent
        .ask("resources/subscribe", json!({ "uri": "epic://EP-001" }))
        .await;
    // The last it saw was told by a process that is gone, before anything happened.
    let mut notices = agent.listen_after("99-1-0").await;
    assert_eq!(notices.next(UPDATED).await.unwrap()["uri"], "epic://EP-001");
    assert!(notices.next("notifications/tools/list_changed").await.is_some());
    drop(notices);
    server.stop().await;
}
