//! A connection over pipes, and a server played by the test.

use std::sync::{Arc, Mutex};

use mcp_client::{CallError, Connection, ConnectionHandler, RequestUpdate};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

const MAX_MESSAGE_BYTES: usize = 10_000;

/// Remembers what was said unasked.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ConnectionHandler for Heard {
    fn handle_notification(&self, method: &str, params: Option<&str>) {
        let said = format!("{method} {}", params.unwrap_or_default());
        self.0.lock().unwrap().push(said);
    }
}

/// The server's side.
struct Far {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Far {
    async fn read(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap();
        serde_json::from_str(&line.expect("the client is there")).unwrap()
    }

    async fn write(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, id: &Value, result: Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        self.write(&format!("{answer}\n")).await;
    }
}

fn connect() -> (Connection, Far, Heard) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let heard = Heard::default();
    let (reader, writer) = tokio::io::split(near);
    let connection = Connection::lines(reader, writer, MAX_MESSAGE_BYTES, heard.clone());
    let (reader, writer) = tokio::io::split(far);
    let lines = BufReader::new(reader).lines();
    (connection, Far { lines, writer }, heard)
}

#[tokio::test]
async fn a_handshake_says_who_we_are_and_gives_who_they_are() {
    let (connection, mut far, _) = connect();
    let peer = connection.peer().clone();
    let greeting = tokio::spawn(async move { peer.initialize("us", "1").await });
    let asked = far.read().await;
    assert_eq!(
        asked["params"]["clientInfo"],
        json!({ "name": "us", "version": "1" })
    );
    assert_eq!(asked["params"].get("_meta"), None, "nobody follows a handshake");
    let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": { "name": "them", "version": "2" } });
    far.answer(&asked["id"], result).await;
    let initialized = greeting.await.unwrap().unwrap();
    assert_eq!(initialized.server_text("name"), Some("them"));
    assert_eq!(initialized.capabilities["tools"], json!({}));
    assert_eq!(far.read().await["method"], "notifications/initialized");
}

#[tokio::test]
async fn answers_come_in_any_order_between_noise_and_notifications() {
    let (connection, mut far, heard) = connect();
    let mut first = connection.peer().request("one", json!({})).unwrap();
    let mut second = connection.peer().request("two", json!({})).unwrap();
    let (one, two) = (far.read().await, far.read().await);
    far.write("Listening on port 8080...\n\u{1b}[31m{not json\n[1,2\n{\"neither\":\"this\"}\n")
        .await;
    far.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n")
        .await;
    far.answer(&two["id"], json!("second")).await;
    let error =
        json!({ "jsonrpc": "2.0", "id": one["id"], "error": { "code": -32602, "message": "not so" } });
    far.write(&format!("[{error}]\n")).await;
    let RequestUpdate::Done(Ok(result)) = second.next().await else {
        panic!("no result");
    };
    assert_eq!(result, "\"second\"");
    let RequestUpdate::Done(Err(refused)) = first.next().await else {
        panic!("no refusal");
    };
    let message = "not so".to_owned();
    assert_eq!(
        refused,
        CallError::Refused {
            code: -32602,
            message
        }
    );
    assert_eq!(heard.all(), ["notifications/tools/list_changed "]);
}

#[tokio::test]
async fn progress_goes_to_its_request_and_a_dropped_request_is_cancelled() {
    let (connection, mut far, heard) = connect();
    let mut request = connection.peer().request("slow", json!({})).unwrap();
    let asked = far.read().await;
    let token = &asked["params"]["_meta"]["progressToken"];
    for token in [&json!("somebody else's"), token] {
        let params = json!({ "progressToken": token, "progress": 1, "total": 3, "message": "a third" });
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
        far.write(&format!("{told}\n")).await;
    }
    let RequestUpdate::Progress(step) = request.next().await else {
        panic!("no progress");
    };
    assert_eq!((step.progress, step.total), (1.0, Some(3.0)));
    assert_eq!(step.message.as_deref(), Some("a third"));
    drop(request);
    let cancelled = far.read().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert!(heard.all().is_empty());
}

#[tokio::test]
async fn a_server_is_told_that_we_live_and_that_we_can_do_nothing_else() {
    let (_connection, mut far, _) = connect();
    far.write("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n")
        .await;
    assert_eq!(
        far.read().await,
        json!({ "jsonrpc": "2.0", "id": "a", "result": {} })
    );
    far.write("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n")
        .await;
    let answer = far.read().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32601))
    );
}

#[tokio::test]
async fn whoever_waits_is_told_when_either_side_goes() {
    for server_goes in [true, false] {
        let (mut connection, mut far, _) = connect();
        let peer = connection.peer().clone();
        let waiting = peer.clone();
        let call = tokio::spawn(async move { waiting.call::<Value>("wait", json!({})).await });
        far.read().await;
        if server_goes {
            drop(far);
            connection.closed().await;
        } else {
            drop(connection);
        }
        assert_eq!(call.await.unwrap(), Err(CallError::Closed));
        assert_eq!(
            peer.call::<Value>("more", json!({})).await,
            Err(CallError::Closed)
        );
    }
}

#[tokio::test]
async fn a_message_above_the_limit_is_told_to_whoever_waits_for_it_and_the_next_is_read() {
    let (connection, mut far, _) = connect();
    let mut large = connection.peer().request("large", json!({})).unwrap();
    let asked = far.read().await;
    let long = "x".repeat(MAX_MESSAGE_BYTES);
    far.write(&format!(
        "{long}\n{{\"id\":{},\"result\":\"{long}\"}}\n",
        asked["id"]
    ))
    .await;
    let RequestUpdate::Done(Err(CallError::Unexpected(problem))) = large.next().await else {
        panic!("no problem");
    };
    assert!(problem.contains("10000 bytes"), "{problem}");
    let mut next = connection.peer().request("next", json!({})).unwrap();
    let asked = far.read().await;
    far.answer(&asked["id"], json!(1)).await;
    assert!(matches!(next.next().await, RequestUpdate::Done(Ok(result)) if result == "1"));
}

#[tokio::test]
async fn closing_ends_the_servers_input_and_waits_for_its_output() {
    let (mut connection, mut far, _) = connect();
    connection.peer().notify("bye", json!({}));
    let closing = tokio::spawn(async move { connection.close().await });
    assert_eq!(far.read().await["method"], "bye");
    assert!(
        far.lines.next_line().await.unwrap().is_none(),
        "our side is closed"
    );
    far.writer.shutdown().await.unwrap();
    closing.await.unwrap();
}
