//! An MCP server that misbehaves on request, for tests: it crashes, hangs, floods, lies and leaves processes behind.
//! Written against the bare protocol, so that nothing keeps it from doing so.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it speaks through its pipes"
)]

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

struct Maker {
    /// How it was told to behave.
    habits: Vec<String>,
    /// Whether it has one more tool.
    grown: bool,
    /// Requests it was told to give up.
    cancelled: Vec<Value>,
}

fn main() {
    let habits: Vec<String> = std::env::args().skip(1).collect();
    let has = |habit: &str| habits.iter().any(|given| given == habit);
    if has("crash-at-start") {
        eprintln!("no use");
        std::process::exit(3);
    }
    if has("silent") {
        std::thread::sleep(Duration::from_secs(3_600));
    }
    if has("garbage") {
        println!("Listening on port 8080...\n\u{1b}[31m{{not json\n[1,2\n{{\"neither\":\"this\"}}");
    }
    if has("endless-line") {
        let piece = "x".repeat(1 << 16);
        while std::io::stdout().write_all(piece.as_bytes()).is_ok() {}
    }
    if has("flood") {
        std::thread::spawn(|| {
            loop {
                say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                say(
                    &json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "more" } }),
                );
            }
        });
    }
    let mut maker = Maker {
        habits,
        grown: false,
        cancelled: Vec::new(),
    };
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
            continue;
        };
        maker.hear(&message);
    }
    if maker.has("stay") {
        std::thread::sleep(Duration::from_secs(3_600));
    }
}

impl Maker {
    fn has(&self, habit: &str) -> bool {
        self.habits.iter().any(|given| given == habit)
    }

    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        if message["method"] == "notifications/cancelled" {
            self.cancelled.push(params["requestId"].clone());
        }
        let Some(id) = message.get("id") else { return };
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": self.hello(params) }),
            "ping" => json!({ "result": {} }),
            "tools/list" => json!({ "result": { "tools": self.tools() } }),
            "resources/list" => json!({ "result": { "resources": resources() } }),
            "resources/templates/list" => {
                let template =
                    json!({ "uriTemplate": "trouble://item/{id}", "name": "item", "mimeType": "text/plain" });
                json!({ "result": { "resourceTemplates": [template] } })
            }
            "prompts/list" => {
                let argument = json!({ "name": "name", "required": true });
                json!({ "result": { "prompts": [{ "name": "greet", "description": "Greets.", "arguments": [argument] }] } })
            }
            "resources/read" => read(&params["uri"]),
            "prompts/get" => {
                let text = format!(
                    "Greet {}.",
                    params["arguments"]["name"].as_str().unwrap_or("nobody")
                );
                json!({ "result": { "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] } })
            }
            "tools/call" => match self.call(params) {
                Some(answer) => answer,
                None => return,
            },
            other => json!({ "error": { "code": -32601, "message": format!("no method {other}") } }),
        };
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        say(&answer);
    }

    fn hello(&self, params: &Value) -> Value {
        let some = json!({ "listChanged": true });
        json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": some, "resources": some, "prompts": some },
            "serverInfo": { "name": "troublemaker", "version": "0.1.0" },
        })
    }

    fn tools(&self) -> Vec<Value> {
        let any = json!({ "type": "object" });
        let text =
            json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
        let reads = json!({ "readOnlyHint": true });
        let mut tools = vec![
            json!({ "name": "echo", "description": "Says it back.", "inputSchema": text, "annotations": reads }),
        ];
        for name in [
            "crash",
            "hang",
            "late",
            "slow",
            "fail",
            "refuse",
            "nonsense",
            "environment",
            "child",
            "grow",
            "shrink",
            "eat",
            "cancelled",
            "link",
        ] {
            tools.push(json!({ "name": name, "description": "Makes trouble.", "inputSchema": any }));
        }
        if self.grown {
            tools.push(json!({ "name": "extra", "inputSchema": any }));
        }
        if self.has("duplicate") {
            tools.push(json!({ "name": "echo", "inputSchema": any }));
        }
        tools
    }

    fn call(&mut self, params: &Value) -> Option<Value> {
        let arguments = &params["arguments"];
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        Some(match params["name"].as_str().unwrap_or_default() {
            "echo" => text(arguments["text"].as_str().unwrap_or_default()),
            "crash" => std::process::exit(9),
            "hang" => loop {
                std::thread::sleep(Duration::from_secs(3_600));
            },
            "late" => {
                let progress = json!({ "progressToken": params["_meta"]["progressToken"], "progress": 0 });
                say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }));
                return None;
            }
            "slow" => {
                let steps = number("steps");
                for step in 1..=steps {
                    let progress = json!({ "progressToken": params["_meta"]["progressToken"], "progress": step, "total": steps });
                    say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }));
                    std::thread::sleep(Duration::from_millis(20));
                }
                text("done")
            }
            "fail" => {
                let content = json!([{ "type": "text", "text": "it did not work" }]);
                json!({ "result": { "content": content, "structuredContent": { "why": "bad luck" }, "isError": true } })
            }
            "refuse" => json!({ "error": { "code": -32602, "message": "not like this" } }),
            "nonsense" => json!({ "result": { "content": [{ "type": "smell", "odour": "burnt" }] } }),
            "environment" => text(
                &std::env::vars()
                    .map(|(name, value)| format!("{name}={value}\n"))
                    .collect::<String>(),
            ),
            "child" => {
                let mut child = std::process::Command::new("sleep")
                    .arg("3600")
                    .spawn()
                    .expect("sleep is there");
                let number = child.id();
                std::thread::spawn(move || child.wait());
                text(&number.to_string())
            }
            "grow" | "shrink" => {
                self.grown = params["name"] == "grow";
                say(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                text("done")
            }
            "eat" => {
                let size = usize::try_from(number("bytes")).unwrap_or_default();
                let eaten = vec![1_u8; size];
                text(
                    &eaten
                        .iter()
                        .map(|byte| usize::from(*byte))
                        .sum::<usize>()
                        .to_string(),
                )
            }
            "cancelled" => text(&self.cancelled.len().to_string()),
            "link" => {
                let link = json!({ "type": "resource_link", "uri": "trouble://hidden/1", "name": "hidden" });
                json!({ "result": { "content": [link] } })
            }
            other => json!({ "error": { "code": -32602, "message": format!("no tool {other}") } }),
        })
    }
}

fn resources() -> Value {
    json!([
        { "uri": "trouble://notes/one", "name": "one", "mimeType": "text/plain" },
        { "uri": "trouble:///two", "name": "two", "mimeType": "text/plain" },
        { "uri": "not an address", "name": "three" },
    ])
}

fn read(uri: &Value) -> Value {
    match uri.as_str().unwrap_or_default() {
        known if known.starts_with("trouble://") => {
            json!({ "result": { "contents": [{ "uri": known, "mimeType": "text/plain", "text": format!("this is {known}") }] } })
        }
        other => json!({ "error": { "code": -32002, "message": format!("no resource {other}") } }),
    }
}

fn text(text: &str) -> Value {
    json!({ "result": { "content": [{ "type": "text", "text": text }] } })
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever listened is gone; then so are we.
    if writeln!(out, "{message}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
