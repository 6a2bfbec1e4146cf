//! What a server declares follows what it serves: while it runs, by version and by what the operator offers.

use mcp_protocol::OfferedVersions;
use mcp_server::{CustomMethod, Server, VersionMismatch};
use refusal::Refusal;
use serde_json::{Value, json};

use crate::client::{Client, codes, server, server_with};
use crate::http_client::Http;

fn teapots() -> CustomMethod {
    CustomMethod::new("teapots/list", |_, _| async {
        Ok::<_, Refusal>(json!({ "teapots": [] }))
    })
}

async fn families(server: &Server, version: &str) -> Value {
    let answer = Client::silent(server).initialize(version, json!({})).await;
    answer["result"]["capabilities"]["experimental"].clone()
}

// proves 000 R4.5, 001 D2, 003 R3.6, 003 R3.7
//= specs/mcp-server.md#lifecycle
//= type=test
//# What the server declares MUST be what it serves to the client at that moment, and MUST be made once until it changes.
//= specs/mcp-server.md#lifecycle
//= type=test
//# A family that is declared or withdrawn while the server runs MUST be told to every active session by `notifications/capabilities/changed`.
#[tokio::test]
async fn a_family_that_comes_and_goes_is_declared_and_told() {
    let server = server();
    let mut active = Client::ready(&server).await;
    let mut unconfirmed = Client::silent(&server);
    unconfirmed.initialize("2025-11-25", json!({})).await;
    let unknown = active.request("teapots/list", json!({})).await;
    assert_eq!(codes(&unknown).0, -32601, "{unknown}");
    assert_eq!(families(&server, "2025-06-18").await, Value::Null);

    server.add_method(teapots());
    server.declare("teapots", "1.0.0");
    let changed = |notice: Value| notice["params"]["changed"].clone();
    let notice = active.notice("notifications/capabilities/changed").await;
    assert_eq!(changed(notice), json!(["teapots"]));
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let declared = families(&server, version).await;
        assert_eq!(
            declared,
            json!({ "teapots": { "version": "1.0.0" } }),
            "{version}"
        );
    }
    let found = active.stateless("server/discover", json!({}), json!({})).await;
    assert_eq!(
        found["result"]["capabilities"]["experimental"]["teapots"]["version"],
        "1.0.0"
    );
    assert!(active.request("teapots/list", json!({})).await["result"].is_object());

    server.declare("teapots", "1.0.0");
    server.withdraw("teapots");
    let notice = active.notice("notifications/capabilities/changed").await;
    assert_eq!(changed(notice), json!(["teapots"]));
    assert_eq!(families(&server, "2025-06-18").await, Value::Null);
    server.withdraw("teapots");
    let nothing_new = active
        .heard_nothing_of("notifications/capabilities/changed")
        .await;
    assert!(nothing_new, "what is declared or gone already is no change");
    let told_early = !unconfirmed
        .heard_nothing_of("notifications/capabilities/changed")
        .await;
    assert!(!told_early, "only active sessions are told");
}

// proves 001 D7
#[tokio::test]
async fn what_is_declared_is_made_once_for_each_version_until_it_changes() {
    let server = server();
    assert_eq!(server.capabilities_made(), 0);
    for _ in 0..5 {
        families(&server, "2025-06-18").await;
        families(&server, "2025-11-25").await;
    }
    assert_eq!(server.capabilities_made(), 2);
    server.declare("teapots", "1.0.0");
    for _ in 0..5 {
        families(&server, "2025-06-18").await;
    }
    assert_eq!(server.capabilities_made(), 3);
}

// proves 001 D4
//= specs/mcp-server.md#versions
//= type=test
//# A version the operator does not offer MUST be treated like one nobody knows, in both eras.
#[tokio::test]
async fn a_version_that_is_not_offered_is_refused_in_both_eras() {
    let offer = |list: &str| {
        let versions = OfferedVersions::parse(list).unwrap();
        server_with(|settings| settings.versions = versions)
    };
    let two = offer("2025-03-26,2025-06-18");
    for version in ["2025-03-26", "2025-06-18"] {
        let answer = Client::silent(&two).initialize(version, json!({})).await;
        assert_eq!(answer["result"]["protocolVersion"], version);
    }
    for version in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        let error = &Client::silent(&two).initialize(version, json!({})).await["error"];
        assert_eq!(error["code"], -32602, "{version}: {error}");
        let supported = &error["data"]["supported_versions"];
        assert_eq!(*supported, json!(["2025-03-26", "2025-06-18"]), "{version}");
        assert_eq!(error["data"]["received_version"], version);
    }
    let mut client = Client::silent(&two);
    let found = client.stateless("server/discover", json!({}), json!({})).await;
    assert_eq!(found["error"]["code"], -32022, "{found}");
    let mut http = Http::new(&two);
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-06-18", "capabilities": {} } });
    let opened = http.post_as(hello, &[]).await;
    http.session = Some(opened.headers["mcp-session-id"].to_str().unwrap().to_owned());
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let header = [("mcp-protocol-version", "2025-11-25")];
    assert_eq!(http.post_as(ping.clone(), &header).await.status, 400);
    assert_eq!(http.post(ping).await.status, 200);

    let newest = offer("2026-07-28");
    let error = &Client::silent(&newest).initialize("2026-07-28", json!({})).await["error"];
    assert_eq!(error["code"], -32602, "no handshake is offered: {error}");
    let mut client = Client::silent(&newest);
    let found = client.stateless("server/discover", json!({}), json!({})).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));

    let kind = server_with(|settings| {
        settings.versions = OfferedVersions::parse("2025-03-26,2025-06-18").unwrap();
        settings.version_mismatch = VersionMismatch::Negotiate;
    });
    let answer = Client::silent(&kind).initialize("2025-11-25", json!({})).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
}

// proves 001 D6
//= specs/mcp-server.md#lifecycle
//= type=test
//# An `initialize` whose parameters are missing or of the wrong type MUST be refused with `MALFORMED_REQUEST` in `data.code`.
#[tokio::test]
async fn a_hello_without_its_parameters_is_called_malformed() {
    for params in [
        json!({}),
        json!({ "protocolVersion": 7 }),
        json!({ "protocolVersion": "2025-06-18", "capabilities": "all of them" }),
    ] {
        let error = &Client::silent(&server())
            .request("initialize", params.clone())
            .await["error"];
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32602), &json!("MALFORMED_REQUEST")),
            "{params}: {error}"
        );
    }
}
