//! An agent: says hello, keeps its session, and understands both ways an answer can come.

use crate::harness::Server;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Long enough for a busy machine, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client with a session.
pub(crate) struct Agent {
    client: reqwest::Client,
    url: String,
    token: String,
    session: String,
    headers: Vec<(&'static str, String)>,
    next_id: AtomicU64,
    /// The answer to `initialize`.
    pub(crate) hello: Value,
}

/// An answer with its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Agent {
    /// An agent of the administrator, on the version most hosts speak.
    pub(crate) async fn connect(server: &Server) -> Self {
        Self::with(server, &server.token, "2025-06-18", &[]).await
    }

    pub(crate) async fn with(
        server: &Server,
        token: &str,
        version: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let mut agent = Self::fresh(server).with_token(token);
        let owned = headers.iter().map(|(name, value)| (*name, (*value).to_owned()));
        agent.headers = owned.collect();
        agent.greet(&hello(version)).await
    }

    /// An agent that introduces itself in its own words.
    pub(crate) async fn introduced(server: &Server, token: &str, hello: &Value) -> Self {
        Self::fresh(server).with_token(token).greet(hello).await
    }

    /// An agent of the administrator that has not said hello yet.
    pub(crate) fn fresh(server: &Server) -> Self {
        Self {
            client: server.client.clone(),
            url: format!("{}/api/v1/mcp", server.url),
            token: server.token.clone(),
            session: String::new(),
            headers: Vec::new(),
            next_id: AtomicU64::new(1),
            hello: Value::Null,
        }
    }

    /// The same session with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            client: self.client.clone(),
            url: self.url.clone(),
            token: token.to_owned(),
            session: self.session.clone(),
            headers: self.headers.clone(),
            next_id: AtomicU64::new(1),
            hello: Value::Null,
        }
    }

    /// The same session at another node.
    pub(crate) fn at(&self, server: &Server) -> Self {
        Self {
            url: format!("{}/api/v1/mcp", server.url),
            ..self.with_token(&self.token)
        }
    }

    async fn greet(mut self, hello: &Value) -> Self {
        let agent = &mut self;
        let answer = agent.send(hello).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        agent.session = answer.headers["mcp-session-id"].to_str().unwrap().to_owned();
        agent.hello = answer.body;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(agent.send(&ready).await.status, 202);
        self
    }

    /// One message, and what comes back.
    pub(crate) async fn send(&self, message: &Value) -> Answer {
        let sent = self.request_to(Method::POST).json(message).send();
        let mut response = tokio::time::timeout(PATIENCE, sent)
            .await
            .expect("an answer")
            .unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = headers
            .get("content-type")
            .is_some_and(|kind| kind == "text/event-stream");
        let mut text = String::new();
        while let Some(chunk) = tokio::time::timeout(PATIENCE, response.chunk())
            .await
            .expect("the rest")
            .unwrap()
        {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        let body = match is_stream {
            true => last_event(&text),
            false => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        };
        Answer {
            status,
            headers,
            body,
        }
    }

    /// A request during which the server asks back; each question is answered by its method and parameters.
    pub(crate) async fn converse(
        &self,
        method: &str,
        params: Value,
        mut reply: impl FnMut(&str, &Value) -> Value,
    ) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = self.request_to(Method::POST).json(&message).send();
        let mut response = tokio::time::timeout(PATIENCE, sent)
            .await
            .expect("an answer")
            .unwrap();
        let mut text = String::new();
        loop {
            let chunk = tokio::time::timeout(PATIENCE, response.chunk())
                .await
                .expect("the rest")
                .unwrap();
            let Some(chunk) = chunk else {
                return serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            };
            text.push_str(std::str::from_utf8(&chunk).unwrap());
            while let Some((event, rest)) = text.split_once("\n\n") {
                let data = event
                    .lines()
                    .find_map(|line| line.strip_prefix("data: "))
                    .unwrap_or("null");
                let said: Value = serde_json::from_str(data).unwrap_or_default();
                text = rest.to_owned();
                match said["method"].as_str() {
                    Some(asked) if said.get("id").is_some() => {
                        let result = reply(asked, &said["params"]);
                        let answer = json!({ "jsonrpc": "2.0", "id": said["id"], "result": result });
                        assert_eq!(self.send(&answer).await.status, 202);
                    }
                    None if said["id"] == id => return said,
                    _ => {}
                }
            }
        }
    }

    /// A request; gives the whole answer.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        assert_eq!(
            (&answer.body["jsonrpc"], &answer.body["id"]),
            (&json!("2.0"), &json!(id)),
            "{:?}",
            answer.body
        );
        answer.body
    }

    /// A request that succeeds; gives its result.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A request that is refused; gives its error.
    pub(crate) async fn refused(&self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].take()
    }

    /// Calls a tool that can do it; gives the structured result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self
            .ask("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that cannot do it; gives the error it tells.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self
            .ask("tools/call", json!({ "name": tool, "arguments": arguments }))
            .await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"]["error"].take()
    }

    /// Reads a resource as JSON.
    pub(crate) async fn read(&self, uri: &str) -> Value {
        let result = self.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(result["contents"][0]["uri"], uri);
        serde_json::from_str(result["contents"][0]["text"].as_str().unwrap()).unwrap()
    }

    /// The names of the tools this agent sees.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        listed["tools"].as_array().unwrap().iter().map(name).collect()
    }

    /// A request of this agent without a body.
    pub(crate) fn request_to(&self, method: Method) -> RequestBuilder {
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
}

/// The stream of notifications of a session.
pub(crate) struct Notices {
    response: reqwest::Response,
    text: String,
}

impl Notices {
    /// The next notification of a method, whatever else comes before; `None` when the stream ended.
    pub(crate) async fn next(&mut self, method: &str) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event
                    .lines()
                    .find_map(|line| line.strip_prefix("data: "))
                    .unwrap_or("null");
                let notice: Value = serde_json::from_str(data).unwrap_or_default();
                self.text = rest.to_owned();
                if notice["method"] == method {
                    return Some(notice["params"].clone());
                }
            }
            let arrived = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = arrived.expect("nothing came in half a minute").ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

impl Notices {
    /// Everything that comes until a resource is told of, that notice included.
    pub(crate) async fn until(&mut self, uri: &str) -> Vec<Value> {
        let mut heard: Vec<Value> = Vec::new();
        while heard.last().is_none_or(|last| last["params"]["uri"] != uri) {
            heard.push(self.any().await.expect("the stream goes on"));
        }
        heard
    }

    /// The next notification; `None` when the stream ended.
    async fn any(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let notice: Value = serde_json::from_str(data.unwrap_or("null")).unwrap_or_default();
                self.text = rest.to_owned();
                if notice["method"].is_string() {
                    return Some(notice);
                }
            }
            let arrived = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let chunk = arrived.expect("nothing came in half a minute").ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// A listener of the stateless era, acknowledged.
    pub(crate) async fn listening(server: &Server, token: &str, uris: &[&str]) -> Self {
        let method = "subscriptions/listen";
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "exam", "version": "1.0" },
        });
        let wish = json!({ "resourceSubscriptions": uris, "resourcesListChanged": true });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "notifications": wish, "_meta": meta } });
        let request = server
            .client
            .post(format!("{}/api/v1/mcp", server.url))
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .json(&message);
        let mut notices = Agent::follow(request).await;
        let acknowledged = "notifications/subscriptions/acknowledged";
        assert!(notices.next(acknowledged).await.is_some());
        notices
    }
}

impl Agent {
    /// Opens the stream of notifications.
    pub(crate) async fn listen(&self) -> Notices {
        Self::follow(self.request_to(Method::GET)).await
    }

    /// Opens it behind the last event it saw.
    pub(crate) async fn listen_after(&self, last: &str) -> Notices {
        Self::follow(self.request_to(Method::GET).header("last-event-id", last)).await
    }

    async fn follow(request: RequestBuilder) -> Notices {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Notices {
            response,
            text: String::new(),
        }
    }
}

/// The first message of a client.
pub(crate) fn hello(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "exam", "version": "1.0" },
        },
    })
}

fn last_event(text: &str) -> Value {
    let data = |event: &str| {
        event
            .lines()
            .find_map(|line| line.strip_prefix("data: "))
            .map(str::to_owned)
    };
    let last = text.split("\n\n").filter_map(data).last().unwrap();
    serde_json::from_str(&last).unwrap()
}
