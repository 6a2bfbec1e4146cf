//! Saying hello in both eras, and saying goodbye.

use std::sync::Arc;

use mcp_protocol::{ToolResult, Version};
use mcp_server::lines::Ended;
use mcp_server::{
    Context, CustomMethod, Info, Instructions, Server, Settings, Stop, Tool, VersionMismatch, stdio,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Client, Log, codes, refusal, server, server_with};

// proves 000 R4.5, 002 Req-Cap-001
//= specs/mcp-server.md#lifecycle
//= type=test
//# The server MUST declare exactly the families it serves, and every family outside MCP with a semantic version.
#[tokio::test]
async fn what_is_declared_is_served_and_what_is_not_is_unknown() {
    let mut client = Client::silent(&server());
    let answer = client.initialize("2025-06-18", json!({ "roots": {} })).await;
    let capabilities = &answer["result"]["capabilities"];
    for family in ["tools", "resources", "prompts"] {
        assert_eq!(capabilities[family]["listChanged"], true, "{answer}");
        assert!(client.request(&format!("{family}/list"), json!({})).await["result"].is_object());
    }
    assert_eq!(capabilities["resources"]["subscribe"], true);
    assert!(capabilities["logging"].is_object() && capabilities["completions"].is_object());
    assert_eq!(answer["result"]["serverInfo"]["name"], "test");

    let mut bare = Client::silent(&server_with(|s| {
        s.offers.prompts = false;
        s.offers.resources = false;
        s.offers.logging = false;
    }));
    let answer = bare.initialize("2025-06-18", json!({})).await;
    let capabilities = answer["result"]["capabilities"].as_object().unwrap();
    assert!(!capabilities.contains_key("prompts") && !capabilities.contains_key("resources"));
    for method in [
        "prompts/list",
        "resources/list",
        "logging/setLevel",
        "prompts/create",
    ] {
        assert_eq!(
            codes(&bare.request(method, json!({})).await).0,
            -32601,
            "{method}"
        );
    }
}

// proves 002 Req-Cap-002
//= specs/mcp-server.md#lifecycle
//= type=test
//# A family outside MCP of which the client speaks another major version MUST be neither declared nor served to it, and the log MUST say so.
#[tokio::test]
async fn a_family_the_client_speaks_another_major_version_of_is_hidden_from_it() {
    let server = server_with(|s| {
        s.experimental = vec![
            ("apps".into(), "1.2.0".into()),
            ("batch/execute".into(), "1.0.0".into()),
        ];
    });
    for name in ["apps/list", "batch/execute"] {
        server.add_method(CustomMethod::new(name, |_: Context, _: Value| async {
            Ok::<_, Stop>(json!({}))
        }));
    }
    let (log, _guard) = Log::start();
    let naming = |version: &str| json!({ "experimental": { "apps": { "version": version } } });
    for (capabilities, there) in [
        (naming("2.0.0"), false),
        (naming("0.9.0"), false),
        (naming("1.0.0"), true),
        (naming("1.99.0"), true),
        (json!({}), true),
        (json!({ "experimental": { "apps": {} } }), true),
    ] {
        let mut client = Client::silent(&server);
        let hello = client.initialize("2025-11-25", capabilities.clone()).await;
        let declared = &hello["result"]["capabilities"]["experimental"];
        assert_eq!(declared.get("apps").is_some(), there, "{capabilities}: {hello}");
        assert!(
            declared.get("batch/execute").is_some(),
            "another family is not concerned"
        );
        let called = client.request("apps/list", json!({})).await;
        assert_eq!(called.get("result").is_some(), there, "{capabilities}: {called}");
        let said = log.take();
        assert_eq!(
            said.contains("another version") && said.contains("apps"),
            !there,
            "{said}"
        );
        if !there {
            assert_eq!(called["error"]["code"], -32601);
        }
        assert!(
            client
                .request("batch/execute", json!({}))
                .await
                .get("result")
                .is_some()
        );
        let found = client
            .stateless("server/discover", json!({}), capabilities.clone())
            .await;
        let declared = &found["result"]["capabilities"]["experimental"];
        assert_eq!(declared.get("apps").is_some(), there, "{capabilities}: {found}");
        let called = client
            .stateless("apps/list", json!({}), capabilities.clone())
            .await;
        assert_eq!(called.get("result").is_some(), there, "{capabilities}: {called}");
        log.take();
    }
}

// proves 002 Req-Cap-002
#[tokio::test]
async fn families_outside_the_protocol_carry_a_semantic_version() {
    let server = server_with(|s| {
        s.experimental = vec![("apps".into(), "1.2.0".into())];
        s.offers.prompt_creation = true;
    });
    let mut client = Client::silent(&server);
    let answer = client.initialize("2025-11-25", json!({})).await;
    let families = answer["result"]["capabilities"]["experimental"]
        .as_object()
        .unwrap();
    assert_eq!(families["apps"]["version"], "1.2.0");
    for (name, family) in families {
        let version = family["version"].as_str().unwrap();
        assert_eq!(
            version
                .split('.')
                .filter(|part| part.parse::<u32>().is_ok())
                .count(),
            3,
            "{name} {version}"
        );
    }
}

// proves 002 Req-Cap-003
//= specs/mcp-server.md#lifecycle
//= type=test
//# A capability the server does not know MUST be ignored and MUST NOT fail the connection.
#[tokio::test]
async fn unknown_capabilities_of_a_client_are_ignored() {
    let mut client = Client::silent(&server());
    let strange = json!({ "telepathy": { "range": 5 }, "sampling": 7, "extensions": { "x/y": [] } });
    assert_eq!(
        client.initialize("2025-11-25", strange).await["result"]["protocolVersion"],
        "2025-11-25"
    );
    assert!(client.request("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn every_published_version_of_the_handshake_is_agreed_on() {
    for version in Version::names() {
        let mut client = Client::silent(&server());
        let agreed = client.initialize(version, json!({})).await["result"]["protocolVersion"].clone();
        let expect = if version == "2026-07-28" {
            "2025-11-25"
        } else {
            version
        };
        assert_eq!(agreed, expect);
    }
}

//= specs/mcp-server.md#versions
//= type=test
//# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, unless the server is set to negotiate.
#[tokio::test]
async fn an_unknown_version_is_refused_and_ends_the_connection_or_is_negotiated() {
    let mut client = Client::silent(&server());
    let answer = client.initialize("1999-01-01", json!({})).await;
    assert_eq!(codes(&answer), (-32602, 1027));
    let data = &answer["error"]["data"];
    assert_eq!(data["code"], "INVALID_PROTOCOL_VERSION");
    assert_eq!(
        (&data["received_version"], &data["requested"]),
        (&json!("1999-01-01"), &json!("1999-01-01"))
    );
    assert_eq!(data["supported"], json!(Version::names()));
    assert_eq!(data["supported_versions"], data["supported"]);
    let (rest, ended) = client.finish().await;
    assert_eq!((rest, stdio::exit_status(ended)), (vec![], 76));

    let mut lenient = Client::silent(&server_with(|s| s.version_mismatch = VersionMismatch::Negotiate));
    assert_eq!(
        lenient.initialize("1999-01-01", json!({})).await["result"]["protocolVersion"],
        "2025-11-25"
    );
}

// proves 002 Req-Proto-014
//= specs/mcp-server.md#lifecycle
//= type=test
//# Before `initialize` every request of the handshake era other than `initialize` and `ping` MUST be refused with 1076.
#[tokio::test]
async fn nothing_but_ping_is_served_before_hello() {
    let mut client = Client::silent(&server());
    client.notify("notifications/initialized", json!({})).await;
    for method in ["tools/list", "tools/call", "resources/list", "no/such/method"] {
        assert_eq!(
            codes(&client.request(method, json!({})).await),
            (1076, 1076),
            "{method}"
        );
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    assert!(client.stateless("tools/list", json!({}), json!({})).await["result"].is_object());
    client.initialize("2025-11-25", json!({})).await;
    assert!(client.request("tools/list", json!({})).await["result"].is_object());
    let again = client.initialize("2025-11-25", json!({})).await;
    assert_eq!(again["error"]["code"], -32600, "a second hello is refused");
}

// proves 003 R1.7
#[tokio::test]
async fn changes_are_told_only_after_the_client_confirmed() {
    let server = server();
    let mut client = Client::silent(&server);
    client.initialize("2025-11-25", json!({})).await;
    server.list_changed(mcp_server::List::Tools);
    assert!(client.heard_nothing_of("notifications/tools/list_changed").await);
    client.notify("notifications/initialized", json!({})).await;
    client.request("ping", json!({})).await;
    server.list_changed(mcp_server::List::Tools);
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(
        client.notice("notifications/capabilities/changed").await["params"]["changed"],
        json!(["tools"])
    );
}

//= specs/mcp-server.md#versions
//= type=test
//# The era of a message MUST be decided once, from the message itself; handlers MUST NOT have to ask for it.
#[tokio::test]
async fn both_eras_are_served_on_one_connection_by_the_same_tool() {
    let server = server();
    server
        .add_tool(Tool::ready("hello", "Greets.", |_| Ok(ToolResult::text("hello"))))
        .unwrap();
    let mut client = Client::ready(&server).await;
    let old = client.call("hello", json!({})).await;
    let new = client
        .stateless("tools/call", json!({ "name": "hello" }), json!({}))
        .await;
    assert_eq!(old["result"]["content"], new["result"]["content"]);
    assert!(old["result"].get("resultType").is_none());
    assert_eq!(new["result"]["resultType"], "complete");
    assert_eq!(
        new["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "test"
    );
    for gone in ["ping", "initialize", "logging/setLevel", "resources/subscribe"] {
        assert_eq!(
            client.stateless(gone, json!({}), json!({})).await["error"]["code"],
            -32601,
            "{gone}"
        );
    }
}

//= specs/mcp-server.md#versions
//= type=test
//# A request of the stateless era MUST name its version and the client's capabilities, else it MUST be refused with `-32602`.
#[tokio::test]
async fn discovery_tells_what_there_is_and_what_is_missing() {
    let mut client = Client::silent(&server());
    let found = client.stateless("server/discover", json!({}), json!({})).await;
    assert_eq!(found["result"]["supportedVersions"], json!(Version::names()));
    assert!(
        found["result"]["ttlMs"].is_u64() && found["result"]["cacheScope"].is_string(),
        "{found}"
    );
    assert_eq!(
        client.request("server/discover", json!({})).await["error"]["code"],
        -32602
    );
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    assert_eq!(
        client.request("server/discover", json!({ "_meta": meta })).await["error"]["code"],
        -32602
    );
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {} });
    let unknown = client.request("tools/list", json!({ "_meta": meta })).await;
    assert_eq!(codes(&unknown), (-32022, 1027));
    assert_eq!(unknown["error"]["data"]["requested"], "2099-01-01");
}

#[tokio::test]
async fn instructions_are_made_anew_for_every_client() {
    let count = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counting = count.clone();
    let made = Instructions::Made(Arc::new(move |_| {
        let now = counting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async move { format!("visit {now}") })
    }));
    let server = Server::builder(Info::new("test", "1.0.0"))
        .instructions(made)
        .build();
    for visit in 0..2 {
        let mut client = Client::silent(&server);
        assert_eq!(
            client.initialize("2025-11-25", json!({})).await["result"]["instructions"],
            format!("visit {visit}")
        );
    }
}

fn waiting_tool(server: &Server) -> (Arc<Notify>, Arc<Notify>) {
    let (started, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (started.clone(), release.clone());
    let tool = Tool::new("wait", "Waits to be let go.", move |_, _| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            tell.notify_one();
            wait.notified().await;
            Ok::<_, Stop>(ToolResult::text("let go"))
        }
    });
    server.add_tool(tool).unwrap();
    (started, release)
}

// proves 002 Req-Proto-015
//= specs/mcp-server.md#shutdown
//= type=test
//# While the server drains, new requests MUST be refused with 1077; running ones MUST be answered, those that outlast the drain limit with 1077.
#[tokio::test]
async fn a_drain_lets_work_finish_refuses_new_work_and_gives_up_the_rest() {
    let server = server();
    let (started, release) = waiting_tool(&server);
    let mut client = Client::ready(&server).await;
    let running = client.start("tools/call", json!({ "name": "wait" })).await;
    started.notified().await;
    let draining = tokio::spawn({
        let server = server.clone();
        async move { server.drain().await }
    });
    while refusal_or_zero(&client.request("tools/list", json!({})).await) != 1077 {}
    release.notify_one();
    assert_eq!(
        client.answer(&json!(running)).await["result"]["content"][0]["text"],
        "let go"
    );
    draining.await.unwrap();

    let server = server_with(|s| s.limits.drain_timeout_ms = 1);
    let (started, _never) = waiting_tool(&server);
    let mut client = Client::ready(&server).await;
    let stuck = client.start("tools/call", json!({ "name": "wait" })).await;
    started.notified().await;
    server.drain().await;
    assert_eq!(refusal(&client.answer(&json!(stuck)).await), 1077);
    assert_eq!(server.in_flight(), 0);
}

fn refusal_or_zero(answer: &Value) -> u64 {
    answer["error"]["data"]["refusal"]["code"].as_u64().unwrap_or(0)
}

//= specs/mcp-server.md#shutdown
//= type=test
//# `shutdown` on a line connection MUST be answered, and the connection MUST then end in peace.
#[tokio::test]
async fn shutdown_is_answered_and_ends_the_connection_after_running_work() {
    let server = server();
    let (started, release) = waiting_tool(&server);
    let mut client = Client::ready(&server).await;
    let running = client.start("tools/call", json!({ "name": "wait" })).await;
    started.notified().await;
    assert_eq!(client.request("shutdown", json!({})).await["result"], json!({}));
    release.notify_one();
    assert!(client.answer(&json!(running)).await["result"].is_object());
    let (rest, ended) = client.finish().await;
    assert_eq!((rest, ended), (vec![], Ended::InPeace));
}

#[tokio::test]
async fn a_stopped_server_ends_its_connections_as_if_input_had_ended() {
    let server = Server::builder(Info::new("test", "1.0.0"))
        .settings(Settings::default())
        .build();
    let client = Client::ready(&server).await;
    server.stop();
    let (rest, ended) = client.finish().await;
    assert_eq!((rest, ended), (vec![], Ended::InPeace));
}
