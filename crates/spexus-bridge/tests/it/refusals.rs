//! Every refusal the bridge can give by itself, provoked one by one and read from the wire.
//!
//! The codes come from the sources: a new one without a row here fails.

use crate::place::{Backend, Host, eventually, hello, settings};
use refusal::Code;
use serde_json::{Value, json};
use spexus_bridge::{BridgeLimits, BridgeSettings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// What a code is on the wire.
const ROWS: [(Code, i32); 14] = [
    (Code::QueueCapExceeded, 1001),
    (Code::QueueByteCapExceeded, 1002),
    (Code::AuthFailed, 1011),
    (Code::AuthzForbidden, 1014),
    (Code::SessionInvalid, 1016),
    (Code::MissingRequiredField, -32602),
    (Code::InvalidProtocolVersion, -32022),
    (Code::RateLimitExceeded, 1056),
    (Code::MessageTooLarge, 1068),
    (Code::Timeout, 1069),
    (Code::UnsupportedEncoding, -32700),
    (Code::ServerUninitialized, 1076),
    (Code::ServerShuttingDown, 1077),
    (Code::DependencyUnavailable, 1080),
];

// proves 003 R16.7
#[tokio::test]
async fn every_refusal_of_the_bridge_is_provoked() {
    for code in codes_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        assert!(
            ROWS.iter().any(|(row, _)| *row == code),
            "{code:?} has no row here"
        );
    }
    for (code, rpc) in ROWS {
        let error = provoke(code).await["error"].clone();
        assert_eq!(error["code"], rpc, "{code:?}: {error}");
        let refusal = &error["data"]["refusal"];
        assert_eq!(
            (&refusal["code"], &refusal["name"]),
            (&json!(code.number()), &json!(code.name())),
            "{code:?}: {error}"
        );
        assert!(
            refusal["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{code:?}: {error}"
        );
    }
}

// proves 003 R16.7
#[tokio::test]
async fn what_stands_before_the_backend_is_told_by_its_status() {
    for (status, number) in [
        (401, 1011),
        (403, 1014),
        (413, 1068),
        (429, 1056),
        (500, 1080),
        (503, 1080),
    ] {
        let refused = answered_with(status).await;
        assert_eq!(refused["error"]["code"], number, "{status}: {refused}");
        assert!(!refused.to_string().contains("plain words"), "{refused}");
    }
}

async fn provoke(code: Code) -> Value {
    match code {
        Code::QueueCapExceeded => {
            let full = BridgeLimits {
                max_in_flight: 0,
                admission_wait_ms: 1,
                ..BridgeLimits::default()
            };
            called("echo", full).await
        }
        Code::QueueByteCapExceeded => {
            let full = BridgeLimits {
                max_in_flight_bytes: 10,
                ..BridgeLimits::default()
            };
            called("echo", full).await
        }
        Code::AuthFailed => answered_with(401).await,
        Code::AuthzForbidden => answered_with(403).await,
        Code::RateLimitExceeded => answered_with(429).await,
        Code::DependencyUnavailable => answered_with(503).await,
        Code::SessionInvalid => {
            let mut host = Host::greeted(settings(forgetful().await), "2025-06-18").await;
            host.request("prompts/list", json!({})).await
        }
        Code::MissingRequiredField => {
            let mut host = Host::start(settings(nowhere()));
            host.request("initialize", json!({})).await
        }
        Code::InvalidProtocolVersion => {
            let meta = json!({ "io.modelcontextprotocol/protocolVersion": "1999-01-01" });
            let mut host = Host::start(settings(nowhere()));
            host.request("tools/list", json!({ "_meta": meta })).await
        }
        Code::MessageTooLarge => {
            let short = BridgeLimits {
                max_message_bytes: 200,
                ..BridgeLimits::default()
            };
            let mut host = Host::start(limited(nowhere(), short));
            host.send_text(&"x".repeat(201)).await;
            host.line().await.unwrap()
        }
        Code::Timeout => {
            let backend = Backend::start().await;
            let hasty = BridgeSettings {
                request_timeout: Duration::from_millis(200),
                ..settings(backend.address)
            };
            Host::greeted(hasty, "2025-06-18")
                .await
                .call("hang", json!({}))
                .await
        }
        Code::UnsupportedEncoding => {
            let mut host = Host::start(settings(nowhere()));
            host.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n")
                .await;
            host.line().await.unwrap()
        }
        Code::ServerUninitialized => {
            let mut host = Host::start(settings(nowhere()));
            host.request("tools/list", json!({})).await
        }
        Code::ServerShuttingDown => {
            let backend = Backend::start().await;
            let brief = BridgeLimits {
                drain_timeout_ms: 50,
                ..BridgeLimits::default()
            };
            let mut host = Host::greeted(limited(backend.address, brief), "2025-06-18").await;
            let hang = json!({ "name": "hang", "arguments": {} });
            let id = host.start("tools/call", hang).await;
            eventually("the tool runs", || backend.runs() == 1).await;
            host.close();
            host.answer(id).await
        }
        other => panic!("no provocation for {other:?}"),
    }
}

/// An address nobody listens on.
fn nowhere() -> SocketAddr {
    "127.0.0.1:1".parse().unwrap()
}

fn limited(address: SocketAddr, limits: BridgeLimits) -> BridgeSettings {
    BridgeSettings {
        limits,
        ..settings(address)
    }
}

/// What a call says under these limits.
async fn called(tool: &str, limits: BridgeLimits) -> Value {
    let backend = Backend::start().await;
    let mut host = Host::greeted(limited(backend.address, limits), "2025-06-18").await;
    host.call(tool, json!({ "title": "too much" })).await
}

/// What a host is told where something else than a server answers with this status: in answer to its hello, or to its first
/// request where it is greeted without a backend.
async fn answered_with(status: u16) -> Value {
    let head = move |_: &str| format!("{status} Something\r\ncontent-type: text/plain");
    let once = BridgeSettings {
        max_retries: 0,
        ..settings(stub(head, "plain words").await)
    };
    let mut host = Host::start(once);
    let greeted = host.request("initialize", hello("2025-06-18")).await;
    match greeted.get("result") {
        Some(_) => host.request("prompts/list", json!({})).await,
        None => greeted,
    }
}

/// A server that opens sessions and has forgotten each with the next request.
async fn forgetful() -> SocketAddr {
    let answer = |request: &str| {
        let line = match request {
            first if first.contains("\"method\":\"initialize\"") => {
                "200 OK\r\ncontent-type: application/json\r\nmcp-session-id: short"
            }
            second if second.contains("notifications/initialized") => "202 Accepted",
            _ => "404 Not Found",
        };
        line.to_owned()
    };
    let hello = json!({ "jsonrpc": "2.0", "id": "spexus-bridge/initialize", "result": { "protocolVersion": "2025-06-18" } });
    stub(answer, &hello.to_string()).await
}

/// Answers each connection once: what the function says of the request, then the body.
async fn stub(head: impl Fn(&str) -> String + Send + 'static, body: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let body = body.to_owned();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = String::new();
            let mut bytes = [0; 4096];
            // A body is an object; a request without one ends with its headers.
            while !request.ends_with('}') && (request.starts_with("POST") || !request.ends_with("\r\n\r\n")) {
                match stream.read(&mut bytes).await {
                    Ok(read @ 1..) => request.push_str(std::str::from_utf8(&bytes[..read]).unwrap()),
                    _ => break,
                }
            }
            let text = format!(
                "HTTP/1.1 {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                head(&request),
                body.len()
            );
            let _ = stream.write_all(text.as_bytes()).await;
        }
    });
    address
}

/// The codes the bridge's own code gives.
fn codes_of(folder: &Path) -> Vec<Code> {
    let source = text_of(folder);
    let given = |code: &Code| {
        let name = format!("Code::{code:?}");
        source.match_indices(&name).any(|(at, _)| {
            let is_whole = !source[at + name.len()..].starts_with(char::is_alphanumeric);
            // `RpcCode` is another table.
            is_whole && !source[..at].ends_with(char::is_alphanumeric)
        })
    };
    Code::ALL.iter().copied().filter(given).collect()
}

/// All Rust below a folder, without the tests inside of it.
fn text_of(folder: &Path) -> String {
    let paths = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| match path.is_dir() {
        true => text_of(&path),
        false => {
            let source = std::fs::read_to_string(path).unwrap();
            source.split("#[cfg(test)]").next().unwrap().to_owned()
        }
    };
    paths.map(text).collect()
}
