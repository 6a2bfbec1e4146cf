//! Saying hello, refusing, ending.

use crate::place::{Backend, Host, PATIENCE, hello, settings};
use mcp_server::lines::Ended;
use serde_json::{Value, json};
use spexus_bridge::BridgeSettings;
use std::net::SocketAddr;

/// An address nobody listens on.
fn nowhere() -> SocketAddr {
    "127.0.0.1:1".parse().unwrap()
}

// proves 003 R1.4, 003 R1.5, 003 R2.1, 003 R2.2, 003 R2.4, 003 R2.6, 003 R3.1, 003 R3.2, 003 R3.3, 003 R3.4, 003 R3.5
//= specs/spexus-bridge.md#lifecycle
//= type=test
//# `initialize`, `ping` and `shutdown` MUST be answered by the bridge itself.
#[tokio::test]
async fn every_version_of_the_handshake_is_agreed_on() {
    let backend = Backend::start().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut host = Host::start(settings(backend.address));
        let said = host.request("initialize", hello(version)).await["result"].clone();
        assert_eq!(said["protocolVersion"], version);
        assert_eq!(said["serverInfo"]["name"], "requirements-mcp-server");
        assert_eq!(said["serverInfo"]["version"], "1.0.0");
        assert_eq!(
            said["capabilities"]["resources"],
            json!({ "subscribe": true, "listChanged": true })
        );
        assert_eq!(said["capabilities"]["tools"]["listChanged"], true);
        assert_eq!(said["capabilities"]["prompts"]["listChanged"], true);
        assert_eq!(host.request("ping", json!({})).await["result"], json!({}));
        let again = host.request("initialize", hello(version)).await;
        assert_eq!(again["error"]["code"], -32600, "{again}");
        assert_eq!(backend.server.sessions(), 1);
        // proves 003 R1.8
        assert_eq!(host.request("shutdown", json!({})).await["result"], json!({}));
        assert!(host.line().await.is_none());
        assert_eq!(
            tokio::time::timeout(PATIENCE, host.bridge)
                .await
                .unwrap()
                .unwrap(),
            Ended::InPeace
        );
        assert_eq!(
            backend.server.sessions(),
            0,
            "the session at the backend ends with its host"
        );
    }
}

//= specs/spexus-bridge.md#lifecycle
//= type=test
//# The bridge MUST introduce itself with the same configured name, title and version in both eras.
#[tokio::test]
async fn the_bridge_says_one_name_in_both_eras() {
    let backend = Backend::start().await;
    let own = BridgeSettings {
        name: "acme-requirements".to_owned(),
        title: "Requirements of Acme".to_owned(),
        version: "7.8.9".to_owned(),
        ..settings(backend.address)
    };
    let expected =
        json!({ "name": "acme-requirements", "title": "Requirements of Acme", "version": "7.8.9" });
    let mut host = Host::start(own.clone());
    let said = host.request("initialize", hello("2025-11-25")).await;
    assert_eq!(said["result"]["serverInfo"], expected);
    let mut modern = Host::start(own);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let echo = json!({ "name": "echo", "arguments": { "title": "x" }, "_meta": meta });
    for (method, params) in [
        ("server/discover", json!({ "_meta": meta })),
        ("tools/list", json!({ "_meta": meta })),
        ("tools/call", echo),
    ] {
        let said = modern.request(method, params).await;
        let info = &said["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info, &expected, "{method}: {said}");
    }
}

// proves 003 R1.6, 003 R2.3, 003 R2.5, 003 R2.7
//= specs/spexus-bridge.md#lifecycle
//= type=test
//# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, and the process MUST then exit with 76.
#[tokio::test]
async fn an_unknown_version_ends_the_conversation() {
    let mut host = Host::start(settings(nowhere()));
    let refused = host.request("initialize", hello("1999-01-01")).await["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert_eq!(refused["message"], "version \"1999-01-01\" is not supported");
    assert_eq!(refused["data"]["received_version"], "1999-01-01");
    assert!(
        refused["data"]["supported_versions"]
            .as_array()
            .unwrap()
            .contains(&json!("2025-06-18")),
        "{refused}"
    );
    assert!(host.line().await.is_none());
    let ended = tokio::time::timeout(PATIENCE, host.bridge)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (ended, mcp_server::stdio::exit_status(ended)),
        (Ended::VersionRefused, 76)
    );
}

//= specs/spexus-bridge.md#lifecycle
//= type=test
//# `initialize` MUST be answered also while the backend cannot be reached.
#[tokio::test]
async fn hello_is_said_without_a_backend_and_the_host_hears_when_it_comes() {
    let address = Backend::start().await.kill().await;
    let mut host = Host::start(settings(address));
    let said = host.request("initialize", hello("2025-11-25")).await["result"].clone();
    assert_eq!(said["serverInfo"]["name"], "requirements-mcp-server");
    assert_eq!(said["capabilities"]["resources"]["subscribe"], true);
    assert!(
        said["instructions"]
            .as_str()
            .unwrap()
            .contains("cannot be reached"),
        "{said}"
    );
    host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    let backend = Backend::at(address).await;
    host.notice("notifications/tools/list_changed").await;
    let answer = host.call("echo", json!({ "title": "there" })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "there", "{answer}");
    assert_eq!(backend.runs(), 1);
}

//= specs/spexus-bridge.md#lifecycle
//= type=test
//# Before `initialize` every other request of the handshake era MUST be refused with 1076.
#[tokio::test]
async fn nothing_is_done_before_hello() {
    let mut host = Host::start(settings(nowhere()));
    let early = host.request("tools/list", json!({})).await;
    assert_eq!(early["error"]["code"], 1076, "{early}");
    assert_eq!(host.request("ping", json!({})).await["result"], json!({}));
    let missing = host.request("initialize", json!({})).await;
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    assert_eq!(missing["error"]["data"]["code"], "MALFORMED_REQUEST", "{missing}");
    assert_eq!(
        missing["error"]["data"]["fields"][0]["field"], "protocolVersion",
        "{missing}"
    );
}

// proves 003 R13.6, 003 R16.7
#[tokio::test]
async fn what_is_no_message_is_refused_and_the_next_is_read() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-06-18").await;
    for (text, code, id) in [
        ("nonsense", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":70}", -32600, json!(70)),
        (
            "{\"jsonrpc\":\"1.0\",\"id\":71,\"method\":\"ping\"}",
            -32600,
            json!(71),
        ),
        ("[]", -32600, Value::Null),
        ("5", -32600, Value::Null),
    ] {
        host.send_text(&format!("{text}\n")).await;
        let answer = host.line().await.unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{text}: {answer}"
        );
    }
    let unknown = host.request("no/such/method", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    assert_eq!(
        host.call("echo", json!({ "title": "still here" })).await["result"]["content"][0]["text"],
        "still here"
    );
}

//= specs/spexus-bridge.md#limits
//= type=test
//# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
#[tokio::test]
async fn a_line_that_is_too_long_costs_only_itself() {
    let mut host = Host::start(settings(nowhere()));
    let long = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "x": "y".repeat(1_100_000) } });
    host.send_text(&format!("{{\"id\":9,{}", &long.to_string()[1..]))
        .await;
    let refused = host.line().await.unwrap();
    assert_eq!(
        (&refused["error"]["code"], &refused["id"]),
        (&json!(1068), &json!(9)),
        "{refused}"
    );
    assert_eq!(host.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_batch_is_answered_as_one() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-03-26").await;
    let call = |id: &str, title: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "echo", "arguments": { "title": title } } });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    host.send(&json!([call("a", "one"), note, ping, call("b", "two"), 5]))
        .await;
    let answers = host.find(Value::is_array).await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4, "{answers:?}");
    let of = |id: &str| answers.iter().find(|answer| answer["id"] == id).unwrap().clone();
    assert_eq!(of("a")["result"]["content"][0]["text"], "one");
    assert_eq!(of("b")["result"]["content"][0]["text"], "two");
}

//= specs/spexus-bridge.md#lifecycle
//= type=test
//# A version that is not among the configured ones MUST be treated like one nobody knows.
#[tokio::test]
async fn a_version_that_is_not_offered_is_unknown_in_both_eras() {
    let backend = Backend::start().await;
    let some = BridgeSettings {
        versions: mcp_protocol::OfferedVersions::parse("2025-03-26,2025-06-18").unwrap(),
        ..settings(backend.address)
    };
    let mut host = Host::start(some.clone());
    let refused = host.request("initialize", hello("2025-11-25")).await["error"].clone();
    assert_eq!(refused["code"], -32602);
    assert_eq!(
        refused["data"]["supported_versions"],
        json!(["2025-03-26", "2025-06-18"])
    );
    let mut host = Host::greeted(some, "2025-06-18").await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    for method in ["server/discover", "tools/list"] {
        let refused = host.request(method, json!({ "_meta": meta })).await["error"].clone();
        assert_eq!(refused["code"], -32022, "{refused}");
        assert_eq!(refused["data"]["supported"], json!(["2025-03-26", "2025-06-18"]));
    }
}

#[tokio::test]
async fn a_hello_with_the_id_of_a_running_request_is_refused() {
    let backend = Backend::start().await;
    let mut host = Host::start(settings(backend.address));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let wish = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    let listen = json!({ "jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": wish });
    host.send(&listen).await;
    host.notice("notifications/subscriptions/acknowledged").await;
    let greet = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": hello("2025-11-25") });
    host.send(&greet(7)).await;
    assert_eq!(host.answer(7).await["error"]["code"], -32600);
    host.send(&greet(8)).await;
    assert_eq!(host.answer(8).await["result"]["protocolVersion"], "2025-11-25");
}
