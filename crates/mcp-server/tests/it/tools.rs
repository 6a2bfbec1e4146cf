//! Tools: listed, checked, run, timed, stopped, added and removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_protocol::{Arguments, Content, Icon, ResourceContents, ToolAnnotations, ToolResult};
use mcp_server::{Breaker, BreakerSettings, Context, Info, Server, Stop, Tool, WorkClaim};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::client::{Client, codes, refusal, server, server_with};

fn adding() -> Tool {
    Tool::ready("add", "Adds two numbers.", |arguments| {
        let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or(0);
        Ok(ToolResult::structured(
            json!({ "sum": number("a") + number("b") }),
        ))
    })
    .input(json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer", "minimum": 0 } },
        "required": ["a", "b"],
        "additionalProperties": false,
    }))
    .output(json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] }))
}

#[tokio::test]
async fn a_name_that_is_nearly_right_is_answered_with_the_right_one() {
    let server = server();
    server
        .add_tool(Tool::ready("create_epic", "Creates one.", |_| {
            Ok(ToolResult::default())
        }))
        .unwrap();
    let mut client = Client::ready(&server).await;
    for (name, is_near) in [
        ("CreateEpic", true),
        ("create_epics", true),
        ("epic", true),
        ("epi", false),
        ("remove_epic", false),
    ] {
        let answer = client
            .request("tools/call", json!({ "name": name, "arguments": {} }))
            .await;
        let hint = answer["error"]["data"]["refusal"]["hint"].as_str().unwrap();
        assert_eq!(
            hint.starts_with("Did you mean \"create_epic\"?"),
            is_near,
            "{name}: {hint}"
        );
    }
}

// proves 002 Req-Tool-001
// proves 002 Req-Tool-003
#[tokio::test]
async fn all_tools_are_listed_with_name_description_and_schema() {
    let server = server();
    let mut rich = adding().annotated(ToolAnnotations {
        read_only_hint: Some(true),
        ..ToolAnnotations::default()
    });
    rich.title = Some("Addition".into());
    rich.icons = vec![Icon {
        src: "data:,x".into(),
        mime_type: None,
        sizes: vec!["48x48".into()],
        theme: None,
    }];
    rich.meta.insert("a".into(), json!(1));
    let many = (0..300).map(|n| {
        Tool::ready(format!("tool_{n:03}"), "One of many.", |_| {
            Ok(ToolResult::default())
        })
    });
    server
        .add_tools(std::iter::once(rich).chain(many).collect())
        .unwrap();
    let mut client = Client::ready(&server).await;
    let answer = client.request("tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 301, "tools are never paged");
    assert!(answer["result"].get("nextCursor").is_none());
    for tool in tools {
        assert!(
            tool["name"].is_string() && tool["description"].is_string(),
            "{tool}"
        );
        assert!(jsonschema::meta::is_valid(&tool["inputSchema"]), "{tool}");
    }
    let rich = &tools[0];
    assert_eq!(rich["title"], "Addition");
    assert_eq!(rich["annotations"], json!({ "readOnlyHint": true }));
    assert_eq!(rich["icons"][0]["sizes"], json!(["48x48"]));
    assert_eq!(rich["outputSchema"]["required"], json!(["sum"]));
    assert_eq!(rich["_meta"]["a"], 1);
}

// proves 002 Req-Tool-002
// proves 002 Req-Tool-004
#[tokio::test]
async fn a_call_gives_content_and_structure() {
    let server = server();
    server.add_tool(adding()).unwrap();
    let mut client = Client::ready(&server).await;
    let answer = client.call("add", json!({ "a": 2, "b": 3 })).await;
    let expect = json!({
        "content": [{ "type": "text", "text": "{\"sum\":5}" }],
        "structuredContent": { "sum": 5 },
        "isError": false,
    });
    assert_eq!(answer["result"], expect);
    let other_name = client
        .request(
            "tools/call",
            json!({ "tool": "add", "arguments": { "a": 1, "b": 1 } }),
        )
        .await;
    assert_eq!(other_name["result"]["structuredContent"]["sum"], 2);
}

// proves 002 Req-Tool-004
#[tokio::test]
async fn content_of_every_kind_carries_its_type_and_is_error_is_always_said() {
    let server = server();
    let rich = Tool::new("rich", "Gives everything.", |_, _| async {
        let mut result = ToolResult::text("words");
        result.content.extend([
            Content::image("aW1hZ2U=", "image/png"),
            Content::audio("c291bmQ=", "audio/wav"),
            Content::resource(ResourceContents::text("test:///a", "text/markdown", "# A")),
            Content::resource(ResourceContents::blob("test:///b", "application/pdf", b"pdf")),
        ]);
        Ok::<_, Stop>(result)
    });
    let fails = Tool::new("fails", "Says no.", |_, _| async {
        Err::<ToolResult, _>(Refusal::new(Code::RuleViolated, "no"))
    });
    server.add_tools(vec![rich, fails]).unwrap();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::ready_with(&server, version, json!({})).await;
        let given = client.call("rich", json!({})).await["result"].clone();
        let expect = json!([
            { "type": "text", "text": "words" },
            { "type": "image", "data": "aW1hZ2U=", "mimeType": "image/png" },
            { "type": "audio", "data": "c291bmQ=", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "test:///a", "mimeType": "text/markdown", "text": "# A" } },
            { "type": "resource", "resource": { "uri": "test:///b", "mimeType": "application/pdf", "blob": "cGRm" } },
        ]);
        assert_eq!(
            (&given["content"], &given["isError"]),
            (&expect, &json!(false)),
            "{version}"
        );
        let failed = client.call("fails", json!({})).await["result"].clone();
        assert_eq!(failed["isError"], json!(true), "{version}: {failed}");
        assert!(failed["content"].is_array(), "{version}: {failed}");
    }
}

// proves 002 Req-Tool-006
//= specs/mcp-server.md#tools
//= type=test
//# Arguments MUST be checked against the tool's input schema before the tool runs.
#[tokio::test]
async fn wrong_arguments_never_reach_the_tool_and_every_field_is_named() {
    let (server, runs) = (server(), Arc::new(AtomicUsize::new(0)));
    let counting = runs.clone();
    let tool = Tool::new("add", "Counts its runs.", move |_, _| {
        counting.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Stop>(ToolResult::default()) }
    });
    server.add_tool(tool.input(adding().input_schema)).unwrap();
    let wrong = json!({ "a": "many", "b": -1, "c": true });
    let mut new = Client::ready(&server).await;
    let answer = new.call("add", wrong.clone()).await;
    assert_eq!(answer["result"]["isError"], true);
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["refusal"]["code"], 1021);
    let fields: Vec<&str> = error["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["field"].as_str().unwrap())
        .collect();
    for field in ["a", "b", "c"] {
        assert!(fields.contains(&field), "{field} in {fields:?}");
    }
    let mut old = Client::ready_with(&server, "2025-06-18", json!({})).await;
    let answer = old.call("add", wrong).await;
    assert_eq!(codes(&answer), (-32602, 1021));
    assert_eq!(answer["error"]["data"]["fields"].as_array().unwrap().len(), 3);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

//= specs/mcp-server.md#tools
//= type=test
//# A value that was sent as text where the schema wants another type MUST be accepted when its text is JSON of that type.
#[tokio::test]
async fn arguments_written_as_text_are_understood() {
    let server = server();
    server.add_tool(adding()).unwrap();
    let mut client = Client::ready(&server).await;
    for arguments in [json!({ "a": "2", "b": "3" }), json!("{\"a\":2,\"b\":\"3\"}")] {
        let answer = client.call("add", arguments).await;
        assert_eq!(answer["result"]["structuredContent"]["sum"], 5, "{answer}");
    }
}

// proves 002 Req-Tool-007
//= specs/mcp-server.md#tools
//= type=test
//# A tool that ran and failed MUST be answered with a result whose `isError` is true and which carries the refusal.
#[tokio::test]
async fn a_tool_that_ran_and_failed_has_a_result_and_one_that_could_not_run_an_error() {
    let server = server();
    let failing = |name: &str, code: Code| {
        Tool::new(name, "Fails.", move |_: Context, _: Arguments| async move {
            Err::<ToolResult, _>(Refusal::new(code, "that did not work").fact("current_rev", 7))
        })
    };
    server
        .add_tools(vec![
            failing("conflict", Code::StaleRevision),
            failing("forbidden", Code::AuthzForbidden),
            failing("unreachable", Code::DependencyUnavailable),
        ])
        .unwrap();
    for version in ["2024-11-05", "2025-11-25"] {
        let mut client = Client::ready_with(&server, version, json!({})).await;
        let answer = client.call("conflict", json!({})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(
            answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains("that did not work")
        );
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(
            (&error["refusal"]["name"], &error["current_rev"]),
            (&json!("STALE_REVISION"), &json!("7"))
        );
        assert_eq!(codes(&client.call("forbidden", json!({})).await), (1014, 1014));
        assert_eq!(codes(&client.call("unreachable", json!({})).await), (1080, 1080));
        let unknown = client.call("Forbidden", json!({})).await;
        assert_eq!(codes(&unknown), (-32602, 1048));
        assert!(
            unknown["error"]["data"]["refusal"]["hint"]
                .as_str()
                .unwrap()
                .contains("\"forbidden\""),
            "{unknown}"
        );
    }
}

// proves 002 Req-Tool-008
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_run_at_the_same_time() {
    // Nobody passes the barrier unless all hundred are inside.
    let (server, barrier) = (server(), Arc::new(Barrier::new(100)));
    let tool = Tool::new("meet", "Waits for all others.", move |_, arguments: Arguments| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok::<_, Stop>(ToolResult::text(arguments["n"].to_string()))
        }
    });
    server.add_tool(tool).unwrap();
    let mut client = Client::ready(&server).await;
    let mut ids = Vec::new();
    for n in 0..100 {
        ids.push((
            n,
            client
                .start("tools/call", json!({ "name": "meet", "arguments": { "n": n } }))
                .await,
        ));
    }
    for (n, id) in ids {
        assert_eq!(
            client.answer(&json!(id)).await["result"]["content"][0]["text"],
            n.to_string()
        );
    }
}

// proves 002 Req-Proto-002
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_in_a_row_are_all_answered_once() {
    let server = server();
    server
        .add_tool(Tool::new(
            "echo",
            "Says it back.",
            |_, arguments: Arguments| async move {
                tokio::task::yield_now().await;
                Ok::<_, Stop>(ToolResult::text(arguments["n"].to_string()))
            },
        ))
        .unwrap();
    let mut client = Client::ready(&server).await;
    let lines: String = (0..10_000)
        .map(|n| format!("{}\n", json!({ "jsonrpc": "2.0", "id": format!("c{n}"), "method": "tools/call", "params": { "name": "echo", "arguments": { "n": n } } })))
        .collect();
    let mut seen = vec![0u8; 10_000];
    // The client reads while it writes: that is what a pipelining client does.
    let mut rest = lines.as_bytes();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(50_000));
        let end = now
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(now.len(), |at| at + 1);
        client.send_bytes(&rest[..end]).await;
        let count = rest[..end].iter().filter(|b| **b == b'\n').count();
        rest = if end == now.len() { later } else { &rest[end..] };
        for _ in 0..count {
            let answer = client.next().await.unwrap();
            let n: usize = answer["id"].as_str().unwrap()[1..].parse().unwrap();
            assert_eq!(answer["result"]["content"][0]["text"], n.to_string());
            seen[n] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count == 1));
}

/// Counts how much of it is alive.
struct Alive(Arc<AtomicBool>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

fn endless(server: &Server, timeout: Option<Duration>) -> (Arc<Notify>, Arc<AtomicBool>) {
    let (started, alive) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(true)));
    let (tell, held) = (started.clone(), alive.clone());
    let mut tool = Tool::new("endless", "Never ends.", move |_, _| {
        let (tell, held) = (tell.clone(), Alive(held.clone()));
        async move {
            tell.notify_one();
            std::future::pending::<()>().await;
            drop(held);
            Ok::<_, Stop>(ToolResult::default())
        }
    });
    tool.timeout = timeout;
    server.add_tool(tool).unwrap();
    (started, alive)
}

// proves 002 Req-Tool-009
//= specs/mcp-server.md#tools
//= type=test
//# A call that takes longer than its limit MUST be stopped and answered with 1069.
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_stopped() {
    let server = server();
    let (_, alive) = endless(&server, Some(Duration::from_millis(100)));
    let mut client = Client::ready(&server).await;
    assert_eq!(codes(&client.call("endless", json!({})).await), (1069, 1069));
    assert!(
        !alive.load(Ordering::SeqCst),
        "the work itself is gone, not only its answer"
    );
}

/// A claim on work that is being kept, or not.
struct Kept(bool);

impl WorkClaim for Kept {
    fn scope<'a>(&self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        work
    }

    fn give_up(&self) -> bool {
        !self.0
    }
}

// Found by review: "too late" was said of what was carried out all the same.
//= specs/mcp-server.md#tools
//= type=test
//# A request that is told that it took too long MUST have changed nothing, then or later, unless it is told that the outcome
//# is not known.
#[tokio::test(start_paused = true)]
async fn what_is_kept_when_its_time_is_over_is_waited_for() {
    for (is_kept, takes, outcome) in [
        (false, 200, Some("nothing_done")),
        (true, 200, None),
        (true, 60_000, Some("unknown")),
    ] {
        let server = Server::builder(Info::new("test", "1.0.0"))
            .claims(move || Box::new(Kept(is_kept)))
            .build();
        let mut tool = Tool::new("slow", "Takes its time.", move |_, _| async move {
            tokio::time::sleep(Duration::from_millis(takes)).await;
            Ok::<_, Stop>(ToolResult::text("done"))
        });
        tool.timeout = Some(Duration::from_millis(100));
        server.add_tool(tool).unwrap();
        let mut client = Client::ready(&server).await;
        let answer = client.call("slow", json!({})).await;
        match outcome {
            Some(outcome) => {
                assert_eq!(codes(&answer), (1069, 1069), "{answer}");
                assert_eq!(answer["error"]["data"]["outcome"], outcome, "{answer}");
            }
            None => assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_limit_of_its_own_has_thirty_seconds() {
    let server = server();
    endless(&server, None);
    let mut client = Client::ready(&server).await;
    let before = tokio::time::Instant::now();
    assert_eq!(refusal(&client.call("endless", json!({})).await), 1069);
    assert_eq!(before.elapsed().as_secs(), 30);
}

// proves 002 Req-Proto-007
//= specs/mcp-server.md#progress-and-cancellation
//= type=test
//# A cancelled request MUST be stopped and MUST NOT be answered.
#[tokio::test]
async fn a_cancel_under_any_of_its_names_stops_the_work() {
    for (method, as_request) in [
        ("notifications/cancelled", false),
        ("cancellation/cancel_request", true),
        ("requests/cancel", true),
        ("cancellation/cancel_request", false),
    ] {
        let server = server();
        let (started, alive) = endless(&server, None);
        let mut client = Client::ready(&server).await;
        let id = client.start("tools/call", json!({ "name": "endless" })).await;
        started.notified().await;
        let params = json!({ "requestId": id, "reason": "enough" });
        if as_request {
            assert_eq!(client.request(method, params).await["result"], json!({}));
        } else {
            client.notify(method, params).await;
        }
        let (rest, _) = client.finish().await;
        assert!(rest.iter().all(|m| m["id"] != json!(id)), "{method}: {rest:?}");
        assert!(!alive.load(Ordering::SeqCst), "{method} stops the work");
    }
}

#[tokio::test]
async fn a_cancel_of_what_is_over_or_never_was_does_nothing() {
    let server = server();
    server.add_tool(adding()).unwrap();
    let mut client = Client::ready(&server).await;
    for params in [
        json!({ "requestId": 999 }),
        json!({}),
        json!({ "requestId": "1" }),
        json!(null),
        json!([1]),
    ] {
        client.notify("notifications/cancelled", params).await;
    }
    assert_eq!(
        client.call("add", json!({ "a": 1, "b": 1 })).await["result"]["structuredContent"]["sum"],
        2
    );
}

// proves 002 Req-Tool-005
// proves 002 Req-Proto-009
//= specs/mcp-server.md#progress-and-cancellation
//= type=test
//# Progress MUST be reported under the token the client sent, and not at all when it sent none.
#[tokio::test]
async fn long_work_tells_how_far_it_is() {
    let server = server();
    server
        .add_tool(Tool::new(
            "steps",
            "Takes three steps.",
            |cx: Context, _| async move {
                for step in 1..=3 {
                    cx.progress(f64::from(step), Some(3.0), Some("one more")).await;
                }
                Ok::<_, Stop>(ToolResult::text("there"))
            },
        ))
        .unwrap();
    let mut client = Client::ready(&server).await;
    let params = json!({ "name": "steps", "_meta": { "progressToken": "t-1" } });
    let id = client.start("tools/call", params).await;
    for step in 1..=3 {
        let notice = client.next().await.unwrap();
        let expect = json!({ "progressToken": "t-1", "progress": f64::from(step), "total": 3.0, "message": "one more" });
        assert_eq!(
            (&notice["method"], &notice["params"]),
            (&json!("notifications/progress"), &expect)
        );
    }
    assert!(client.answer(&json!(id)).await["result"].is_object());
    client.call("steps", json!({})).await;
    assert!(client.heard_nothing_of("notifications/progress").await);
}

// proves 002 Req-Tool-010
#[tokio::test]
async fn tools_come_and_go_while_the_server_runs_and_clients_hear_of_it() {
    let server = server();
    let mut client = Client::ready(&server).await;
    server.add_tool(adding()).unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(
        client.request("tools/list", json!({})).await["result"]["tools"][0]["name"],
        "add"
    );
    assert_eq!(
        client.call("add", json!({ "a": 1, "b": 2 })).await["result"]["structuredContent"]["sum"],
        3
    );
    assert_eq!(server.add_tool(adding()).unwrap_err().code, Code::ToolDuplicate);
    assert!(server.remove_tool("add") && !server.remove_tool("add"));
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(
        client.request("tools/list", json!({})).await["result"]["tools"],
        json!([])
    );
    assert_eq!(
        refusal(&client.call("add", json!({ "a": 1, "b": 2 })).await),
        1048
    );
}

#[tokio::test]
async fn tools_that_make_no_sense_are_not_taken() {
    let server = server();
    let named = |name: &str| Tool::ready(name, "x", |_| Ok(ToolResult::default()));
    for name in ["", "with blank", "umläut", &"x".repeat(65)] {
        assert_eq!(
            server.add_tool(named(name)).unwrap_err().code,
            Code::InvalidParams,
            "{name}"
        );
    }
    for schema in [
        json!({}),
        json!({ "type": "string" }),
        json!({ "type": "object", "properties": 5 }),
    ] {
        assert_eq!(
            server.add_tool(named("a").input(schema)).unwrap_err().code,
            Code::InvalidJsonSchema
        );
    }
    assert!(server.add_tools(vec![named("a"), named("a")]).is_err());
    assert!(server.tool_names().is_empty(), "all or none");
}

//= specs/mcp-server.md#resilience
//= type=test
//# A handler that panics MUST cost no more than its own answer, which is 1079.
#[tokio::test]
async fn a_panic_costs_one_answer() {
    let server = server();
    server
        .add_tools(vec![
            Tool::ready("inline", "Panics at once.", |_| panic!("at once")),
            Tool::new("early", "Panics before it waits.", |_, _| {
                if true {
                    panic!("before the future exists");
                }
                async { Ok::<_, Stop>(ToolResult::default()) }
            }),
            Tool::new("late", "Panics after it waited.", |_, _| async {
                tokio::task::yield_now().await;
                if true {
                    panic!("in the middle");
                }
                Ok::<_, Stop>(ToolResult::default())
            }),
        ])
        .unwrap();
    let mut client = Client::ready(&server).await;
    for tool in ["inline", "early", "late"] {
        let answer = client.call(tool, json!({})).await;
        assert_eq!(codes(&answer), (-32603, 1079), "{answer}");
        assert!(
            !answer.to_string().contains("at once"),
            "what the panic said stays inside"
        );
    }
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_result_that_breaks_its_own_schema_is_a_fault_of_the_server() {
    let server = server();
    let schema = json!({ "type": "object", "required": ["sum"] });
    let wrong = || ToolResult::structured(json!({ "total": 5 }));
    server
        .add_tools(vec![
            Tool::ready("inline", "Promises a sum.", move |_| Ok(wrong())).output(schema.clone()),
            Tool::new("task", "Promises a sum.", move |_, _| async move {
                Ok::<_, Stop>(wrong())
            })
            .output(schema),
        ])
        .unwrap();
    let mut client = Client::ready(&server).await;
    for tool in ["inline", "task"] {
        assert_eq!(codes(&client.call(tool, json!({})).await), (-32603, 1079));
    }
}

// proves 002 Resil-001
#[tokio::test(start_paused = true)]
async fn a_tool_behind_a_breaker_is_left_alone_after_five_failures() {
    let (server, healthy) = (server_with(|_| {}), Arc::new(AtomicBool::new(false)));
    let health = healthy.clone();
    let mut tool = Tool::new("fetch", "Asks the backend.", move |_, _| {
        let healthy = health.load(Ordering::SeqCst);
        async move {
            if healthy {
                Ok(ToolResult::text("back"))
            } else {
                Err(Refusal::new(Code::DependencyUnavailable, "down"))
            }
        }
    });
    tool.breaker = Some(Arc::new(Breaker::new("the backend", BreakerSettings::default())));
    server.add_tool(tool).unwrap();
    let mut client = Client::ready(&server).await;
    for _ in 0..5 {
        assert_eq!(refusal(&client.call("fetch", json!({})).await), 1080);
    }
    assert_eq!(codes(&client.call("fetch", json!({})).await), (1086, 1086));
    healthy.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        client.call("fetch", json!({})).await["result"]["content"][0]["text"],
        "back"
    );
}

// proves 003 R15.1
#[tokio::test(start_paused = true)]
async fn a_tool_that_says_nothing_else_is_given_up_after_thirty_seconds() {
    let server = server();
    let forever = Tool::new("forever", "Never ends.", |_, _| {
        std::future::pending::<Result<ToolResult, Stop>>()
    });
    server.add_tool(forever).unwrap();
    let mut client = Client::ready(&server).await;
    let began = tokio::time::Instant::now();
    assert_eq!(codes(&client.call("forever", json!({})).await), (1069, 1069));
    assert_eq!(began.elapsed().as_secs(), 30);
}
