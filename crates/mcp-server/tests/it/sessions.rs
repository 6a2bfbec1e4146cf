//! Sessions of HTTP clients: opened, found, kept, ended.

use std::sync::Arc;

use mcp_protocol::{ResourceContents, ToolResult};
use mcp_server::streamable_http::SessionOwner;
use mcp_server::{
    Change, Info, MemorySessions, Resource, Server, SessionEdit, SessionRecord, SessionStore, Stop,
    Subscription, Tool,
};
use serde_json::json;

use crate::client::{refusal, server, server_with};
use crate::http_client::{HELLO, Http};

// proves 002 Req-Proto-010
#[tokio::test]
async fn a_session_is_the_same_across_requests() {
    let mut http = Http::new(&server());
    let session = http.open().await;
    assert_eq!(http.server.sessions(), 1);
    http.session = Some(session);
    assert_eq!(
        http.post(
            json!({ "jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": { "level": "error" } })
        )
        .await
        .json["result"],
        json!({})
    );
    for id in 3..6 {
        let answer = http
            .post(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }))
            .await;
        assert_eq!((answer.status, &answer.json["id"]), (200, &json!(id)));
    }
    assert_eq!(http.server.sessions(), 1);
}

//= specs/mcp-server.md#sessions
//= type=test
//# A request that runs when its session ends MUST be stopped and answered with 1016.
#[tokio::test]
async fn a_request_is_answered_although_its_session_ends_under_it() {
    let server = server();
    let (told, mut running) = tokio::sync::mpsc::unbounded_channel();
    let hang = Tool::new("hang", "Never ends.", move |cx, _| {
        let told = told.clone();
        async move {
            let _ = told.send(cx.clone());
            std::future::pending::<()>().await;
            Ok::<_, Stop>(ToolResult::text("never"))
        }
    });
    server.add_tool(hang).unwrap();
    let mut http = Http::new(&server);
    let session = http.open().await;
    http.session = Some(session.clone());
    let mut other = Http::new(&server);
    other.session = Some(session);
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "hang", "arguments": {} } });
    let (answer, cx) = tokio::join!(http.post(call), async {
        let cx = running.recv().await.unwrap();
        assert_eq!(other.delete().await, 204);
        cx
    });
    assert_eq!(
        (answer.status, refusal(&answer.json)),
        (200, 1016),
        "{}",
        answer.json
    );
    assert!(cx.is_cancelled());
    assert_eq!(server.in_flight(), 0);
}

// proves 002 Req-Proto-011
//= specs/mcp-server.md#sessions
//= type=test
//# A session MUST be found in constant time, and one that is kept by a store MUST be served again after a restart.
#[tokio::test]
async fn a_kept_session_is_served_after_a_restart_with_what_it_watched() {
    let store = Arc::new(MemorySessions::default());
    let build = || {
        let server = Server::builder(Info::new("test", "1.0.0"))
            .session_store(store.clone())
            .build();
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
        server
    };
    let mut before = Http::new(&build());
    let session = before.open().await;
    before.session = Some(session.clone());
    before.post(json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": "test:///a" } })).await;
    let mut after = Http::new(&build());
    after.session = Some(session.clone());
    assert_eq!(
        after
            .post(json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }))
            .await
            .status,
        200
    );
    let mut stream = after.stream(&[]).await;
    after.server.resource_changed("test:///a", Change::Updated);
    assert_eq!(stream.message().await["params"]["uri"], "test:///a");
    assert_eq!(after.delete().await, 204);
    assert_eq!(store.get(&session).await.unwrap(), None, "what ends is forgotten");
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_and_full_is_full() {
    let server = server_with(|s| {
        s.limits.session_idle_ms = 1_000;
        s.limits.max_sessions = 2;
    });
    let mut http = Http::new(&server);
    let first = http.open().await;
    http.open().await;
    let full = http.post_as(serde_json::from_str(HELLO).unwrap(), &[]).await;
    assert_eq!((full.status, refusal(&full.json)), (503, 1089));
    tokio::time::advance(std::time::Duration::from_secs(2)).await;
    http.session = Some(first);
    let gone = http
        .post(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))
        .await;
    assert_eq!(
        (gone.status, refusal(&gone.json), &gone.json["id"]),
        (404, 1016, &json!(2))
    );
    http.session = None;
    http.open().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_client_listens_is_not_idle() {
    let mut http = Http::new(&server_with(|s| s.limits.session_idle_ms = 1_000));
    let session = http.open().await;
    http.session = Some(session);
    let stream = http.stream(&[]).await;
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(http.post(list.clone()).await.status, 200);
    drop(stream);
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    assert_eq!(http.post(list).await.status, 404);
}

//= specs/mcp-server.md#sessions
//= type=test
//# A session MUST NOT be served to anyone but its owner.
#[tokio::test]
async fn a_session_belongs_to_who_opened_it() {
    let mut http = Http::new(&server());
    http.owner = Some(SessionOwner("anna".into()));
    let session = http.open().await;
    http.session = Some(session);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    assert_eq!(http.post(list.clone()).await.status, 200);
    for owner in [None, Some(SessionOwner("boris".into()))] {
        http.owner = owner;
        assert_eq!(http.post(list.clone()).await.status, 404);
        assert_eq!(http.delete().await, 404);
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_and_forgets() {
    let store = MemorySessions::default();
    let record = SessionRecord {
        id: "a".into(),
        owner: None,
        version: "2025-11-25".into(),
        client_name: "c".into(),
        client_version: "1".into(),
        capabilities: mcp_protocol::ClientCapabilities::default(),
        log_level: 1,
        subscriptions: vec![Subscription::at("x:y")],
        ..SessionRecord::default()
    };
    let watch = SessionEdit::Subscribe(Subscription::at("x:z"));
    assert_eq!(
        store.edit("a", watch.clone()).await.unwrap(),
        None,
        "only what was added is kept"
    );
    assert_eq!(store.add(record.clone(), 10).await.unwrap(), [""; 0]);
    assert_eq!(store.get("a").await.unwrap(), Some(record));
    let edited = store.edit("a", watch).await.unwrap().unwrap();
    assert_eq!((edited.subscriptions.len(), edited.rev), (2, 1));
    store.remove("a").await.unwrap();
    assert_eq!(store.get("a").await.unwrap(), None);
}

/// Set in a process that runs the next test and nothing else.
const ALONE: &str = "MCP_RUNTIME_TEST_ALONE";

//= specs/mcp-server.md#sessions
//= type=test
//# An idle session SHOULD take no more than 2 KB.
#[tokio::test]
async fn ten_thousand_idle_sessions_take_20_megabytes_at_most() {
    if std::env::var_os(ALONE).is_none() {
        // The memory of a process says something about one test only when no other runs in it.
        let name = "sessions::ten_thousand_idle_sessions_take_20_megabytes_at_most";
        let mut again = tokio::process::Command::new(std::env::current_exe().unwrap());
        let alone = again
            .args(["--exact", name])
            .env(ALONE, "1")
            .kill_on_drop(true)
            .output();
        let alone = tokio::time::timeout(std::time::Duration::from_secs(240), alone).await;
        let alone = alone.expect("opened within minutes").unwrap();
        let said = String::from_utf8_lossy(&alone.stdout);
        assert!(alone.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let server = Server::builder(Info::new("test", "1.0.0")).build();
    let mut http = Http::new(&server);
    let capabilities =
        json!({ "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {}, "url": {} } });
    let client = json!({ "name": "a client with a name", "version": "1.20.300" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    for _ in 0..100 {
        http.post(hello.clone()).await;
    }
    let before = resident_kilobytes();
    for _ in 0..10_000 {
        http.post(hello.clone()).await;
    }
    assert_eq!(server.sessions(), 10_100);
    let grown = resident_kilobytes() - before;
    assert!(grown <= 20 * 1024, "10,000 sessions take {grown} KB");
}

fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
