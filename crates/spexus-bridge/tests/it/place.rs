//! A backend with tools of every temper, and a host.

use mcp_protocol::{Ask, ResourceContents, ToolAnnotations, ToolResult};
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Resource, Server, Stop, Tool};
use serde_json::{Value, json};
use spexus_bridge::{BackendUrl, BearerToken, BridgeLimits, BridgeSettings};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use test_support::mcp::McpClient;
pub(crate) use test_support::{PATIENCE, eventually, settled};
use tokio::io::split;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tower_service::Service as _;

/// How much `large` says at once, and `pour` in each piece.
pub(crate) const LARGE: usize = 100_000;
/// How many pieces `pour` has.
pub(crate) const PIECES: u32 = 1_000;
/// How many calls of `meet` wait for each other.
pub(crate) const MEETING: usize = 20;

/// A server that can be killed and started again at the same address.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    /// How often tools ran.
    pub(crate) runs: Arc<AtomicUsize>,
    /// How many connections were made.
    pub(crate) connections: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Backend {
    pub(crate) async fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        let (runs, connections) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = server(&runs);
        let listener = loop {
            // The address may still be in use by what was killed a moment ago.
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        let address = listener.local_addr().unwrap();
        let service = McpService::new(&server, HttpSettings::default());
        let serving = tokio::spawn(accept(listener, service, connections.clone()));
        Self {
            address,
            server,
            runs,
            connections,
            serving,
        }
    }

    /// Ends it in the middle of everything: connections break, sessions are forgotten.
    pub(crate) async fn kill(self) -> SocketAddr {
        self.serving.abort();
        let _ = self.serving.await;
        self.address
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, service: McpService, connections: Arc<AtomicUsize>) {
    // Dropped with the task, and with it every connection.
    let mut open = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.fetch_add(1, Ordering::SeqCst);
        stream.set_nodelay(true).unwrap();
        let service = service.clone();
        open.spawn(async move {
            let serve = hyper::service::service_fn(move |request| {
                let mut service = service.clone();
                async move { service.call(request).await }
            });
            let io = hyper_util::rt::TokioIo::new(stream);
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(io, serve)
                .await;
        });
    }
}

/// Counts back when the work is dropped, which is what a cancel does.
struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn server(runs: &Arc<AtomicUsize>) -> Server {
    let server = Server::builder(Info::new("behind", "1.0.0")).build();
    let titled = json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"], "additionalProperties": false });
    let keyed = json!({ "type": "object", "properties": { "title": { "type": "string" }, "idempotency_key": { "type": "string" } }, "required": ["title"] });
    let ran = runs.clone();
    let echo = Tool::new("echo", "Says it again.", move |_cx, arguments| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, Stop>(ToolResult::text(arguments.text("title").unwrap_or_default())) }
    });
    let reads = ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    };
    let ran = runs.clone();
    let keep = Tool::new("keep", "Tells the key it was given.", move |_cx, arguments| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move {
            Ok::<_, Stop>(ToolResult::text(
                arguments.text("idempotency_key").unwrap_or("none"),
            ))
        }
    });
    let ask = Tool::new("ask", "Asks the user.", |cx, _| async move {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        let answer = cx.ask("who", Ask::form("Who are you?", schema)).await?;
        Ok::<_, Stop>(ToolResult::text(answer.to_string()))
    });
    let count = Tool::new("count", "Counts aloud.", |cx, _| async move {
        for at in 1..=3 {
            cx.progress(f64::from(at), Some(3.0), None).await;
        }
        Ok::<_, Stop>(ToolResult::text("counted"))
    });
    let ran = runs.clone();
    let hang = Tool::new("hang", "Never ends.", move |cx, _| {
        let ran = ran.clone();
        async move {
            ran.fetch_add(1, Ordering::SeqCst);
            let _gone = Gone(ran);
            cx.cancelled().await;
            Ok::<_, Stop>(ToolResult::text("cancelled"))
        }
    });
    let ran = runs.clone();
    let large = Tool::new("large", "Says much.", move |_cx, _| {
        ran.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Stop>(ToolResult::text("x".repeat(LARGE))) }
    });
    let ran = runs.clone();
    let pour = Tool::new("pour", "Says much, piece by piece.", move |cx, _| {
        let ran = ran.clone();
        async move {
            for at in 0..PIECES {
                let piece = json!({ "piece": { "index": at, "text": "x".repeat(LARGE) } });
                cx.progress_with(f64::from(at), Some(f64::from(PIECES)), None, Some(piece))
                    .await;
                ran.fetch_add(1, Ordering::SeqCst);
            }
            Ok::<_, Stop>(ToolResult::text("poured"))
        }
    });
    let all_there = Arc::new(tokio::sync::Barrier::new(MEETING));
    let meet = Tool::new("meet", "Ends when all have come.", move |_cx, _| {
        let all_there = all_there.clone();
        async move {
            all_there.wait().await;
            Ok::<_, Stop>(ToolResult::text("met"))
        }
    });
    let mut make = Tool::new("make", "Asks for what is missing.", |_cx, arguments| async move {
        Ok::<_, Stop>(ToolResult::text(arguments.text("title").unwrap_or_default()))
    });
    make.asks_for_missing = true;
    let tools = vec![
        make.input(titled.clone()),
        echo.input(titled).annotated(reads),
        keep.input(keyed),
        ask,
        count,
        hang,
        large,
        pour,
        meet,
    ];
    server.add_tools(tools).unwrap();
    let note = Resource::new("note://one", "one", "A note.", "text/plain", |_, _| async {
        Ok::<_, Stop>(vec![ResourceContents::text("note://one", "text/plain", "text")])
    });
    server.add_resources(vec![note]).unwrap();
    server
}

/// A host on the other side of a bridge.
pub(crate) struct Host {
    mcp: McpClient,
    pub(crate) bridge: JoinHandle<mcp_server::lines::Ended>,
}

impl Deref for Host {
    type Target = McpClient;

    fn deref(&self) -> &McpClient {
        &self.mcp
    }
}

impl DerefMut for Host {
    fn deref_mut(&mut self) -> &mut McpClient {
        &mut self.mcp
    }
}

pub(crate) fn settings(address: SocketAddr) -> BridgeSettings {
    BridgeSettings {
        backend: BackendUrl::parse(&format!("http://{address}")).unwrap(),
        token: BearerToken::parse("mcp_pat_for_these_tests"),
        request_timeout: Duration::from_secs(5),
        max_retries: 3,
        name: spexus_bridge::NAME.to_owned(),
        title: spexus_bridge::TITLE.to_owned(),
        version: "1.0.0".to_owned(),
        versions: mcp_protocol::OfferedVersions::default(),
        headers: Vec::new(),
        limits: BridgeLimits {
            backoff_first_ms: 20,
            breaker_open_ms: 200,
            ..BridgeLimits::default()
        },
    }
}

impl Host {
    pub(crate) fn start(settings: BridgeSettings) -> Self {
        Self::stoppable(settings, std::future::pending())
    }

    pub(crate) fn stoppable(
        settings: BridgeSettings,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let (mcp, far) = McpClient::in_memory(1 << 20);
        let (reader, writer) = split(far);
        let bridge = tokio::spawn(async move {
            spexus_bridge::serve(settings, reader, writer, stop)
                .await
                .unwrap()
        });
        Self { mcp, bridge }
    }

    /// Starts and shakes hands.
    pub(crate) async fn greeted(settings: BridgeSettings, version: &str) -> Self {
        let mut host = Self::start(settings);
        let hello = host.request("initialize", hello(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        host
    }
}

pub(crate) fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": { "name": "test", "version": "1" } })
}
