//! Everything has a limit, and the server survives those who reach it.

use std::sync::Arc;

use mcp_protocol::ToolResult;
use mcp_server::{Context, CustomMethod, Server, Stop, Tool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Client, codes, refusal, server, server_with};

fn waiting(server: &Server) -> (Arc<Notify>, Arc<Notify>) {
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

// proves 002 Req-Proto-004
//= specs/mcp-server.md#line-transport
//= type=test
//# A line above the size limit MUST be refused with 1068, and the next line MUST be read as usual.
#[tokio::test]
async fn a_message_of_more_than_a_mebibyte_is_refused_and_the_connection_lives_on() {
    let mut client = Client::ready(&server()).await;
    let filler = |bytes: usize| "x".repeat(bytes);
    for (prefix, id) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":\"big\",", json!("big")),
        ("{\"jsonrpc\":\"2.0\",", json!(null)),
    ] {
        client
            .send_text(&format!(
                "{prefix}\"method\":\"ping\",\"params\":{{\"x\":\"{}\"}}}}",
                filler(1_100_000)
            ))
            .await;
        assert_eq!(codes(&client.answer(&id).await), (1068, 1068));
    }
    // Exactly at the limit it is read.
    let envelope = r#"{"jsonrpc":"2.0","id":"edge","method":"ping","params":{"x":""}}"#;
    let edge = envelope.replace("\"\"", &format!("\"{}\"", filler((1 << 20) - envelope.len())));
    assert_eq!(edge.len(), 1 << 20);
    client.send_text(&edge).await;
    assert_eq!(client.answer(&json!("edge")).await["result"], json!({}));
    client.send_text(&edge.replace("\"edge\"", "\"edge1\"")).await;
    assert_eq!(refusal(&client.answer(&json!("edge1")).await), 1068);
}

#[tokio::test]
async fn what_is_no_text_is_refused_and_the_connection_lives_on() {
    let mut client = Client::ready(&server()).await;
    client
        .send_bytes(
            b"\xff\xfe{}\n\n   \r\n\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\r\n",
        )
        .await;
    assert_eq!(codes(&client.answer(&json!(null)).await), (-32700, 1070));
    assert_eq!(
        client.answer(&json!(5)).await["result"],
        json!({}),
        "a byte order mark and blank lines are skipped"
    );
}

// proves 002 Resil-003
//= specs/mcp-server.md#limits
//= type=test
//# A request above a session's limit of running requests MUST be refused with 1060, above its limit of bytes with 1002.
#[tokio::test]
async fn too_many_or_too_large_running_requests_are_refused() {
    let server = server_with(|s| {
        s.limits.max_in_flight_per_session = 2;
        s.limits.admission_wait_ms = 1;
    });
    let (started, release) = waiting(&server);
    let mut client = Client::ready(&server).await;
    for _ in 0..2 {
        client.start("tools/call", json!({ "name": "wait" })).await;
        started.notified().await;
    }
    assert_eq!(codes(&client.call("wait", json!({})).await), (1060, 1060));
    // Cancels get through when the session is full, and make room.
    client
        .notify("notifications/cancelled", json!({ "requestId": 3 }))
        .await;
    let third = client.start("tools/call", json!({ "name": "wait" })).await;
    started.notified().await;
    release.notify_waiters();
    assert!(client.answer(&json!(third)).await["result"].is_object());

    let server = server_with(|s| s.limits.max_in_flight_bytes_per_session = 200);
    waiting(&server);
    let mut client = Client::ready(&server).await;
    let answer = client.call("wait", json!({ "x": "y".repeat(200) })).await;
    assert_eq!(codes(&answer), (1002, 1002));
}

//= specs/mcp-server.md#limits
//= type=test
//# A request above the server's limit of running requests MUST be refused with 1005.
#[tokio::test]
async fn a_full_server_refuses_a_session_that_is_not_full() {
    let server = server_with(|s| s.limits.max_in_flight_total = 1);
    let (started, _release) = waiting(&server);
    let mut first = Client::ready(&server).await;
    first.start("tools/call", json!({ "name": "wait" })).await;
    started.notified().await;
    let mut second = Client::ready(&server).await;
    assert_eq!(codes(&second.call("wait", json!({})).await), (1005, 1005));
}

// proves 002 Req-Proto-002
#[tokio::test]
async fn an_id_that_is_being_served_is_not_served_twice() {
    let server = server();
    let (started, release) = waiting(&server);
    let mut client = Client::ready(&server).await;
    let text = r#"{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"wait"}}"#;
    client.send_text(text).await;
    started.notified().await;
    client.send_text(text).await;
    assert_eq!(client.answer(&json!("twice")).await["error"]["code"], -32600);
    release.notify_one();
    assert!(client.answer(&json!("twice")).await["result"].is_object());
}

//= specs/mcp-server.md#limits
//= type=test
//# Messages above a session's rate MUST be refused with 1057 and the time to wait.
#[tokio::test(start_paused = true)]
async fn a_session_that_sends_too_fast_is_slowed_down() {
    let server = server_with(|s| {
        s.limits.max_messages_per_second = 10;
        s.limits.message_burst = 5;
    });
    let mut client = Client::silent(&server);
    client.initialize("2025-11-25", json!({})).await;
    let mut refused = Vec::new();
    for _ in 0..10 {
        let answer = client.request("ping", json!({})).await;
        refused.extend(answer.get("error").is_some().then_some(answer));
    }
    assert!(!refused.is_empty());
    assert_eq!(codes(&refused[0]), (1057, 1057));
    assert!(refused[0]["error"]["data"]["retry_after_seconds"].is_string());
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    assert!(client.request("ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_refused_instead_of_sent() {
    let server = server_with(|s| s.limits.max_answer_bytes = 1_000);
    server.add_method(CustomMethod::new("test/long", |_cx: Context, _: Value| async {
        Ok::<_, Stop>(json!({ "x": "y".repeat(2_000) }))
    }));
    let mut client = Client::ready(&server).await;
    assert_eq!(codes(&client.request("test/long", json!({})).await), (1068, 1068));
}

//= specs/mcp-server.md#line-transport
//= type=test
//# A client that reads no answers MUST NOT make the server hold more than its limits allow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_stops_being_read() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = server_with(|s| s.limits.max_outbox_bytes = 4_096);
    server
        .add_tool(Tool::new("long", "Says a lot.", |_, _| async {
            Ok::<_, Stop>(ToolResult::text("x".repeat(1_000)))
        }))
        .unwrap();
    let (ours, theirs) = tokio::io::duplex(4_096);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = server.clone();
    let served = tokio::spawn(async move {
        mcp_server::lines::serve(&serving, reader, writer, ::http::Extensions::new()).await
    });
    let (mut reader, mut writer) = tokio::io::split(ours);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let line = |id: usize| {
        format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "long", "_meta": meta } })
        )
    };
    // Write until the server takes no more: then both directions are full, and nothing grows.
    let mut sent = 0;
    while let Ok(written) = tokio::time::timeout(
        std::time::Duration::from_millis(300),
        writer.write_all(line(sent).as_bytes()),
    )
    .await
    {
        written.unwrap();
        sent += 1;
        assert!(sent < 5_000, "the server reads on without end");
    }
    // The line that was cut off by the timeout is finished by the end of input; answers to all whole lines come.
    let writing = tokio::spawn(async move { writer.shutdown().await });
    let mut text = String::new();
    reader.read_to_string(&mut text).await.unwrap();
    writing.await.unwrap().unwrap();
    served.await.unwrap();
    // Some may have been refused because too many ran; every one has its answer.
    let ids: std::collections::HashSet<u64> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64())
        .collect();
    assert!(
        (0..sent as u64).all(|id| ids.contains(&id)),
        "{} answers to {sent} requests",
        ids.len()
    );
}

#[tokio::test]
async fn a_client_that_disappears_takes_its_work_with_it() {
    let server = server_with(|s| s.limits.drain_timeout_ms = 50);
    let (started, _release) = waiting(&server);
    let mut client = Client::with_buffer(&server, 64);
    let id = client
        .start_stateless("tools/call", json!({ "name": "wait" }), json!({}))
        .await;
    started.notified().await;
    let _ = id;
    drop(client);
    // Both halves are gone: the drain of that connection has nobody to answer to, and ends at its limit or at once.
    let drained = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while server.in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    });
    drained.await.expect("nothing runs for a client that is gone");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_forgets_its_server_does_not_keep_it_alive() {
    use tokio::io::AsyncWriteExt;
    let server = server();
    server
        .add_tool(Tool::ready("long", "Says a lot.", |_| {
            Ok(ToolResult::text("x".repeat(10_000)))
        }))
        .unwrap();
    // Two separate directions: input ends, output is held open and never read.
    let (mut input, theirs_in) = tokio::io::duplex(1 << 16);
    let (_held, theirs_out) = tokio::io::duplex(64);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "long", "_meta": meta } });
    input.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    drop(input);
    let ended = mcp_server::lines::serve(&server, theirs_in, theirs_out, ::http::Extensions::new()).await;
    assert_eq!(ended, mcp_server::lines::Ended::Broken);
}
