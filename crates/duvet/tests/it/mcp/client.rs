//! A client of the real process. Every wait is bounded.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Notifications that came while an answer was awaited.
    kept: Vec<Value>,
    next_id: u64,
}

impl Client {
    /// A client that has said nothing yet.
    pub(super) fn silent(root: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duvet"))
            .arg("mcp")
            .arg("--root")
            .arg(root)
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (told, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if told.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            lines,
            kept: Vec::new(),
            next_id: 1,
        }
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
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": info });
        let hello = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        hello
    }

    /// The result of a request.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.exchange(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The number of the refusal a request ends with.
    pub(super) fn refused(&mut self, method: &str, params: Value) -> u64 {
        let answer = self.exchange(method, params);
        let refusal = &answer["error"]["data"]["refusal"]["code"];
        refusal
            .as_u64()
            .unwrap_or_else(|| panic!("{method} was not refused: {answer}"))
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
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.next(deadline);
            if fits(&line) {
                return line;
            }
            self.kept.push(line);
        }
    }

    /// Closes the input and gives the exit status.
    pub(super) fn leave(mut self) -> Option<i32> {
        drop(self.input.take());
        self.status()
    }

    #[cfg(unix)]
    pub(super) fn terminate(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.status()
    }

    fn status(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not end");
    }

    fn exchange(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.answer(id)
    }

    /// The answer to a request that was sent before.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.next(deadline);
            if line["id"] == id && line["method"].is_null() {
                return line;
            }
            self.kept.push(line);
        }
    }

    /// Sends many requests before the first answer is read; their results, as they come.
    pub(super) fn at_once(&mut self, method: &str, all: &[Value]) -> Vec<Value> {
        let ids: Vec<u64> = all
            .iter()
            .map(|params| self.start(method, params.clone()))
            .collect();
        let deadline = Instant::now() + PATIENCE;
        let mut results = Vec::new();
        while results.len() < ids.len() {
            let mut line = self.next(deadline);
            if line["id"].as_u64().is_some_and(|id| ids.contains(&id)) && line["method"].is_null() {
                assert!(line["error"].is_null(), "{line}");
                results.push(line["result"].take());
            }
        }
        results
    }

    /// Sends a request and gives its id.
    pub(super) fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(super) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    fn next(&self, deadline: Instant) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        self.lines.recv_timeout(left).expect("the server says nothing")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stateless(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}
