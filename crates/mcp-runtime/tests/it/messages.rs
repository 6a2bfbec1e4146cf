//! JSON-RPC to the letter.

use mcp_runtime::{Context, CustomMethod, Stop, Tool, ToolResult};
use serde_json::{Value, json};

use crate::client::{Client, codes, refusal, server, server_with};

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

//= specs/mcp-runtime.md#messages
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

// proves 002 Req-Proto-002
//= specs/mcp-runtime.md#messages
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
    mcp_runtime::lines::serve(&server, reader, writer, ::http::Extensions::new()).await;
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

//= specs/mcp-runtime.md#messages
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
    let mut client = Client::ready(&server).await;
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

//= specs/mcp-runtime.md#messages
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
async fn a_batch_that_is_too_long_is_refused_whole() {
    let mut client = Client::ready(&server_with(|s| s.limits.max_batch_messages = 2)).await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    client.send_text(&format!("[{ping},{ping},{ping}]")).await;
    assert_eq!(refusal(&client.answer(&json!(null)).await), 1001);
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
        let expect = json!({ "code": code.number(), "name": code.name(), "hint": code.hint() });
        assert_eq!(answer["error"]["data"]["refusal"], expect);
        assert_eq!(answer["error"]["data"]["why"], "because");
    }
}

// proves 002 Req-Sec-001
#[tokio::test]
async fn parameters_of_the_wrong_form_are_refused_with_the_field_at_fault() {
    let mut client = Client::ready(&server()).await;
    let cases = [
        ("prompts/get", json!({}), 1028),
        ("prompts/get", json!({ "name": 5 }), 1029),
        ("resources/read", json!({ "uri": ["x"] }), 1029),
        ("resources/read", json!({ "uri": "no scheme" }), 1023),
        ("resources/list", json!({ "cursor": "forged" }), 1021),
        ("logging/setLevel", json!({ "level": "loud" }), 1021),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/nothing" }, "argument": { "name": "a", "value": "" } }),
            1021,
        ),
        ("tools/call", json!({ "name": "a", "arguments": 5 }), 1048),
    ];
    for (method, params, expect) in cases {
        let answer = client.request(method, params).await;
        assert_eq!(codes(&answer), (-32602, expect), "{method}: {answer}");
    }
}

// proves 002 Req-Sec-003
#[tokio::test]
async fn what_a_client_sends_as_a_secret_is_in_no_log_and_no_refusal() {
    use std::sync::{Arc, Mutex};
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = server();
    server
        .add_tool(Tool::new(
            "login",
            "Panics with the secret.",
            |_, arguments| async move {
                let secret = arguments.text("password").unwrap_or_default().to_owned();
                Err::<ToolResult, Stop>(
                    refusal::Refusal::new(
                        refusal::Code::InternalError,
                        format!("a broken thing of {} letters", secret.len()),
                    )
                    .into(),
                )
            },
        ))
        .unwrap();
    let mut client = Client::ready(&server).await;
    let answer = client
        .call("login", json!({ "password": "hunter2-secret" }))
        .await;
    assert!(!answer.to_string().contains("hunter2-secret"));
    client.send_text(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","authorization":"hunter2-secret""#).await;
    let broken = client.answer(&json!(null)).await;
    assert!(!broken.to_string().contains("hunter2-secret"), "{broken}");
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("hunter2-secret"), "{text}");
}
