//! Every refusal this crate can give, provoked one by one and read from the wire.
//!
//! The codes come from the sources: a new one without a provocation fails here.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, Request};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use mcp_protocol::uri;
use mcp_protocol::{Arguments, Ask, ResourceContents, TaskSupport, ToolResult};
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{
    Access, Breaker, BreakerSettings, Context, Guard, Info, Listing, Prompt, Resource, ResourceSource,
    RootDirs, RootSet, Server, Settings, Stop, Tool,
};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tower_service::Service;

use crate::client::Client;
use crate::http_client::{Http, json_of};

// proves 002 Resil-003, 003 R16.7
#[tokio::test]
async fn every_refusal_of_the_crate_is_provoked() {
    let source = sources();
    let given_somewhere = |code: &Code| source.contains(&format!("Code::{code:?}"));
    for code in Code::ALL.iter().copied().filter(given_somewhere) {
        let answer = provoke(code).await;
        // A tool that ran and was refused has a result; everything else is an error.
        let given = match answer.get("error") {
            Some(error) => &error["data"]["refusal"],
            None => &answer["result"]["structuredContent"]["error"]["refusal"],
        };
        assert_eq!(given["code"], code.number(), "{code:?} {answer}");
        assert_eq!(given["name"], code.name(), "{answer}");
        assert!(
            given["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{answer}"
        );
    }
}

/// The code of this crate, without its tests.
fn sources() -> String {
    let mut source = String::new();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("src"), here.join("../mcp-protocol/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let text = std::fs::read_to_string(path).unwrap();
                    source.push_str(text.split("#[cfg(test)]").next().unwrap());
                }
            }
        }
    }
    source
}

async fn provoke(code: Code) -> Value {
    match code {
        // Too much at once.
        Code::QueueCapExceeded => {
            let server = fixture(|s| s.limits.max_batch_messages = 1);
            let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
            let mut client = Client::ready_with(&server, "2025-03-26", json!({})).await;
            client.send(&json!([ping, ping])).await;
            client.answer(&Value::Null).await
        }
        Code::QueueByteCapExceeded => {
            let server = fixture(|s| s.limits.max_in_flight_bytes_per_session = 10);
            call(&server, "stuck", json!({})).await
        }
        Code::BackpressureActive => {
            call(&fixture(|s| s.limits.max_in_flight_total = 0), "stuck", json!({})).await
        }
        Code::ConcurrentLimitExceeded => {
            let server = fixture(|s| {
                s.limits.max_in_flight_per_session = 0;
                s.limits.admission_wait_ms = 1;
            });
            call(&server, "stuck", json!({})).await
        }
        Code::RateLimitPerSecond => {
            let server = fixture(|s| {
                s.limits.max_messages_per_second = 1;
                s.limits.message_burst = 3;
            });
            let mut client = Client::ready(&server).await;
            client.request("ping", json!({})).await;
            client.request("ping", json!({})).await
        }
        Code::QueueTenantCapExceeded => {
            let server = fixture(|s| s.limits.max_streams_per_account = 0);
            let everything = json!({ "notifications": { "toolsListChanged": true } });
            let mut client = Client::silent(&server);
            client
                .stateless("subscriptions/listen", everything, json!({}))
                .await
        }
        Code::QuotaExceeded => {
            let server = fixture(|s| s.limits.max_subscriptions_per_session = 0);
            ask(&server, "resources/subscribe", json!({ "uri": "test:///there" })).await
        }
        Code::ResourceExhausted => {
            let server = fixture(|s| s.limits.max_tasks = 0);
            ask(&server, "tools/call", json!({ "name": "long", "task": {} })).await
        }
        Code::MessageTooLarge => {
            let server = fixture(|s| s.limits.max_message_bytes = 1_000);
            ask(&server, "ping", json!({ "filling": "x".repeat(1_000) })).await
        }
        // Not allowed, or not there.
        Code::AuthzForbidden => call(&fixture(|_| {}), "forbidden", json!({})).await,
        Code::SessionInvalid => {
            let mut http = Http::new(&fixture(|_| {}));
            http.session = Some("gone".to_owned());
            http.post(json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
                .await
                .json
        }
        Code::ResourceNotFound => read("test:///nothing").await,
        Code::ToolNotFound => call(&fixture(|_| {}), "nothing", json!({})).await,
        Code::PromptNotFound => ask(&fixture(|_| {}), "prompts/get", json!({ "name": "nothing" })).await,
        // There already.
        Code::ResourceDuplicate => call(&fixture(|_| {}), "register", json!({ "what": "resource" })).await,
        Code::ToolDuplicate => call(&fixture(|_| {}), "register", json!({ "what": "tool" })).await,
        Code::PromptDuplicate => {
            let messages = json!([{ "role": "user", "content": { "type": "text", "text": "x" } }]);
            let prompt = json!({ "name": "taken", "description": "x", "messages": messages });
            ask(&fixture(|_| {}), "prompts/create", prompt).await
        }
        // Parameters.
        Code::InvalidParams => call(&fixture(|_| {}), "register", json!({ "what": 5 })).await,
        Code::InvalidJsonSchema => call(&fixture(|_| {}), "register", json!({ "what": "schema" })).await,
        Code::MissingRequiredField => ask(&fixture(|_| {}), "tools/call", json!({})).await,
        Code::FieldTypeMismatch => ask(&fixture(|_| {}), "tools/call", json!({ "name": 5 })).await,
        Code::InvalidProtocolVersion => {
            Client::silent(&fixture(|_| {}))
                .initialize("1999-01-01", json!({}))
                .await
        }
        // Addresses.
        Code::InvalidUri => read("no scheme").await,
        Code::PathTraversalDetected => read("test:///a/../b").await,
        Code::PathInvalid => read("file:///%FF").await,
        Code::UriOutOfBounds => read("file:///elsewhere").await,
        Code::CanonicalPathViolation => {
            call(&fixture(|_| {}), "register", json!({ "what": "address" })).await
        }
        Code::SymlinkTraversalDetected => {
            let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let link = root.path().canonicalize().unwrap().join("link");
            std::os::unix::fs::symlink(outside.path(), &link).unwrap();
            let server = with_source(Files(RootDirs::new([root.path()]).unwrap()), |_| {});
            let uri = format!("file://{}", link.display());
            ask(&server, "resources/read", json!({ "uri": uri })).await
        }
        // Messages and transports.
        Code::ProtocolError => {
            let mut client = Client::ready(&fixture(|_| {})).await;
            client.send(&json!({ "jsonrpc": "2.0", "id": "x" })).await;
            client.answer(&json!("x")).await
        }
        Code::UnsupportedEncoding => {
            let mut client = Client::ready(&fixture(|_| {})).await;
            client.send_bytes(b"{\"jsonrpc\":\"\xFF\"}\n").await;
            client.answer(&Value::Null).await
        }
        Code::TransportError => {
            let frames = futures_util::stream::iter(vec![
                Ok(http_body::Frame::data(Bytes::from_static(b"{"))),
                Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
            ]);
            let request = Request::post("/mcp")
                .header("host", "localhost")
                .header("content-type", "application/json")
                .body(http_body_util::StreamBody::new(frames));
            let mut service = McpService::new(&fixture(|_| {}), HttpSettings::default());
            json_of(service.call(request.unwrap()).await.unwrap()).await
        }
        Code::InvalidContentType => web(Method::POST, ("content-type", "text/plain")).await,
        Code::MethodNotAllowed => web(Method::PUT, ("accept", "*/*")).await,
        Code::InvalidSessionId => web(Method::GET, ("accept", "text/event-stream")).await,
        Code::InvalidHeader => {
            let mut http = Http::new(&fixture(|_| {}));
            http.session = Some(http.open().await);
            let request = http.request("GET", &[("last-event-id", "nonsense")]);
            json_of(http.call(request.body(Full::default()).unwrap()).await).await
        }
        Code::RuleViolated => {
            let scratch = tempfile::tempdir().unwrap();
            let inner = scratch.path().join("inner");
            std::fs::create_dir(&inner).unwrap();
            let server = fixture(|_| {});
            let roots = RootSet::new(&[inner], &[scratch.path().to_owned()]).unwrap();
            server.serve_roots(&Arc::new(roots), crate::roots::Open);
            let around = scratch.path().canonicalize().unwrap();
            ask(&server, "roots/add", json!({ "uri": uri::of_path(&around) })).await
        }
        // The server's own state.
        Code::ServerUninitialized => {
            Client::silent(&fixture(|_| {}))
                .request("tools/list", json!({}))
                .await
        }
        Code::ServerShuttingDown => {
            let server = fixture(|_| {});
            let mut client = Client::ready(&server).await;
            server.drain().await;
            client.request("ping", json!({})).await
        }
        Code::Timeout => call(&fixture(|_| {}), "stuck", json!({})).await,
        Code::InternalError => call(&fixture(|_| {}), "panicking", json!({})).await,
        Code::DependencyUnavailable => {
            let mut client = Client::ready_with(&fixture(|_| {}), "2025-11-25", json!({ "roots": {} })).await;
            let id = client.start("tools/call", json!({ "name": "asking" })).await;
            let question = client.notice("roots/list").await;
            let no = json!({ "code": -32603, "message": "not now" });
            client
                .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": no }))
                .await;
            client.answer(&json!(id)).await
        }
        Code::CircuitBreakerOpen => {
            let mut client = Client::ready(&fixture(|_| {})).await;
            client.call("fused", json!({})).await;
            client.call("fused", json!({})).await
        }
        other => panic!("the code gives {other:?}, and nothing here provokes it"),
    }
}

async fn ask(server: &Server, method: &str, params: Value) -> Value {
    Client::ready(server).await.request(method, params).await
}

async fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    Client::ready(server).await.call(tool, arguments).await
}

async fn read(uri: &str) -> Value {
    ask(&fixture(|_| {}), "resources/read", json!({ "uri": uri })).await
}

/// A request without a session and with one header.
async fn web(method: Method, header: (&str, &str)) -> Value {
    let mut http = Http::new(&fixture(|_| {}));
    let request = http.request(method.as_str(), &[header]);
    json_of(http.call(request.body(Full::default()).unwrap()).await).await
}

fn fixture(change: impl FnOnce(&mut Settings)) -> Server {
    with_source(Files(RootDirs::default()), change)
}

fn with_source(files: Files, change: impl FnOnce(&mut Settings)) -> Server {
    let mut settings = Settings::default();
    settings.offers.prompt_creation = true;
    change(&mut settings);
    let server = Server::builder(Info::new("test", "1.0.0"))
        .settings(settings)
        .guard(NotForbidden)
        .resource_source(files)
        .build();
    server.add_tools(tools()).unwrap();
    server.add_resources(vec![resource("test:///there")]).unwrap();
    server
        .add_prompts(vec![Prompt::template("taken", "x", vec![])])
        .unwrap();
    server
}

fn tools() -> Vec<Tool> {
    let fuse = BreakerSettings {
        failures_to_open: 1,
        ..BreakerSettings::default()
    };
    let mut fused = Tool::new("fused", "Fails.", |_, _: Arguments| async {
        Err::<ToolResult, _>(Refusal::new(Code::InternalError, "broken"))
    });
    fused.breaker = Some(Arc::new(Breaker::new("fused", fuse)));
    let nothing = |_: Context, _: Arguments| async { Ok::<_, Stop>(ToolResult::default()) };
    vec![
        Tool::new("forbidden", "Not for you.", nothing),
        Tool::new("long", "A task.", nothing).tasks(TaskSupport::Optional),
        Tool::new("stuck", "Never done.", |_, _: Arguments| async {
            std::future::pending::<()>().await;
            Ok::<_, Stop>(ToolResult::default())
        })
        .timeout(Duration::from_millis(1)),
        Tool::new("panicking", "Panics.", |_, _: Arguments| async {
            panic!("this panic is part of the test");
            #[allow(unreachable_code)]
            Ok::<_, Stop>(ToolResult::default())
        }),
        Tool::new(
            "asking",
            "Asks the client.",
            |cx: Context, _: Arguments| async move {
                cx.ask("roots", Ask::roots()).await?;
                Ok::<_, Stop>(ToolResult::default())
            },
        ),
        fused,
        Tool::new(
            "register",
            "Registers something.",
            |cx: Context, a: Arguments| async move {
                register(&cx.server(), a.text("what").unwrap_or_default())?;
                Ok::<_, Stop>(ToolResult::default())
            },
        )
        .input(json!({ "type": "object", "properties": { "what": { "type": "string" } } })),
    ]
}

fn register(server: &Server, what: &str) -> Result<(), Refusal> {
    let tool = |name: &str| Tool::ready(name, "x", |_| Ok(ToolResult::default()));
    match what {
        "resource" => server.add_resources(vec![resource("test:///there")]),
        "address" => server.add_resources(vec![resource("TEST:///there")]),
        "schema" => server.add_tool(tool("odd").input(json!({ "type": "thing" }))),
        _ => server.add_tool(tool("register")),
    }
}

fn resource(uri: &str) -> Resource {
    Resource::new(uri, "r", "r", "text/plain", |_, _| async {
        Ok::<_, Stop>(vec![])
    })
}

struct NotForbidden;

impl Guard for NotForbidden {
    fn check(&self, _: &Context, access: Access<'_>) -> Result<(), Refusal> {
        match access {
            Access::CallTool("forbidden") => Err(Refusal::new(Code::AuthzForbidden, "not for you")),
            _ => Ok(()),
        }
    }
}

/// Files below roots, as a server of files would offer them.
struct Files(RootDirs);

impl ResourceSource for Files {
    fn list<'a>(
        &'a self,
        _: &'a Context,
        _: &'a str,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        let nothing = Listing {
            entries: Vec::new(),
            next: None,
        };
        std::future::ready(Ok(nothing)).boxed()
    }

    fn read<'a>(
        &'a self,
        _: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        async move {
            if uri.starts_with("file:") {
                self.0.resolve(uri)?;
            }
            Ok(None)
        }
        .boxed()
    }
}
