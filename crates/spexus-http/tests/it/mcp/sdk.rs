//! The official SDK's client, which answers questions of the server, in both eras.

#![expect(
    deprecated,
    reason = "sampling and roots are on their way out of MCP, and still what hosts speak"
)]

use crate::harness::Server;
use rmcp::model::{
    CallToolRequestParams, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, ListRootsResult, ProtocolVersion, Root,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Long enough that only a lost answer reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host with a person who agrees to everything, a model that says one thing, and one folder.
#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let config = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": { "listChanged": true } },
            "clientInfo": { "name": "rmcp-exam", "version": "1.0" },
        });
        serde_json::from_value(config).unwrap()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } = request
        else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        let answer = |field: &Value| match (&field["type"], &field["enum"][0]) {
            (_, Value::String(first)) => json!(first),
            (kind, _) if *kind == json!("boolean") => json!(true),
            _ => json!("Said by a person"),
        };
        let content: Value = fields
            .iter()
            .map(|(name, field)| (name.clone(), answer(field)))
            .collect();
        self.0.lock().unwrap().push(message);
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.0
            .lock()
            .unwrap()
            .push(format!("{} messages", params.messages.len()));
        let said = json!({ "role": "assistant", "model": "rmcp-1", "content": { "type": "text", "text": "Clear." } });
        Ok(serde_json::from_value(said).unwrap())
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new("file:///project")]))
    }
}

type Host = RunningService<RoleClient, Person>;

async fn call(host: &Host, tool: &str, arguments: Value) -> Value {
    let arguments = arguments.as_object().unwrap().clone();
    let call = host.call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments));
    let result = tokio::time::timeout(PATIENCE, call)
        .await
        .expect("an answer within a minute");
    serde_json::to_value(result.unwrap()).unwrap()
}

async fn connect(server: &Server, person: &Person, lifecycle: Option<ClientLifecycleMode>) -> Host {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/api/v1/mcp", server.url))
        .auth_header(server.token.clone());
    let transport = StreamableHttpClientTransport::from_config(config);
    match lifecycle {
        Some(lifecycle) => person
            .clone()
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .unwrap(),
        None => rmcp::ServiceExt::serve(person.clone(), transport).await.unwrap(),
    }
}

async fn answers_everything(lifecycle: Option<ClientLifecycleMode>) {
    let server = Server::on_sqlite().await;
    server.seed().await;
    let person = Person::default();
    let host = connect(&server, &person, lifecycle).await;
    let made = call(&host, "create_epic", json!({})).await;
    assert_eq!(
        made["structuredContent"]["item"]["title"], "Said by a person",
        "{made}"
    );
    let found = call(&host, "get_item", json!({ "id": "REQ-011" })).await;
    assert_eq!(
        found["structuredContent"]["item"]["reference_id"], "REQ-001",
        "{found}"
    );
    let run = json!({ "name": "analyze_requirement_quality", "arguments": { "requirement_id": "REQ-001" } });
    let said = call(&host, "run_prompt", run).await;
    assert_eq!(
        (
            &said["structuredContent"]["text"],
            &said["structuredContent"]["model"]
        ),
        (&json!("Clear."), &json!("rmcp-1")),
        "{said}"
    );
    let gone = call(&host, "delete_item", json!({ "id": "EP-001" })).await;
    assert_eq!(
        gone["structuredContent"]["items"].as_array().unwrap().len(),
        3,
        "{gone}"
    );
    let asked = person.0.lock().unwrap().clone();
    assert_eq!(asked.len(), 4, "each was asked once: {asked:?}");
    assert!(
        asked[1].contains("REQ-011") && asked[2] == "2 messages" && asked[3].contains("Delete?"),
        "{asked:?}"
    );
    host.cancel().await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdk_client_answers_in_the_handshake_era() {
    Box::pin(answers_everything(None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sdk_client_answers_in_the_stateless_era() {
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    Box::pin(answers_everything(Some(lifecycle))).await;
}
