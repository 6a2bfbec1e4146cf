//! Streamable HTTP: through the service itself, and over a real socket.

use std::sync::Arc;

use ::http::Request;
use bytes::Bytes;
use http_body_util::Full;
use mcp_protocol::{Arguments, Ask, ResourceContents, ToolResult};
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Change, Context, Resource, Server, Stop, Tool};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_service::Service;

use crate::client::{codes, refusal, server, server_with};
use crate::http_client::{Events, HELLO, Http, json_of, listen};

fn talking(server: &Server) -> (Arc<Notify>, Arc<Notify>) {
    let (started, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (started.clone(), release.clone());
    server
        .add_tools(vec![
            Tool::ready("quick", "Answers at once.", |_| Ok(ToolResult::text("quick"))),
            Tool::new("task", "Answers from a task.", |_, _: Arguments| async {
                Ok::<_, Stop>(ToolResult::text("task"))
            }),
            Tool::new(
                "steps",
                "Says something first.",
                |cx: Context, _: Arguments| async move {
                    for step in 1..=3 {
                        cx.progress(f64::from(step), None, None).await;
                    }
                    Ok::<_, Stop>(ToolResult::text("steps"))
                },
            ),
            Tool::new("wait", "Waits to be let go.", move |cx: Context, _: Arguments| {
                let (tell, wait) = (tell.clone(), wait.clone());
                async move {
                    cx.progress(1.0, None, None).await;
                    tell.notify_one();
                    wait.notified().await;
                    Ok::<_, Stop>(ToolResult::text("let go"))
                }
            }),
            Tool::new("ask", "Asks the user.", |cx: Context, _: Arguments| async move {
                let answer = cx
                    .ask("ok", Ask::form("Go on?", json!({ "type": "object" })))
                    .await?;
                Ok::<_, Stop>(ToolResult::text(answer["action"].to_string()))
            }),
        ])
        .unwrap();
    (started, release)
}

fn call(tool: &str, id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "_meta": { "progressToken": id } } })
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A request MUST be answered with plain JSON unless something was said before its answer.
#[tokio::test]
async fn plain_answers_are_json_and_only_talk_is_a_stream() {
    let server = server();
    talking(&server);
    let mut http = Http::new(&server);
    http.session = Some(http.open().await);
    for tool in ["quick", "task"] {
        let answer = http.post(call(tool, 5)).await;
        assert_eq!(
            (answer.status, &answer.headers["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        assert_eq!(answer.json["result"]["content"][0]["text"], tool);
    }
    let mut events = Events::of(http.send(call("steps", 6), &[]).await);
    let (id, data) = events.event().await.unwrap();
    assert!(
        id.is_some() && data.is_empty(),
        "the first event only carries an id"
    );
    for step in 1..=3 {
        assert_eq!(events.message().await["params"]["progress"], f64::from(step));
    }
    assert_eq!(events.message().await["result"]["content"][0]["text"], "steps");
    assert!(events.event().await.is_none(), "the answer ends the stream");
    let answer = http
        .post_as(call("steps", 7), &[("accept", "application/json")])
        .await;
    assert_eq!(
        answer.json["result"]["content"][0]["text"], "steps",
        "who takes no events gets the answer alone"
    );
}

#[tokio::test]
async fn notifications_and_batches_of_them_are_accepted_without_a_body() {
    let mut http = Http::new(&server());
    http.initialize("2025-03-26").await;
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/whatever" });
    for message in [
        notification.clone(),
        json!([notification]),
        json!({ "jsonrpc": "2.0", "id": 9, "result": {} }),
    ] {
        assert_eq!(http.post(message).await.status, 202);
    }
    let ping = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let answer = http.post(json!([ping(1), ping(2)])).await;
    assert_eq!(answer.json.as_array().unwrap().len(), 2);
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A body above the size limit MUST be refused with status 413 and a JSON-RPC error 1068.
#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused_in_json() {
    let mut http = Http::new(&server_with(|s| s.limits.max_message_bytes = 1_000));
    let long =
        json!({ "jsonrpc": "2.0", "id": "big", "method": "ping", "params": { "x": "y".repeat(2_000) } });
    for headers in [vec![("content-length", "2100")], vec![]] {
        let answer = http.post_as(long.clone(), &headers).await;
        assert_eq!(
            (answer.status, refusal(&answer.json), &answer.json["id"]),
            (413, 1068, &json!("big"))
        );
    }
    let mut send = async |content_type: &str, encoding: &str, body: &[u8]| {
        let request = http.request(
            "POST",
            &[("content-type", content_type), ("content-encoding", encoding)],
        );
        let response = http
            .call(request.body(Full::new(Bytes::from(body.to_vec()))).unwrap())
            .await;
        let status = response.status().as_u16();
        let body: Value = json_of(response).await;
        (status, codes(&body))
    };
    assert_eq!(send("text/plain", "identity", b"{}").await, (415, (1024, 1024)));
    assert_eq!(send("application/json", "gzip", b"{}").await, (415, (1070, 1070)));
    assert_eq!(
        send("application/json; charset=utf-8", "identity", b"\xff").await,
        (400, (-32700, 1070))
    );
    assert_eq!(
        send(
            "application/json",
            "identity",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"
        )
        .await,
        (400, (1076, 1076))
    );
    let mut open = Http::new(&server());
    open.session = Some(open.open().await);
    let answer = open.post(json!("no message")).await;
    assert_eq!((answer.status, codes(&answer.json)), (400, (-32600, 1066)));
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A request whose `Host` or `Origin` is not allowed MUST be refused with status 403.
#[tokio::test]
async fn foreign_pages_and_hosts_are_turned_away() {
    let server = server();
    let mut http = Http::new(&server);
    let hello = || serde_json::from_str::<Value>(HELLO).unwrap();
    let answer = http.post_as(hello(), &[("origin", "http://evil.example")]).await;
    assert_eq!((answer.status, refusal(&answer.json)), (403, 1014));
    assert_eq!(
        http.post_as(hello(), &[("origin", "http://localhost:3000")])
            .await
            .status,
        200
    );
    let request = Request::post("/mcp")
        .header("host", "evil.example")
        .header("content-type", "application/json");
    let response = http
        .call(request.body(Full::new(Bytes::from(HELLO))).unwrap())
        .await;
    assert_eq!(response.status(), 403);
    let settings = HttpSettings {
        allowed_origins: vec!["https://app.example".into()],
        ..HttpSettings::default()
    };
    let mut open = Http::with(&server, settings);
    assert_eq!(
        open.post_as(hello(), &[("origin", "https://app.example")])
            .await
            .status,
        200
    );
    let settings = HttpSettings {
        allowed_hosts: None,
        ..HttpSettings::default()
    };
    assert_eq!(
        Http::with(&server, settings)
            .post_as(hello(), &[("origin", "http://evil.example")])
            .await
            .status,
        200
    );
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A session that is gone MUST be answered with status 404, one that is missing with 400.
#[tokio::test]
async fn sessions_that_are_gone_missing_or_doubled_have_their_status() {
    let mut http = Http::new(&server());
    let list = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" });
    let answer = http.post(list.clone()).await;
    assert_eq!(
        (answer.status, codes(&answer.json), &answer.json["id"]),
        (400, (1076, 1076), &json!(4))
    );
    let session = http.open().await;
    http.session = Some(session.clone());
    assert_eq!(http.delete().await, 204);
    for status in [http.post(list.clone()).await.status, http.delete().await] {
        assert_eq!(status, 404);
    }
    let hello = http.post(serde_json::from_str(HELLO).unwrap()).await;
    assert_eq!(
        hello.status, 200,
        "a stale id does not keep anyone from a new session"
    );
    let doubled = http.post_as(list.clone(), &[("mcp-session-id", &session)]).await;
    assert_eq!((doubled.status, refusal(&doubled.json)), (400, 1025));
    let unknown = http
        .post_as(list, &[("mcp-protocol-version", "1999-01-01")])
        .await;
    assert_eq!((unknown.status, codes(&unknown.json)), (400, (-32022, 1027)));
    let request = http.request("PUT", &[]).body(Full::new(Bytes::new())).unwrap();
    let response = http.call(request).await;
    assert_eq!(response.headers()["allow"], "POST, GET, DELETE");
    assert_eq!(response.status(), 405);
    let body: Value = json_of(response).await;
    assert_eq!(codes(&body), (1071, 1071));
    http.session = None;
    let request = http.request("GET", &[]).body(Full::new(Bytes::new())).unwrap();
    let response = http.call(request).await;
    assert_eq!(response.status(), 400);
    let body: Value = json_of(response).await;
    assert_eq!(refusal(&body), 1026);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_refused() {
    let mut service = McpService::new(&server(), HttpSettings::default());
    let frames = futures_util::stream::iter(vec![
        Ok(http_body::Frame::data(Bytes::from_static(b"{\"jsonrpc\""))),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ]);
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json");
    let body = http_body_util::StreamBody::new(frames);
    let response = service.call(request.body(body).unwrap()).await.unwrap();
    assert_eq!(response.status(), 503);
    let body: Value = json_of(response).await;
    assert_eq!(codes(&body), (1067, 1067));
}

#[tokio::test]
async fn a_mount_may_serve_requests_without_a_session() {
    let settings = HttpSettings {
        sessionless: true,
        ..HttpSettings::default()
    };
    let server = server();
    talking(&server);
    let mut http = Http::with(&server, settings);
    assert_eq!(
        http.post(call("task", 3)).await.json["result"]["content"][0]["text"],
        "task"
    );
    assert_eq!(server.sessions(), 0);
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A client that comes back with the id of the last event it saw MUST get the events after it, as far as they are kept.
#[tokio::test]
async fn a_broken_stream_is_taken_up_again() {
    let server = server();
    let (started, release) = talking(&server);
    let mut http = Http::new(&server);
    http.session = Some(http.open().await);
    let mut events = Events::of(http.send(call("wait", 8), &[]).await);
    let (first, _) = events.event().await.unwrap();
    started.notified().await;
    drop(events);
    assert_eq!(server.in_flight(), 1, "a lost connection is no cancel");
    release.notify_one();
    let mut again = http.stream(&[("last-event-id", &first.unwrap())]).await;
    assert_eq!(again.message().await["params"]["progress"], 1.0);
    assert_eq!(again.message().await["result"]["content"][0]["text"], "let go");
    for wrong in ["nonsense", "99-1"] {
        let request = http
            .request("GET", &[("last-event-id", wrong)])
            .body(Full::new(Bytes::new()))
            .unwrap();
        assert_eq!(http.call(request).await.status(), 400, "{wrong}");
    }
}

#[tokio::test]
async fn messages_nobody_asked_for_come_on_one_stream_of_the_session() {
    let server = server();
    let resource = Resource::new(
        "test:///a",
        "a",
        "x",
        "text/plain",
        |_, r: mcp_server::ReadRequest| async move {
            Ok::<_, Stop>(vec![ResourceContents::text(r.uri, "text/plain", "a")])
        },
    );
    server.add_resources(vec![resource]).unwrap();
    let mut http = Http::new(&server);
    http.session = Some(http.open().await);
    let watch = json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": "test:///a" } });
    http.post(watch).await;
    let mut first = http.stream(&[]).await;
    let mut second = http.stream(&[]).await;
    first.event().await.unwrap();
    second.event().await.unwrap();
    server.resource_changed("test:///a", Change::Updated);
    assert_eq!(first.message().await["params"]["uri"], "test:///a");
    drop(first);
    server.resource_changed("test:///a", Change::Deleted);
    let heard = second.message().await;
    assert_eq!(
        heard["params"]["change_type"], "deleted",
        "each message comes once: {heard}"
    );
}

#[tokio::test]
async fn a_drain_ends_streams_that_wait_for_news() {
    let server = server();
    let mut http = Http::new(&server);
    http.session = Some(http.open().await);
    let mut stream = http.stream(&[]).await;
    stream.event().await.unwrap();
    server.drain().await;
    assert!(stream.event().await.is_none());
}

#[tokio::test]
async fn a_question_travels_on_the_stream_and_its_answer_by_post() {
    let server = server();
    talking(&server);
    let mut http = Http::new(&server);
    http.session = Some(http.open().await);
    let mut events = Events::of(http.send(call("ask", 8), &[]).await);
    let question = events.message().await;
    assert_eq!(question["method"], "elicitation/create");
    let reply =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": {} } });
    assert_eq!(http.post(reply).await.status, 202);
    assert_eq!(
        events.message().await["result"]["content"][0]["text"],
        "\"accept\""
    );
}

// proves 002 Req-Proto-005
//= specs/mcp-server.md#http-transport
//= type=test
//# In the stateless era a header that is missing or differs from the body MUST be refused with `-32020` and status 400.
#[tokio::test]
async fn stateless_headers_must_say_what_the_body_says() {
    let server = server();
    talking(&server);
    let mut http = Http::new(&server);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "quick", "_meta": meta } });
    let right = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "quick"),
    ];
    assert_eq!(
        http.post_as(body.clone(), &right).await.json["result"]["resultType"],
        "complete"
    );
    for at in 0..3 {
        let mut missing = right.to_vec();
        missing.remove(at);
        let mut wrong = right.to_vec();
        wrong[at].1 = if at == 0 { "2025-11-25" } else { "something else" };
        for headers in [missing, wrong] {
            let answer = http.post_as(body.clone(), &headers).await;
            assert_eq!(
                (answer.status, codes(&answer.json)),
                (400, (-32020, 1025)),
                "{headers:?}"
            );
        }
    }
    let unknown = http.stateless("no/such", json!({}), json!({})).await;
    assert_eq!(unknown.status(), 404);
    let batch = http.post_as(json!([body]), &right).await;
    assert_eq!((batch.status, codes(&batch.json).0), (400, -32600));
    let get = http
        .request("GET", &right[..1])
        .body(Full::new(Bytes::new()))
        .unwrap();
    assert_eq!(http.call(get).await.status(), 405);
    assert_eq!(server.sessions(), 0);
}

//= specs/mcp-server.md#http-transport
//= type=test
//# In the stateless era a client that closes its stream MUST thereby cancel its request.
#[tokio::test]
async fn leaving_a_stateless_stream_cancels_the_request() {
    let server = server();
    let (started, _release) = talking(&server);
    let mut http = Http::new(&server);
    let params = json!({ "name": "wait", "_meta": { "progressToken": 1 } });
    let mut events = Events::of(http.stateless("tools/call", params, json!({})).await);
    assert_eq!(events.message().await["params"]["progress"], 1.0);
    started.notified().await;
    assert_eq!(server.in_flight(), 1);
    drop(events);
    assert_eq!(server.in_flight(), 0);
    let mut http = Http::new(&server);
    let (ready, mut fresh) = (
        http.stateless("tools/call", json!({ "name": "wait" }), json!({})),
        Http::new(&server),
    );
    tokio::select! {
        _ = ready => panic!("nobody lets it go"),
        () = started.notified() => {}
    }
    assert_eq!(
        server.in_flight(),
        0,
        "leaving before the answer began is the same"
    );
    let listening = fresh
        .stateless(
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true } }),
            json!({}),
        )
        .await;
    let mut events = Events::of(listening);
    assert_eq!(
        events.message().await["method"],
        "notifications/subscriptions/acknowledged"
    );
    server.remove_tool("quick");
    assert_eq!(
        events.message().await["method"],
        "notifications/tools/list_changed"
    );
    server.drain().await;
    assert!(
        events.message().await["result"].is_object(),
        "a drain ends listeners with an answer"
    );
}

#[tokio::test]
async fn over_a_real_socket_a_slow_body_and_a_lost_client_harm_nobody() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = server();
    talking(&server);
    let address = listen(&server).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        HELLO.len()
    );
    let mut lost = tokio::net::TcpStream::connect(address).await.unwrap();
    lost.write_all(format!("{head}{}", &HELLO[..20]).as_bytes())
        .await
        .unwrap();
    let mut slow = tokio::net::TcpStream::connect(address).await.unwrap();
    for byte in format!("{head}{HELLO}").as_bytes() {
        slow.write_all(&[*byte]).await.unwrap();
    }
    drop(lost);
    let mut text = vec![0; 4_096];
    let read = slow.read(&mut text).await.unwrap();
    let answer = String::from_utf8_lossy(&text[..read]);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.contains("mcp-session-id: "),
        "{answer}"
    );
    assert_eq!(server.sessions(), 1);
}

// proves 002 Req-Proto-005
//= specs/mcp-server.md#http-transport
//= type=test
//# A request of a session whose header names another version than was agreed on MUST be refused with status 400.
#[tokio::test]
async fn the_version_in_the_header_is_the_agreed_one_or_the_request_is_refused() {
    let server = server();
    let list = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list" });
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut http = Http::new(&server);
        http.initialize(version).await;
        let agreed = http
            .post_as(list.clone(), &[("mcp-protocol-version", version)])
            .await;
        assert_eq!(
            (agreed.status, agreed.json.get("result").is_some()),
            (200, true),
            "{version}"
        );
        let absent = http.post(list.clone()).await;
        assert_eq!(absent.status, 200, "the session remembers what was agreed on");
        let unknown = http
            .post_as(list.clone(), &[("mcp-protocol-version", "1999-01-01")])
            .await;
        assert_eq!(
            (unknown.status, codes(&unknown.json)),
            (400, (-32022, 1027)),
            "{}",
            unknown.json
        );
        let supported = unknown.json["error"]["data"]["supported"].as_array().unwrap();
        assert!(supported.contains(&json!(version)), "{supported:?}");
        // Known is not agreed on.
        for other in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let headers = [("mcp-protocol-version", other)];
            let wanted = if other == version { 200 } else { 400 };
            let answer = http.post_as(list.clone(), &headers).await;
            assert_eq!(answer.status, wanted, "{version} {other}: {}", answer.json);
            assert_eq!(
                answer.json.get("result").is_some(),
                other == version,
                "{}",
                answer.json
            );
            let stream = http
                .request("GET", &headers)
                .header("accept", "text/event-stream");
            let stream = http.call(stream.body(Full::new(Bytes::new())).unwrap()).await;
            assert_eq!(stream.status().as_u16(), wanted, "{version} {other}");
        }
    }
}
