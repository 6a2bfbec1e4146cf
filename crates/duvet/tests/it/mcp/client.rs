//! A client of the real process.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use test_support::mcp::{McpProcess, refusal};

pub(super) struct Client(McpProcess);

impl Client {
    /// A client that has said nothing yet.
    pub(super) fn silent(root: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
        command.arg("mcp").arg("--root").arg(root).args(flags);
        Self(McpProcess::start(command))
    }

    /// A client that has shaken hands.
    pub(super) fn ready(root: &Path) -> Self {
        Self::with(root, &[])
    }

    pub(super) fn with(root: &Path, flags: &[&str]) -> Self {
        let mut client = Self::silent(root, flags);
        client.initialize("2025-11-25");
        client
    }

    pub(super) fn initialize(&mut self, version: &str) -> Value {
        self.initialize_with(version, json!({}))
    }

    pub(super) fn initialize_with(&mut self, version: &str, capabilities: Value) -> Value {
        result_of(self.0.handshake(version, capabilities))
    }

    /// The result of a request.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        result_of(self.0.request(method, params))
    }

    /// The number of the refusal a request ends with.
    pub(super) fn refused(&mut self, method: &str, params: Value) -> u64 {
        refusal(&self.0.request(method, params))
    }

    /// A request of the stateless era.
    pub(super) fn stateless(&mut self, method: &str, params: Value) -> Value {
        self.request(method, stateless(params))
    }

    /// Sends a request of the stateless era that stays open; gives its id.
    pub(super) fn open(&mut self, method: &str, params: Value) -> u64 {
        self.start(method, stateless(params))
    }

    /// The structured result of a tool.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// The whole result of a tool.
    pub(super) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// The number of the refusal a tool answers with.
    pub(super) fn failed(&mut self, tool: &str, arguments: Value) -> u64 {
        let result = self.result(tool, arguments);
        let code = &result["structuredContent"]["error"]["refusal"]["code"];
        code.as_u64().unwrap_or_else(|| panic!("{tool}: {result}"))
    }

    /// What stands at a path, through the method's name in document 004.
    pub(super) fn read(&mut self, path: &str) -> Value {
        let by_path = self.request("resources/get", json!({ "path": path }));
        let text = by_path["contents"][0]["text"].as_str().unwrap();
        serde_json::from_str(text).unwrap()
    }

    /// All entries below a path, page by page.
    pub(super) fn list(&mut self, path: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut params = json!({ "path": path });
        loop {
            let page = self.request("resources/list", params);
            entries.extend(page["resources"].as_array().unwrap().iter().cloned());
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return entries,
            }
        }
    }

    /// The identifier of the one requirement that a search finds.
    pub(super) fn requirement(&mut self, query: &str) -> String {
        let found = self.call("search_requirements", json!({ "query": query }));
        found["requirements"][0]["identifier"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits for a notification that fits.
    pub(super) fn notice(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        self.0.find(fits)
    }

    /// Closes the input and gives the exit status.
    pub(super) fn leave(mut self) -> Option<i32> {
        self.0.close();
        self.0.status().code()
    }

    #[cfg(unix)]
    pub(super) fn terminate(&mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.0.status().code()
    }

    /// The answer to a request that was sent before.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        self.0.answer(id)
    }

    /// Sends many requests before the first answer is read; their results, in the order they were asked for.
    pub(super) fn at_once(&mut self, method: &str, all: &[Value]) -> Vec<Value> {
        let ids: Vec<u64> = all
            .iter()
            .map(|params| self.start(method, params.clone()))
            .collect();
        ids.into_iter().map(|id| result_of(self.answer(id))).collect()
    }

    /// Sends a request and gives its id.
    pub(super) fn start(&mut self, method: &str, params: Value) -> u64 {
        self.0.start_request(method, params)
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.0.send_text(&message.to_string());
    }
}

fn result_of(mut answer: Value) -> Value {
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].take()
}

fn stateless(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}
