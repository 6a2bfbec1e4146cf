//! Lookups that do not wait, and lists that are written once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_protocol::ToolResult;
use mcp_server::{Server, Tool};
use serde_json::json;

use crate::client::{Client, server};

fn tool(name: String) -> Tool {
    let said = name.clone();
    Tool::ready(name, "One of many.", move |_| Ok(ToolResult::text(said.clone())))
}

//= specs/mcp-server.md#registry
//= type=test
//# A lookup by name MUST take at most logarithmic time and MUST NOT wait for a writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_tools_are_found_while_others_come_and_go() {
    let server = server();
    server
        .add_tools((0..10_000).map(|n| tool(format!("tool_{n:05}"))).collect())
        .unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let changing = tokio::task::spawn_blocking({
        let (server, stop): (Server, _) = (server.clone(), stop.clone());
        move || {
            while !stop.load(Ordering::SeqCst) {
                server.add_tool(tool("guest".into())).unwrap();
                server.remove_tool("guest");
            }
        }
    });
    let mut client = Client::silent(&server);
    client.initialize("2025-11-25", json!({})).await;
    for n in (0..10_000).step_by(97) {
        let name = format!("tool_{n:05}");
        assert_eq!(
            client.call(&name, json!({})).await["result"]["content"][0]["text"],
            name
        );
    }
    stop.store(true, Ordering::SeqCst);
    changing.await.unwrap();
}

//= specs/mcp-server.md#registry
//= type=test
//# A list MUST be written once and served from memory until it changes.
#[tokio::test]
async fn a_list_is_the_same_bytes_until_it_changes() {
    let server = server();
    server
        .add_tools(vec![tool("b".into()), tool("a".into())])
        .unwrap();
    let mut client = Client::ready(&server).await;
    let first = client.request("tools/list", json!({})).await["result"].to_string();
    let again = client.request("tools/list", json!({})).await["result"].to_string();
    assert_eq!(first, again);
    let names: Vec<String> = server.tool_names();
    assert_eq!(
        names,
        ["a", "b"],
        "the order is fixed, whatever the order of arrival"
    );
    server.add_tool(tool("c".into())).unwrap();
    assert_ne!(
        client.request("tools/list", json!({})).await["result"].to_string(),
        first
    );
}

// proves 002 Req-Tool-010
#[tokio::test]
async fn what_is_exchanged_is_exchanged_whole_and_told_once() {
    let server = server();
    server
        .add_tools(vec![tool("old".into()), tool("kept".into())])
        .unwrap();
    let mut client = Client::ready(&server).await;
    let gone = ["old".to_owned(), "never there".to_owned()];
    let refused = server.exchange_tools(&gone, vec![tool("new".into()), tool("kept".into())]);
    assert_eq!(refused.unwrap_err().code.number(), 1049);
    assert_eq!(server.tool_names(), ["kept", "old"], "all of it or nothing");
    assert!(client.heard_nothing_of("notifications/tools/list_changed").await);
    server
        .exchange_tools(&gone, vec![tool("new".into()), tool("newer".into())])
        .unwrap();
    assert_eq!(server.tool_names(), ["kept", "new", "newer"]);
    client.notice("notifications/tools/list_changed").await;
    assert!(client.heard_nothing_of("notifications/tools/list_changed").await);
}
