//! Calls, and what the backend says by itself.

use crate::place::{Backend, Host, MEETING, eventually, settings};
use mcp_protocol::ToolResult;
use mcp_server::{Change, Tool};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

// proves 003 R6.3, 003 R6.10, 003 R16.4, 003 R15.3: what is known of the tools outlives the backend
//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# Arguments MUST be checked against the tool's schema before the backend is called, and every wrong field MUST be named.
#[tokio::test]
async fn wrong_arguments_are_refused_without_the_backend() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-06-18").await;
    assert_eq!(
        host.call("echo", json!({ "title": "known" })).await["result"]["content"][0]["text"],
        "known"
    );
    let address = backend.kill().await;
    let wrong = host.call("echo", json!({ "colour": "red" })).await;
    assert_eq!(
        wrong["error"]["code"], -32602,
        "answered although nobody is at {address}: {wrong}"
    );
    let fields: Vec<&str> = wrong["error"]["data"]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["field"].as_str().unwrap())
        .collect();
    assert!(
        fields.contains(&"title") && fields.contains(&"colour"),
        "{fields:?}"
    );
    assert_eq!(wrong["error"]["data"]["refusal"]["code"], 1021);
}

//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# What is known of the tools MUST be kept, and read again when the backend says that it changed.
#[tokio::test]
async fn a_tool_that_changed_is_known_as_it_is_now() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-06-18").await;
    let before = host.call("echo", json!({ "title": "as it was" })).await;
    assert_eq!(before["result"]["content"][0]["text"], "as it was");
    let changing = async {
        loop {
            let schema = json!({ "type": "object", "properties": { "body": { "type": "string" } }, "required": ["body"] });
            let echo = Tool::ready("echo", "Wants something else now.", |_| {
                Ok(ToolResult::text("new"))
            });
            backend.server.replace_tool(echo.input(schema)).unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = host.notice("notifications/tools/list_changed") => {}
        () = changing => {}
    }
    let wrong = host.call("echo", json!({ "title": "as it was" })).await;
    assert_eq!(wrong["error"]["data"]["fields"][0]["field"], "body", "{wrong}");
}

#[tokio::test]
async fn newer_versions_read_wrong_arguments_as_a_result() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let wrong = host.call("echo", json!({})).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    assert_eq!(backend.runs(), 0);
}

// proves 003 R15.2
//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# All calls MUST share one pool of connections, and every call MUST carry the token in its `Authorization` header.
#[tokio::test]
async fn connections_are_used_again() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    for round in 0..50 {
        let title = round.to_string();
        assert_eq!(
            host.call("echo", json!({ "title": title })).await["result"]["content"][0]["text"],
            title
        );
    }
    assert!(
        backend.connections.load(Ordering::SeqCst) <= 4,
        "{}",
        backend.connections.load(Ordering::SeqCst)
    );
}

// proves 003 R15.4
#[tokio::test]
async fn calls_that_wait_for_each_other_all_end() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let mut ids = Vec::new();
    for _ in 0..MEETING {
        ids.push(
            host.start("tools/call", json!({ "name": "meet", "arguments": {} }))
                .await,
        );
    }
    for id in ids {
        let answer = host.answer(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], "met", "{answer}");
    }
}

#[tokio::test]
async fn calls_run_side_by_side_and_each_is_answered_once() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let mut ids = Vec::new();
    for round in 0..200 {
        ids.push(
            host.start(
                "tools/call",
                json!({ "name": "echo", "arguments": { "title": round.to_string() } }),
            )
            .await,
        );
    }
    let mut seen = std::collections::BTreeMap::new();
    while seen.len() < ids.len() {
        let answer = host.find(|message| message.get("result").is_some()).await;
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            seen.insert(answer["id"].as_u64().unwrap(), text).is_none(),
            "answered twice"
        );
    }
    assert!(
        ids.iter()
            .enumerate()
            .all(|(round, id)| seen[id] == round.to_string())
    );
    assert_eq!(backend.runs(), 200);
}

#[tokio::test]
async fn a_call_that_makes_something_gets_a_key_and_keeps_its_own() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let mut keys = Vec::new();
    for _ in 0..2 {
        let made = host.call("keep", json!({ "title": "x" })).await;
        keys.push(made["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert!(keys[0].starts_with("bridge-") && keys[0] != keys[1], "{keys:?}");
    let own = host
        .call("keep", json!({ "title": "x", "idempotency_key": "mine" }))
        .await;
    assert_eq!(own["result"]["content"][0]["text"], "mine");
}

#[tokio::test]
async fn the_backend_asks_the_user_through_the_bridge() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-06-18").await;
    let id = host
        .start("tools/call", json!({ "name": "ask", "arguments": {} }))
        .await;
    let asked = host.notice("elicitation/create").await;
    host.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": { "name": "Maria" } } })).await;
    let answer = host.answer(id).await;
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Maria"),
        "{answer}"
    );
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let params = json!({ "name": "count", "arguments": {}, "_meta": { "progressToken": "t" } });
    let answer = host.request("tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "counted");
    let steps: Vec<&Value> = host
        .kept()
        .filter(|m| m["method"] == "notifications/progress")
        .map(|m| &m["params"]["progress"])
        .collect();
    assert_eq!(steps, [&json!(1.0), &json!(2.0), &json!(3.0)]);
}

//= specs/spexus-bridge.md#messages-in-both-directions
//= type=test
//# A cancelled request MUST be cancelled at the backend and MUST NOT be answered.
#[tokio::test]
async fn a_cancel_reaches_the_backend() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let id = host
        .start("tools/call", json!({ "name": "hang", "arguments": {} }))
        .await;
    eventually("the tool runs", || backend.runs() == 1).await;
    host.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    )
    .await;
    eventually("the tool was cancelled", || backend.runs() == 0).await;
    host.request("ping", json!({})).await;
    assert!(
        host.kept().all(|message| message["id"] != id),
        "{:?}",
        host.kept().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_changed_resource_is_told_to_who_subscribed() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    assert_eq!(
        host.request("resources/subscribe", json!({ "uri": "note://one" }))
            .await["result"],
        json!({})
    );
    let told = async {
        loop {
            backend.server.resource_changed("note://one", Change::Updated);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        heard = host.notice("notifications/resources/updated") => assert_eq!(heard["params"]["uri"], "note://one"),
        () = told => {}
    }
}

//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# A call that only lacks arguments MUST be carried when the host can ask its person for them.
#[tokio::test]
async fn what_a_call_lacks_is_asked_of_the_hosts_person() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let call = host
        .start("tools/call", json!({ "name": "make", "arguments": {} }))
        .await;
    let asked = host.notice("elicitation/create").await;
    let said = json!({ "action": "accept", "content": { "title": "by a person" } });
    host.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }))
        .await;
    assert_eq!(
        host.answer(call).await["result"]["content"][0]["text"],
        "by a person"
    );
    let mut able = modern(json!({ "name": "make", "arguments": {} }));
    able["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    let round = host.request("tools/call", able.clone()).await;
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    able["inputResponses"] = json!({ "make.missing": said });
    able["requestState"] = round["result"]["requestState"].clone();
    let done = host.request("tools/call", able).await;
    assert_eq!(done["result"]["content"][0]["text"], "by a person", "{done}");
    let wrong = host
        .request("tools/call", modern(json!({ "name": "make", "arguments": {} })))
        .await;
    assert_eq!(
        wrong["result"]["isError"], true,
        "who cannot ask is told: {wrong}"
    );
}

//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# A call in whose course the host is asked something MUST wait for the answer, beyond the time a call usually has.
#[tokio::test]
async fn a_person_may_take_longer_than_a_call() {
    let backend = Backend::start().await;
    let settings = spexus_bridge::BridgeSettings {
        request_timeout: Duration::from_millis(300),
        ..settings(backend.address)
    };
    let mut host = Host::greeted(settings, "2025-11-25").await;
    let call = host.start("tools/call", json!({ "name": "ask" })).await;
    let asked = host.notice("elicitation/create").await;
    // A call that began later runs out of its time meanwhile.
    let late = host.call("hang", json!({})).await;
    assert_eq!(late["error"]["code"], 1069, "{late}");
    let said = json!({ "action": "accept", "content": { "name": "Ada" } });
    host.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }))
        .await;
    let answer = host.answer(call).await;
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Ada"),
        "{answer}"
    );
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

// proves 003 R2.6
#[tokio::test]
async fn the_stateless_era_needs_no_hello() {
    let backend = Backend::start().await;
    let mut host = Host::start(settings(backend.address));
    let found = host.request("server/discover", modern(json!({}))).await;
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{found}"
    );
    let answer = host
        .request(
            "tools/call",
            modern(json!({ "name": "echo", "arguments": { "title": "é" } })),
        )
        .await;
    assert_eq!(answer["result"]["content"][0]["text"], "é", "{answer}");
    let read = host
        .request("resources/read", modern(json!({ "uri": "note://one" })))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "text", "{read}");
    let wrong = host
        .request("tools/call", modern(json!({ "name": "echo", "arguments": {} })))
        .await;
    assert_eq!(
        (&wrong["result"]["isError"], &wrong["result"]["resultType"]),
        (&json!(true), &json!("complete")),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_listener_is_opened_again_when_the_backend_comes_back() {
    let backend = Backend::start().await;
    let mut host = Host::start(settings(backend.address));
    let wanted =
        json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["note://one"] } });
    let id = host.start("subscriptions/listen", modern(wanted)).await;
    host.notice("notifications/subscriptions/acknowledged").await;
    backend.server.resource_changed("note://one", Change::Updated);
    let heard = host.notice("notifications/resources/updated").await;
    assert_eq!(
        heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    let address = backend.kill().await;
    let backend = Backend::at(address).await;
    // What may have been missed is told, and what comes after is heard.
    let heard = host.notice("notifications/resources/updated").await;
    assert_eq!(
        heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    host.notice("notifications/tools/list_changed").await;
    backend.server.resource_changed("note://one", Change::Deleted);
    let heard = host
        .find(|message| message["params"]["change_type"] == "deleted")
        .await;
    assert_eq!(heard["params"]["uri"], "note://one");
    host.close();
    assert_eq!(host.answer(id).await["result"]["resultType"], "complete");
    assert!(host.line().await.is_none());
}
