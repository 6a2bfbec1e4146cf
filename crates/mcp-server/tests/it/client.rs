//! A client that says exactly what a test tells it to, over an in-memory pair, and waits for what comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_server::lines::{self, Ended};
use mcp_server::{Info, Server, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    kept: VecDeque<Value>,
    next_id: u64,
    server: JoinHandle<Ended>,
}

pub(crate) fn server() -> Server {
    server_with(|_| {})
}

pub(crate) fn server_with(change: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings::default();
    change(&mut settings);
    Server::builder(Info::new("test", "1.0.0"))
        .settings(settings)
        .build()
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn silent(server: &Server) -> Self {
        Self::with_buffer(server, 1 << 20)
    }

    pub(crate) fn with_buffer(server: &Server, bytes: usize) -> Self {
        Self::joined(server, bytes, ::http::Extensions::new())
    }

    /// A client that has shaken hands, with what a transport says of it.
    pub(crate) async fn ready_as(server: &Server, extensions: ::http::Extensions) -> Self {
        Self::joined(server, 1 << 20, extensions)
            .greeted("2025-11-25", json!({}))
            .await
    }

    fn joined(server: &Server, bytes: usize, extensions: ::http::Extensions) -> Self {
        let (ours, theirs) = tokio::io::duplex(bytes);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        let server = tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader: BufReader::new(reader),
            writer: Some(writer),
            kept: VecDeque::new(),
            next_id: 1,
            server,
        }
    }

    /// A client that has shaken hands in the newest version of that era.
    pub(crate) async fn ready(server: &Server) -> Self {
        Self::ready_with(server, "2025-11-25", json!({})).await
    }

    pub(crate) async fn ready_with(server: &Server, version: &str, capabilities: Value) -> Self {
        Self::silent(server).greeted(version, capabilities).await
    }

    async fn greeted(mut self, version: &str, capabilities: Value) -> Self {
        self.initialize(version, capabilities).await;
        self.notify("notifications/initialized", json!({})).await;
        // The answer to a ping proves that the notification before it was heard.
        self.request("ping", json!({})).await;
        self
    }

    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({ "name": "test-client", "version": "0.1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        self.request("initialize", params).await
    }

    /// Sends a request and gives its whole answer. What comes in between is kept for [`Client::notice`].
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(&json!(id)).await
    }

    /// Sends a request and gives its id.
    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// A request of the stateless era.
    pub(crate) async fn stateless(&mut self, method: &str, params: Value, capabilities: Value) -> Value {
        let id = self.start_stateless(method, params, capabilities).await;
        self.answer(&json!(id)).await
    }

    pub(crate) async fn start_stateless(
        &mut self,
        method: &str,
        mut params: Value,
        capabilities: Value,
    ) -> u64 {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        self.start(method, params).await
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the client's side is open");
        writer.write_all(bytes).await.expect("the server reads");
    }

    /// The answer to this id.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        self.find(|message| message.get("method").is_none() && &message["id"] == id)
            .await
    }

    /// The next notification or request of the server with this method.
    pub(crate) async fn notice(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// The next message, whatever it is; `None` when the server closed its side.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        match self.kept.pop_front() {
            Some(message) => Some(message),
            None => self.read().await,
        }
    }

    /// True when nothing with this method arrived before the answer to a ping sent now.
    pub(crate) async fn heard_nothing_of(&mut self, method: &str) -> bool {
        self.request("ping", json!({})).await;
        !self.kept.iter().any(|message| message["method"] == method)
    }

    /// True when nothing with this method is among what came in between.
    pub(crate) fn kept_nothing_of(&self, method: &str) -> bool {
        !self.kept.iter().any(|message| message["method"] == method)
    }

    /// The next question to a person the server did not give up.
    pub(crate) async fn open_question(&mut self) -> Value {
        loop {
            let question = self.notice("elicitation/create").await;
            let given_up = |message: &Value| {
                message["method"] == "notifications/cancelled"
                    && message["params"]["requestId"] == question["id"]
            };
            if !self.kept.iter().any(given_up) {
                return question;
            }
        }
    }

    /// Closes our side and gives everything that still comes, and how the server took it.
    pub(crate) async fn finish(mut self) -> (Vec<Value>, Ended) {
        self.close();
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        let ended = self.server.await.expect("the server does not panic");
        (rest, ended)
    }

    pub(crate) fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // Shutting down is what a closed pipe looks like; dropping a half would keep it open.
            tokio::spawn(async move { writer.shutdown().await });
        }
    }

    async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("it was just found");
        }
        loop {
            let message = self
                .read()
                .await
                .expect("the server closed its side before the message came");
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    async fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.reader.read_line(&mut line)).await;
        match read
            .expect("an answer within a minute")
            .expect("the server writes text")
        {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?} is not JSON: {e}"))),
        }
    }
}

/// Everything the runtime logs on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// A log that is written for as long as the guard lives.
    pub(crate) fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// What was logged since this was last asked.
    pub(crate) fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The refusal behind an error.
pub(crate) fn refusal(answer: &Value) -> u64 {
    answer["error"]["data"]["refusal"]["code"]
        .as_u64()
        .unwrap_or_else(|| panic!("no refusal in {answer}"))
}

/// `error.code` and the refusal behind it.
pub(crate) fn codes(answer: &Value) -> (i64, u64) {
    (
        answer["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error in {answer}")),
        refusal(answer),
    )
}
