//! `duvet mcp` as a process: how soon it answers, and how long each tool takes.

use crate::{line, milliseconds};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// Calls of one tool in one round; the slowest but one percent of them is the round's figure.
const CALLS: usize = 200;
const ROUNDS: usize = 5;

pub(crate) fn measure(corpus: &Path, ours: &Path, runs: usize) {
    let starts: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let mut server = Server::start(corpus, ours);
            server.call("get_prioritized_requirements", &json!({ "limit": 1 }));
            milliseconds(start.elapsed())
        })
        .collect();
    line("mcp, start to first answer", "ms", &starts, &[]);
    measure_tools(&mut Server::start(corpus, ours), "mcp");
}

/// A project forty times as large, with a folder for cookies: what a call costs when nothing changed, and a hundred of them
/// sent at once.
pub(crate) fn measure_many(root: &Path, ours: &Path) {
    std::fs::create_dir_all(root.join(".duvet")).unwrap();
    let mut server = Server::of(root, ours, "quic*/**/*.rs");
    measure_tools(&mut server, "mcp, sources forty times over");
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let arguments = json!({ "query": "connection error" });
        let times = server.calls("search_requirements", &arguments);
        alone.push(times.iter().sum::<f64>() / CALLS as f64 * 100.0);
        together.push(server.at_once("search_requirements", &arguments, 100));
    }
    line(
        "mcp, sources forty times over, a hundred calls in turn",
        "ms",
        &alone,
        &[],
    );
    line(
        "mcp, sources forty times over, a hundred calls at once",
        "ms",
        &together,
        &[],
    );
}

/// The median and the slowest but one percent of many calls of each tool.
fn measure_tools(server: &mut Server, place: &str) {
    let quote = "A QUIC endpoint MUST NOT reuse a stream ID within a connection.";
    let target = "https://www.rfc-editor.org/rfc/rfc9000#section-2.1";
    let found = server.call(
        "search_requirements",
        &json!({ "query": "stream ID reuse", "detail": "full" }),
    );
    let first = &found["requirements"][0];
    let citation = &first["citations"][0];
    let file = citation.as_str().and_then(|citation| citation.rsplit_once(':'));
    let (file, _) = file.expect("a requirement that is cited");
    let tools = [
        (
            "validate_citation",
            json!({ "citation": format!("//= {target}\n//# {quote}") }),
        ),
        ("search_requirements", json!({ "query": "connection error" })),
        (
            "get_requirement_status",
            json!({ "req_identifier": first["identifier"] }),
        ),
        ("list_uncited_requirements", json!({})),
        ("list_invalid_citations", json!({})),
        (
            "get_citation_context",
            json!({ "citation_id": citation, "context_lines": 5 }),
        ),
        (
            "resolve_spec_id",
            json!({ "url": "https://www.rfc-editor.org/rfc/rfc9000" }),
        ),
        ("get_prioritized_requirements", json!({})),
        (
            "get_section",
            json!({ "spec_id": "rfc9000", "section_id": "section-2.1" }),
        ),
        ("propose_fixes", json!({ "file_path": file })),
    ];
    for (tool, arguments) in tools {
        let (medians, slowest): (Vec<f64>, Vec<f64>) = (0..ROUNDS)
            .map(|_| {
                let times = server.calls(tool, &arguments);
                (times[CALLS / 2], times[CALLS * 99 / 100 - 1])
            })
            .unzip();
        line(&format!("{place}, median of {tool}"), "ms", &medians, &[]);
        line(&format!("{place}, p99 of {tool}"), "ms", &slowest, &[]);
    }
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    fn start(corpus: &Path, ours: &Path) -> Self {
        Self::of(corpus, ours, "quic/**/*.rs")
    }

    fn of(corpus: &Path, ours: &Path, sources: &str) -> Self {
        let mut child = Command::new(ours)
            .arg("mcp")
            .arg("--root")
            .arg(corpus)
            .args(["--spec-pattern", "specs/**/*.toml", "--source-pattern", sources])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            id: 0,
        };
        let info = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        server.request("initialize", &hello);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(server.input, "{ready}").unwrap();
        server
    }

    /// How long until the last of so many calls that are sent together was answered.
    fn at_once(&mut self, tool: &str, arguments: &Value, count: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..count {
            self.send("tools/call", &json!({ "name": tool, "arguments": arguments }));
        }
        for _ in 0..count {
            let answer = self.line();
            assert!(answer.contains("\"isError\":false"), "{tool}: {answer}");
        }
        milliseconds(start.elapsed())
    }

    /// The times of many calls, one after the other, the shortest first.
    fn calls(&mut self, tool: &str, arguments: &Value) -> Vec<f64> {
        let mut times: Vec<f64> = (0..CALLS)
            .map(|_| {
                let start = Instant::now();
                self.send("tools/call", &json!({ "name": tool, "arguments": arguments }));
                let answer = self.line();
                let time = milliseconds(start.elapsed());
                assert!(answer.contains("\"isError\":false"), "{tool}: {answer}");
                time
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        result["structuredContent"].take()
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        let mut answer: Value = serde_json::from_str(&self.line()).unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    fn send(&mut self, method: &str, params: &Value) {
        self.id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        writeln!(self.input, "{message}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself when its input does; a bench does not wait for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
