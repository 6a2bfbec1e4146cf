//! The official SDK's client, which says in which folder it works: files are read inside it and nowhere else, in both eras.

#![expect(
    deprecated,
    reason = "roots are on their way out of MCP, and still what hosts speak"
)]

use crate::harness::Server;
use rmcp::model::{
    ClientConfig, ErrorData, ListRootsResult, ProtocolVersion, ReadResourceRequestParams, ResourceContents,
    Root,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::json;
use spexus_http::McpOptions;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host that works in one folder at a time, and counts how often it was asked.
#[derive(Clone)]
struct Host(Arc<Mutex<(String, usize)>>);

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let config = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": { "listChanged": true } },
            "clientInfo": { "name": "rmcp-roots", "version": "1.0" },
        });
        serde_json::from_value(config).unwrap()
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        Ok(ListRootsResult::new(vec![Root::new(state.0.clone())]))
    }
}

/// The text of a file, or what the server said instead.
async fn read(client: &RunningService<RoleClient, Host>, uri: String) -> Result<String, String> {
    let read = client.read_resource(ReadResourceRequestParams::new(uri));
    let read = tokio::time::timeout(PATIENCE, read)
        .await
        .expect("an answer within a minute");
    let contents = read.map_err(|error| error.to_string())?.contents.remove(0);
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Ok(text),
        other => panic!("{other:?}"),
    }
}

struct World {
    _scratch: tempfile::TempDir,
    base: PathBuf,
    server: Server,
    host: Host,
}

impl World {
    async fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        for folder in ["docs", "code"] {
            std::fs::create_dir(base.join(folder)).unwrap();
            std::fs::write(base.join(folder).join("a.md"), folder).unwrap();
        }
        let mcp = McpOptions {
            roots: vec![base.clone()],
            ..McpOptions::default()
        };
        let server = Server::with(mcp).await;
        let host = Host(Arc::new(Mutex::new((
            format!("file://{}/docs", base.display()),
            0,
        ))));
        Self {
            _scratch: scratch,
            base,
            server,
            host,
        }
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.base.display())
    }

    fn transport(&self) -> StreamableHttpClientTransport<reqwest::Client> {
        let address = format!("{}/api/v1/mcp", self.server.url);
        let config =
            StreamableHttpClientTransportConfig::with_uri(address).auth_header(self.server.token.clone());
        StreamableHttpClientTransport::from_config(config)
    }
}

// proves 002 Req-Root-005
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdk_client_is_held_to_its_own_roots_in_the_handshake_era() {
    let world = World::new().await;
    let client = rmcp::ServiceExt::serve(world.host.clone(), world.transport())
        .await
        .unwrap();
    assert_eq!(read(&client, world.uri("docs/a.md")).await.unwrap(), "docs");
    let refused = read(&client, world.uri("code/a.md")).await.unwrap_err();
    assert!(
        refused.contains("1039") || refused.contains("outside the roots"),
        "{refused}"
    );
    assert_eq!(world.host.0.lock().unwrap().1, 1, "asked once for the session");
    world.host.0.lock().unwrap().0 = world.uri("code");
    client.notify_roots_list_changed().await.unwrap();
    assert_eq!(read(&client, world.uri("code/a.md")).await.unwrap(), "code");
    assert!(read(&client, world.uri("docs/a.md")).await.is_err());
    client.cancel().await.unwrap();
    world.server.stop().await;
}

// proves 002 Req-Root-005
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdk_client_is_held_to_its_own_roots_in_the_stateless_era() {
    let world = World::new().await;
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let client = world
        .host
        .clone()
        .serve_with_lifecycle(world.transport(), lifecycle)
        .await
        .unwrap();
    assert_eq!(read(&client, world.uri("docs/a.md")).await.unwrap(), "docs");
    assert!(read(&client, world.uri("code/a.md")).await.is_err());
    assert_eq!(world.host.0.lock().unwrap().1, 2, "asked with each request");
    client.cancel().await.unwrap();
    world.server.stop().await;
}
