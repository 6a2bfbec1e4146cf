//! `tools/call` over HTTP on kept-alive connections, beside a bare axum route that parses and answers JSON.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

use axum::{Json, Router, routing::post};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_protocol::ToolResult;
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Server, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::Figure;
use crate::pipe::call;

const CONNECTIONS: usize = 32;

pub(crate) fn measure(messages: usize) -> Result<Vec<Figure>, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let requests = messages / 4;
        let (bare, mcp) = (serve_axum().await?, serve_mcp().await?);
        let session = open_session(mcp).await?;
        let batch = format!(
            "[{}]",
            (1..=100).map(|id| call(id, "echo")).collect::<Vec<_>>().join(",")
        );
        let bare_rate = rate(bare, &call(1, "echo"), "", requests).await?;
        let call_rate = rate(mcp, &call(1, "echo"), &session, requests).await?;
        let batch_rate = rate(mcp, &batch, &session, requests / 50).await? * 100.0;
        Ok(vec![
            Figure::new("bare axum POST", bare_rate, "req/s", "for comparison"),
            Figure::new("HTTP tools/call", call_rate, "req/s", "≥ 75 % of bare axum"),
            Figure::new(
                "HTTP tools/call against bare axum",
                call_rate / bare_rate * 100.0,
                "%",
                "≥ 75",
            ),
            Figure::new("HTTP batch of 100", batch_rate, "msg/s", "≥ 400,000"),
        ])
    })
}

async fn serve_axum() -> Result<SocketAddr, Box<dyn Error>> {
    let answer = |Json(message): Json<Value>| async move {
        let text = message
            .pointer("/params/arguments/text")
            .cloned()
            .unwrap_or_default();
        let content = json!([{ "type": "text", "text": text }]);
        Json(
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "content": content, "isError": false } }),
        )
    };
    let router = Router::new().route("/mcp", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

async fn serve_mcp() -> Result<SocketAddr, Box<dyn Error>> {
    let server = Server::builder(Info::new("echo", "1.0.0")).build();
    let schema =
        json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let echo = Tool::ready("echo", "Says it back.", |a| {
        Ok(ToolResult::text(a.text("text").unwrap_or_default()))
    });
    server.add_tool(echo.input(schema)).map_err(|r| r.to_string())?;
    let service = McpService::new(&server, HttpSettings::default());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                let serve = service_fn(move |request: Request<Incoming>| service.clone().call(request));
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), serve)
                    .await;
            });
        }
        Ok::<_, Infallible>(())
    });
    Ok(address)
}

async fn open_session(address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"drive","version":"1"}}}"#;
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&post_text(hello, "")).await?;
    let mut buffer = Vec::new();
    let head = read_answer(&mut stream, &mut buffer).await?;
    let id = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "))
        .ok_or("no session id")?;
    Ok(format!("mcp-session-id: {id}\r\n"))
}

/// Requests a second over several connections, each with one request under way.
async fn rate(
    address: SocketAddr,
    body: &str,
    headers: &str,
    requests: usize,
) -> Result<f64, Box<dyn Error>> {
    let text = post_text(body, headers);
    let started = Instant::now();
    let each = requests / CONNECTIONS;
    let clients = (0..CONNECTIONS).map(|_| {
        let text = text.clone();
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.ok()?;
            stream.set_nodelay(true).ok()?;
            let mut buffer = Vec::new();
            for _ in 0..each {
                stream.write_all(&text).await.ok()?;
                read_answer(&mut stream, &mut buffer).await.ok()?;
            }
            Some(())
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await?.ok_or("a client lost its connection")?;
    }
    Ok((each * CONNECTIONS) as f64 / started.elapsed().as_secs_f64())
}

fn post_text(body: &str, headers: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Reads one answer with a length, and gives its head.
async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<String> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Some(end) = memchr::memmem::find(buffer, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let missing = (end + 4 + length.unwrap_or(0)).saturating_sub(buffer.len());
        let start = buffer.len();
        buffer.resize(start + missing, 0);
        stream.read_exact(&mut buffer[start..]).await?;
        return Ok(head);
    }
}
