//! A server, and a client of it in memory that says exactly what a test tells it to.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use mcp_server::lines::{self, Ended};
use mcp_server::{Info, Server, Settings};
use serde_json::{Value, json};
use test_support::mcp::McpClient;
pub(crate) use test_support::mcp::refusal;
use tokio::task::JoinHandle;

/// The client, and the server's side of it.
pub(crate) struct Client {
    mcp: McpClient,
    server: JoinHandle<Ended>,
}

impl Deref for Client {
    type Target = McpClient;

    fn deref(&self) -> &McpClient {
        &self.mcp
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut McpClient {
        &mut self.mcp
    }
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
        let (mcp, theirs) = McpClient::in_memory(bytes);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        let server = tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
        Self { mcp, server }
    }

    /// A client that has shaken hands in the newest version of that era.
    pub(crate) async fn ready(server: &Server) -> Self {
        Self::ready_with(server, "2025-11-25", json!({})).await
    }

    pub(crate) async fn ready_with(server: &Server, version: &str, capabilities: Value) -> Self {
        Self::silent(server).greeted(version, capabilities).await
    }

    async fn greeted(mut self, version: &str, capabilities: Value) -> Self {
        self.handshake(version, capabilities).await;
        // The answer to a ping proves that the notification before it was heard.
        self.request("ping", json!({})).await;
        self
    }

    /// The next question to a person the server did not give up.
    pub(crate) async fn open_question(&mut self) -> Value {
        loop {
            let question = self.notice("elicitation/create").await;
            let given_up = |message: &Value| {
                message["method"] == "notifications/cancelled"
                    && message["params"]["requestId"] == question["id"]
            };
            if !self.kept().any(given_up) {
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

/// `error.code` and the refusal behind it.
pub(crate) fn codes(answer: &Value) -> (i64, u64) {
    (
        answer["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error in {answer}")),
        refusal(answer),
    )
}
