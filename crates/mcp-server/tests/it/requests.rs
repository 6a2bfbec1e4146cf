//! Questions of the server to the client, in both eras, and log messages.

use std::time::Duration;

use mcp_protocol::{Arguments, Ask, Level, ToolResult};
use mcp_server::{Context, Server, Stop, Tool};
use serde_json::{Value, json};

use crate::client::{Client, codes, refusal, server, server_with};

fn name_form() -> Ask {
    let schema =
        json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    Ask::form("What is your name?", schema)
}

fn asking(server: &Server) {
    server
        .add_tool(Tool::new(
            "ask",
            "Asks twice.",
            |cx: Context, _: Arguments| async move {
                cx.keep(json!("kept"));
                let name = cx.ask("name", name_form()).await?;
                let roots = cx.ask("roots", Ask::roots()).await?;
                let text = format!(
                    "{} {} {}",
                    name["content"]["name"],
                    roots["roots"][0]["uri"],
                    cx.kept().is_some()
                );
                Ok::<_, Stop>(ToolResult::text(text))
            },
        ))
        .unwrap();
}

// proves 002 Req-Proto-012
//= specs/mcp-server.md#requests-of-the-server
//= type=test
//# An answer of the client MUST reach the request whose id it carries, in whatever order answers come.
#[tokio::test]
async fn answers_reach_their_questions_in_any_order() {
    let server = server();
    asking(&server);
    let mut client =
        Client::ready_with(&server, "2025-11-25", json!({ "elicitation": {}, "roots": {} })).await;
    let calls = [
        client.start("tools/call", json!({ "name": "ask" })).await,
        client.start("tools/call", json!({ "name": "ask" })).await,
    ];
    let first = client.notice("elicitation/create").await;
    let second = client.notice("elicitation/create").await;
    assert_eq!(
        server.waiting_for_clients(),
        2,
        "both questions stand in the table while they are open"
    );
    assert_ne!(first["id"], second["id"]);
    for question in [&second, &first] {
        let content = json!({ "name": format!("n{}", question["id"]) });
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": content } })).await;
        let roots = client.notice("roots/list").await;
        client.send(&json!({ "jsonrpc": "2.0", "id": roots["id"], "result": { "roots": [{ "uri": "file:///r" }] } })).await;
    }
    let mut texts = Vec::new();
    for call in calls {
        texts.push(
            client.answer(&json!(call)).await["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
    }
    texts.sort();
    let expect = |question: &Value| format!("\"n{}\" \"file:///r\" false", question["id"]);
    let mut expected = [expect(&first), expect(&second)];
    expected.sort();
    assert_eq!(texts, expected);
    assert_eq!(server.waiting_for_clients(), 0);
    client
        .send(&json!({ "jsonrpc": "2.0", "id": 999, "result": {} }))
        .await;
    client
        .send(&json!({ "jsonrpc": "2.0", "id": "x", "error": { "code": 1, "message": "?" } }))
        .await;
    assert_eq!(
        client.request("ping", json!({})).await["result"],
        json!({}),
        "stray answers are ignored"
    );
}

// proves 002 Req-Proto-003
//= specs/mcp-server.md#requests-of-the-server
//= type=test
//# A request of the server that is not answered in time MUST end with 1069, and the client MUST be told that it is cancelled.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_is_waited_for_five_seconds() {
    let server = server();
    asking(&server);
    let mut client =
        Client::ready_with(&server, "2025-11-25", json!({ "elicitation": {}, "roots": {} })).await;
    let before = tokio::time::Instant::now();
    let call = client.start("tools/call", json!({ "name": "ask" })).await;
    let question = client.notice("elicitation/create").await;
    assert_eq!(codes(&client.answer(&json!(call)).await), (1069, 1069));
    assert_eq!(before.elapsed(), Duration::from_secs(5));
    let cancelled = client.notice("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    assert_eq!(server.waiting_for_clients(), 0);
}

#[tokio::test]
async fn a_client_may_refuse_decline_or_answer_nonsense() {
    let server = server();
    server
        .add_tool(Tool::new(
            "ask",
            "Asks.",
            |cx: Context, _: Arguments| async move {
                Ok::<_, Stop>(ToolResult::text(cx.ask("name", name_form()).await?.to_string()))
            },
        ))
        .unwrap();
    let mut client = Client::ready_with(&server, "2025-06-18", json!({ "elicitation": {} })).await;
    let mut ask = async |reply: Value| {
        let call = client.start("tools/call", json!({ "name": "ask" })).await;
        let mut message = reply;
        message["jsonrpc"] = json!("2.0");
        message["id"] = client.notice("elicitation/create").await["id"].clone();
        client.send(&message).await;
        client.answer(&json!(call)).await
    };
    assert_eq!(
        refusal(&ask(json!({ "error": { "code": -1, "message": "no" } })).await),
        1080
    );
    assert_eq!(
        ask(json!({ "result": { "action": "decline" } })).await["result"]["isError"],
        false
    );
    for nonsense in [
        json!({}),
        json!(5),
        json!({ "action": "accept", "content": { "name": 5 } }),
        json!({ "action": "dance" }),
    ] {
        assert_eq!(
            ask(json!({ "result": nonsense })).await["result"]["isError"],
            true
        );
    }
}

//= specs/mcp-server.md#questions
//= type=test
//# A client MUST NOT be asked for anything it did not declare; the request MUST be refused with `-32021` instead.
#[tokio::test]
async fn a_client_is_not_asked_what_it_did_not_offer() {
    let server = server();
    asking(&server);
    let mut old = Client::ready(&server).await;
    let answer = old.call("ask", json!({})).await;
    assert_eq!(codes(&answer).0, -32021);
    assert_eq!(
        answer["error"]["data"]["requiredCapabilities"],
        json!({ "elicitation": {} })
    );
    let answer = old
        .stateless("tools/call", json!({ "name": "ask" }), json!({ "roots": {} }))
        .await;
    assert_eq!(codes(&answer).0, -32021);
}

//= specs/mcp-server.md#questions
//= type=test
//# In the stateless era a question MUST be answered to the client as an input-required result, and the request that comes back with all answers MUST complete.
#[tokio::test]
async fn the_same_tool_asks_in_rounds_without_a_handshake() {
    let server = server();
    asking(&server);
    let mut client = Client::silent(&server);
    let able = || json!({ "elicitation": {}, "roots": {} });
    let round = client
        .stateless("tools/call", json!({ "name": "ask" }), able())
        .await["result"]
        .clone();
    assert_eq!(
        (&round["resultType"], &round["inputRequests"]["name"]["method"]),
        (&json!("input_required"), &json!("elicitation/create"))
    );
    let named = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let params = json!({ "name": "ask", "inputResponses": named, "requestState": round["requestState"] });
    let second = client.stateless("tools/call", params.clone(), able()).await["result"].clone();
    assert_eq!(second["inputRequests"]["roots"]["method"], "roots/list");
    let roots = json!({ "roots": { "roots": [{ "uri": "file:///r" }] }, "unknown": 5 });
    let last = json!({ "name": "ask", "inputResponses": roots, "requestState": second["requestState"] });
    let done = client.stateless("tools/call", last, able()).await["result"].clone();
    assert_eq!(
        (&done["resultType"], &done["content"][0]["text"]),
        (&json!("complete"), &json!("\"Ada\" \"file:///r\" true"))
    );

    // States are signed, and only for the call they were made for.
    server
        .add_tool(Tool::new(
            "other",
            "Asks too.",
            |cx: Context, _: Arguments| async move {
                cx.ask("name", name_form()).await?;
                Ok::<_, Stop>(ToolResult::text("done"))
            },
        ))
        .unwrap();
    let mut tampered = params.clone();
    tampered["requestState"] = json!(format!("{}x", params["requestState"].as_str().unwrap()));
    let mut moved = params;
    moved["name"] = json!("other");
    for wrong in [tampered, moved] {
        assert_eq!(
            codes(&client.stateless("tools/call", wrong, able()).await),
            (-32602, 1021)
        );
    }
    let round = client
        .stateless("tools/call", json!({ "name": "ask" }), able())
        .await["result"]
        .clone();
    let wrong_answer =
        json!({ "name": "ask", "requestState": round["requestState"], "inputResponses": { "name": 5 } });
    let again = client.stateless("tools/call", wrong_answer, able()).await["result"].clone();
    assert_eq!(
        again["resultType"], "input_required",
        "an answer that does not fit is asked for again"
    );
}

#[tokio::test]
async fn only_so_many_questions_may_be_open() {
    let server = server_with(|s| s.limits.max_pending_per_session = 1);
    asking(&server);
    let mut client =
        Client::ready_with(&server, "2025-11-25", json!({ "elicitation": {}, "roots": {} })).await;
    client.start("tools/call", json!({ "name": "ask" })).await;
    client.notice("elicitation/create").await;
    assert_eq!(codes(&client.call("ask", json!({})).await), (1001, 1001));
}

//= specs/mcp-server.md#logging
//= type=test
//# A log message below the level the client asked for MUST NOT be sent.
#[tokio::test]
async fn log_messages_come_from_the_level_that_was_asked_for() {
    let server = server();
    server
        .add_tool(Tool::new(
            "log",
            "Logs on all levels.",
            |cx: Context, _: Arguments| async move {
                for level in [Level::Debug, Level::Info, Level::Warning, Level::Emergency] {
                    cx.log(level, "test", json!({ "level": level.name() })).await;
                }
                Ok::<_, Stop>(ToolResult::default())
            },
        ))
        .unwrap();
    let mut client = Client::ready(&server).await;
    assert_eq!(
        client
            .request("logging/setLevel", json!({ "level": "warning" }))
            .await["result"],
        json!({})
    );
    client.call("log", json!({})).await;
    assert_eq!(
        client.notice("notifications/message").await["params"]["level"],
        "warning"
    );
    let last = client.notice("notifications/message").await;
    assert_eq!(
        last["params"],
        json!({ "level": "emergency", "logger": "test", "data": { "level": "emergency" } })
    );
    assert!(client.heard_nothing_of("notifications/message").await);
    client
        .stateless("tools/call", json!({ "name": "log" }), json!({}))
        .await;
    assert!(
        client.heard_nothing_of("notifications/message").await,
        "without a level nothing is sent"
    );
    let meta = json!({ "io.modelcontextprotocol/logLevel": "emergency" });
    client
        .stateless("tools/call", json!({ "name": "log", "_meta": meta }), json!({}))
        .await;
    assert_eq!(
        client.notice("notifications/message").await["params"]["level"],
        "emergency"
    );
    assert!(client.heard_nothing_of("notifications/message").await);
}
