//! Every method of the protocol leads to its handler, with a token and never without one; what is no message leads nowhere.

use super::Agent;
use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};

/// Each method with parameters that make sense, and what of the answer only its handler writes: a member of the result,
/// or the refusal: as JSON-RPC counts it, and by its own number.
pub(super) enum Reached {
    Result(&'static str),
    Refusal(i32, u16),
}
use Reached::{Refusal, Result};

pub(super) fn routes() -> Vec<(&'static str, Value, Reached)> {
    vec![
        ("ping", json!({}), Result("")),
        ("requests/cancel", json!({ "requestId": "nobody's" }), Result("")),
        ("tools/list", json!({}), Result("tools")),
        (
            "tools/call",
            json!({ "name": "list_epics", "arguments": {} }),
            Result("structuredContent"),
        ),
        ("resources/list", json!({}), Result("resources")),
        ("resources/templates/list", json!({}), Result("resourceTemplates")),
        (
            "resources/read",
            json!({ "uri": "epic://EP-001" }),
            Result("contents"),
        ),
        (
            "resources/subscribe",
            json!({ "uri": "epic://EP-001" }),
            Result(""),
        ),
        (
            "resources/unsubscribe",
            json!({ "uri": "epic://EP-001" }),
            Result(""),
        ),
        ("prompts/list", json!({}), Result("prompts")),
        (
            "prompts/get",
            json!({ "name": "decompose_epic", "arguments": { "epic_id": "EP-001" } }),
            Result("messages"),
        ),
        (
            "prompts/create",
            json!({ "name": "routed", "template": "Hello" }),
            Result(""),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": "epic://{id}" }, "argument": { "name": "id", "value": "EP" } }),
            Result("completion"),
        ),
        ("logging/setLevel", json!({ "level": "info" }), Result("")),
        // There are no tasks, and each of these says so in its own way.
        (
            "tasks/get",
            json!({ "taskId": "nobody's" }),
            Refusal(-32602, 1021),
        ),
        (
            "tasks/result",
            json!({ "taskId": "nobody's" }),
            Refusal(-32602, 1021),
        ),
        ("tasks/list", json!({}), Result("tasks")),
        (
            "tasks/cancel",
            json!({ "taskId": "nobody's" }),
            Refusal(-32602, 1021),
        ),
        // Of a server that others use, too, one client cannot ask this.
        ("shutdown", json!({}), Refusal(-32601, 1066)),
        (
            "initialize",
            json!({ "protocolVersion": "2025-06-18" }),
            Result("protocolVersion"),
        ),
    ]
}

/// Those of the stateless era, which have no session.
pub(super) fn stateless_routes() -> Vec<(&'static str, Value, Reached)> {
    vec![
        ("server/discover", json!({}), Result("supportedVersions")),
        ("subscriptions/listen", json!({}), Refusal(-32602, 1028)),
        (
            "tasks/update",
            json!({ "taskId": "nobody's", "inputResponses": {} }),
            Refusal(-32021, 1066),
        ),
    ]
}

fn check(method: &str, answer: &Value, reached: &Reached) {
    match reached {
        Result("") => assert!(answer["result"].is_object(), "{method}: {answer}"),
        Result(member) => assert!(answer["result"].get(member).is_some(), "{method}: {answer}"),
        Refusal(code, number) => {
            let error = &answer["error"];
            assert_eq!(
                (&error["code"], &error["data"]["refusal"]["code"]),
                (&json!(code), &json!(number)),
                "{method}: {answer}"
            );
        }
    }
}

both![
    every_method_leads_to_its_handler_and_none_without_a_token,
    id_method_and_params_are_looked_for,
];

// proves 003 R16.2
async fn every_method_leads_to_its_handler_and_none_without_a_token(server: &mut Server) {
    server.seed().await;
    let agent = Agent::with(server, &server.token, "2025-11-25", &[]).await;
    let known: Vec<&str> = routes()
        .iter()
        .chain(&stateless_routes())
        .map(|(method, _, _)| *method)
        .collect();
    for method in mcp_protocol::method_names() {
        assert!(known.contains(&method), "{method} has no row here");
    }
    for (method, params, reached) in routes() {
        check(method, &agent.request(method, params).await, &reached);
    }
    for (method, mut params, reached) in stateless_routes() {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": &params });
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(params["taskId"].as_str().map(|task| ("mcp-name", task)));
        let answer = server
            .send(
                &server.token,
                Method::POST,
                "/api/v1/mcp",
                Some(message),
                &headers,
            )
            .await;
        check(method, &answer.body, &reached);
    }
    for method in known {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        for token in ["", "mcp_pat_made_up"] {
            let answer = server
                .send(token, Method::POST, "/api/v1/mcp", Some(message.clone()), &[])
                .await;
            assert_eq!(answer.status, 401, "{method} with {token:?}: {}", answer.body);
            assert!(answer.body.get("result").is_none());
        }
    }
}

// proves 003 R11.2
// proves 003 R11.3
//= specs/mcp-server.md#messages
//= type=test
//# A request without `params` MUST be served where its method needs none, and else be refused with `-32602`, 1021 and the names of what is missing.
async fn id_method_and_params_are_looked_for(server: &mut Server) {
    let agent = Agent::connect(server).await;
    let agent = &agent;
    let send = |message: Value| async move { agent.send(&message).await };
    let nameless = send(json!({ "jsonrpc": "2.0", "id": 1, "params": {} })).await;
    assert_eq!(
        (nameless.status, &nameless.body["error"]["code"]),
        (400, &json!(-32600)),
        "{}",
        nameless.body
    );
    let nothing_asked = send(json!({ "jsonrpc": "2.0", "method": 7, "id": 1 })).await;
    assert_eq!(
        nothing_asked.body["error"]["code"], -32600,
        "{}",
        nothing_asked.body
    );
    for id in [json!({}), json!([1]), json!(true)] {
        let odd = send(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
        assert_eq!(odd.body["error"]["code"], -32600, "{id}: {}", odd.body);
    }
    // Where none are needed none are asked for; where some are, their names are told.
    for method in ["ping", "tools/list", "resources/list", "prompts/list"] {
        let answer = send(json!({ "jsonrpc": "2.0", "id": 1, "method": method })).await;
        assert!(answer.body["result"].is_object(), "{method}: {}", answer.body);
    }
    for (method, missing) in [
        ("tools/call", "name"),
        ("resources/read", "uri"),
        ("resources/subscribe", "uri"),
        ("prompts/get", "name"),
        ("logging/setLevel", "level"),
    ] {
        let answer = send(json!({ "jsonrpc": "2.0", "id": 1, "method": method })).await;
        let error = &answer.body["error"];
        assert_eq!(
            (&error["code"], &error["data"]["refusal"]["code"]),
            (&json!(-32602), &json!(1021)),
            "{method}: {error}"
        );
        assert_eq!(error["data"]["fields"][0]["field"], missing, "{method}: {error}");
        assert!(
            error["message"].as_str().unwrap().contains(missing),
            "{method}: {error}"
        );
    }
    for params in [json!([]), json!("text"), json!(7)] {
        let answer =
            send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params })).await;
        assert!(
            answer.body["error"]["code"] == -32602 || answer.body["error"]["code"] == -32600,
            "{params}: {}",
            answer.body
        );
    }
    // A message without an id is a notification: taken, and answered by nobody, whatever it names.
    for method in ["notifications/made_up", "tools/call", "ping"] {
        let taken = send(json!({ "jsonrpc": "2.0", "method": method, "params": {} })).await;
        assert_eq!(
            (taken.status, taken.body.as_str()),
            (202, Some("")),
            "{method}: {:?}",
            taken.body
        );
    }
}

// proves 003 R11.8
#[test]
fn every_error_has_a_number_that_json_rpc_mcp_or_the_table_gives_it() {
    // JSON-RPC keeps -32000 to -32099 for servers; MCP took it over and defines these of it.
    const DEFINED: [i32; 10] = [
        -32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042,
    ];
    let numbers = refusal_numbers();
    assert!(numbers.len() > 50, "{}", numbers.len());
    for (name, own, rpc) in numbers {
        assert!((1001..=1089).contains(&own), "{name}: {own}");
        let fits = DEFINED.contains(&rpc) || rpc == i32::from(own);
        assert!(fits, "{name} is {own} and answers {rpc}");
    }
}

fn refusal_numbers() -> Vec<(&'static str, u16, i32)> {
    let row = |code: &spexus_domain::Code| (code.name(), code.number(), code.json_rpc());
    spexus_domain::Code::ALL.iter().map(row).collect()
}
