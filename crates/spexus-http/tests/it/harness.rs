//! A server to talk to, and words to talk with.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use spexus_domain::Timestamp;
use spexus_http::{HttpOptions, McpOptions};
use spexus_mcp::Mcp;
use spexus_service::{Service, ServiceOptions};
use spexus_store::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use test_support::mcp::{Endpoint, EventStream};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) use test_support::both;

pub(crate) const ADMIN_PASSWORD: &str = "correct horse battery";

/// A running server with an administrator's token.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) service: Service,
    pub(crate) client: reqwest::Client,
    pub(crate) token: String,
    pub(crate) location: Location,
    pub(crate) mcp: Mcp,
    clock: Arc<AtomicI64>,
    stop: Option<oneshot::Sender<()>>,
    done: JoinHandle<std::io::Result<()>>,
    _folder: Option<tempfile::TempDir>,
}

/// How a server is started: with options of its HTTP surface, or of its MCP server behind a surface that is patient with
/// strangers.
pub(crate) struct Options {
    http: HttpOptions,
    mcp: McpOptions,
}

impl From<HttpOptions> for Options {
    fn from(http: HttpOptions) -> Self {
        let mcp = McpOptions::default();
        Self { http, mcp }
    }
}

impl From<McpOptions> for Options {
    fn from(mcp: McpOptions) -> Self {
        let http = HttpOptions {
            max_anonymous_requests_per_minute: 10_000,
            ..HttpOptions::default()
        };
        Self { http, mcp }
    }
}

impl Server {
    pub(crate) async fn on_sqlite() -> Self {
        Self::with(McpOptions::default()).await
    }

    pub(crate) async fn with(options: impl Into<Options>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("spexus.db"));
        Self::start(location, options.into(), Some(folder)).await
    }

    pub(crate) async fn on_postgres() -> Option<Self> {
        Self::on_postgres_with(McpOptions::default()).await
    }

    pub(crate) async fn on_postgres_with(options: impl Into<Options>) -> Option<Self> {
        let options = options.into();
        let url = tokio::task::spawn_blocking(test_support::fresh_database)
            .await
            .unwrap()?;
        Some(Self::start(Location::parse(&url).unwrap(), options, None).await)
    }

    /// Another server on the same database.
    pub(crate) async fn second_node(first: &Server, options: impl Into<Options>) -> Self {
        Self::start(first.location.clone(), options.into(), None).await
    }

    async fn start(location: Location, options: Options, folder: Option<tempfile::TempDir>) -> Self {
        let clock = Arc::new(AtomicI64::new(1_790_000_000_000_000));
        let tick = clock.clone();
        let now = Arc::new(move || Timestamp(tick.fetch_add(1, Ordering::Relaxed)));
        let (service, _) = Service::open(&location, ServiceOptions::for_testing(), now)
            .await
            .unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let mcp = spexus_http::mcp(&service, &options.http, options.mcp).unwrap();
        let serving = spexus_http::serve_with(
            listener,
            service.clone(),
            mcp.clone(),
            options.http,
            axum::Router::new(),
            async {
                let _ = stopped.await;
            },
        );
        let done = tokio::spawn(serving);
        let client = reqwest::Client::new();
        let mut server = Self {
            url,
            service,
            client,
            token: String::new(),
            location,
            mcp,
            clock,
            stop: Some(stop),
            done,
            _folder: folder,
        };
        // A program's key, because the MCP endpoint takes no other; named after the moment, because nodes share a database.
        let session = server.login("admin", ADMIN_PASSWORD).await;
        server.token = session["token"].as_str().unwrap().to_owned();
        let name = format!("harness {}", spexus_domain::Uuid::now_v7());
        let wanted = json!({"name": name, "scopes": ["admin"], "expires": "never"});
        let made = server.post("/api/v1/tokens", wanted).await.created();
        server.token = made["token"].as_str().unwrap().to_owned();
        // Used once, as a program does that is at work.
        let origin = spexus_service::Origin::default();
        let known = spexus_service::account::token::authenticate(&server.service, &server.token, &origin);
        known.await.unwrap();
        server
    }

    /// Moves the clock.
    pub(crate) fn jump(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    pub(crate) async fn login(&self, username: &str, password: &str) -> Value {
        let (status, body) = self
            .as_token(
                "",
                Method::POST,
                "/api/v1/auth/login",
                Some(json!({"username": username, "password": password})),
            )
            .await;
        assert_eq!(status, 200, "{body}");
        body
    }

    /// A user with a role, and a token of that user.
    pub(crate) async fn user(&self, username: &str, role: &str) -> String {
        let user = json!({"username": username, "password": "long enough", "role": role});
        self.post("/api/v1/users", user).await.created();
        let token = json!({"name": "test", "scopes": ["admin"]});
        let made = self
            .post(&format!("/api/v1/tokens?user={username}"), token)
            .await
            .created();
        made["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn as_token(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, Value) {
        let reply = self.send(token, method, path, body, &[]).await;
        (reply.status, reply.body)
    }

    pub(crate) async fn send(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Reply {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Reply {
            status,
            headers,
            body,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(&self.token, Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(&self.token, Method::POST, path, Some(body), &[]).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(&self.token, Method::PATCH, path, Some(body), &[]).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(&self.token, Method::PUT, path, Some(body), &[]).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.send(&self.token, Method::DELETE, path, None, &[]).await
    }

    /// An epic with a story, a criterion and a requirement: `EP-001`, `US-001`, `AC-001`, `REQ-001`.
    pub(crate) async fn seed(&self) {
        self.post("/api/v1/epics", json!({"title": "Sign in", "priority": 1}))
            .await
            .created();
        self.post(
            "/api/v1/user-stories",
            json!({"epic_id": "EP-001", "title": "With a passkey"}),
        )
        .await
        .created();
        let criterion =
            json!({"user_story_id": "US-001", "description": "The passkey prompt opens within a second."});
        self.post("/api/v1/acceptance-criteria", criterion)
            .await
            .created();
        let requirement = json!({"user_story_id": "US-001", "title": "Passkeys MUST work", "acceptance_criteria_id": "AC-001"});
        self.post("/api/v1/requirements", requirement).await.created();
    }

    /// Tells the server to stop; what it accepted goes on.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the server the graceful way and closes the database.
    pub(crate) async fn stop(mut self) {
        self.begin_stop();
        (&mut self.done).await.unwrap().unwrap();
    }

    /// The end of a story.
    pub(crate) async fn end(self) {
        self.stop().await;
    }

    /// A connection without a client on it.
    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.url.trim_start_matches("http://"))
            .await
            .unwrap()
    }

    /// The same from another address of this machine, which no client of the harness uses.
    pub(crate) async fn connect_from(&self, address: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        let server = self.url.trim_start_matches("http://").parse().unwrap();
        socket.connect(server).await.unwrap()
    }

    /// The head of a request with a JSON body of so many bytes.
    pub(crate) fn head(&self, method: &str, path: &str, body_bytes: usize) -> String {
        let token = &self.token;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: spexus\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {body_bytes}\r\n\r\n"
        )
    }

    /// The number of the last change: what left it as it was wrote nothing.
    pub(crate) async fn chain_head(&self) -> i64 {
        spexus_store::changes::head(&mut self.service.store().read().await.unwrap())
            .await
            .unwrap()
    }

    /// Listens to the feed.
    pub(crate) async fn listen(&self, token: &str, query: &str, headers: &[(&str, &str)]) -> Events {
        let mut request = self
            .client
            .get(format!("{}/api/v1/changes/stream{query}", self.url))
            .bearer_auth(token);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Events(EventStream::open(request).await)
    }
}

impl Endpoint for Server {
    fn address(&self) -> String {
        format!("{}/api/v1/mcp", self.url)
    }

    fn token(&self) -> &str {
        &self.token
    }
}

/// The stream of changes.
pub(crate) struct Events(EventStream);

impl Events {
    /// The id and the data of the next event; `None` when the stream ended.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let event = self.0.event().await?;
            if let (Some(id), false) = (&event.id, event.data.is_empty()) {
                return Some((id.clone(), serde_json::from_str(&event.data).unwrap()));
            }
        }
    }
}

/// Everything that comes until the other side closes.
pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes)).await;
    // A peer that resets after its answer is as good as one that closes.
    let _ = read.expect("the connection stayed open for half a minute");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything that comes until a text has come.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(wanted) {
        let mut part = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut part)).await;
        match read.expect("nothing came in half a minute").unwrap() {
            0 => break,
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.body
    }

    pub(crate) fn created(self) -> Value {
        assert_eq!(self.status, StatusCode::CREATED, "{}", self.body);
        self.body
    }

    /// A refusal with this HTTP status and code; gives the error.
    pub(crate) fn refused(self, status: u16, code: u16) -> Value {
        assert_eq!(
            (self.status, self.body["error"]["code"].as_u64()),
            (status, Some(u64::from(code))),
            "{}",
            self.body
        );
        let error = self.body["error"].clone();
        assert!(
            !error["message"].as_str().unwrap().is_empty() && !error["hint"].as_str().unwrap().is_empty(),
            "{error}"
        );
        error
    }
}
