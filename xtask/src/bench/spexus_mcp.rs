//! The product over MCP from outside: the endpoint beside the REST of the same server, and the stdio server on pipes, as a
//! bridge and with the system inside.

mod hearing;
mod recovery;

use super::rest::client;
use super::rest::process::{Bench, Server};
use super::row::{Row, Target};
use super::sample;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(1_200);
const ITEM: &str = r#"{"id":"EP-001"}"#;
const NEW_EPIC: &str = r#"{"title":"Sign in with a passkey"}"#;

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let bench = Bench::build()?;
    let server = Server::start(&bench, "bridge.db")?;
    client::Client::connect(&server)?.post("/api/v1/epics", NEW_EPIC)?;
    let mut rows = Vec::new();
    for clients in [1, 16] {
        let rest = || client::rate(&server, clients, ROUND, "GET", "/api/v1/epics/EP-001", None);
        let call = || {
            client::rate_of(&server, clients, ROUND, |client| {
                client.tool_call("get_item", ITEM)
            })
        };
        let pair = sample::alternate(ROUNDS, call, rest)?;
        let name = format!("point read by tools/call over HTTP ÷ REST, {clients} client(s)");
        rows.push(Row::ratio(name, "/s", &pair, Target::AtLeast(0.6)));
    }
    for clients in [1, 16] {
        let rest = || client::rate(&server, clients, ROUND, "GET", "/api/v1/epics/EP-001", None);
        let mut bridge = Host::start(bridge(&bench, &server))?;
        let pair = sample::alternate(ROUNDS, || bridge.rate(clients, ROUND), rest)?;
        let name = format!("point read through the bridge ÷ REST, {clients} client(s)");
        rows.push(Row::ratio(name, "/s", &pair, Target::AtLeast(0.5)));
    }
    let mut embedded = Host::start(embedded(&bench, &server))?;
    let calls: Result<Vec<f64>> = (0..ROUNDS).map(|_| embedded.rate(64, ROUND)).collect();
    rows.push(Row::alone(
        "calls with the system inside, 64 at once",
        "/s",
        sample::of(calls?),
        Target::AtLeast(40_000.0),
    ));
    rows.push(Row::alone(
        "tools/list by default",
        "KB",
        sample::of([embedded.size_of("tools/list")? as f64 / 1024.0]),
        Target::AtMost(24.0),
    ));
    let ready: Result<Vec<f64>> = (0..15).map(|_| ready_ms(&bench, &server)).collect();
    rows.push(Row::alone(
        "ready with the system inside",
        "ms",
        sample::of(ready?),
        Target::AtMost(60.0),
    ));
    let idle = Host::start(self::embedded(&bench, &server))?;
    rows.push(Row::alone(
        "resident with the system inside, idle",
        "MB",
        sample::of([idle.resident_mb()?]),
        Target::AtMost(30.0),
    ));
    let idle = Host::start(self::bridge(&bench, &server))?;
    rows.push(Row::alone(
        "resident as a bridge, idle",
        "MB",
        sample::of([idle.resident_mb()?]),
        Target::AtMost(30.0),
    ));
    rows.extend(hearing::rows(&bench, &server)?);
    rows.extend(recovery::rows(&bench)?);
    Ok(rows)
}

fn bridge(bench: &Bench, server: &Server) -> Command {
    let mut command = bench.program();
    command
        .arg("mcp")
        .env("BACKEND_API_URL", format!("http://{}", server.address))
        .env("MCP_PAT_TOKEN", &server.token)
        .env("LOG_LEVEL", "error");
    command
}

fn embedded(bench: &Bench, server: &Server) -> Command {
    let mut command = bench.program();
    command
        .args(["mcp", "--scope", "admin", "--database", &server.database])
        .env("LOG_LEVEL", "error");
    command
}

/// From the start of the process to the answer to `initialize`.
fn ready_ms(bench: &Bench, server: &Server) -> Result<f64> {
    let began = Instant::now();
    let host = Host::start(embedded(bench, server))?;
    let ready = began.elapsed().as_secs_f64() * 1e3;
    drop(host);
    Ok(ready)
}

/// A host that said hello.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    next: u64,
}

impl Host {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().context("a pipe")?;
        let lines = BufReader::with_capacity(1 << 20, child.stdout.take().context("a pipe")?);
        let mut host = Self {
            child,
            stdin,
            lines,
            next: 0,
        };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        host.write(
            &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string(),
        )?;
        let answer = host.answer()?;
        ensure!(answer.get("result").is_some(), "{answer}");
        host.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(host)
    }

    /// Point reads a second with so many under way at once.
    fn rate(&mut self, at_once: usize, length: Duration) -> Result<f64> {
        for _ in 0..at_once {
            self.ask()?;
        }
        let (began, mut done) = (Instant::now(), 0u64);
        while began.elapsed() < length {
            self.expect_answer()?;
            self.ask()?;
            done += 1;
        }
        let took = began.elapsed().as_secs_f64();
        for _ in 0..at_once {
            self.expect_answer()?;
        }
        Ok(done as f64 / took)
    }

    fn ask(&mut self) -> Result<()> {
        self.next += 1;
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"get_item","arguments":{{"id":"EP-001"}}}}}}"#,
            self.next
        );
        self.write(&line)
    }

    /// The bytes of an answer.
    fn size_of(&mut self, method: &str) -> Result<usize> {
        self.next += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method }).to_string())?;
        let mut line = String::new();
        loop {
            ensure!(self.lines.read_line(&mut line)? > 0, "the server is gone");
            if !line.contains("\"method\":\"notifications") {
                return Ok(line.len());
            }
            line.clear();
        }
    }

    fn write(&mut self, line: &str) -> Result<()> {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes())?)
    }

    /// The next line must be an answer with the item in it; it is not taken apart, which would cost more than the bridge.
    fn expect_answer(&mut self) -> Result<()> {
        loop {
            let mut line = String::new();
            ensure!(self.lines.read_line(&mut line)? > 0, "the server is gone");
            if line.contains("\"method\"") {
                continue;
            }
            ensure!(
                line.contains("Sign in with a passkey") && !line.contains("\"error\""),
                "{line}"
            );
            return Ok(());
        }
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        ensure!(self.lines.read_line(&mut line)? > 0, "the server is gone");
        Ok(serde_json::from_str(&line)?)
    }

    fn resident_mb(&self) -> Result<f64> {
        // What the start needed is given back by then.
        std::thread::sleep(Duration::from_millis(500));
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .context("VmRSS")?;
        let kb: f64 = line.split_whitespace().nth(1).context("a figure")?.parse()?;
        Ok(kb / 1024.0)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
