//! Arrays of messages: which versions have them, what they count for, and that they stay within limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::ToolResult;
use mcp_server::{Context, Meter, Server, Stop, Tool};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use test_support::until;
use tokio::sync::Notify;

use crate::client::{Client, codes, refusal, server, server_with};
use crate::http_client::Http;

/// A version that has arrays (ruling 43).
const WITH_ARRAYS: &str = "2025-03-26";

fn call(id: usize, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

fn calls(count: usize, tool: &str) -> Value {
    (0..count).map(|id| call(id, tool)).collect()
}

fn ping(id: usize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

async fn ready(server: &Server) -> Client {
    Client::ready_with(server, WITH_ARRAYS, json!({})).await
}

//= specs/mcp-server.md#messages
//= type=test
//# A batch MUST be answered by one array that holds the answer to each of its requests.
#[tokio::test]
async fn a_batch_is_answered_by_one_array() {
    let server = server();
    server
        .add_tool(Tool::new("slow", "Takes a moment.", |_, _| async {
            tokio::task::yield_now().await;
            Ok::<_, Stop>(ToolResult::text("done"))
        }))
        .unwrap();
    for version in ["2024-11-05", WITH_ARRAYS] {
        let mut client = Client::ready_with(&server, version, json!({})).await;
        client.send_text(r#"[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"slow"}},5,{"jsonrpc":"2.0","id":"c","method":"nope"}]"#).await;
        let answers = client.next().await.unwrap();
        let answers = answers
            .as_array()
            .unwrap_or_else(|| panic!("{answers} is no array"));
        let by_id = |id: Value| {
            answers
                .iter()
                .find(|a| a["id"] == id)
                .unwrap_or_else(|| panic!("no answer to {id}"))
        };
        assert_eq!(answers.len(), 4);
        assert_eq!(by_id(json!("a"))["result"], json!({}));
        assert_eq!(by_id(json!("b"))["result"]["content"][0]["text"], "done");
        assert_eq!(by_id(json!("c"))["error"]["code"], -32601);
        assert_eq!(by_id(json!(null))["error"]["code"], -32600);
        client
            .send_text(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#)
            .await;
        assert!(
            client.heard_nothing_of("x").await,
            "a batch of notifications has no answer"
        );
    }
}

/// Ruling 43 replaces what ruling 27 said of every handshake version.
//= specs/mcp-server.md#messages
//= type=test
//# A batch MUST be refused with `-32600` in every version that has none, which are those from `2025-06-18` on.
#[tokio::test]
async fn a_version_without_arrays_refuses_them_and_does_nothing_of_them() {
    let (server, ran) = counting(|_| {});
    for version in ["2025-06-18", "2025-11-25"] {
        let mut client = Client::ready_with(&server, version, json!({})).await;
        client.send(&calls(2, "count")).await;
        let answer = client.next().await.unwrap();
        assert_eq!(
            (codes(&answer).0, &answer["id"]),
            (-32600, &json!(null)),
            "{version}"
        );
        let mut http = Http::new(&server);
        http.initialize(version).await;
        let answer = http.post(calls(2, "count")).await;
        assert_eq!((answer.status, codes(&answer.json).0), (400, -32600), "{version}");
    }
    // Without a handshake each message names its version, and that has none.
    let mut client = Client::silent(&server);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    client.send(&json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "count", "_meta": meta } }])).await;
    assert_eq!(codes(&client.next().await.unwrap()[0]).0, -32600);
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

//= specs/mcp-server.md#messages
//= type=test
//# `initialize` inside a batch MUST be refused with `-32600`.
#[tokio::test]
async fn a_handshake_is_no_part_of_a_batch() {
    let mut client = Client::silent(&server());
    client.send_text(r#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}]"#).await;
    assert_eq!(client.next().await.unwrap()[0]["error"]["code"], -32600);
    assert_eq!(refusal(&client.request("tools/list", json!({})).await), 1076);
}

#[tokio::test]
async fn a_batch_that_is_too_long_or_empty_is_refused_whole() {
    let mut client = ready(&server_with(|s| s.limits.max_batch_messages = 2)).await;
    client.send(&json!([ping(1), ping(2)])).await;
    assert_eq!(client.next().await.unwrap().as_array().unwrap().len(), 2);
    client.send(&json!([ping(1), ping(2), ping(3)])).await;
    assert_eq!(refusal(&client.answer(&json!(null)).await), 1001);
    client.send(&json!([])).await;
    assert_eq!(codes(&client.answer(&json!(null)).await).0, -32600);
}

//= specs/mcp-server.md#limits
//= type=test
//# Every message of a batch MUST count against the rate of its sender as if it came alone.
#[tokio::test]
async fn a_batch_does_not_multiply_the_rate() {
    let (server, ran) = counting(|_| {});
    let mut http = Http::new(&server);
    http.meter = Some(meter(4));
    http.initialize(WITH_ARRAYS).await;
    // The layer in front has counted the request, so one of ten is paid for already.
    let answers = http.post(calls(10, "count")).await.json;
    let answers = answers.as_array().unwrap();
    let refused = answers.iter().filter(|a| a["error"]["code"] == 1057).count();
    assert_eq!((answers.len(), refused), (10, 5));
    assert_eq!(ran.load(Ordering::SeqCst), 5, "what was refused did not run");
}

#[tokio::test]
async fn a_method_that_does_the_work_of_many_counts_for_as_many() {
    let server = server();
    server.add_method(mcp_server::CustomMethod::new(
        "test/many",
        |cx: Context, params: Value| async move {
            cx.count(u32::try_from(params["calls"].as_u64().unwrap()).unwrap() - 1)?;
            Ok::<_, Stop>(json!({}))
        },
    ));
    let mut http = Http::new(&server);
    http.meter = Some(meter(4));
    http.initialize(WITH_ARRAYS).await;
    let many = |calls: u64| json!({ "jsonrpc": "2.0", "id": calls, "method": "test/many", "params": { "calls": calls } });
    assert_eq!(codes(&http.post(many(6)).await.json), (1057, 1057));
    assert_eq!(http.post(many(4)).await.json["result"], json!({}));
    let both = http.post(json!([many(1), many(2)])).await.json;
    let refused = both
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a["error"]["code"] == 1057);
    assert_eq!(refused.count(), 1, "one was left for two more: {both}");
    let mut line = Client::ready(&server).await;
    let free = line.request("test/many", json!({ "calls": 1_000_000 })).await;
    assert_eq!(free["result"], json!({}), "where nobody keeps a rate none counts");
}

//= specs/mcp-server.md#messages
//= type=test
//# The answer to a batch MUST NOT grow beyond the limit of an answer: what does not fit any more MUST be answered with 1068 instead.
#[tokio::test]
async fn a_thousand_large_answers_do_not_become_one_that_nobody_can_hold() {
    const MAX: usize = 100_000;
    let ran = Arc::new(AtomicUsize::new(0));
    let server = server_with(|s| s.limits.max_answer_bytes = MAX);
    let counter = ran.clone();
    let large = Tool::new("large", "Says much.", move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Stop>(ToolResult::text("x".repeat(20_000))) }
    });
    server.add_tool(large).unwrap();
    let mut client = ready(&server).await;
    client.send(&calls(1_000, "large")).await;
    let answers = client.next().await.unwrap();
    let (fit, refused): (Vec<&Value>, Vec<&Value>) = answers
        .as_array()
        .unwrap()
        .iter()
        .partition(|answer| answer.get("result").is_some());
    assert_eq!((fit.len(), refused.len()), (4, 996));
    assert!(refused.iter().all(|answer| refusal(answer) == 1068));
    let done = |answer: &&&Value| {
        answer["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("was carried out")
    };
    let told = refused.iter().filter(done).count();
    assert_eq!(
        fit.len() + told,
        ran.load(Ordering::SeqCst),
        "each is told whether it ran"
    );
    assert!(told <= 4, "{told} ran whose answers nobody gets");
    assert!(client.request("ping", json!({})).await.get("result").is_some());
}

//= specs/mcp-server.md#limits
//= type=test
//# Of the messages of an account's batches no more than the limit MUST be served at once, so that a long batch does not keep others waiting.
#[tokio::test]
async fn the_elements_of_arrays_do_not_run_all_at_once() {
    let (open, at_once) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let server = server_with(|s| s.limits.max_batch_running_per_account = 3);
    let (gate, counter) = (open.clone(), at_once.clone());
    let wait = Tool::new("wait", "Waits to be let go.", move |_, _| {
        let (gate, counter) = (gate.clone(), counter.clone());
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
            gate.notified().await;
            counter.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Stop>(ToolResult::text("went"))
        }
    });
    server.add_tool(wait).unwrap();
    let (mut anna, mut boris) = (account(&server, "anna").await, account(&server, "boris").await);
    // Two arrays of one account share its turns; a single call of hers and another account's need none of them.
    let arrays = [anna.clone(), anna.clone()]
        .map(|mut http| tokio::spawn(async move { http.post(calls(5, "wait")).await }));
    until(|| at_once.load(Ordering::SeqCst) == 3).await;
    let single = tokio::spawn(async move { anna.post(call(77, "wait")).await });
    until(|| at_once.load(Ordering::SeqCst) == 4).await;
    let other = tokio::spawn(async move { boris.post(calls(5, "wait")).await });
    until(|| at_once.load(Ordering::SeqCst) == 7).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
        assert!(at_once.load(Ordering::SeqCst) <= 7);
    }
    let letting_go = tokio::spawn(async move {
        loop {
            open.notify_waiters();
            tokio::task::yield_now().await;
        }
    });
    for array in arrays.into_iter().chain([other]) {
        let answers = array.await.unwrap().json;
        assert_eq!(answers.as_array().unwrap().len(), 5, "{answers}");
    }
    assert!(single.await.unwrap().json.get("result").is_some());
    letting_go.abort();
}

/// A client of an account, ready to send arrays.
async fn account(server: &Server, name: &str) -> Http {
    let mut http = Http::new(server);
    http.account = Some(name.to_owned());
    http.initialize(WITH_ARRAYS).await;
    http
}

/// A server whose tool counts how often it ran.
fn counting(change: impl FnOnce(&mut mcp_server::Settings)) -> (Server, Arc<AtomicUsize>) {
    let (server, ran) = (server_with(change), Arc::new(AtomicUsize::new(0)));
    let counter = ran.clone();
    let tool = Tool::new("count", "Counts.", move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Stop>(ToolResult::text("counted")) }
    });
    server.add_tool(tool).unwrap();
    (server, ran)
}

/// A meter that lets so many pass, whoever asks.
fn meter(allowed: u32) -> Meter {
    let left = Mutex::new(allowed);
    Meter::new(move |wanted| {
        let mut left = left.lock().unwrap();
        match left.checked_sub(wanted) {
            Some(rest) => {
                *left = rest;
                Ok(())
            }
            None => Err(Refusal::new(Code::RateLimitPerSecond, "too fast")),
        }
    })
}
