//! Questions to models: under a rate, in a queue, by a strategy that learns, in both eras.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::{Arguments, ToolResult};
use mcp_server::{Context, CustomMethod, Sampler, SamplingSettings, Server, Stop, Tool};
use serde_json::{Value, json};

use crate::client::{Client, codes, server};

/// What the sampler decided, as `what why`.
type Heard = Arc<Mutex<Vec<String>>>;

fn able() -> Value {
    json!({ "sampling": {} })
}

/// A server with a tool that asks the model, and the decisions that led to it.
fn sampling(change: impl FnOnce(&mut SamplingSettings)) -> (Server, Sampler, Heard) {
    let server = server();
    let mut settings = SamplingSettings {
        max_per_second: 0,
        timeout_ms: 20_000,
        target_latency_ms: 1_000,
        ..SamplingSettings::default()
    };
    change(&mut settings);
    let heard = Heard::default();
    let keeper = heard.clone();
    let sampler = Sampler::new(settings, move |decision| {
        keeper
            .lock()
            .unwrap()
            .push(format!("{} {}", decision.what, decision.why));
    });
    let asked = sampler.clone();
    let run = move |cx: Context, _: Arguments| {
        let sampler = asked.clone();
        async move {
            let message = json!({ "role": "user", "content": { "type": "text", "text": "Say it." } });
            let said = sampler
                .ask(&cx, "say", json!({ "messages": [message], "maxTokens": 3_000 }))
                .await?;
            Ok::<_, Stop>(ToolResult::text(format!("{} by {}", said.text, said.model)))
        }
    };
    server.add_tool(Tool::new("say", "Asks the model.", run)).unwrap();
    let told = sampler.clone();
    server.add_method(CustomMethod::new(
        "sampling/request",
        move |cx: Context, _: Value| {
            let told = told.describe(&cx);
            async move { Ok::<_, Stop>(told) }
        },
    ));
    (server, sampler, heard)
}

async fn start(client: &mut Client) -> u64 {
    client.start("tools/call", json!({ "name": "say" })).await
}

async fn reply(client: &mut Client, question: &Value) {
    let result = json!({ "role": "assistant", "model": "m1", "content": { "type": "text", "text": "It." }, "stopReason": "endTurn" });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }))
        .await;
}

async fn fail(client: &mut Client, question: &Value, code: i64) {
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": code, "message": "no" } }))
        .await;
}

/// The parameters of the strategy that holds for a client.
async fn strategy(client: &mut Client) -> Value {
    client.request("sampling/request", json!({})).await["result"]["parameters"].clone()
}

/// Asks and is answered at once.
async fn round(client: &mut Client) -> Value {
    let call = start(client).await;
    let question = client.notice("sampling/createMessage").await;
    reply(client, &question).await;
    client.answer(&json!(call)).await
}

// proves 002 Req-Sample-001
// proves 002 Req-Sample-003
// proves 002 Req-Sample-004
//= specs/mcp-server.md#sampling
//= type=test
//# The strategy MUST grow by steps while answers come within the target and MUST fall by half when one fails, is late or does not come.
//= specs/mcp-server.md#sampling
//= type=test
//# Every decision of the sampler MUST be told with its reason and the strategy that follows from it.
//= specs/mcp-server.md#sampling
//= type=test
//# `sampling/request` MUST be answered with the name of the strategy and its parameters as they are now.
#[tokio::test(start_paused = true)]
async fn the_strategy_grows_with_quick_answers_and_falls_with_trouble() {
    let (server, _, heard) = sampling(|_| {});
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let now =
        async |client: &mut Client| client.request("sampling/request", json!({})).await["result"].clone();
    let first = now(&mut client).await;
    assert_eq!(
        (&first["strategy"], &first["parameters"]),
        (
            &json!("aimd"),
            &json!({ "concurrency": 2, "spacing_ms": 0, "max_tokens": 4_096 })
        )
    );
    assert_eq!(first["limits"]["max_queued"], 64);
    for _ in 0..2 {
        let answer = round(&mut client).await;
        assert_eq!(answer["result"]["content"][0]["text"], "It. by m1");
    }
    assert_eq!(now(&mut client).await["parameters"]["concurrency"], 3);

    // An error of the client.
    let call = start(&mut client).await;
    let question = client.notice("sampling/createMessage").await;
    assert_eq!(
        question["params"]["maxTokens"], 3_000,
        "the tool's own wish is below the limit"
    );
    fail(&mut client, &question, -32603).await;
    assert_eq!(codes(&client.answer(&json!(call)).await), (1080, 1080));
    let lowered = json!({ "concurrency": 1, "spacing_ms": 100, "max_tokens": 2_048 });
    assert_eq!(now(&mut client).await["parameters"], lowered);

    // An answer that is late.
    let call = start(&mut client).await;
    let question = client.notice("sampling/createMessage").await;
    assert_eq!(
        question["params"]["maxTokens"], 2_048,
        "the strategy caps what is asked for"
    );
    tokio::time::advance(Duration::from_millis(1_500)).await;
    reply(&mut client, &question).await;
    assert_eq!(client.answer(&json!(call)).await["result"]["isError"], false);
    assert_eq!(now(&mut client).await["parameters"]["max_tokens"], 1_024);

    // No answer at all.
    let call = start(&mut client).await;
    client.notice("sampling/createMessage").await;
    assert_eq!(codes(&client.answer(&json!(call)).await), (1069, 1069));
    let last = now(&mut client).await;
    assert_eq!(
        last["parameters"],
        json!({ "concurrency": 1, "spacing_ms": 400, "max_tokens": 512 })
    );
    assert_eq!(
        last["counts"],
        json!({ "asked": 5, "answered": 3, "failed": 2, "refused": 0 })
    );
    assert_eq!(
        last["load"],
        json!({ "running": 0, "queued": 0 }),
        "nothing is left of those that failed"
    );
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "admitted turn",
            "held quick",
            "admitted turn",
            "raised quick",
            "admitted turn",
            "lowered failed",
            "admitted turn",
            "lowered slow",
            "admitted turn",
            "lowered timed_out",
        ]
    );
}

//= specs/mcp-server.md#sampling
//= type=test
//# A person who does not let the model answer MUST NOT change the strategy.
#[tokio::test]
async fn a_person_who_says_no_is_no_overload() {
    let (server, _, heard) = sampling(|_| {});
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let before = strategy(&mut client).await;
    let call = start(&mut client).await;
    let question = client.notice("sampling/createMessage").await;
    fail(&mut client, &question, -1).await;
    assert_eq!(codes(&client.answer(&json!(call)).await), (1080, 1080));
    assert_eq!(strategy(&mut client).await, before);
    assert_eq!(heard.lock().unwrap().last().unwrap(), "held rejected");
}

// proves 002 Req-Sample-002
//= specs/mcp-server.md#sampling
//= type=test
//# A question above the rate MUST be refused with 1057 and the time to wait, one above the queue with 1001.
#[tokio::test(start_paused = true)]
async fn above_the_rate_models_are_not_asked() {
    let (server, _, heard) = sampling(|settings| {
        settings.max_per_second = 1;
        settings.burst = 3;
    });
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    for _ in 0..3 {
        assert_eq!(round(&mut client).await["result"]["isError"], false);
    }
    let refused = client.call("say", json!({})).await;
    assert_eq!(codes(&refused), (1057, 1057));
    assert!(
        refused["error"]["data"].get("retry_after_seconds").is_some(),
        "{refused}"
    );
    assert!(client.heard_nothing_of("sampling/createMessage").await);
    assert_eq!(heard.lock().unwrap().last().unwrap(), "refused rate");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(
        round(&mut client).await["result"]["isError"],
        false,
        "the rate is let through again"
    );
}

//= specs/mcp-server.md#sampling
//= type=test
//# Every question to a model MUST pass the sampler: its rate, its queue and its strategy.
#[tokio::test]
async fn only_so_many_are_open_and_only_so_many_wait() {
    let (server, sampler, _) = sampling(|settings| settings.max_queued = 3);
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let mut calls = Vec::new();
    for _ in 0..5 {
        calls.push(start(&mut client).await);
    }
    let mut open = vec![
        client.notice("sampling/createMessage").await,
        client.notice("sampling/createMessage").await,
    ];
    assert!(
        client.heard_nothing_of("sampling/createMessage").await,
        "two are open, the others wait"
    );
    assert_eq!(sampler.load(), (2, 3));
    assert_eq!(codes(&client.call("say", json!({})).await), (1001, 1001));
    for _ in 0..3 {
        let question = open.remove(0);
        reply(&mut client, &question).await;
        open.push(client.notice("sampling/createMessage").await);
    }
    for question in &open {
        reply(&mut client, question).await;
    }
    for call in calls {
        assert_eq!(client.answer(&json!(call)).await["result"]["isError"], false);
    }
    assert_eq!(sampler.load(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn models_that_never_answer_hold_nothing_and_a_cancelled_question_gives_its_place_back() {
    let (server, sampler, _) = sampling(|_| {});
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let mut calls = Vec::new();
    for _ in 0..20 {
        calls.push(start(&mut client).await);
    }
    for call in calls {
        assert_eq!(codes(&client.answer(&json!(call)).await), (1069, 1069));
    }
    assert_eq!(sampler.load(), (0, 0));
    assert_eq!((server.waiting_for_clients(), server.in_flight()), (0, 0));
    let call = start(&mut client).await;
    while sampler.load().0 == 0 {
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    client
        .notify("notifications/cancelled", json!({ "requestId": call }))
        .await;
    client.request("ping", json!({})).await;
    tokio::task::yield_now().await;
    assert_eq!(sampler.load().0, 0);
}

#[tokio::test]
async fn without_a_handshake_the_question_travels_as_a_result_and_counts_once() {
    let (server, sampler, heard) = sampling(|_| {});
    let mut client = Client::silent(&server);
    let round = client
        .stateless("tools/call", json!({ "name": "say" }), able())
        .await["result"]
        .clone();
    let question = &round["inputRequests"]["say"];
    assert_eq!(
        (&question["method"], &question["params"]["maxTokens"]),
        (&json!("sampling/createMessage"), &json!(3_000))
    );
    assert_eq!(sampler.load().0, 0, "nobody waits on this side");
    let said = json!({ "role": "assistant", "model": "m2", "content": [{ "type": "text", "text": "It" }, { "type": "text", "text": "again." }] });
    let back =
        json!({ "name": "say", "requestState": round["requestState"], "inputResponses": { "say": said } });
    let done = client.stateless("tools/call", back, able()).await["result"].clone();
    assert_eq!(done["content"][0]["text"], "It\nagain. by m2");
    assert_eq!(*heard.lock().unwrap(), ["admitted turn", "held quick"]);
    let unable = client
        .stateless("tools/call", json!({ "name": "say" }), json!({}))
        .await;
    assert_eq!(codes(&unable).0, -32021);
}

//= specs/mcp-server.md#sampling
//= type=test
//# Rate, queue and strategy MUST be kept for each account by itself: a client that does not answer MUST NOT slow the questions to others.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_answers_does_not_lower_the_strategy_of_others() {
    let (server, sampler, _) = sampling(|settings| {
        settings.max_queued = 3;
        settings.max_per_second = 1;
        settings.burst = 4;
    });
    let mut silent = Client::ready_with(&server, "2025-11-25", able()).await;
    let mut quick = Client::ready_with(&server, "2025-11-25", able()).await;
    let before = strategy(&mut quick).await;
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(start(&mut silent).await);
    }
    assert_eq!(
        codes(&silent.call("say", json!({})).await),
        (1057, 1057),
        "the silent one has used up its own rate"
    );
    assert_eq!(sampler.load(), (2, 2), "its questions hold its own turns");
    assert_eq!(round(&mut quick).await["result"]["isError"], false);
    for call in calls {
        assert_eq!(codes(&silent.answer(&json!(call)).await), (1069, 1069));
    }
    assert_ne!(strategy(&mut silent).await, before, "its own strategy fell");
    assert_eq!(strategy(&mut quick).await, before, "nobody else's did");
}
