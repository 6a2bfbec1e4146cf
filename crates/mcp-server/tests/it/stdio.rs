//! The example server as a real child process over real pipes.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

/// The `echo` example, which `cargo test` builds; built here when only this test binary was asked for.
pub(crate) fn echo() -> PathBuf {
    let beside = std::env::current_exe().unwrap();
    let path = beside.parent().unwrap().parent().unwrap().join("examples/echo");
    if !path.exists() {
        let built = std::process::Command::new(env!("CARGO"))
            .args(["build", "-p", "mcp-server", "--example", "echo"])
            .status();
        assert!(built.unwrap().success());
    }
    path
}

fn start() -> Child {
    Command::new(echo())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn hello(version: &str) -> String {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params })
    )
}

fn call(id: u64, tool: &str) -> String {
    let params = json!({ "name": tool, "arguments": { "text": id.to_string() } });
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    )
}

//= specs/mcp-server.md#line-transport
//= type=test
//# When input ends, every request that was read MUST be answered before the connection is closed.
#[tokio::test]
async fn everything_sent_before_the_end_is_answered_and_stdout_is_only_protocol() {
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let mut text = hello("2025-06-18");
    text.push_str("this is not json\n");
    for id in 0..500 {
        text.push_str(&call(id, if id % 2 == 0 { "echo" } else { "echo_task" }));
    }
    let writing = tokio::spawn(async move {
        input.write_all(text.as_bytes()).await.unwrap();
    });
    let mut output = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut output)
        .await
        .unwrap();
    writing.await.unwrap();
    let mut answered = [false; 500];
    for line in output.lines() {
        let answer: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
        if let Some(id) = answer["id"].as_u64() {
            assert_eq!(answer["result"]["content"][0]["text"], id.to_string());
            assert!(
                !std::mem::replace(&mut answered[id as usize], true),
                "{id} was answered twice"
            );
        }
    }
    assert!(answered.iter().all(|done| *done));
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

//= specs/mcp-server.md#line-transport
//= type=test
//# A stdio server MUST exit with 0 when its client leaves in peace, and with 76 when it refused the client's version.
#[tokio::test]
async fn the_exit_status_tells_how_it_ended() {
    for (text, status) in [
        (String::new(), 0),
        (hello("2025-11-25"), 0),
        (hello("1999-01-01"), 76),
    ] {
        let mut child = start();
        let mut input = child.stdin.take().unwrap();
        input.write_all(text.as_bytes()).await.unwrap();
        if status == 0 {
            drop(input);
        }
        let output = child.wait_with_output().await.unwrap();
        assert_eq!(
            output.status.code(),
            Some(status),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert_eq!(
            output.stdout.iter().filter(|b| **b == b'\n').count(),
            usize::from(!text.is_empty())
        );
    }
}

#[tokio::test]
async fn a_hundred_thousand_messages_go_through_the_real_loop() {
    // How fast is measured by the driver (docs/performance.md); here it is shown that none is lost on the way.
    let mut child = start();
    let mut input = child.stdin.take().unwrap();
    let writing = tokio::spawn(async move {
        input.write_all(hello("2025-06-18").as_bytes()).await.unwrap();
        let mut text = String::new();
        for id in 0..100_000 {
            text.push_str(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"
            ));
        }
        input.write_all(text.as_bytes()).await.unwrap();
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next_line().await.unwrap().unwrap();
    for id in 0..100_000 {
        let line = lines.next_line().await.unwrap().unwrap();
        assert_eq!(
            line,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"),
            "pings are answered in order"
        );
    }
    writing.await.unwrap();
    assert!(lines.next_line().await.unwrap().is_none());
}

#[tokio::test]
async fn output_that_shares_its_pipe_with_the_log_works_too() {
    let script = format!("{} 2>&1 | cat", echo().display());
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(format!("{}{}", hello("2025-06-18"), call(7, "echo_task")).as_bytes())
        .await
        .unwrap();
    drop(input);
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
}

#[tokio::test]
async fn a_unix_socket_serves_several_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let server = crate::client::server();
    let serving = tokio::spawn({
        let server = server.clone();
        async move { mcp_server::lines::serve_unix(&server, listener).await }
    });
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(tokio::net::UnixStream::connect(&path).await.unwrap());
    }
    for client in &mut clients {
        client.write_all(hello("2025-11-25").as_bytes()).await.unwrap();
        let mut line = String::new();
        BufReader::new(client).read_line(&mut line).await.unwrap();
        assert!(line.contains("\"protocolVersion\":\"2025-11-25\""), "{line}");
    }
    server.stop();
    serving.await.unwrap().unwrap();
}
