//! JSON-RPC to the letter.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_protocol::ToolResult;
use mcp_server::{Context, CustomMethod, Stop, Tool};
use serde_json::{Value, json};

use crate::client::{Client, Log, codes, server};

// proves 002 Req-Proto-001
#[tokio::test]
async fn every_kind_of_bad_message_has_its_number_and_the_connection_lives_on() {
    let mut client = Client::ready(&server()).await;
    let cases = [
        ("{", -32700, json!(null)),
        ("\"text\"", -32600, json!(null)),
        ("{}", -32600, json!(null)),
        (
            r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#,
            -32600,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            json!(null),
        ),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":"no/such"}"#,
            -32601,
            json!("x"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[1]}"#,
            -32602,
            json!(8),
        ),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":5}}"#,
            -32602,
            json!(9),
        ),
        ("[]", -32600, json!(null)),
        ("[1,2", -32700, json!(null)),
    ];
    for (text, code, id) in cases {
        client.send_text(text).await;
        let answer = client.answer(&id).await;
        assert_eq!(answer["error"]["code"], code, "{text} gave {answer}");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["error"]["data"]["refusal"]["hint"].is_string(), "{answer}");
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

//= specs/mcp-server.md#messages
//= type=test
//# An unknown method MUST be answered with `-32601`.
#[tokio::test]
async fn an_unknown_method_is_said_to_be_unknown() {
    let mut client = Client::ready(&server()).await;
    assert_eq!(
        codes(&client.request("tools/fly", json!({})).await),
        (-32601, 1066)
    );
}

//= specs/mcp-server.md#messages
//= type=test
//# The id of a request MUST come back byte for byte.
#[tokio::test]
async fn ids_come_back_byte_for_byte() {
    let server = server();
    let mut client = Client::ready(&server).await;
    client.close();
    let ids = [
        "1",
        "-5",
        "1.0",
        "1e3",
        "123456789012345678901234567890",
        "\"a\\u00e9\\\"\"",
        "\"\"",
    ];
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let lines: String = ids
        .iter()
        .map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"))
        .collect();
    let (mut ours_reader, mut ours_writer) = tokio::io::split(ours);
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    ours_writer.write_all(lines.as_bytes()).await.unwrap();
    ours_writer.shutdown().await.unwrap();
    mcp_server::lines::serve(&server, reader, writer, ::http::Extensions::new()).await;
    let mut text = String::new();
    ours_reader.read_to_string(&mut text).await.unwrap();
    for (line, id) in text.lines().zip(ids) {
        assert_eq!(
            line,
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")
        );
    }
    assert_eq!(text.lines().count(), ids.len());
}

// proves 002 Req-Proto-006
#[tokio::test]
async fn errors_carry_standard_numbers_where_they_exist_and_the_refusal_always() {
    let server = server();
    server.add_method(CustomMethod::new(
        "test/refuse",
        |_cx: Context, params: Value| async move {
            let number = u16::try_from(params["code"].as_u64().unwrap()).unwrap();
            let code = refusal::Code::from_number(number).unwrap();
            Err::<Value, _>(refusal::Refusal::new(code, "no").fact("why", "because"))
        },
    ));
    let mut client = Client::ready(&server).await;
    for code in refusal::Code::ALL {
        let answer = client
            .request("test/refuse", json!({ "code": code.number() }))
            .await;
        let number = answer["error"]["code"].as_i64().unwrap();
        assert_eq!(number, i64::from(code.json_rpc()), "{answer}");
        assert!(
            number == i64::from(code.number()) || [-32600, -32602, -32603, -32002].contains(&number),
            "{number}"
        );
        let mut expect = json!({ "code": code.number(), "name": code.name(), "hint": code.hint() });
        if number == -32602 {
            expect["class"] = json!("invalid_params");
        }
        assert_eq!(answer["error"]["data"]["refusal"], expect);
        assert_eq!(answer["error"]["data"]["why"], "because");
    }
}

// proves 002 Req-Sec-001
//= specs/mcp-server.md#messages
//= type=test
//# A refusal of parameters MUST say in `data.refusal.class` that it is one (`invalid_params`), however special its own number is.
#[tokio::test]
async fn parameters_of_the_wrong_form_are_refused_with_the_field_at_fault() {
    let server = server();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let make = Tool::new("make", "Makes it.", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Stop>(ToolResult::text("made")) }
    });
    let input = json!({
        "type": "object", "additionalProperties": false, "required": ["title"],
        "properties": { "title": { "type": "string" }, "priority": { "type": "integer" } },
    });
    server.add_tool(make.input(input)).unwrap();
    let mut client = Client::ready_with(&server, "2025-06-18", json!({})).await;
    let make = |arguments: Value| json!({ "name": "make", "arguments": arguments });
    let completing = json!({ "ref": { "type": "ref/nothing" }, "argument": { "name": "a", "value": "" } });
    // What does not fit a schema is 1021, with an entry for each field; what the table names in particular has its own.
    let cases = [
        ("tools/call", make(json!({})), 1021, vec!["title"]),
        (
            "tools/call",
            make(json!({ "title": "x", "priority": "high" })),
            1021,
            vec!["priority"],
        ),
        (
            "tools/call",
            make(json!({ "priority": [], "more": 1 })),
            1021,
            vec!["more", "priority", "title"],
        ),
        ("tools/call", make(json!(5)), 1029, vec!["arguments"]),
        ("tools/call", json!({ "name": "nothing" }), 1048, vec![]),
        ("prompts/get", json!({}), 1028, vec!["name"]),
        ("prompts/get", json!({ "name": 5 }), 1029, vec!["name"]),
        ("resources/read", json!({ "uri": ["x"] }), 1029, vec!["uri"]),
        ("resources/read", json!({ "uri": "no scheme" }), 1023, vec!["uri"]),
        (
            "resources/list",
            json!({ "cursor": "forged" }),
            1021,
            vec!["cursor"],
        ),
        (
            "logging/setLevel",
            json!({ "level": "loud" }),
            1021,
            vec!["level"],
        ),
        ("completion/complete", completing, 1021, vec!["ref.type"]),
    ];
    for (method, params, expect, fields) in cases {
        let answer = client.request(method, params).await;
        assert_eq!(codes(&answer), (-32602, expect), "{method}: {answer}");
        let data = &answer["error"]["data"];
        assert_eq!(data["refusal"]["class"], "invalid_params", "{method}: {answer}");
        let named = data["fields"].as_array().cloned().unwrap_or_default();
        let mut named: Vec<&str> = named.iter().filter_map(|fault| fault["field"].as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, fields, "{method}: {answer}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0);
}

// proves 002 Req-Sec-003, 003 R10.10
//= specs/mcp-server.md#resilience
//= type=test
//# A panic of a handler MUST be logged as an error with the id of its request.
#[tokio::test]
async fn a_tool_that_breaks_with_a_secret_is_logged_and_told_without_it() {
    const SECRET: &str = "mcp_pat_0123456789abcdef";
    let (log, _guard) = Log::start();
    let server = server();
    let at_once = Tool::ready("at_once", "Panics.", |arguments| {
        panic!("{}", arguments.text("token").unwrap_or_default())
    });
    let later = Tool::new("later", "Panics later.", |_, arguments| async move {
        tokio::task::yield_now().await;
        let token = arguments.text("token").unwrap_or_default().to_owned();
        if !token.is_empty() {
            panic!("{token}");
        }
        Ok::<_, Stop>(ToolResult::text("never"))
    });
    server.add_tools(vec![at_once, later]).unwrap();
    let mut client = Client::ready(&server).await;
    for tool in ["at_once", "later"] {
        let answer = client.call(tool, json!({ "token": SECRET })).await;
        assert_eq!(codes(&answer), (-32603, 1079), "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "INTERNAL_ERROR");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
        let logged = log.text();
        let line = logged
            .lines()
            .find(|line| line.contains("ERROR") && line.contains(tool));
        let line = line.unwrap_or_else(|| panic!("nothing of {tool} in {logged}"));
        assert!(line.contains(&format!("request=\"{}\"", answer["id"])), "{line}");
        let mut http = crate::http_client::Http::new(&server);
        http.initialize("2025-11-25").await;
        let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": tool, "arguments": { "token": SECRET } } });
        let answer = http.post(call).await;
        assert_eq!((answer.status, codes(&answer.json)), (200, (-32603, 1079)));
    }
    client
        .send_text(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,{SECRET}"))
        .await;
    let broken = client.answer(&json!(null)).await;
    assert!(
        !broken.to_string().contains(SECRET),
        "a broken message is not echoed: {broken}"
    );
    assert!(!log.text().contains(SECRET), "{}", log.text());
}
