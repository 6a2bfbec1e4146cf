//! A model that is asked through the real binary, and what those who watch over it are told.

use crate::serving::Server;
use crate::stdio::host::{Host, bare};
use crate::world::World;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Takes spans by OTLP over HTTP; gives the address, and the bodies as they come.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (told, bodies) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let told = told.clone();
            std::thread::spawn(move || take(stream, &told));
        }
    });
    (endpoint, bodies)
}

/// Reads requests until the sender is gone. What is answered was kept.
fn take(stream: TcpStream, told: &Sender<Vec<u8>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let _ = told.send(body);
        let _ = reader
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
}

// proves 002 Req-Sample-004
//= specs/spexus-mcp.md#asking
//= type=test
//# Every decision of the sampler MUST be an event of the trace it belongs to and MUST be counted.
#[test]
fn what_the_sampler_decides_is_traced_and_counted() {
    let world = World::new();
    let (endpoint, bodies) = collector();
    let token = world.json(&[
        "token", "create", "--user", "admin", "--name", "host", "--scope", "admin",
    ]);
    let token = token["token"].as_str().unwrap();
    let server =
        Server::start(world.command(&["serve", "--listen", "127.0.0.1:0", "--otlp-endpoint", &endpoint]));
    let mut command = bare(&world);
    command
        .env("BACKEND_API_URL", format!("http://{}", server.address()))
        .env("MCP_PAT_TOKEN", token);
    let mut host = Host::start(command);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "sampling": {} }, "clientInfo": { "name": "test host", "version": "1" } });
    host.call("initialize", hello);
    host.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    host.tool("create_epic", json!({ "title": "Sign in" }));
    let run = json!({ "name": "decompose_epic", "arguments": { "epic_id": "EP-001" } });
    let call = host.ask("tools/call", json!({ "name": "run_prompt", "arguments": run }));
    let asked = host.until(|message| message["method"] == "sampling/createMessage");
    let said =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Two stories." } });
    host.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }).to_string());
    let answer = host.until(|message| message["id"] == call && message.get("method").is_none());
    assert_eq!(
        answer["result"]["structuredContent"]["text"], "Two stories.",
        "{answer}"
    );
    let counted = server.get("/metrics", token);
    for measure in [
        r#"spexus_mcp_sampling_decisions_total{what="admitted",why="turn"} 1"#,
        r#"spexus_mcp_sampling_decisions_total{what="held",why="quick"} 1"#,
        r#"spexus_mcp_sampling_strategy{parameter="concurrency"} 2"#,
    ] {
        assert!(counted.contains(measure), "{measure}: {counted}");
    }
    host.end();
    assert_eq!(server.stop().0, Some(0));
    let sent: Vec<u8> = bodies.try_iter().flatten().collect();
    for word in ["sampling decision", "admitted", "decompose_epic", "spacing_ms"] {
        let found = sent.windows(word.len()).any(|piece| piece == word.as_bytes());
        assert!(found, "{word} in the spans");
    }
}
