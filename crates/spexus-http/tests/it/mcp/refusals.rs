//! Every refusal an agent can meet, provoked one by one and read from the wire with its numbers.
//!
//! The codes come from the sources: a new one in `spexus-mcp` without a row here fails, and so does one in `spexus-http`
//! that no test of this crate looks for.

use super::{Agent, hello};
use crate::harness::Server;
use mcp_protocol::ToolResult;
use mcp_server::Tool;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use spexus_domain::{Code, Refusal};
use spexus_http::{CompletionOptions, HttpOptions, McpOptions};
use std::path::{Path, PathBuf};

/// What a code is on the wire: `error.code`, or nothing where the tool ran and its result says no.
const ROWS: [(Code, Option<i32>); 19] = [
    (Code::InvalidParams, Some(-32602)),
    (Code::MissingRequiredField, Some(-32602)),
    (Code::ResourceNotFound, Some(-32002)),
    (Code::PromptNotFound, Some(-32602)),
    (Code::ToolNotFound, Some(-32602)),
    (Code::AuthzForbidden, Some(1014)),
    (Code::AuthMissing, Some(1015)),
    (Code::AuthFailed, Some(1011)),
    (Code::InvalidHeader, Some(1025)),
    (Code::ProtocolError, Some(-32700)),
    (Code::MessageTooLarge, Some(1068)),
    (Code::InvalidContentType, Some(1024)),
    (Code::RateLimitExceeded, Some(1056)),
    (Code::InternalError, Some(-32603)),
    (Code::Timeout, None),
    (Code::DependencyUnavailable, None),
    (Code::RuleViolated, None),
    (Code::DeletionBlocked, None),
    (Code::StaleRevision, None),
];

// proves 003 R16.7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_of_the_product_is_provoked() {
    let ours = codes_of(&crates().join("spexus-mcp/src"));
    for code in &ours {
        assert!(
            ROWS.iter().any(|(row, _)| row == code),
            "{code:?} has no row here"
        );
    }
    let tests = text_of(&crates().join("spexus-http/tests"));
    for code in codes_of(&crates().join("spexus-http/src")) {
        let looked_for = tests.contains(&code.number().to_string()) || tests.contains(code.name());
        assert!(looked_for, "no test looks for {code:?}");
    }
    let server = Server::on_sqlite().await;
    server.seed().await;
    for (code, rpc) in ROWS {
        let answer = Box::pin(provoke(&server, code)).await;
        let refusal = match rpc {
            Some(rpc) => {
                assert_eq!(answer["error"]["code"], rpc, "{code:?}: {answer}");
                &answer["error"]["data"]["refusal"]
            }
            None => refusal_in_result(&answer),
        };
        assert_eq!(
            (&refusal["code"], &refusal["name"]),
            (&json!(code.number()), &json!(code.name())),
            "{code:?}: {answer}"
        );
    }
    server.stop().await;
}

/// Where a result tells of a refusal: a tool that ran, or the completion of a text that came from elsewhere.
fn refusal_in_result(answer: &Value) -> &Value {
    let result = &answer["result"];
    match result["completion"].get("fallback") {
        Some(fallback) => fallback,
        None => {
            assert_eq!(result["isError"], true, "{answer}");
            &result["structuredContent"]["error"]["refusal"]
        }
    }
}

async fn provoke(server: &Server, code: Code) -> Value {
    let agent = Agent::connect(server).await;
    let call = |name: &'static str, arguments: Value| {
        let agent = &agent;
        async move {
            agent
                .request("tools/call", json!({ "name": name, "arguments": arguments }))
                .await
        }
    };
    match code {
        Code::InvalidParams => call("create_epic", json!({ "priority": 1 })).await,
        Code::MissingRequiredField => agent.request("completion/complete", json!({})).await,
        Code::ResourceNotFound => {
            agent
                .request("resources/read", json!({ "uri": "epic://EP-999" }))
                .await
        }
        Code::ToolNotFound => call("nobody", json!({})).await,
        Code::PromptNotFound => agent.request("prompts/get", json!({ "name": "nobody" })).await,
        Code::AuthzForbidden => {
            let token = server.user("kim", "Commenter").await;
            let kim = Agent::with(server, &token, "2025-06-18", &[]).await;
            let create = json!({ "name": "create_epic", "arguments": { "title": "No" } });
            kim.request("tools/call", create).await
        }
        Code::AuthMissing => greeted(server, "", &[]).await,
        Code::AuthFailed => greeted(server, "mcp_pat_made_up", &[]).await,
        Code::InvalidHeader => greeted(server, &server.token, &[("x-spexus-read-only", "perhaps")]).await,
        Code::ProtocolError => sent(&agent, "application/json", "{".to_owned()).await,
        Code::MessageTooLarge => sent(&agent, "application/json", " ".repeat((1 << 20) + 1)).await,
        Code::InvalidContentType => sent(&agent, "text/plain", hello("2025-06-18").to_string()).await,
        Code::RateLimitExceeded => {
            let options = HttpOptions {
                max_requests_per_minute: 2,
                ..HttpOptions::default()
            };
            let slow = Server::with(options).await;
            for _ in 0..5 {
                greeted(&slow, &slow.token, &[]).await;
            }
            let answer = greeted(&slow, &slow.token, &[]).await;
            slow.stop().await;
            answer
        }
        Code::InternalError => {
            let boom = Tool::ready("boom", "Fails.", |_| -> Result<ToolResult, Refusal> {
                panic!("inside")
            });
            server.mcp.app_tools().admit("boom", true);
            server.mcp.server().add_tool(boom).unwrap();
            call("boom", json!({})).await
        }
        Code::Timeout => {
            let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            completed_by(&format!("http://{}", silent.local_addr().unwrap())).await
        }
        Code::DependencyUnavailable => completed_by("http://127.0.0.1:1").await,
        Code::RuleViolated => {
            let itself = json!({ "source": "REQ-001", "target": "REQ-001", "type": "depends_on" });
            call("create_relationship", itself).await
        }
        Code::DeletionBlocked => call("delete_item", json!({ "id": "EP-001" })).await,
        Code::StaleRevision => {
            let late = json!({ "epic_id": "EP-001", "title": "Late", "expect_rev": 77 });
            call("update_epic", late).await
        }
        other => panic!("no provocation for {other:?}"),
    }
}

async fn greeted(server: &Server, token: &str, headers: &[(&str, &str)]) -> Value {
    let hello = Some(hello("2025-06-18"));
    server
        .send(token, Method::POST, "/api/v1/mcp", hello, headers)
        .await
        .body
}

async fn sent(agent: &Agent, kind: &'static str, body: String) -> Value {
    let kind = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
    let request = agent.request_to(Method::POST).headers(kind).body(body);
    request.send().await.unwrap().json().await.unwrap()
}

/// A text completed by an endpoint that does not do it.
async fn completed_by(endpoint: &str) -> Value {
    let options = McpOptions {
        completion: CompletionOptions {
            endpoint: endpoint.to_owned(),
            timeout_ms: 200,
            ..CompletionOptions::default()
        },
        ..McpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::connect(&server).await;
    let answer = agent
        .request("completion/complete", json!({ "text": "The" }))
        .await;
    server.stop().await;
    answer
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The codes a crate's own code gives.
fn codes_of(folder: &Path) -> Vec<Code> {
    let source = text_of(folder);
    let given = |code: &Code| {
        let name = format!("Code::{code:?}");
        source
            .match_indices(&name)
            .any(|(at, _)| !source[at + name.len()..].starts_with(char::is_alphanumeric))
    };
    Code::ALL.iter().copied().filter(given).collect()
}

/// All Rust below a folder, without the tests inside of it.
fn text_of(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&text_of(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(path).unwrap();
            text.push_str(source.split("#[cfg(test)]").next().unwrap());
        }
    }
    text
}
