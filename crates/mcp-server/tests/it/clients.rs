//! The official SDK's client against this server: over a child's pipes, over HTTP and in memory, in both eras.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{RunningService, ServiceExt};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::json;

use crate::client::server;
use crate::http_client::listen;
use crate::stdio::echo;
use mcp_protocol::ToolResult;
use mcp_server::{Server, Tool};

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

async fn check(client: RunningService<RoleClient, ()>) {
    tokio::time::timeout(PATIENCE, talk(client))
        .await
        .expect("every answer within a minute");
}

async fn talk(client: RunningService<RoleClient, ()>) {
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "echo"));
    let arguments = json!({ "text": "через SDK" }).as_object().unwrap().clone();
    let result = client
        .call_tool(CallToolRequestParams::new("echo").with_arguments(arguments))
        .await
        .unwrap();
    let value = serde_json::to_value(&result).unwrap();
    assert_eq!(value["content"][0]["text"], "через SDK");
    let unknown = client
        .call_tool(CallToolRequestParams::new("none"))
        .await
        .unwrap_err();
    assert!(
        unknown.to_string().contains("-32602") || unknown.to_string().contains("there is no tool"),
        "{unknown}"
    );
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_sdk_client_works_over_pipes_in_the_handshake_era() {
    let transport = TokioChildProcess::new(tokio::process::Command::new(echo())).unwrap();
    check(().serve(transport).await.unwrap()).await;
}

#[tokio::test]
async fn the_sdk_client_works_over_pipes_in_the_stateless_era() {
    let transport = TokioChildProcess::new(tokio::process::Command::new(echo())).unwrap();
    check(().serve_with_lifecycle(transport, discover()).await.unwrap()).await;
}

#[tokio::test]
async fn the_sdk_client_works_over_http_in_the_handshake_era() {
    let server = echoing();
    let transport = StreamableHttpClientTransport::from_uri(format!("http://{}/mcp", listen(&server).await));
    let client = ().serve(transport).await.unwrap();
    assert_eq!(server.sessions(), 1, "this era has sessions");
    check(client).await;
    assert_eq!(server.sessions(), 0, "the client closed its session when it left");
}

#[tokio::test]
async fn the_sdk_client_works_over_http_in_the_stateless_era() {
    let server = echoing();
    let transport = StreamableHttpClientTransport::from_uri(format!("http://{}/mcp", listen(&server).await));
    check(().serve_with_lifecycle(transport, discover()).await.unwrap()).await;
    assert_eq!(server.sessions(), 0, "this era has none");
}

#[tokio::test]
async fn the_sdk_client_works_in_memory() {
    let server = echoing();
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(theirs);
        mcp_server::lines::serve(&server, reader, writer, ::http::Extensions::new()).await
    });
    check(().serve(ours).await.unwrap()).await;
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    }
}

fn echoing() -> Server {
    let server = server();
    let echo = Tool::ready("echo", "Says it back.", |a| {
        Ok(ToolResult::text(a.text("text").unwrap_or_default()))
    });
    server.add_tool(echo).unwrap();
    server
}
