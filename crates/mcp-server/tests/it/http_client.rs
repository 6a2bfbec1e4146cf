//! A client that says exactly what a test tells it to over HTTP, mostly without a socket in between.

use std::collections::VecDeque;

use ::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use mcp_server::streamable_http::{Account, HttpSettings, McpService, ResponseBody, SessionOwner};
use mcp_server::{Meter, Server};
use serde_json::{Value, json};
use test_support::mcp::{Event, EventText};
use tower_service::Service;

pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}"#;

#[derive(Clone)]
pub(crate) struct Http {
    pub(crate) server: Server,
    pub(crate) service: McpService,
    pub(crate) session: Option<String>,
    pub(crate) owner: Option<SessionOwner>,
    pub(crate) account: Option<String>,
    pub(crate) meter: Option<Meter>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
}

impl Http {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with(server, HttpSettings::default())
    }

    pub(crate) fn with(server: &Server, settings: HttpSettings) -> Self {
        Self {
            server: server.clone(),
            service: McpService::new(server, settings),
            session: None,
            owner: None,
            account: None,
            meter: None,
        }
    }

    /// Opens a session, confirms it, and gives its id.
    pub(crate) async fn open(&mut self) -> String {
        self.open_with(serde_json::from_str(HELLO).unwrap()).await
    }

    /// Opens a session of this version and stays in it.
    pub(crate) async fn initialize(&mut self, version: &str) {
        let mut hello: Value = serde_json::from_str(HELLO).unwrap();
        hello["params"]["protocolVersion"] = json!(version);
        self.session = Some(self.open_with(hello).await);
    }

    async fn open_with(&mut self, hello: Value) -> String {
        let before = self.session.take();
        let answer = self.post_as(hello, &[]).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        let id = answer.headers["mcp-session-id"].to_str().unwrap().to_owned();
        self.session = Some(id.clone());
        assert_eq!(
            self.post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                .await
                .status,
            202
        );
        self.session = before;
        id
    }

    pub(crate) async fn post(&mut self, message: Value) -> Answer {
        self.post_as(message, &[]).await
    }

    pub(crate) async fn post_as(&mut self, message: Value, headers: &[(&str, &str)]) -> Answer {
        let response = self.send(message, headers).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            json,
        }
    }

    pub(crate) async fn send(&mut self, message: Value, headers: &[(&str, &str)]) -> Response<ResponseBody> {
        let request = self
            .request("POST", headers)
            .header("content-type", "application/json");
        self.call(request.body(Full::new(Bytes::from(message.to_string()))).unwrap())
            .await
    }

    /// A request of the stateless era with all its headers.
    pub(crate) async fn stateless(
        &mut self,
        method: &str,
        mut params: Value,
        capabilities: Value,
    ) -> Response<ResponseBody> {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let name = params
            .get("name")
            .or(params.get("uri"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.send(
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }),
            &headers,
        )
        .await
    }

    pub(crate) async fn stream(&mut self, headers: &[(&str, &str)]) -> Events {
        let request = self.request("GET", headers).header("accept", "text/event-stream");
        let response = self.call(request.body(Full::new(Bytes::new())).unwrap()).await;
        assert_eq!(response.status(), 200);
        Events::of(response)
    }

    pub(crate) async fn delete(&mut self) -> u16 {
        let request = self.request("DELETE", &[]);
        self.call(request.body(Full::new(Bytes::new())).unwrap())
            .await
            .status()
            .as_u16()
    }

    pub(crate) fn request(&self, method: &str, headers: &[(&str, &str)]) -> ::http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", "localhost:1234");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(owner) = &self.owner {
            request = request.extension(owner.clone());
        }
        if let Some(account) = &self.account {
            request = request.extension(Account(account.clone()));
        }
        match &self.meter {
            Some(meter) => request.extension(meter.clone()),
            None => request,
        }
    }

    pub(crate) async fn call(&mut self, request: Request<Full<Bytes>>) -> Response<ResponseBody> {
        self.service.call(request).await.unwrap()
    }
}

/// Serves a server on a socket of its own, for as long as the test runs.
pub(crate) async fn listen(server: &Server) -> std::net::SocketAddr {
    let service = McpService::new(server, HttpSettings::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service.clone();
            let serve = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
                service.clone().call(request)
            });
            let stream = hyper_util::rt::TokioIo::new(stream);
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(stream, serve));
        }
    });
    address
}

/// The whole body of a plain answer.
pub(crate) async fn json_of(response: Response<ResponseBody>) -> Value {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

/// A stream of events as it is read.
pub(crate) struct Events {
    body: ResponseBody,
    text: EventText,
    events: VecDeque<Event>,
}

impl Events {
    pub(crate) fn of(response: Response<ResponseBody>) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body(),
            text: EventText::default(),
            events: VecDeque::new(),
        }
    }

    /// The next event: its id and its data; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<(Option<String>, String)> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some((event.id, event.data));
            }
            let frame = self.body.frame().await?.unwrap();
            self.text.push(&frame.into_data().unwrap());
            self.events.extend(self.text.by_ref());
        }
    }

    /// The next message, leaving out events without one.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let (_, data) = self.event().await.expect("the stream goes on");
            if !data.is_empty() {
                return serde_json::from_str(&data).unwrap();
            }
        }
    }
}
