//! A connection over HTTP, and a server played by the test.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_client::{CallError, Connection, HttpEndpoint, PoolOptions, SendError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::pipes::Heard;

/// What reached the server: the method, the session it named and the message.
type Seen = Arc<Mutex<Vec<(Method, Option<String>, Value)>>>;

const MAX_MESSAGE_BYTES: usize = 10_000;

async fn answer(seen: Seen, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let session = request.headers().get("mcp-session-id");
    let session = session.map(|session| session.to_str().unwrap().to_owned());
    let method = request.method().clone();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    seen.lock()
        .unwrap()
        .push((method.clone(), session, message.clone()));
    let respond = |status: u16, kind: &str, text: String| {
        let response = Response::builder().status(status).header("content-type", kind);
        let response = response.header("mcp-session-id", "s-1");
        response.body(Full::from(text)).unwrap()
    };
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let events = |messages: &[Value]| {
        let events = messages.iter().map(|message| format!("data: {message}\n\n"));
        respond(200, "text/event-stream", events.collect())
    };
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {} });
    Ok(match (method, message["method"].as_str()) {
        (Method::GET, _) => events(&[told]),
        (_, Some("initialize")) => {
            let said = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "far" } });
            respond(200, "application/json", result(said).to_string())
        }
        (_, Some("streamed")) => events(&[told, result(json!("last"))]),
        (_, Some("cut")) => events(&[told]),
        (_, Some("forgotten")) => respond(404, "text/plain", String::new()),
        (_, Some("large")) => respond(200, "application/json", "x".repeat(MAX_MESSAGE_BYTES + 1)),
        (_, Some("odd")) => respond(500, "text/html", "<h1>".to_owned()),
        _ => respond(202, "text/plain", String::new()),
    })
}

async fn serve() -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let seen = Seen::default();
    let kept = seen.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let seen = kept.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| answer(seen.clone(), request));
                let builder = hyper::server::conn::http1::Builder::new();
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (address, seen)
}

fn connect(address: &str) -> (Connection, Heard) {
    let endpoint = HttpEndpoint::new(
        address.parse().unwrap(),
        HeaderMap::new(),
        MAX_MESSAGE_BYTES,
        PoolOptions::default(),
    );
    let heard = Heard::default();
    (Connection::http(endpoint.unwrap(), heard.clone()), heard)
}

#[tokio::test]
async fn a_session_is_named_by_every_message_after_the_handshake_and_ended() {
    let (address, seen) = serve().await;
    let (mut connection, heard) = connect(&address);
    let initialized = connection.peer().initialize("us", "1").await.unwrap();
    assert_eq!(initialized.server_text("name"), Some("far"));
    let answer: Value = connection.peer().call("streamed", json!({})).await.unwrap();
    assert_eq!(answer, "last");
    assert!(
        !heard.all().is_empty(),
        "what came before the answer was heard, too"
    );
    connection.close().await;
    let seen = seen.lock().unwrap();
    assert_eq!((&seen[0].1, &seen[0].2["method"]), (&None, &json!("initialize")));
    assert!(
        seen[1..]
            .iter()
            .all(|(_, session, _)| session.as_deref() == Some("s-1"))
    );
    assert!(
        seen.iter().any(|(method, ..)| method == Method::GET),
        "it listens"
    );
    assert_eq!(seen.last().unwrap().0, Method::DELETE);
}

#[tokio::test]
async fn what_is_no_answer_says_so_and_the_next_call_works() {
    let (address, _) = serve().await;
    let (connection, _) = connect(&address);
    let peer = connection.peer();
    let failed = async |method| peer.call::<Value>(method, json!({})).await.unwrap_err();
    assert!(matches!(
        failed("cut").await,
        CallError::Send(SendError::Broken(_))
    ));
    assert!(matches!(
        failed("large").await,
        CallError::Send(SendError::Broken(_))
    ));
    assert!(matches!(failed("odd").await, CallError::Unexpected(_)));
    assert!(matches!(failed("unanswered").await, CallError::Unexpected(_)));
    assert_eq!(peer.call::<Value>("streamed", json!({})).await.unwrap(), "last");
}

#[tokio::test]
async fn a_server_that_forgot_the_session_ends_the_connection() {
    let (address, _) = serve().await;
    let (mut connection, _) = connect(&address);
    connection.peer().initialize("us", "1").await.unwrap();
    let lost = connection.peer().call::<Value>("forgotten", json!({})).await;
    assert_eq!(lost, Err(CallError::Closed));
    connection.closed().await;
}

#[tokio::test]
async fn what_did_not_leave_says_so() {
    let (connection, _) = connect("http://127.0.0.1:1/mcp");
    let unsent = connection.peer().call::<Value>("any", json!({})).await;
    assert!(
        matches!(unsent, Err(CallError::Send(SendError::NotSent(_)))),
        "{unsent:?}"
    );
}
