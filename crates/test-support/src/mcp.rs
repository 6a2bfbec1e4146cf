//! The MCP clients of all tests: over lines ([`McpClient`]: a socket, pipes, memory), of a process ([`McpProcess`]), over
//! HTTP (`HttpAgent`). Each says exactly what a test tells it to, and waits for what comes back.

mod agent;
mod event_text;
#[cfg(feature = "http")]
mod http_client;
mod process;

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};

use crate::waiting::in_time;

pub use agent::{Agent, Exchange, LineAgent};
pub use event_text::{Event, EventText};
#[cfg(feature = "http")]
pub use http_client::{Endpoint, EventStream, Http, HttpAgent, HttpAnswer, hello};
pub use process::{EndedProcess, McpProcess};

/// MCP client for tests: over the pipes of a process, a socket or an in-memory pair. What comes while something else is
/// waited for is kept, and found later.
pub struct McpClient {
    reader: Box<dyn AsyncBufRead + Send + Unpin>,
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    kept: VecDeque<Value>,
    next_id: u64,
}

impl McpClient {
    /// A client that has said nothing yet.
    pub fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        Self {
            reader: Box::new(BufReader::new(reader)),
            writer: Some(Box::new(writer)),
            kept: VecDeque::new(),
            next_id: 1,
        }
    }

    /// A client in memory, and the server's end of the pair, which holds this many bytes.
    pub fn in_memory(bytes: usize) -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(bytes);
        let (reader, writer) = tokio::io::split(ours);
        (Self::over(reader, writer), theirs)
    }

    /// Shakes hands; the answer to `initialize`.
    pub async fn handshake(&mut self, version: &str, capabilities: Value) -> Value {
        let answer = self.initialize(version, capabilities).await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    /// Sends `initialize` alone.
    pub async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let info = json!({ "name": "test-client", "version": "0.1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        self.request("initialize", params).await
    }

    /// Sends a request and gives its whole answer. What comes in between is kept for [`McpClient::notice`].
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    /// Sends a request and gives its id.
    pub async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Sends a request of the stateless era and gives its whole answer.
    pub async fn stateless(&mut self, method: &str, params: Value, capabilities: Value) -> Value {
        let id = self.start_stateless(method, params, capabilities).await;
        self.answer(id).await
    }

    /// Sends a request of the stateless era and gives its id.
    pub async fn start_stateless(&mut self, method: &str, mut params: Value, capabilities: Value) -> u64 {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        self.start(method, params).await
    }

    /// Calls a tool and gives the whole answer.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await
    }

    /// Calls a tool that answers with one text.
    pub async fn text_of(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
    }

    /// A member of every entry of a list, such as the names of the tools.
    pub async fn names(&mut self, method: &str, list: &str, member: &str) -> Vec<String> {
        let listed = self.request(method, json!({})).await;
        let entries = listed["result"][list]
            .as_array()
            .unwrap_or_else(|| panic!("{listed}"));
        let name = |entry: &Value| entry[member].as_str().expect("every entry has it").to_owned();
        entries.iter().map(name).collect()
    }

    /// The names of all tools.
    pub async fn tools(&mut self) -> Vec<String> {
        self.names("tools/list", "tools", "name").await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    /// Sends a message.
    pub async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a line.
    pub async fn send_text(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    /// Sends bytes.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the client's side is open");
        writer.write_all(bytes).await.expect("the server reads");
    }

    /// The answer to this id.
    pub async fn answer(&mut self, id: impl Serialize) -> Value {
        let id = json!(id);
        self.find(|message| message.get("method").is_none() && message["id"] == id)
            .await
    }

    /// The next notification or request of the server with this method.
    pub async fn notice(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// The next message, whatever it is; `None` when the server closed its side.
    pub async fn next(&mut self) -> Option<Value> {
        match self.kept.pop_front() {
            Some(message) => Some(message),
            None => self.line().await,
        }
    }

    /// Everything that came while something else was waited for.
    pub fn kept(&self) -> impl Iterator<Item = &Value> {
        self.kept.iter()
    }

    /// True when nothing with this method is among what came in between.
    pub fn kept_nothing_of(&self, method: &str) -> bool {
        !self.kept().any(|message| message["method"] == method)
    }

    /// True when nothing with this method arrived before the answer to a ping sent now.
    pub async fn heard_nothing_of(&mut self, method: &str) -> bool {
        self.request("ping", json!({})).await;
        self.kept_nothing_of(method)
    }

    /// Closes our side.
    pub fn close(&mut self) {
        if let Some(mut writer) = self.writer.take() {
            // Shutting down is what a closed pipe looks like; dropping a half would keep it open.
            tokio::spawn(async move { writer.shutdown().await });
        }
    }

    /// The first message this holds for, kept or to come.
    pub async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("it was just found");
        }
        self.find_new(wanted).await
    }

    /// The first message to come this holds for, past what was kept.
    pub async fn find_new(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self
                .line()
                .await
                .expect("the server closed its side before the message came");
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    /// The next line, past what was kept; it must be a JSON-RPC message, or an array of them. `None` at the end.
    pub async fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = in_time(self.reader.read_line(&mut line)).await;
        if read.expect("the server writes text") == 0 {
            return None;
        }
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?} is not JSON: {e}"));
        if message.is_object() {
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
        }
        Some(message)
    }
}

/// The refusal behind an error.
pub fn refusal(answer: &Value) -> u64 {
    answer["error"]["data"]["refusal"]["code"]
        .as_u64()
        .unwrap_or_else(|| panic!("no refusal in {answer}"))
}
