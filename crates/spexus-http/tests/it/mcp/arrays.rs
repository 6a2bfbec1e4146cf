//! JSON-RPC arrays and batches do not multiply what a token may do.

use super::{Agent, hello};
use crate::harness::Server;
use serde_json::{Value, json};
use spexus_http::HttpOptions;

fn refused(answers: &Value) -> usize {
    let answers = answers.as_array().unwrap();
    let over = |answer: &&Value| answer["error"]["data"]["refusal"]["code"] == 1056;
    answers.iter().filter(over).count()
}

fn calls(count: usize) -> Value {
    let params = json!({ "name": "list_epics", "arguments": {} });
    let call = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    (0..count).map(call).collect()
}

//= specs/spexus-mcp.md#endpoint
//= type=test
//# Every message of an array, and every call of a batch, MUST count against the rate of the token like a request of its own.
#[tokio::test]
async fn a_thousand_calls_in_one_request_do_not_pass_a_limit_of_sixty_a_minute() {
    let options = HttpOptions {
        max_requests_per_minute: 60,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::introduced(&server, &server.token, &hello("2025-03-26")).await;
    let answers = agent.send(&calls(1_000)).await.body;
    assert_eq!(answers.as_array().unwrap().len(), 1_000);
    let (over, most) = (refused(&answers), 60);
    assert!(
        over >= 1_000 - most,
        "{} calls passed a limit of {most} a minute",
        1_000 - over
    );
    let next = agent
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
        .await;
    assert_eq!(next.status, 429, "nothing is left: {}", next.body);
    server.stop().await;
}

#[tokio::test]
async fn each_call_of_a_batch_counts_as_well() {
    let options = HttpOptions {
        max_requests_per_minute: 60,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::introduced(&server, &server.token, &hello("2025-03-26")).await;
    let operation = json!({ "tool": "list_epics", "arguments": {} });
    let batch = |id: u32, count: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "batch/execute", "params": { "operations": vec![operation.clone(); count] } });
    let both = agent.send(&json!([batch(1, 40), batch(2, 40)])).await.body;
    assert_eq!(refused(&both), 1, "eighty calls are more than sixty: {both}");
    server.stop().await;
}
