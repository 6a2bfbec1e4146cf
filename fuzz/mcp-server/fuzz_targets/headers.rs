//! Any headers and any body: always an answer, never a failure of the server, and always JSON when there is a body.
#![no_main]

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use libfuzzer_sys::fuzz_target;
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_protocol::ToolResult;
use mcp_server::{Info, Server, Tool};
use tower_service::Service;

static SERVICE: LazyLock<McpService> = LazyLock::new(|| {
    let server = Server::builder(Info::new("fuzz", "1.0.0")).build();
    let tool = Tool::ready("echo", "Says it back.", |a| Ok(ToolResult::text(a.text("text").unwrap_or_default())));
    let schema = serde_json::json!({ "type": "object", "properties": { "text": { "type": "string", "x-mcp-header": "Text" } } });
    server.add_tool(tool.input(schema)).expect("the tool is well formed");
    McpService::new(&server, HttpSettings::default())
});

const NAMES: [&str; 12] = [
    "host", "origin", "content-type", "content-length", "content-encoding", "accept", "mcp-protocol-version",
    "mcp-session-id", "mcp-method", "mcp-name", "mcp-param-text", "last-event-id",
];

fuzz_target!(|input: (u8, Vec<(u8, Vec<u8>)>, String)| {
    let (method, headers, body) = input;
    let method = ["POST", "POST", "POST", "GET", "DELETE", "PUT"][usize::from(method) % 6];
    let mut request = Request::builder().method(method).uri("/mcp").body(Full::new(Bytes::from(body))).expect("fixed parts");
    request.headers_mut().insert("host", HeaderValue::from_static("localhost"));
    request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        let name = HeaderName::from_static(NAMES[usize::from(name) % NAMES.len()]);
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            request.headers_mut().append(name, value);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let response = SERVICE.clone().call(request).await.expect("the service never fails");
        let status = response.status().as_u16();
        assert!(status != 500 && (200..=599).contains(&status), "{status}");
        if response.headers().get("content-type").is_some_and(|t| t == "application/json") {
            let body = response.into_body().collect().await.expect("the body never fails").to_bytes();
            serde_json::from_slice::<serde_json::Value>(&body).expect("the body is JSON");
        }
    });
});
