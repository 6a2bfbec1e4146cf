//! What one account may have of a server, and that it cannot take it from the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mcp_protocol::{ToolAnnotations, ToolResult};
use mcp_server::streamable_http::{HttpSettings, SessionOwner};
use mcp_server::{Context, Resource, Server, Settings, Stop, Tool};
use serde_json::{Value, json};
use test_support::until;
use tokio::sync::Notify;

use crate::client::{Client, codes, refusal, server_with};
use crate::http_client::{HELLO, Http, json_of};

fn of(server: &Server, account: &str, token: &str) -> Http {
    let mut http = Http::new(server);
    http.account = Some(account.to_owned());
    http.owner = Some(SessionOwner(format!("{account} {token}")));
    http
}

async fn says_hello(http: &mut Http) -> (u16, Value) {
    let answer = http.post(serde_json::from_str(HELLO).unwrap()).await;
    (answer.status, answer.json)
}

//= specs/mcp-server.md#sessions
//= type=test
//# When as many sessions are open as there may be, a session of the account with the most MUST give way to one of an account with fewer,
//# and an account that has the most itself MUST be refused with 1003.
#[tokio::test]
async fn one_account_with_many_tokens_does_not_keep_everyone_else_out() {
    let server = server_with(|s| s.limits.max_sessions = 6);
    let mut oldest = None;
    for token in ["a", "b", "c", "d", "e", "f"] {
        let mut greedy = of(&server, "greedy", token);
        greedy.session = Some(greedy.open().await);
        oldest.get_or_insert(greedy);
    }
    let (status, refused) = says_hello(&mut of(&server, "greedy", "g")).await;
    assert_eq!((status, refusal(&refused)), (429, 1003), "{refused}");
    let mut modest = of(&server, "modest", "a");
    modest.session = Some(modest.open().await);
    assert_eq!(server.sessions(), 6);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(modest.post(ping.clone()).await.status, 200);
    let gone = oldest.unwrap().post(ping).await;
    assert_eq!(
        (gone.status, refusal(&gone.json)),
        (404, 1016),
        "the session unheard of for longest gave way"
    );
}

//= specs/mcp-server.md#sessions
//= type=test
//# An owner MUST NOT have more sessions than the limit, and an account not more than its own; the one unheard of for longest MUST end.
#[tokio::test]
async fn tokens_do_not_multiply_the_sessions_of_an_account() {
    let server = server_with(|s| {
        s.limits.max_sessions_per_owner = 2;
        s.limits.max_sessions_per_account = 3;
    });
    for token in ["a", "a", "a", "b", "b", "c"] {
        of(&server, "anna", token).open().await;
    }
    assert_eq!(server.sessions(), 3);
    of(&server, "boris", "a").open().await;
    assert_eq!(server.sessions(), 4);
}

//= specs/mcp-server.md#limits
//= type=test
//# A stream above an account's limit of open streams MUST be refused with 1003, whatever sessions it belongs to.
#[tokio::test]
async fn one_account_does_not_take_every_stream() {
    let server = server_with(|s| s.limits.max_streams_per_account = 2);
    let mut streams = Vec::new();
    for token in ["a", "b"] {
        let mut http = of(&server, "anna", token);
        http.session = Some(http.open().await);
        streams.push(http.stream(&[]).await);
    }
    let mut third = of(&server, "anna", "c");
    third.session = Some(third.open().await);
    let get = |http: &Http| http.request("GET", &[("accept", "text/event-stream")]);
    let request = get(&third).body(http_body_util::Full::default()).unwrap();
    let refused = third.call(request).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refusal(&json_of(refused).await), 1003);
    let everything = json!({ "notifications": { "toolsListChanged": true } });
    let listened = third
        .stateless("subscriptions/listen", everything.clone(), json!({}))
        .await;
    assert_eq!(
        refusal(&json_of(listened).await),
        1003,
        "a listener is a stream as well"
    );
    let mut other = of(&server, "boris", "a");
    other.session = Some(other.open().await);
    streams.push(other.stream(&[]).await);
    streams.remove(0);
    let listened = third
        .stateless("subscriptions/listen", everything, json!({}))
        .await;
    assert_eq!(
        listened.headers()["content-type"],
        "text/event-stream",
        "there is room again"
    );
}

fn with_resources(change: impl FnOnce(&mut Settings)) -> Server {
    let server = server_with(change);
    let resource = |name: usize| {
        Resource::new(
            address(name),
            format!("r{name}"),
            "A text.",
            "text/plain",
            |_, _| async { Ok::<_, Stop>(Vec::new()) },
        )
    };
    server.add_resources((0..10).map(resource).collect()).unwrap();
    server
}

/// Twenty bytes.
fn address(name: usize) -> String {
    format!("test:///resource/{name:03}")
}

//= specs/mcp-server.md#limits
//= type=test
//# Subscriptions and listened-to addresses of a session MUST be limited in number and in bytes; beyond either they MUST be refused with 1059.
#[tokio::test]
async fn a_session_does_not_watch_megabytes_of_addresses() {
    assert_eq!(address(0).len(), 20);
    let by_bytes = with_resources(|s| s.limits.max_subscription_bytes_per_session = 60);
    let by_number = with_resources(|s| s.limits.max_subscriptions_per_session = 3);
    for server in [by_bytes, by_number] {
        let mut client = Client::ready(&server).await;
        for name in [0, 1, 2, 2] {
            let done = client
                .request("resources/subscribe", json!({ "uri": address(name) }))
                .await;
            assert_eq!(
                done["result"],
                json!({}),
                "three fit, and one that is watched takes no more room"
            );
        }
        let fourth = json!({ "uri": address(3) });
        assert_eq!(
            refusal(&client.request("resources/subscribe", fourth.clone()).await),
            1059
        );
        client
            .request("resources/unsubscribe", json!({ "uri": address(0) }))
            .await;
        assert_eq!(
            client.request("resources/subscribe", fourth).await["result"],
            json!({})
        );
        let mut listener = Client::silent(&server);
        let wanted = |names: std::ops::Range<usize>| json!({ "notifications": { "resourceSubscriptions": names.map(address).collect::<Vec<_>>() } });
        let refused = listener
            .stateless("subscriptions/listen", wanted(0..4), json!({}))
            .await;
        assert_eq!(refusal(&refused), 1059);
        listener
            .start_stateless("subscriptions/listen", wanted(0..2), json!({}))
            .await;
        listener.notice("notifications/subscriptions/acknowledged").await;
        let second = listener
            .stateless("subscriptions/listen", wanted(2..4), json!({}))
            .await;
        assert_eq!(
            refusal(&second),
            1059,
            "what a connection listens to counts together"
        );
        listener
            .start_stateless("subscriptions/listen", wanted(2..3), json!({}))
            .await;
        listener.notice("notifications/subscriptions/acknowledged").await;
    }
}

/// A server with a tool that runs until it is let go, and tells when it was dropped before.
fn lasting(only_reads: bool) -> (Server, Arc<Notify>, Arc<AtomicUsize>, Arc<AtomicBool>) {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (go, count, done) = (Arc::new(Notify::new()), begun.clone(), ended.clone());
    let gate = go.clone();
    let run = move |_: Context, _: mcp_protocol::Arguments| {
        count.fetch_add(1, Ordering::SeqCst);
        let (gate, done) = (gate.clone(), done.clone());
        async move {
            gate.notified().await;
            done.store(true, Ordering::SeqCst);
            Ok::<_, Stop>(ToolResult::text("done"))
        }
    };
    let annotations = ToolAnnotations {
        read_only_hint: Some(only_reads),
        ..ToolAnnotations::default()
    };
    let server = server_with(|s| s.limits.max_batch_running_per_account = 1);
    server
        .add_tool(Tool::new("last", "Takes long.", run).annotated(annotations))
        .unwrap();
    (server, go, begun, ended)
}

/// Sends a message and leaves as soon as the work has begun, as hyper does when a connection is gone.
async fn leaves(mut http: Http, message: Value, begun: &AtomicUsize) {
    let asking = tokio::spawn(async move { http.post(message).await });
    until(|| begun.load(Ordering::SeqCst) > 0).await;
    asking.abort();
    assert!(asking.await.is_err_and(|error| error.is_cancelled()));
}

//= specs/mcp-server.md#http-transport
//= type=test
//# Work that only reads MUST be stopped when the client that waits for its plain answer has left; what writes MUST go on.
#[tokio::test]
async fn a_client_that_left_is_not_worked_for() {
    let call =
        |id: u64| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "last" } });
    let (server, _, begun, _) = lasting(true);
    let mut http = Http::new(&server);
    http.initialize("2025-11-25").await;
    leaves(http, call(1), &begun).await;
    until(|| server.in_flight() == 0).await;

    let (server, go, begun, ended) = lasting(false);
    let mut http = Http::new(&server);
    http.initialize("2025-11-25").await;
    leaves(http, call(1), &begun).await;
    assert_eq!(server.in_flight(), 1, "what writes is not torn apart");
    go.notify_one();
    until(|| server.in_flight() == 0).await;
    assert!(ended.load(Ordering::SeqCst));

    let (server, go, begun, _) = lasting(false);
    let mut http = Http::new(&server);
    http.initialize("2025-03-26").await;
    leaves(http, json!([call(1), call(2), call(3)]), &begun).await;
    assert_eq!(server.in_flight(), 1, "what had not begun does not begin");
    go.notify_one();
    until(|| server.in_flight() == 0).await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nobody_without_an_account_is_refused_for_what_others_have() {
    let server = server_with(|s| s.limits.max_sessions = 2);
    let mut nobody = Http::new(&server);
    nobody.open().await;
    nobody.open().await;
    let (_, refused) = says_hello(&mut nobody).await;
    assert_eq!(codes(&refused), (1089, 1089));
}

//= specs/mcp-server.md#http-transport
//= type=test
//# A request that is not answered within the limit of its mount MUST be answered with status 504 and a JSON-RPC error 1069 that carries its id.
#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long_is_answered_in_json_rpc() {
    let (server, _, _, _) = lasting(true);
    let settings = HttpSettings {
        answer_timeout_ms: 2_000,
        ..HttpSettings::default()
    };
    let mut http = Http::with(&server, settings);
    http.initialize("2025-11-25").await;
    let call =
        json!({ "jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": { "name": "last" } });
    let answer = http.post(call).await;
    assert_eq!(answer.status, 504);
    assert_eq!(
        (&answer.json["jsonrpc"], &answer.json["id"]),
        (&json!("2.0"), &json!("mine"))
    );
    assert_eq!(codes(&answer.json), (1069, 1069));
    until(|| server.in_flight() == 0).await;
    let stateless = http
        .stateless("tools/call", json!({ "name": "last" }), json!({}))
        .await;
    assert_eq!(stateless.status(), 504);
    assert_eq!(codes(&json_of(stateless).await), (1069, 1069));
}
