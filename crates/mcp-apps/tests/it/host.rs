//! A server with apps, and a client of it that says exactly what a test tells it to.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use mcp_apps::{Act, AppOptions, Apps, House, Source, Wanted};
use mcp_server::{Context, Info, Server, lines};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The `troublemaker` example, which `cargo test` builds.
pub(crate) fn troublemaker() -> PathBuf {
    let beside = std::env::current_exe().unwrap();
    let path = beside
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/troublemaker");
    if !path.exists() {
        let built = std::process::Command::new(env!("CARGO"))
            .args(["build", "-p", "mcp-apps", "--example", "troublemaker"])
            .status();
        assert!(built.unwrap().success());
    }
    path
}

/// A manifest of the troublemaker, told to behave like this.
pub(crate) fn manifest(name: &str, habits: &[&str]) -> Value {
    json!({
        "manifest_version": "0.3", "name": name, "version": "1.2.3", "description": "Makes trouble.",
        "author": { "name": "Nobody" },
        "server": { "type": "binary", "entry_point": "x", "mcp_config": { "command": troublemaker(), "args": habits } },
    })
}

pub(crate) fn wanted(source: Source) -> Wanted {
    Wanted {
        source,
        name: None,
        environment: BTreeMap::new(),
        settings: BTreeMap::new(),
    }
}

/// Whoever is marked as an administrator may do everything.
#[derive(Clone)]
pub(crate) struct Admin;

struct Rules;

impl House for Rules {
    fn check(&self, cx: &Context, act: Act) -> Result<(), Refusal> {
        match act {
            Act::Manage if cx.extension::<Admin>().is_none() => Err(Refusal::new(
                Code::AuthzForbidden,
                "only administrators may manage apps",
            )),
            _ => Ok(()),
        }
    }
}

pub(crate) struct Host {
    pub(crate) server: Server,
    pub(crate) apps: Apps,
    pub(crate) options: AppOptions,
    _folder: Option<TempDir>,
}

/// Quick to give up, so that tests need not wait.
pub(crate) fn quick(options: &mut AppOptions) {
    options.install_over_mcp = true;
    options.limits.first_pause_ms = 10;
    options.limits.longest_pause_ms = 50;
    options.limits.stop_grace_ms = 500;
}

impl Host {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut AppOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = AppOptions::new(folder.path().join("apps"));
        quick(&mut options);
        change(&mut options);
        let mut host = Self::on(options).await;
        host._folder = Some(folder);
        host
    }

    /// A server on a folder that is there already.
    pub(crate) async fn on(options: AppOptions) -> Self {
        let server = Server::builder(Info::new("host", "1.0.0")).build();
        let apps = Apps::start(&server, Rules, options.clone()).await.unwrap();
        Self {
            server,
            apps,
            options,
            _folder: None,
        }
    }

    pub(crate) async fn install(&self, name: &str, habits: &[&str]) {
        let source = Source::Manifest(manifest(name, habits));
        self.apps.install(wanted(source)).await.unwrap();
    }

    pub(crate) async fn admin(&self) -> Client {
        let mut extensions = http::Extensions::new();
        extensions.insert(Admin);
        Client::ready(&self.server, extensions).await
    }

    pub(crate) async fn user(&self) -> Client {
        Client::ready(&self.server, http::Extensions::new()).await
    }

    /// What is in the folder of apps, but for what servers say about themselves.
    pub(crate) fn shelf(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.options.folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| name != ".run");
        names.sort();
        names
    }

    /// Waits until an app is in a state.
    pub(crate) async fn until(&self, app: &str, state: &str) {
        until(|| {
            let listed = self.apps.list().unwrap();
            listed
                .iter()
                .any(|listed| listed.name == app && listed.state == state)
        })
        .await;
    }
}

/// Waits until something is so; a minute at most.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("it becomes so within a minute");
}

pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    kept: VecDeque<Value>,
    next_id: u64,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn silent(server: &Server, extensions: http::Extensions) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
        let (reader, writer) = tokio::io::split(ours);
        Self {
            reader: BufReader::new(reader),
            writer,
            kept: VecDeque::new(),
            next_id: 1,
        }
    }

    async fn ready(server: &Server, extensions: http::Extensions) -> Self {
        let mut client = Self::silent(server, extensions);
        let info = json!({ "name": "test-client", "version": "0.1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        client.request("initialize", params).await;
        client.notify("notifications/initialized", json!({})).await;
        client.request("ping", json!({})).await;
        client
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn start(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await
    }

    /// Calls a tool that answers with one text.
    pub(crate) async fn said(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        let text = &answer["result"]["content"][0]["text"];
        text.as_str()
            .unwrap_or_else(|| panic!("no text in {answer}"))
            .to_owned()
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
            .await;
    }

    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        self.find(|message| message.get("method").is_none() && message["id"] == json!(id))
            .await
    }

    /// The next notification with this method.
    pub(crate) async fn notice(&mut self, method: &str) -> Value {
        self.find(|message| message["method"] == method).await
    }

    /// The names in a list.
    pub(crate) async fn names(&mut self, method: &str, member: &str, key: &str) -> Vec<String> {
        let listed = self.request(method, json!({})).await;
        let entries = listed["result"][member]
            .as_array()
            .unwrap_or_else(|| panic!("{listed}"));
        entries
            .iter()
            .map(|entry| entry[key].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) async fn tools(&mut self) -> Vec<String> {
        self.names("tools/list", "tools", "name").await
    }

    async fn send(&mut self, message: &Value) {
        self.writer
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).unwrap();
        }
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, self.reader.read_line(&mut line)).await;
            assert_ne!(
                read.expect("an answer within a minute").unwrap(),
                0,
                "the server closed its side"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }
}

/// The refusal behind an error.
pub(crate) fn refusal(answer: &Value) -> u64 {
    let code = answer["error"]["data"]["refusal"]["code"].as_u64();
    code.unwrap_or_else(|| panic!("no refusal in {answer}"))
}
