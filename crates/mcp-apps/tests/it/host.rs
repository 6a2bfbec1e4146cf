//! A server with apps, and a client of it that says exactly what a test tells it to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcp_apps::{AppOperation, AppOptions, AppSource, Apps, HostPolicy, InstallRequest};
use mcp_server::{Context, Info, Server, lines};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::eventually;
use test_support::mcp::McpClient;
pub(crate) use test_support::mcp::refusal;
pub(crate) use test_support::until;

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

pub(crate) fn request_for(source: AppSource) -> InstallRequest {
    InstallRequest {
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

impl HostPolicy for Rules {
    fn check(&self, cx: &Context, act: AppOperation) -> Result<(), Refusal> {
        match act {
            AppOperation::Manage if cx.extension::<Admin>().is_none() => Err(Refusal::new(
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
        let source = AppSource::Manifest(manifest(name, habits));
        self.apps.install(request_for(source)).await.unwrap();
    }

    pub(crate) async fn admin(&self) -> McpClient {
        let mut extensions = http::Extensions::new();
        extensions.insert(Admin);
        ready(&self.server, extensions).await
    }

    pub(crate) async fn user(&self) -> McpClient {
        ready(&self.server, http::Extensions::new()).await
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
        eventually(state, || {
            let listed = self.apps.list().unwrap();
            listed
                .iter()
                .any(|listed| listed.name == app && listed.state == state)
        })
        .await;
    }
}

/// A client in memory that has said nothing yet.
pub(crate) fn silent(server: &Server, extensions: http::Extensions) -> McpClient {
    let (client, theirs) = McpClient::in_memory(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let server = server.clone();
    tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
    client
}

async fn ready(server: &Server, extensions: http::Extensions) -> McpClient {
    let mut client = silent(server, extensions);
    client.handshake("2025-11-25", json!({})).await;
    client.request("ping", json!({})).await;
    client
}
