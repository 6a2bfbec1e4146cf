//! Completion of texts: by the project's own words, in a bounded window, token by token, or by a model elsewhere.

use super::{Agent, hello};
use crate::harness::{Server, both};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use spexus_http::{CompletionOptions, McpOptions};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const METHOD: &str = "completion/complete";

/// Requirements that say nearly the same.
async fn furnish(server: &Server) {
    server.seed().await;
    for part in [
        "log every login",
        "refuse every empty title",
        "answer within one second",
    ] {
        let text = format!("The system shall {part} without delay.");
        let wanted = json!({ "title": part, "description": text, "user_story_id": "US-001", "type": "Functional", "priority": 2 });
        server.post("/api/v1/requirements", wanted).await.created();
    }
}

async fn complete(agent: &Agent, text: &str) -> Value {
    agent.ask(METHOD, json!({ "text": text })).await
}

both![a_text_goes_on_as_the_projects_texts_do,];

// proves 002 Req-Completion-001
//= specs/spexus-mcp.md#completion
//= type=test
//# A text MUST be completed from the items of one project the caller may read, as they are now.
async fn a_text_goes_on_as_the_projects_texts_do(server: &mut Server) {
    furnish(server).await;
    let agent = Agent::connect(server).await;
    let answer = complete(&agent, "The system shall log every").await;
    let completion = &answer["completion"];
    assert_eq!(completion["text"], " login without delay.", "{answer}");
    assert_eq!(completion["values"], json!([" login without delay."]));
    assert_eq!(
        (&completion["finish_reason"], &completion["model"]),
        (&json!("stop"), &json!("embedded"))
    );
    assert_eq!(completion["tokens"][0]["token"], " login");
    let predictions = completion["predictions"].as_array().unwrap();
    assert_eq!(predictions[0]["token"], " login");
    assert!(
        predictions.len() > 1
            && predictions[0]["probability"].as_f64() > predictions[1]["probability"].as_f64()
    );
    // The same words again, and by the other name of the field.
    assert_eq!(
        agent
            .ask(METHOD, json!({ "prompt": "The system shall log every" }))
            .await,
        answer
    );
    // What is written now is known now, and what is gone is not.
    let fresh = json!({ "title": "New", "description": "Every pump shall whistle loudly.", "user_story_id": "US-001", "type": "Functional", "priority": 2 });
    let made = server.post("/api/v1/requirements", fresh).await.created();
    assert_eq!(
        complete(&agent, "Every pump shall").await["completion"]["text"],
        " whistle loudly."
    );
    server
        .delete(&format!(
            "/api/v1/requirements/{}?force=true",
            made["reference_id"].as_str().unwrap()
        ))
        .await
        .ok();
    let text = complete(&agent, "Every pump shall").await["completion"]["text"].to_string();
    assert!(!text.contains("whistle"), "{text}");
    // The same seed draws the same words.
    let draw = json!({ "text": "The", "temperature": 1.5, "seed": 7, "max_tokens": 5, "predictions": 2 });
    let first = agent.ask(METHOD, draw.clone()).await;
    assert_eq!(agent.ask(METHOD, draw).await, first);
    assert!(first["completion"]["tokens"].as_array().unwrap().len() <= 5);
    assert_eq!(first["completion"]["predictions"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_may_not_read_is_not_in_the_words() {
    let server = Server::on_sqlite().await;
    furnish(&server).await;
    server
        .post("/api/v1/projects", json!({ "key": "other", "name": "Other" }))
        .await
        .created();
    let token = json!({ "name": "bound", "project": "other" });
    let bound = server.post("/api/v1/tokens", token).await.created();
    let agent = Agent::with(&server, bound["token"].as_str().unwrap(), "2025-06-18", &[]).await;
    let answer = complete(&agent, "The system shall").await;
    assert_eq!(answer["completion"]["text"], "", "{answer}");
    let main = json!({ "text": "The system shall", "project": "default" });
    agent.refused(METHOD, main).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_completed_is_refused_by_field() {
    let server = Server::on_sqlite().await;
    let agent = Agent::connect(&server).await;
    for (field, params) in [
        ("text", json!({})),
        ("text", json!({ "text": 7 })),
        ("max_tokens", json!({ "text": "a", "max_tokens": 0 })),
        ("max_tokens", json!({ "text": "a", "max_tokens": 257 })),
        ("temperature", json!({ "text": "a", "temperature": 3 })),
        ("predictions", json!({ "text": "a", "predictions": 21 })),
        ("project", json!({ "text": "a", "project": "none" })),
    ] {
        let error = agent.refused(METHOD, params.clone()).await;
        assert!(error.to_string().contains(field), "{params}: {error}");
    }
    server.stop().await;
}

fn with(completion: CompletionOptions) -> McpOptions {
    McpOptions {
        completion,
        ..McpOptions::default()
    }
}

// proves 002 Req-Completion-002
//= specs/spexus-mcp.md#completion
//= type=test
//# A text longer than the context window MUST be cut to its end, and the answer MUST say so with what was used and the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_text_is_cut_to_the_window_and_says_so() {
    let server = Server::with(with(CompletionOptions {
        context_tokens: 16,
        ..CompletionOptions::default()
    }))
    .await;
    furnish(&server).await;
    let agent = Agent::connect(&server).await;
    let long = format!("{} The system shall log every", "Word and word.".repeat(1_000));
    let answer = complete(&agent, &long).await;
    let context = &answer["context"];
    assert_eq!(
        (&context["used_tokens"], &context["limit"], &context["truncated"]),
        (&json!(16), &json!(16), &json!(true))
    );
    assert!(context["total_tokens"].as_u64().unwrap() > 3_000);
    assert_eq!(answer["completion"]["text"], " login without delay.");
    let short = complete(&agent, "The system").await;
    assert_eq!(
        short["context"],
        json!({ "used_tokens": 2, "total_tokens": 2, "limit": 16, "truncated": false })
    );
    server.stop().await;
}

/// The texts of tokens told under the progress token, and the text of the answer.
async fn streamed(agent: &Agent, text: &str) -> (Vec<String>, Value) {
    let params = json!({ "text": text, "_meta": { "progressToken": "t" } });
    let message = json!({ "jsonrpc": "2.0", "id": "stream", "method": METHOD, "params": params });
    let response = agent
        .request_to(reqwest::Method::POST)
        .json(&message)
        .send()
        .await
        .unwrap();
    let events = response.text().await.unwrap();
    let (mut tokens, mut answer) = (Vec::new(), Value::Null);
    for data in events.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        if event["method"] == "notifications/progress" {
            assert!(answer.is_null(), "the answer comes last");
            let params = &event["params"];
            assert_eq!(
                (&params["progressToken"], &params["progress"]),
                (&json!("t"), &json!(tokens.len() as f64 + 1.0))
            );
            assert_eq!(params["_meta"]["spexus/token"]["text"], params["message"]);
            tokens.push(params["message"].as_str().unwrap().to_owned());
        } else if event["id"] == "stream" {
            answer = event["result"].clone();
        }
    }
    (tokens, answer)
}

// proves 002 Req-Completion-003
//= specs/spexus-mcp.md#completion
//= type=test
//# Under a progress token every token MUST be told by itself before the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_told_one_by_one() {
    let server = Server::on_sqlite().await;
    furnish(&server).await;
    let agent = Agent::connect(&server).await;
    let (tokens, answer) = streamed(&agent, "The system shall log every").await;
    assert_eq!(tokens, [" login", " without", " delay", "."]);
    assert_eq!(answer["completion"]["text"], tokens.concat());
    server.stop().await;
}

/// A server of a model: says what it was asked, and answers as it is told to.
#[derive(Clone, Default)]
struct Elsewhere {
    asked: Arc<Mutex<Vec<(Value, String)>>>,
    broken: Arc<Mutex<bool>>,
}

impl Elsewhere {
    async fn start(&self) -> String {
        let router = axum::Router::new()
            .route("/v1/completions", post(speak))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }
}

async fn speak(State(elsewhere): State<Elsewhere>, headers: HeaderMap, body: Bytes) -> Response {
    let key = headers
        .get("authorization")
        .map_or("", |value| value.to_str().unwrap());
    let asked = (serde_json::from_slice(&body).unwrap(), key.to_owned());
    elsewhere.asked.lock().unwrap().push(asked);
    if *elsewhere.broken.lock().unwrap() {
        return axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let logprobs = json!({ "token_logprobs": [-0.1], "top_logprobs": [{ " sing": -0.1, " hum": -2.5 }] });
    let events = [
        json!({ "choices": [{ "text": " sing", "logprobs": logprobs }] }),
        json!({ "choices": [{ "text": " softly.", "finish_reason": "stop" }] }),
    ];
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from(text + "data: [DONE]\n\n"))
        .unwrap()
}

// proves 002 Req-Completion-001
//= specs/spexus-mcp.md#completion
//= type=test
//# A text MUST be sent to another machine only when an endpoint is configured; when it does not answer, the embedded model MUST.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_elsewhere_is_asked_first_and_missed_by_nobody() {
    let elsewhere = Elsewhere::default();
    let options = CompletionOptions {
        endpoint: elsewhere.start().await,
        model: "small".to_owned(),
        key: "k-123".to_owned(),
        ..CompletionOptions::default()
    };
    let server = Server::with(with(options)).await;
    furnish(&server).await;
    let agent = Agent::connect(&server).await;
    let (tokens, answer) = streamed(&agent, "The system shall log every").await;
    assert_eq!(tokens, [" sing", " softly."]);
    let completion = &answer["completion"];
    assert_eq!(
        (&completion["text"], &completion["model"]),
        (&json!(" sing softly."), &json!("small"))
    );
    assert_eq!(completion["finish_reason"], "stop");
    assert_eq!(completion["predictions"][0]["token"], " sing");
    let (asked, key) = elsewhere.asked.lock().unwrap()[0].clone();
    assert_eq!(
        (key.as_str(), &asked["prompt"]),
        ("Bearer k-123", &json!("The system shall log every"))
    );
    assert_eq!(
        (&asked["model"], &asked["stream"]),
        (&json!("small"), &json!(true))
    );
    *elsewhere.broken.lock().unwrap() = true;
    for _ in 0..7 {
        let answer = complete(&agent, "The system shall log every").await;
        assert_eq!(answer["completion"]["text"], " login without delay.", "{answer}");
        assert_eq!(answer["completion"]["model"], "embedded");
        assert!(answer["completion"]["fallback"]["code"].is_u64() && !answer.to_string().contains("k-123"));
    }
    // After five failures it is left alone for a while.
    assert_eq!(elsewhere.asked.lock().unwrap().len(), 1 + 5);
    // proves 002 Resil-002: a model that works again is asked again within five seconds
    *elsewhere.broken.lock().unwrap() = false;
    let works = Instant::now();
    while complete(&agent, "The system shall log every").await["completion"]["model"] != "small" {
        assert!(works.elapsed() < Duration::from_secs(5), "it is still left alone");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(works.elapsed() < Duration::from_secs(5), "{:?}", works.elapsed());
    server.stop().await;
}

// proves 002 Req-Completion-002
//= specs/spexus-mcp.md#completion
//= type=test
//# What is sent to an endpoint MUST leave room in the window for the tokens that are asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_elsewhere_is_sent_the_end_of_a_long_text_and_left_room_to_answer() {
    let elsewhere = Elsewhere::default();
    let options = CompletionOptions {
        endpoint: elsewhere.start().await,
        context_tokens: 64,
        ..CompletionOptions::default()
    };
    let server = Server::with(with(options)).await;
    furnish(&server).await;
    let agent = Agent::connect(&server).await;
    let long = format!("{} The system shall log every", "Word and word.".repeat(1_000));
    let answer = agent.ask(METHOD, json!({ "text": long, "max_tokens": 24 })).await;
    let (asked, _) = elsewhere.asked.lock().unwrap()[0].clone();
    let sent = asked["prompt"].as_str().unwrap();
    assert!(
        long.ends_with(sent) && sent.ends_with("log every"),
        "the end is what was written last: {sent}"
    );
    // Whatever pieces the model counts in, text and answer fit into its window.
    assert!(sent.len().div_ceil(4) + 24 <= 64, "{} bytes", sent.len());
    assert_eq!(asked["max_tokens"], 24);
    let context = &answer["context"];
    assert_eq!(
        (&context["limit"], &context["truncated"]),
        (&json!(64), &json!(true))
    );
    assert!(context["used_tokens"].as_u64().unwrap() <= 40, "{context}");
    assert!(context["total_tokens"].as_u64().unwrap() > 3_000, "{context}");
    server.stop().await;
}

//= specs/spexus-mcp.md#completion
//= type=test
//# What is typed MUST also find values that hold its letters in order or differ by a typing error, those used before first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_are_found_by_letters_errors_and_use() {
    let server = Server::on_sqlite().await;
    furnish(&server).await;
    let agent = Agent::introduced(&server, &server.token, &hello("2025-06-18")).await;
    let suggest = async |uri: &str, argument: &str, typed: &str| {
        let params = json!({ "ref": { "type": "ref/resource", "uri": uri }, "argument": { "name": argument, "value": typed } });
        let found = agent.ask(METHOD, params).await;
        let values = found["completion"]["values"].as_array().unwrap().clone();
        values
            .iter()
            .map(|value| value.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let types = "requirements://search?query={query}&type={type}";
    assert_eq!(suggest(types, "type", "fucntional").await[0], "Functional");
    assert_eq!(suggest(types, "type", "nfn").await[0], "Non-Functional");
    let ids = "requirement://{id}";
    assert_eq!(suggest(ids, "id", "3").await[0], "REQ-003");
    assert_eq!(suggest(ids, "id", "empty titel").await[0], "REQ-003");
    assert_eq!(suggest(ids, "id", "titel").await[0], "REQ-003");
    let before = suggest(ids, "id", "REQ").await;
    assert_eq!(before[0], "REQ-004", "the latest first");
    agent.read("requirement://REQ-002").await;
    agent.call("get_item", json!({ "id": "REQ-001" })).await;
    agent.call("get_item", json!({ "id": "REQ-001" })).await;
    let after = suggest(ids, "id", "REQ").await;
    assert_eq!(after[..2], ["REQ-001", "REQ-002"], "{after:?}");
    assert_eq!(after.len(), before.len());
    server.stop().await;
}
