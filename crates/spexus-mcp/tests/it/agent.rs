//! An agent: a connection to the server that belongs to one caller.

use crate::world::World;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue};
use mcp_server::lines;
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_mcp::Visit;
use spexus_service::Origin;
use spexus_service::account::token;
use test_support::mcp::McpClient;
use tokio::sync::Mutex;

/// Bytes on their way between the two sides.
const PIPE_BYTES: usize = 1 << 20;

/// A client that has said hello.
pub(crate) struct Agent {
    client: Mutex<McpClient>,
    /// The answer to `initialize`.
    pub(crate) hello: Value,
}

impl Agent {
    /// An agent of the administrator, on the version most hosts speak.
    pub(crate) async fn connect(world: &World) -> Self {
        Self::with(world, &world.token, "2025-06-18", &[]).await
    }

    /// An agent of a token, that asks for its part of the product as headers do.
    pub(crate) async fn with(
        world: &World,
        token: &str,
        version: &str,
        headers: &[(&'static str, &str)],
    ) -> Self {
        let extensions = extensions(world, token, headers).await.unwrap();
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        let server = world.mcp.server().clone();
        tokio::spawn(async move { lines::serve(&server, reader, writer, extensions).await });
        let (reader, writer) = tokio::io::split(ours);
        let mut client = McpClient::over(reader, writer);
        let hello = client.handshake(version, json!({})).await;
        assert!(hello.get("error").is_none(), "{hello}");
        Self {
            client: Mutex::new(client),
            hello,
        }
    }

    /// A request; gives the whole answer.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Value {
        self.client.lock().await.request(method, params).await
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
        let call = json!({ "name": tool, "arguments": arguments });
        let mut result = self.ask("tools/call", call).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that cannot do it; gives the error it tells.
    pub(crate) async fn fails(&self, tool: &str, arguments: Value) -> Value {
        let call = json!({ "name": tool, "arguments": arguments });
        let mut result = self.ask("tools/call", call).await;
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

    /// The parameters of the next notification of a method.
    pub(crate) async fn notice(&self, method: &str) -> Value {
        self.client.lock().await.notice(method).await["params"].take()
    }

    /// Sends a request and takes it back at once; gives the answer, should there be one.
    pub(crate) async fn cancelled(&self, method: &str, params: Value) {
        let mut client = self.client.lock().await;
        let id = client.start(method, params).await;
        let cancelled = json!({ "requestId": id });
        client.notify("notifications/cancelled", cancelled).await;
        client.request("ping", json!({})).await;
    }
}

/// What a transport says of a request with these headers.
pub(crate) async fn extensions(
    world: &World,
    token: &str,
    headers: &[(&'static str, &str)],
) -> Ruled<Extensions> {
    let caller = token::authenticate(&world.service, token, &Origin::default()).await?;
    let mut asked = HeaderMap::new();
    for (name, value) in headers {
        asked.insert(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let mut extensions = Extensions::new();
    Visit::asked(caller, world.mcp.options(), &asked)?.attach(&mut extensions);
    Ok(extensions)
}
