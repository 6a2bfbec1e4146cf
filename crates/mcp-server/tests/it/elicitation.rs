//! Questions to people: asked until the answer fits, one or a hundred at once, in both eras, and never for ever.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::{Arguments, Elicited, ToolResult};
use mcp_server::{
    Context, CustomMethod, Elicitation, ElicitationRequest, Info, Server, Settings, Stop, Tool,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{Client, codes, refusal, server_with};

fn able() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} } })
}

fn priority() -> Elicitation {
    let schema = json!({
        "type": "object",
        "properties": { "priority": { "type": "integer", "minimum": 1, "maximum": 4 } },
        "required": ["priority"],
    });
    Elicitation::new("How urgent is it?", schema)
}

/// A tool that asks for a priority and says what came of it.
fn asking(server: &Server) {
    let run = |cx: Context, _: Arguments| async move {
        let told = match cx.elicit("priority", &priority()).await? {
            Elicited::Accepted(fields) => fields["priority"].to_string(),
            other => other.action().to_owned(),
        };
        Ok::<_, Stop>(ToolResult::text(told))
    };
    server
        .add_tool(Tool::new("ask", "Asks how urgent it is.", run))
        .unwrap();
}

fn asking_server(change: impl FnOnce(&mut Settings)) -> Server {
    let server = server_with(change);
    asking(&server);
    server
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

async fn reply(client: &mut Client, question: &Value, result: Value) {
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }))
        .await;
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

// proves 002 Req-Elicit-003
//= specs/mcp-server.md#elicitation
//= type=test
//# An answer MUST be checked against the form before anyone else sees it.
//= specs/mcp-server.md#elicitation
//= type=test
//# An answer that does not fit MUST be asked for again with what was wrong, and after the last attempt the request MUST be refused with 1021.
#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_with_what_was_wrong() {
    let server = asking_server(|_| {});
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let call = client.start("tools/call", json!({ "name": "ask" })).await;
    let first = client.notice("elicitation/create").await;
    assert_eq!(first["params"]["message"], "How urgent is it?");
    reply(&mut client, &first, accept(json!({ "priority": 9 }))).await;
    let second = client.notice("elicitation/create").await;
    let message = second["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("How urgent is it?")
            && message.contains("priority: 9")
            && message.contains("maximum 4"),
        "{message}"
    );
    reply(&mut client, &second, accept(json!({ "priority": "2" }))).await;
    assert_eq!(
        text(&client.answer(&json!(call)).await),
        "2",
        "text that is a number is one"
    );

    let call = client.start("tools/call", json!({ "name": "ask" })).await;
    for answer in [json!({}), json!({ "priority": "soon" }), json!({ "priority": 0 })] {
        let question = client.notice("elicitation/create").await;
        reply(&mut client, &question, accept(answer)).await;
    }
    let refused = client.answer(&json!(call)).await;
    let error = &refused["result"]["structuredContent"]["error"];
    assert_eq!(
        (&error["refusal"]["code"], &error["fields"][0]["field"]),
        (&json!(1021), &json!("priority"))
    );
    assert!(
        client.heard_nothing_of("elicitation/create").await,
        "three times is enough"
    );
}

/// The third round of a question that was answered wrongly twice, and what it is called.
async fn third_round(client: &mut Client) -> (Value, String) {
    let mut params = json!({ "name": "ask" });
    let mut key = "priority".to_owned();
    for (attempt, wrong) in [(2, json!({ "priority": 9 })), (3, json!({ "priority": "x" }))] {
        let round = client.stateless("tools/call", params, able()).await["result"].clone();
        assert!(round["inputRequests"].get(&key).is_some(), "{round}");
        params = json!({ "name": "ask", "requestState": round["requestState"], "inputResponses": { &key: accept(wrong) } });
        key = format!("priority.{attempt}");
    }
    let round = client.stateless("tools/call", params, able()).await["result"].clone();
    (round, key)
}

// proves 002 Req-Elicit-003
#[tokio::test]
async fn without_a_handshake_every_attempt_is_a_round() {
    let server = asking_server(|_| {});
    let mut client = Client::silent(&server);
    let mut outcomes = Vec::new();
    for answer in [
        accept(json!({ "priority": 4 })),
        json!({ "action": "decline" }),
        accept(json!({})),
    ] {
        let (round, key) = third_round(&mut client).await;
        let message = round["inputRequests"][&key]["params"]["message"]
            .as_str()
            .unwrap();
        assert!(
            message.contains("That did not fit") && message.contains("priority"),
            "{message}"
        );
        let last = json!({ "name": "ask", "requestState": round["requestState"], "inputResponses": { &key: answer } });
        outcomes.push(client.stateless("tools/call", last, able()).await);
    }
    assert_eq!((text(&outcomes[0]), text(&outcomes[1])), ("4", "decline"));
    assert_eq!(
        outcomes[2]["result"]["structuredContent"]["error"]["refusal"]["code"], 1021,
        "{}",
        outcomes[2]
    );
}

/// What a client brings that nobody asked for, or brings a second time, is no answer: the question is put anew.
//= specs/mcp-server.md#questions
//= type=test
//# An answer MUST count only for a question this server asked the same owner in the same call, in the same words, and only with the state it was asked with.
//= specs/mcp-server.md#questions
//= type=test
//# A state MUST count once: answers that come with it a second time MUST be asked for anew.
#[tokio::test]
async fn a_yes_nobody_was_asked_for_or_that_was_used_before_is_asked_for_anew() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let keeper = heard.clone();
    let server = Server::builder(Info::new("test", "1.0.0"))
        .on_elicited(move |_, key, outcome| {
            let outcome = outcome.map_or_else(|refusal| refusal.code.name(), Elicited::action);
            keeper.lock().unwrap().push(format!("{key} {outcome}"));
        })
        .build();
    let run = |cx: Context, arguments: Arguments| async move {
        let what = arguments.text("what").unwrap_or_default().to_owned();
        let sure = json!({ "type": "object", "properties": { "sure": { "type": "boolean" } } });
        let form = Elicitation::new(format!("Delete {what}?"), sure);
        let said = cx.elicit("delete", &form).await?;
        Ok::<_, Stop>(ToolResult::text(format!("{} {what}", said.action())))
    };
    server.add_tool(Tool::new("delete", "Deletes.", run)).unwrap();
    let mut client = Client::silent(&server);
    let call = |what: &str, state: &Value| {
        let mut params = json!({ "name": "delete", "arguments": { "what": what }, "inputResponses": { "delete": accept(json!({ "sure": true })) } });
        if state.is_string() {
            params["requestState"] = state.clone();
        }
        params
    };
    let unasked = client
        .stateless("tools/call", call("a", &Value::Null), able())
        .await["result"]
        .clone();
    assert_eq!(
        unasked["resultType"], "input_required",
        "nobody was asked: {unasked}"
    );
    let state = unasked["requestState"].clone();
    let other = client.stateless("tools/call", call("b", &state), able()).await["result"].clone();
    assert_eq!(
        other["resultType"], "input_required",
        "the question was about a: {other}"
    );
    let fresh = client
        .stateless(
            "tools/call",
            json!({ "name": "delete", "arguments": { "what": "a" } }),
            able(),
        )
        .await["result"]
        .clone();
    let state = fresh["requestState"].clone();
    let done = client.stateless("tools/call", call("a", &state), able()).await;
    assert_eq!(text(&done), "accept a");
    let again = client.stateless("tools/call", call("a", &state), able()).await["result"].clone();
    assert_eq!(
        again["resultType"], "input_required",
        "a yes counts once: {again}"
    );
    let next = client
        .stateless("tools/call", call("a", &again["requestState"]), able())
        .await;
    assert_eq!(
        text(&next),
        "accept a",
        "the person was asked a second time and said yes"
    );
    assert_eq!(
        *heard.lock().unwrap(),
        ["delete accept", "delete accept"],
        "only what was said is told"
    );
}

/// A question that waited too long is put anew.
#[tokio::test]
async fn an_answer_that_comes_too_late_is_asked_for_anew() {
    let server = asking_server(|settings| settings.limits.question_ttl_ms = 0);
    let mut client = Client::silent(&server);
    let round = client
        .stateless("tools/call", json!({ "name": "ask" }), able())
        .await["result"]
        .clone();
    // The millisecond in which it was asked still counts.
    let asked = jiff::Timestamp::now().as_millisecond();
    while jiff::Timestamp::now().as_millisecond() <= asked {
        tokio::task::yield_now().await;
    }
    let late = json!({ "name": "ask", "requestState": round["requestState"], "inputResponses": { "priority": accept(json!({ "priority": 1 })) } });
    let again = client.stateless("tools/call", late, able()).await["result"].clone();
    assert_eq!(again["resultType"], "input_required", "{again}");
}

//= specs/mcp-server.md#elicitation
//= type=test
//# Declining and closing a question MUST be told apart from each other and from an answer.
#[tokio::test]
async fn saying_no_and_closing_the_question_are_two_things() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let keeper = heard.clone();
    let server = Server::builder(Info::new("test", "1.0.0"))
        .on_elicited(move |_, key, outcome| {
            let outcome = outcome.map_or_else(|refusal| refusal.code.name(), Elicited::action);
            keeper.lock().unwrap().push(format!("{key} {outcome}"));
        })
        .build();
    asking(&server);
    let mut client = Client::ready_with(&server, "2025-06-18", json!({ "elicitation": {} })).await;
    for action in ["decline", "cancel"] {
        let call = client.start("tools/call", json!({ "name": "ask" })).await;
        let question = client.notice("elicitation/create").await;
        reply(&mut client, &question, json!({ "action": action })).await;
        assert_eq!(text(&client.answer(&json!(call)).await), action);
    }
    let round = client
        .stateless("tools/call", json!({ "name": "ask" }), able())
        .await;
    assert_eq!(round["result"]["resultType"], "input_required");
    let answer = json!({ "name": "ask", "requestState": round["result"]["requestState"], "inputResponses": { "priority": accept(json!({ "priority": 1 })) } });
    assert_eq!(text(&client.stateless("tools/call", answer, able()).await), "1");
    assert_eq!(
        *heard.lock().unwrap(),
        ["priority decline", "priority cancel", "priority accept"],
        "what became of each is told once"
    );
}

// proves 002 Req-Elicit-005
//= specs/mcp-server.md#elicitation
//= type=test
//# Questions MUST be independent of each other: an answer to one MUST NOT wait for another.
#[tokio::test]
async fn ten_and_a_hundred_questions_are_open_at_once_and_each_gets_its_own_answer() {
    let server = asking_server(|_| {});
    for many in [10, 100] {
        let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
        let mut calls = Vec::new();
        for _ in 0..many {
            calls.push(client.start("tools/call", json!({ "name": "ask" })).await);
        }
        let mut questions = Vec::new();
        for _ in 0..many {
            questions.push(client.notice("elicitation/create").await);
        }
        assert_eq!(server.waiting_for_clients(), many, "all are open at once");
        // The last one asked is answered first, and is done before any other was answered.
        let last = questions.pop().unwrap();
        reply(&mut client, &last, accept(json!({ "priority": 1 }))).await;
        let done = client.next().await.unwrap();
        assert_eq!(text(&done), "1", "{done}");
        for question in questions.iter().rev() {
            reply(&mut client, question, accept(json!({ "priority": 2 }))).await;
        }
        for call in calls.into_iter().filter(|call| done["id"] != json!(call)) {
            assert_eq!(text(&client.answer(&json!(call)).await), "2");
        }
        assert_eq!(server.waiting_for_clients(), 0);
    }
}

// proves 002 Req-Elicit-005
#[tokio::test]
async fn a_hundred_sessions_ask_their_own_people() {
    let server = asking_server(|_| {});
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
        let call = client.start("tools/call", json!({ "name": "ask" })).await;
        let question = client.notice("elicitation/create").await;
        clients.push((client, call, question));
    }
    assert_eq!(server.waiting_for_clients(), 100);
    for (at, (client, call, question)) in clients.iter_mut().enumerate().rev() {
        let priority = at % 4 + 1;
        reply(client, question, accept(json!({ "priority": priority }))).await;
        assert_eq!(text(&client.answer(&json!(call)).await), priority.to_string());
    }
}

// proves 002 Req-Elicit-004
//= specs/mcp-server.md#elicitation
//= type=test
//# A person who does not answer in time MUST cost the request 1069, and nothing of the question MUST be kept.
#[tokio::test(start_paused = true)]
async fn nobody_answers_a_hundred_questions_and_nothing_is_left_of_them() {
    let server = asking_server(|settings| settings.limits.elicit_timeout_ms = 20_000);
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let before = Instant::now();
    let mut calls = Vec::new();
    for _ in 0..100 {
        calls.push(client.start("tools/call", json!({ "name": "ask" })).await);
    }
    for call in calls {
        assert_eq!(codes(&client.answer(&json!(call)).await), (1069, 1069));
    }
    assert_eq!(before.elapsed(), Duration::from_secs(20));
    assert_eq!((server.waiting_for_clients(), server.in_flight()), (0, 0));
    let call = client.start("tools/call", json!({ "name": "ask" })).await;
    let late = client.open_question().await;
    reply(&mut client, &late, accept(json!({ "priority": 3 }))).await;
    assert_eq!(
        text(&client.answer(&json!(call)).await),
        "3",
        "the session works on"
    );
}

//= specs/mcp-server.md#questions
//= type=test
//# The time a request waits for the client's answer MUST NOT count as time it is served; the question's own limit counts.
#[tokio::test(start_paused = true)]
async fn a_person_who_thinks_does_not_use_up_the_time_of_the_request() {
    let server = asking_server(|settings| {
        settings.limits.serve_timeout_ms = 1_000;
        settings.limits.elicit_timeout_ms = 60_000;
    });
    let hang = |cx: Context, _: Arguments| async move {
        cx.elicit("priority", &priority()).await?;
        std::future::pending::<Result<ToolResult, Stop>>().await
    };
    server
        .add_tool(Tool::new("hang", "Asks, and never ends.", hang))
        .unwrap();
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    for (tool, outcome) in [("ask", "2"), ("hang", "")] {
        let call = client.start("tools/call", json!({ "name": tool })).await;
        let question = client.notice("elicitation/create").await;
        tokio::time::advance(Duration::from_secs(30)).await;
        reply(&mut client, &question, accept(json!({ "priority": 2 }))).await;
        let answered = Instant::now();
        let answer = client.answer(&json!(call)).await;
        assert_eq!(text(&answer), outcome);
        if tool == "hang" {
            assert_eq!(
                (codes(&answer), answered.elapsed()),
                ((1069, 1069), Duration::from_secs(1))
            );
        }
    }
}

//= specs/mcp-server.md#elicitation
//= type=test
//# A request that cannot go on before the person was at a page MUST be refused with `-32042` and the page, in the stateless era with an input-required result.
//= specs/mcp-server.md#elicitation
//= type=test
//# When the person is done at a page, the client MUST be told where its revision knows the notification, and MUST NOT elsewhere.
#[tokio::test]
async fn a_person_can_be_sent_to_a_page() {
    let server = server_with(|_| {});
    let page = "https://example.org/agree";
    let send = move |cx: Context, _: Arguments| async move {
        let sent = cx.elicit_url("page", "Please agree.", page, "e1").await?;
        cx.elicitation_complete("e1");
        Ok::<_, Stop>(ToolResult::text(sent.action()))
    };
    let need = move |cx: Context, _: Arguments| async move {
        cx.require_url("page", "Please agree.", page, "e2").await?;
        Ok::<_, Stop>(ToolResult::text("agreed"))
    };
    server.add_tool(Tool::new("send", "Sends.", send)).unwrap();
    server.add_tool(Tool::new("need", "Needs.", need)).unwrap();
    for (version, told) in [("2025-11-25", true), ("2025-06-18", false)] {
        let mut client = Client::ready_with(&server, version, able()).await;
        let call = client.start("tools/call", json!({ "name": "send" })).await;
        let question = client.notice("elicitation/create").await;
        assert_eq!(
            (&question["params"]["mode"], &question["params"]["url"]),
            (&json!("url"), &json!(page))
        );
        reply(&mut client, &question, json!({ "action": "accept" })).await;
        assert_eq!(text(&client.answer(&json!(call)).await), "accept");
        if told {
            let done = client.notice("notifications/elicitation/complete").await;
            assert_eq!(done["params"]["elicitationId"], "e1");
        } else {
            assert!(
                client
                    .heard_nothing_of("notifications/elicitation/complete")
                    .await
            );
        }
        let refused = client.call("need", json!({})).await;
        assert_eq!(codes(&refused).0, -32042);
        let elicitation = &refused["error"]["data"]["elicitations"][0];
        assert_eq!(
            (&elicitation["url"], &elicitation["elicitationId"]),
            (&json!(page), &json!("e2"))
        );
    }
    let mut forms_only = Client::ready_with(&server, "2025-11-25", json!({ "elicitation": {} })).await;
    assert_eq!(codes(&forms_only.call("need", json!({})).await).0, -32021);
    let mut client = Client::silent(&server);
    for (action, agreed) in [("accept", true), ("decline", false)] {
        let round = client
            .stateless("tools/call", json!({ "name": "need" }), able())
            .await["result"]
            .clone();
        assert_eq!(round["inputRequests"]["page"]["params"]["url"], page);
        let back = json!({ "name": "need", "requestState": round["requestState"], "inputResponses": { "page": { "action": action } } });
        let answer = client.stateless("tools/call", back, able()).await;
        assert_eq!(text(&answer) == "agreed", agreed, "{answer}");
    }
    assert!(client.kept_nothing_of("notifications/elicitation/complete"));
}

// proves 002 Req-Elicit-001
// proves 002 Req-Elicit-002
//= specs/mcp-server.md#elicitation
//= type=test
//# `elicitation/request` MUST be refused with the name of the parameter when it has no prompt, no form, or a form no host can show.
#[tokio::test]
async fn a_client_asks_for_a_validated_answer_of_its_person() {
    let server = server_with(|_| {});
    server.add_method(CustomMethod::new(
        "elicitation/request",
        |cx: Context, params: Value| async move { ElicitationRequest::parse(&params)?.ask(&cx).await },
    ));
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let wish = json!({ "prompt": "Which one?", "constraints": { "type": "string", "enum": ["a", "b"] } });
    let call = client.start("elicitation/request", wish.clone()).await;
    for value in ["c", "b"] {
        let question = client.notice("elicitation/create").await;
        assert_eq!(
            question["params"]["requestedSchema"]["properties"]["value"]["enum"],
            json!(["a", "b"])
        );
        reply(&mut client, &question, accept(json!({ "value": value }))).await;
    }
    let answer = client.answer(&json!(call)).await;
    assert_eq!(
        answer["result"],
        json!({ "action": "accept", "content": { "value": "b" }, "value": "b" })
    );

    let page = json!({ "prompt": "Please read.", "url": "https://example.org/" });
    let call = client.start("elicitation/request", page).await;
    let question = client.notice("elicitation/create").await;
    reply(&mut client, &question, json!({ "action": "decline" })).await;
    assert_eq!(
        client.answer(&json!(call)).await["result"],
        json!({ "action": "decline" })
    );

    let once = json!({ "message": "When?", "requestedSchema": { "type": "integer" }, "max_attempts": 1, "timeout_ms": 4_000 });
    let call = client.start("elicitation/request", once).await;
    let question = client.notice("elicitation/create").await;
    reply(&mut client, &question, accept(json!({ "value": "soon" }))).await;
    assert_eq!(refusal(&client.answer(&json!(call)).await), 1021);

    let deep = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
    for (wrong, field, code) in [
        (json!({ "schema": { "type": "string" } }), "prompt", 1021),
        (
            json!({ "prompt": " ", "schema": { "type": "string" } }),
            "prompt",
            1021,
        ),
        (
            json!({ "prompt": "x".repeat(4_001), "schema": { "type": "string" } }),
            "prompt",
            1021,
        ),
        (json!({ "prompt": "?" }), "schema", 1021),
        (
            json!({ "prompt": "?", "schema": deep }),
            "schema.properties.a",
            1022,
        ),
        (
            json!({ "prompt": "?", "schema": { "type": "object", "properties": {} } }),
            "schema",
            1022,
        ),
        (
            json!({ "prompt": "?", "url": "javascript:alert(1)" }),
            "url",
            1021,
        ),
        (
            json!({ "prompt": "?", "schema": { "type": "string" }, "max_attempts": 0 }),
            "max_attempts",
            1021,
        ),
        (
            json!({ "prompt": "?", "schema": { "type": "string" }, "timeout_ms": "5" }),
            "timeout_ms",
            1021,
        ),
    ] {
        let answer = client.request("elicitation/request", wrong).await;
        assert_eq!(codes(&answer), (-32602, code), "{answer}");
        assert_eq!(answer["error"]["data"]["fields"][0]["field"], field);
    }
    assert!(
        client.heard_nothing_of("elicitation/create").await,
        "nobody was asked"
    );

    let mut unable = Client::ready(&server).await;
    assert_eq!(
        codes(&unable.request("elicitation/request", wish.clone()).await).0,
        -32021
    );
    let round = unable
        .stateless("elicitation/request", wish.clone(), able())
        .await["result"]
        .clone();
    assert_eq!(
        round["inputRequests"]["answer"]["params"]["message"],
        "Which one?"
    );
    let mut back = wish;
    back["requestState"] = round["requestState"].clone();
    back["inputResponses"] = json!({ "answer": accept(json!({ "value": "a" })) });
    let done = unable.stateless("elicitation/request", back, able()).await["result"].clone();
    assert_eq!(
        (&done["resultType"], &done["value"]),
        (&json!("complete"), &json!("a"))
    );
}

//= specs/mcp-server.md#elicitation
//= type=test
//# A tool that asks for missing arguments MUST get them from the person where the client can ask and nothing else is wrong, and MUST NOT run without them.
#[tokio::test]
async fn what_the_model_left_out_the_person_adds() {
    let server = server_with(|_| {});
    let run = |_: Context, arguments: Arguments| async move {
        Ok::<_, Stop>(ToolResult::text(Value::Object(arguments.0).to_string()))
    };
    let schema = json!({
        "type": "object", "required": ["title", "size"], "additionalProperties": false,
        "properties": { "title": { "type": "string" }, "size": { "type": "integer" }, "tags": { "type": "array" } },
    });
    let mut tool = Tool::new("make", "Makes.", run).input(schema);
    tool.asks_for_missing = true;
    server.add_tool(tool).unwrap();
    let mut client = Client::ready_with(&server, "2025-11-25", able()).await;
    let give = json!({ "name": "make", "arguments": { "tags": ["x"], "size": 3 } });
    let call = client.start("tools/call", give.clone()).await;
    let question = client.notice("elicitation/create").await;
    assert_eq!(
        question["params"]["requestedSchema"]["properties"],
        json!({ "title": { "type": "string", "minLength": 1 } }),
        "only what is missing is asked for"
    );
    reply(&mut client, &question, accept(json!({ "title": "" }))).await;
    let again = client.notice("elicitation/create").await;
    reply(&mut client, &again, accept(json!({ "title": "T" }))).await;
    assert_eq!(
        text(&client.answer(&json!(call)).await),
        r#"{"size":3,"tags":["x"],"title":"T"}"#
    );

    let call = client.start("tools/call", give.clone()).await;
    let question = client.notice("elicitation/create").await;
    reply(&mut client, &question, json!({ "action": "decline" })).await;
    let declined = client.answer(&json!(call)).await;
    let error = &declined["result"]["structuredContent"]["error"];
    assert_eq!(
        (&error["refusal"]["code"], &error["fields"][0]["field"]),
        (&json!(1028), &json!("title"))
    );

    let round = client.stateless("tools/call", give.clone(), able()).await["result"].clone();
    let key = round["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    let mut back = give.clone();
    back["requestState"] = round["requestState"].clone();
    back["inputResponses"] = json!({ key: accept(json!({ "title": "S" })) });
    assert!(text(&client.stateless("tools/call", back, able()).await).contains("\"S\""));

    // What else is wrong is told at once, and so is everything to a client that cannot ask.
    let wrong = json!({ "name": "make", "arguments": { "size": "big" } });
    assert_eq!(
        client.request("tools/call", wrong).await["result"]["isError"],
        true
    );
    let mut unable = Client::ready(&server).await;
    assert_eq!(
        unable.request("tools/call", give).await["result"]["isError"],
        true
    );
    assert!(client.heard_nothing_of("elicitation/create").await);
}
