//! An app that is an address: another server, over HTTP.

use std::collections::BTreeMap;

use mcp_apps::AppSource;
use mcp_protocol::ToolResult;
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Server, Stop, Tool};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::host::{Host, refusal, request_for};

fn server() -> Server {
    let server = Server::builder(Info::new("Far Away!", "3.1.4")).build();
    let echo = Tool::new("echo", "Says it back.", |cx, arguments| async move {
        cx.progress(1.0, Some(2.0), Some("half")).await;
        Ok::<_, Stop>(ToolResult::text(arguments.text("text").unwrap_or_default()))
    });
    server.add_tool(echo).unwrap();
    server
}

async fn serve(server: &Server, at: &str) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = axum::Router::new().route_service("/mcp", McpService::new(server, HttpSettings::default()));
    let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, task)
}

fn at(address: &str) -> AppSource {
    AppSource::Url {
        url: format!("http://{address}/mcp"),
        headers: BTreeMap::from([("X-Key".to_owned(), "sesame".to_owned())]),
    }
}

#[tokio::test]
async fn a_server_elsewhere_is_an_app_and_its_changes_are_followed() {
    let far = server();
    let (address, _task) = serve(&far, "127.0.0.1:0").await;
    let host = Host::new().await;
    let listed = host.apps.install(request_for(at(&address))).await.unwrap();
    assert_eq!(
        (listed.name.as_str(), listed.record.manifest.version.as_str()),
        ("far-away", "3.1.4")
    );
    let mut client = host.user().await;
    let params =
        json!({ "name": "far-away_echo", "arguments": { "text": "hello" }, "_meta": { "progressToken": 5 } });
    let id = client.start("tools/call", params).await;
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "hello");
    host.until("far-away", "running").await;
    far.add_tool(Tool::ready("new", "New.", |_| Ok(ToolResult::text("new"))))
        .unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(client.text_of("far-away_new", json!({})).await, "new");
    host.apps.close().await;
}

#[tokio::test]
async fn a_server_elsewhere_that_goes_and_comes_back_is_found_again() {
    let far = server();
    let (address, task) = serve(&far, "127.0.0.1:0").await;
    let host = Host::with(|options| {
        options.limits.call_timeout_ms = 2_000;
        options.limits.ping_timeout_ms = 500;
        options.limits.breaker.pause_ms = 100;
    })
    .await;
    let mut wish = request_for(at(&address));
    wish.name = Some("far".to_owned());
    host.apps.install(wish).await.unwrap();
    let mut client = host.user().await;
    assert_eq!(client.text_of("far_echo", json!({ "text": "1" })).await, "1");
    task.abort();
    let _ = task.await;
    far.drain().await;
    let lost = client.call("far_echo", json!({ "text": "2" })).await;
    assert!([1069, 1080, 1086].contains(&refusal(&lost)), "{lost}");
    let back = server();
    let _serving = serve(&back, &address).await;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    while client
        .call("far_echo", json!({ "text": "3" }))
        .await
        .get("result")
        .is_none()
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "it is found again within a minute"
        );
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    host.apps.close().await;
}
