//! An agent over HTTP: says hello, keeps its session, and understands both ways an answer can come.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::agent::{Agent, Exchange};
use super::event_text::{Event, EventText};
use crate::waiting::in_time;

/// Where an agent finds its server, and by which token it is let in.
pub trait Endpoint {
    /// The address of the MCP endpoint.
    fn address(&self) -> String;
    /// An administrator's token.
    fn token(&self) -> &str;
}

/// An agent over HTTP, mostly with a session.
pub type HttpAgent = Agent<Http>;

/// Messages in the bodies of HTTP requests.
pub struct Http {
    client: reqwest::Client,
    url: String,
    token: String,
    session: String,
    headers: Vec<(&'static str, String)>,
    next_id: AtomicU64,
}

/// An answer with its status.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, or the last event of a stream.
    pub body: Value,
}

impl HttpAgent {
    /// An agent of the administrator, on the version most hosts speak.
    pub async fn connect(server: &impl Endpoint) -> Self {
        Self::with(server, server.token(), "2025-06-18", &[]).await
    }

    /// An agent of a token that speaks a version and sends these headers with everything.
    pub async fn with(
        server: &impl Endpoint,
        token: &str,
        version: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let mut agent = Self::fresh(server).with_token(token);
        let owned = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        agent.transport.headers = owned.collect();
        agent.greet(&hello(version)).await
    }

    /// An agent that introduces itself in its own words.
    pub async fn introduced(server: &impl Endpoint, token: &str, hello: &Value) -> Self {
        Self::fresh(server).with_token(token).greet(hello).await
    }

    /// An agent of the administrator that has not said hello yet.
    pub fn fresh(server: &impl Endpoint) -> Self {
        let transport = Http {
            client: reqwest::Client::new(),
            url: server.address(),
            token: server.token().to_owned(),
            session: String::new(),
            headers: Vec::new(),
            next_id: AtomicU64::new(1),
        };
        let hello = Value::Null;
        Self { transport, hello }
    }

    /// The same session with another token.
    pub fn with_token(&self, token: &str) -> Self {
        let transport = Http {
            client: self.transport.client.clone(),
            url: self.transport.url.clone(),
            token: token.to_owned(),
            session: self.transport.session.clone(),
            headers: self.transport.headers.clone(),
            next_id: AtomicU64::new(1),
        };
        let hello = Value::Null;
        Self { transport, hello }
    }

    /// The same session at another node.
    pub fn at(&self, server: &impl Endpoint) -> Self {
        let mut agent = self.with_token(&self.transport.token);
        agent.transport.url = server.address();
        agent
    }

    async fn greet(mut self, hello: &Value) -> Self {
        let answer = self.send(hello).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.transport.session = answer.headers["mcp-session-id"]
            .to_str()
            .expect("plain")
            .to_owned();
        self.hello = answer.body;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.send(&ready).await.status, 202);
        self
    }

    /// One message, and what comes back.
    pub async fn send(&self, message: &Value) -> HttpAnswer {
        self.transport.send(message).await
    }

    /// A request with these parameters: its status and its whole answer.
    pub async fn post(&self, method: &str, params: Value) -> HttpAnswer {
        self.send(&self.transport.message(method, params)).await
    }

    /// A request of the stateless era, which needs no session: its whole answer.
    pub async fn stateless(&self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "exam", "version": "1.0" },
        });
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let message = self.transport.message(method, params);
        let request = self.request_to(Method::POST);
        let request = request
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .header("mcp-name", name);
        let sent = request.body(message.to_string()).send();
        Http::read(in_time(sent).await.expect("an answer")).await.body
    }

    /// A request during which the server asks back; each question is answered by its method and parameters.
    pub async fn converse(
        &self,
        method: &str,
        params: Value,
        mut reply: impl FnMut(&str, &Value) -> Value,
    ) -> Value {
        let message = self.transport.message(method, params);
        let response = self.transport.begin(&message).await;
        if response.headers()["content-type"] != "text/event-stream" {
            return in_time(response.json()).await.expect("JSON");
        }
        let mut events = EventStream::of(response);
        loop {
            let said = events.message().await.expect("the answer comes");
            match said["method"].as_str() {
                Some(asked) if said.get("id").is_some() => {
                    let result = reply(asked, &said["params"]);
                    let answer = json!({ "jsonrpc": "2.0", "id": said["id"], "result": result });
                    assert_eq!(self.send(&answer).await.status, 202);
                }
                None if said["id"] == message["id"] => return said,
                _ => {}
            }
        }
    }

    /// A request of this agent without a body.
    pub fn request_to(&self, method: Method) -> RequestBuilder {
        self.transport.request_to(method)
    }

    /// Opens the stream of notifications.
    pub async fn listen(&self) -> EventStream {
        EventStream::open(self.request_to(Method::GET)).await
    }

    /// Opens it behind the last event it saw.
    pub async fn listen_after(&self, last: &str) -> EventStream {
        EventStream::open(self.request_to(Method::GET).header("last-event-id", last)).await
    }
}

impl Http {
    /// One message, and what comes back.
    async fn send(&self, message: &Value) -> HttpAnswer {
        Self::read(self.begin(message).await).await
    }

    async fn read(mut response: Response) -> HttpAnswer {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = headers
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        let mut bytes = Vec::new();
        while let Some(chunk) = in_time(response.chunk()).await.expect("a whole answer") {
            bytes.extend_from_slice(&chunk);
        }
        let text = if is_stream {
            let mut events = EventText::default();
            events.push(&bytes);
            let last = events.filter(|event| !event.data.is_empty()).last();
            last.expect("an event").data
        } else {
            String::from_utf8(bytes).expect("text")
        };
        HttpAnswer {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        }
    }

    /// A request of this agent without a body.
    fn request_to(&self, method: Method) -> RequestBuilder {
        let mut request = self
            .client
            .request(method, &self.url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if !self.token.is_empty() {
            request = request.bearer_auth(&self.token);
        }
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request
    }

    fn message(&self, method: &str, params: Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    async fn begin(&self, message: &Value) -> Response {
        let sent = self.request_to(Method::POST).body(message.to_string()).send();
        in_time(sent).await.expect("an answer")
    }
}

impl Exchange for Http {
    async fn request(&self, method: &str, params: Value) -> Value {
        let message = self.message(method, params);
        let answer = self.send(&message).await;
        assert_eq!(
            (&answer.body["jsonrpc"], &answer.body["id"]),
            (&message["jsonrpc"], &message["id"]),
            "{:?}",
            answer.body
        );
        answer.body
    }
}

/// An open stream of server-sent events.
pub struct EventStream {
    response: Response,
    text: EventText,
    waiting: VecDeque<Event>,
    /// The id of the last event that was read.
    pub last_id: String,
}

impl EventStream {
    /// Asks for a stream, which must be one.
    pub async fn open(request: RequestBuilder) -> Self {
        let response = in_time(request.send()).await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self::of(response)
    }

    fn of(response: Response) -> Self {
        Self {
            response,
            text: EventText::default(),
            waiting: VecDeque::new(),
            last_id: String::new(),
        }
    }

    /// A listener of the stateless era, acknowledged.
    pub async fn listening(server: &impl Endpoint, token: &str, uris: &[&str]) -> Self {
        let method = "subscriptions/listen";
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "exam", "version": "1.0" },
        });
        let wish = json!({ "resourceSubscriptions": uris, "resourcesListChanged": true });
        let agent = HttpAgent::fresh(server).with_token(token);
        let message = agent
            .transport
            .message(method, json!({ "notifications": wish, "_meta": meta }));
        let request = agent
            .request_to(Method::POST)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .body(message.to_string());
        let mut events = Self::open(request).await;
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert!(events.next(acknowledged).await.is_some());
        events
    }

    /// The next event; `None` when the stream ended.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.last_id = event
                    .id
                    .clone()
                    .unwrap_or_else(|| std::mem::take(&mut self.last_id));
                return Some(event);
            }
            let chunk = in_time(self.response.chunk()).await.ok()??;
            self.text.push(&chunk);
            self.waiting.extend(self.text.by_ref());
        }
    }

    /// The next message; `None` when the stream ended.
    pub async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                return Some(serde_json::from_str(&event.data).expect("a message"));
            }
        }
    }

    /// The parameters of the next notification of a method, whatever else comes before; `None` when the stream ended.
    pub async fn next(&mut self, method: &str) -> Option<Value> {
        loop {
            let mut message = self.message().await?;
            if message["method"] == method {
                return Some(message["params"].take());
            }
        }
    }

    /// Everything that comes until a resource is told of, that notice included.
    pub async fn until(&mut self, uri: &str) -> Vec<Value> {
        let mut heard: Vec<Value> = Vec::new();
        while heard.last().is_none_or(|last| last["params"]["uri"] != uri) {
            heard.push(self.message().await.expect("the stream goes on"));
        }
        heard
    }
}

/// The first message of a client.
pub fn hello(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "exam", "version": "1.0" },
        },
    })
}
