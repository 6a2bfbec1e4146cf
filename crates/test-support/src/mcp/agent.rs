//! An agent that asks one thing after the other, whatever it speaks over.

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::McpClient;

/// How a request becomes its answer.
#[expect(async_fn_in_trait, reason = "tests drive it on their own task")]
pub trait Exchange {
    /// Sends a request and gives its whole answer.
    async fn request(&self, method: &str, params: Value) -> Value;
}

/// A client that has said hello: over lines (`Agent<Mutex<McpClient>>`: a process, a socket, memory) or HTTP
/// (`HttpAgent`).
pub struct Agent<T> {
    pub(super) transport: T,
    /// The answer to `initialize`.
    pub hello: Value,
}

impl<T: Exchange> Agent<T> {
    /// A request; gives the whole answer.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        self.transport.request(method, params).await
    }

    /// A request that succeeds; gives its result.
    pub async fn ask(&self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// A request that is refused; gives its error.
    pub async fn refused(&self, method: &str, params: Value) -> Value {
        let mut answer = self.request(method, params).await;
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].take()
    }

    /// Calls a tool that can do it; gives the structured result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.tool_result(tool, arguments).await;
        assert_eq!(result["isError"], false, "{tool}: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool that cannot do it; gives the error it tells.
    pub async fn fails(&self, tool: &str, arguments: Value) -> Value {
        let mut result = self.tool_result(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"]["error"].take()
    }

    /// The whole result of a tool.
    pub async fn tool_result(&self, tool: &str, arguments: Value) -> Value {
        let call = json!({ "name": tool, "arguments": arguments });
        self.ask("tools/call", call).await
    }

    /// Reads a resource as JSON.
    pub async fn read(&self, uri: &str) -> Value {
        let result = self.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(result["contents"][0]["uri"], uri);
        serde_json::from_str(result["contents"][0]["text"].as_str().expect("a text")).expect("JSON")
    }

    /// The names of the tools this agent sees.
    pub async fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).await;
        let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
        listed["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .map(name)
            .collect()
    }
}

/// An agent on a line connection.
pub type LineAgent = Agent<Mutex<McpClient>>;

impl Exchange for Mutex<McpClient> {
    async fn request(&self, method: &str, params: Value) -> Value {
        self.lock().await.request(method, params).await
    }
}

impl LineAgent {
    /// Says hello.
    pub async fn greet(mut client: McpClient, version: &str, capabilities: Value) -> Self {
        let hello = client.handshake(version, capabilities).await;
        assert!(hello.get("error").is_none(), "{hello}");
        Self {
            transport: Mutex::new(client),
            hello,
        }
    }

    /// The parameters of the next notification of a method.
    pub async fn notice(&self, method: &str) -> Value {
        self.transport.lock().await.notice(method).await["params"].take()
    }

    /// A request during which the server asks back; each question is answered by its method and parameters.
    pub async fn converse(
        &self,
        method: &str,
        params: Value,
        mut reply: impl FnMut(&str, &Value) -> Value,
    ) -> Value {
        let mut client = self.transport.lock().await;
        let id = client.start(method, params).await;
        loop {
            let said = client
                .find_new(|message| {
                    message["id"] == id || message.get("id").is_some_and(|_| message.get("method").is_some())
                })
                .await;
            let Some(asked) = said["method"].as_str() else {
                return said;
            };
            let result = reply(asked, &said["params"]);
            let answer = json!({ "jsonrpc": "2.0", "id": said["id"], "result": result });
            client.send(&answer).await;
        }
    }

    /// Sends a request and takes it back at once.
    pub async fn cancelled(&self, method: &str, params: Value) {
        let mut client = self.transport.lock().await;
        let id = client.start(method, params).await;
        let cancelled = json!({ "requestId": id });
        client.notify("notifications/cancelled", cancelled).await;
        client.request("ping", json!({})).await;
    }
}
