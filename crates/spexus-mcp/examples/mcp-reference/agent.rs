//! An agent on a pipe, and what makes its answers the same every time.

use serde_json::{Value, json};
use spexus_domain::Timestamp;
use spexus_domain::account::NewToken;
use spexus_mcp::{Mcp, McpOptions, Toolset};
use spexus_service::account::{login, token};
use spexus_service::{Service, ServiceOptions};
use spexus_store::Location;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// 2026-09-01T00:00:00Z, in microseconds.
const MORNING: i64 = 1_788_220_800_000_000;

/// A connection that has said hello, and the database it speaks to.
pub(crate) struct Agent {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    next_id: u64,
    service: Service,
    _folder: tempfile::TempDir,
}

impl Agent {
    pub(crate) async fn connect() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("spexus.db"));
        let clock = Arc::new(|| Timestamp(MORNING));
        let (service, _) = Service::open(&location, ServiceOptions::for_testing(), clock)
            .await
            .unwrap();
        let caller = login::local(&service, None, "reference").await.unwrap();
        let laptop = NewToken {
            name: "laptop".to_owned(),
            ..NewToken::default()
        };
        token::create(&service, &caller, None, laptop).await.unwrap();
        let options = McpOptions {
            toolsets: vec![Toolset::All],
            ..McpOptions::default()
        };
        let mcp = Mcp::new(&service, options).unwrap();
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(async move {
            let visit = mcp.visit(caller);
            mcp_server::lines::serve(mcp.server(), reader, writer, visit).await
        });
        let (reader, writer) = tokio::io::split(ours);
        let mut agent = Self {
            lines: BufReader::new(reader).lines(),
            writer,
            next_id: 1,
            service,
            _folder: folder,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "reference", "version": "1" },
        });
        agent.ask("initialize", hello).await;
        agent
            .write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        agent
    }

    /// Writes the audit trail as far as it has come.
    pub(crate) async fn flush(&self) {
        self.service.flush().await;
    }

    /// A request that succeeds; gives its result.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        loop {
            let line = self.lines.next_line().await.unwrap().expect("an answer");
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    async fn write(&mut self, message: &Value) {
        self.writer
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
}

/// A value with its members in the order of their names, whatever order they were made in.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let ordered: BTreeMap<&String, Value> = members
                .iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            Value::Object(
                ordered
                    .into_iter()
                    .map(|(name, value)| (name.clone(), value))
                    .collect(),
            )
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The first lines of a text.
pub(crate) fn excerpt(text: &str, max_lines: usize) -> String {
    let mut lines: Vec<&str> = text.lines().take(max_lines).collect();
    if text.lines().count() > max_lines {
        lines.push("…");
    }
    lines.join("\n")
}

/// Whether a word is a cursor of the feed: a number, and the beginnings of a ledger and of a hash.
fn is_cursor(word: &str) -> bool {
    let mut parts = word.split('-');
    let number = parts.next().unwrap_or_default();
    !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) && parts.map(str::len).eq([8, 8])
}

/// Ids and hashes are made anew on every run; in the reference they are all the same one.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_ascii_hexdigit() || c == '-' {
            word.push(c);
            continue;
        }
        out.push_str(match word.len() {
            36 if word.matches('-').count() == 4 => "0198f000-0000-7000-8000-000000000001",
            64 => "f00d…",
            _ if is_cursor(&word) => "1-0198f000-f00df00d",
            _ => &word,
        });
        word.clear();
        out.push(c);
    }
    out.pop();
    out
}
