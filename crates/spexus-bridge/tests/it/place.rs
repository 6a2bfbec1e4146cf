//! A backend with tools of every temper, and a host.

use mcp_protocol::{Ask, ResourceContents, ToolAnnotations, ToolResult};
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Resource, Server, Stop, Tool};
use serde_json::{Value, json};
use spexus_bridge::{Endpoint, Limits, Settings, Token};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tower_service::Service as _;

/// Nothing in these tests takes longer; what does is a failure with a name.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

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
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: Option<WriteHalf<DuplexStream>>,
    pub(crate) bridge: JoinHandle<mcp_server::lines::Ended>,
    next: u64,
    /// What was said that was not waited for.
    pub(crate) heard: Vec<Value>,
}

pub(crate) fn settings(address: SocketAddr) -> Settings {
    Settings {
        endpoint: Endpoint::parse(&format!("http://{address}")).unwrap(),
        token: Token::parse("mcp_pat_for_these_tests"),
        request_timeout: Duration::from_secs(5),
        max_retries: 3,
        name: spexus_bridge::NAME.to_owned(),
        title: spexus_bridge::TITLE.to_owned(),
        version: "1.0.0".to_owned(),
        versions: mcp_protocol::OfferedVersions::default(),
        headers: Vec::new(),
        limits: Limits {
            first_pause_ms: 20,
            breaker_pause_ms: 200,
            ..Limits::default()
        },
    }
}

impl Host {
    pub(crate) fn start(settings: Settings) -> Self {
        Self::stoppable(settings, std::future::pending())
    }

    pub(crate) fn stoppable(settings: Settings, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        let (near, far) = duplex(1 << 20);
        let (reader, writer) = split(far);
        let bridge = tokio::spawn(async move {
            spexus_bridge::serve(settings, reader, writer, stop)
                .await
                .unwrap()
        });
        let (reader, writer) = split(near);
        Self {
            lines: BufReader::new(reader).lines(),
            writer: Some(writer),
            bridge,
            next: 0,
            heard: Vec::new(),
        }
    }

    /// Starts and shakes hands.
    pub(crate) async fn greeted(settings: Settings, version: &str) -> Self {
        let mut host = Self::start(settings);
        let hello = host.call("initialize", hello(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        host.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        host
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n")).await;
    }

    /// Sends a request without waiting; its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": arguments }))
            .await
    }

    /// The answer to a request; whatever else is said before it is kept.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    /// The answer to a request, whatever was answered before it.
    pub(crate) async fn answer_in_any_order(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        match self.heard.iter().position(is_it) {
            Some(at) => self.heard.swap_remove(at),
            None => self.until(is_it).await,
        }
    }

    /// Waits for a notification or a request of the backend.
    pub(crate) async fn hear(&mut self, method: &str) -> Value {
        if let Some(at) = self.heard.iter().position(|message| message["method"] == method) {
            return self.heard.remove(at);
        }
        self.until(|message| message["method"] == method).await
    }

    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.line().await.expect("the bridge is there");
            if wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The next line, which must be a JSON-RPC message; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("the bridge answers");
        let message: Value = serde_json::from_str(&line.unwrap()?).expect("a line is a message");
        if let Value::Object(message) = &message {
            assert_eq!(message["jsonrpc"], "2.0");
        }
        Some(message)
    }

    pub(crate) async fn close(&mut self) {
        let mut writer = self.writer.take().unwrap();
        writer.shutdown().await.unwrap();
    }
}

pub(crate) fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": { "name": "test", "version": "1" } })
}

/// Waits until a number stays what it is, and gives it.
pub(crate) async fn settled(number: impl Fn() -> usize) -> usize {
    let (mut last, mut same) = (number(), 0);
    while same < 20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = number();
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    last
}

/// Waits for something to become true.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
