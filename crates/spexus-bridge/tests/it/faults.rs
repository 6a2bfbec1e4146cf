//! A backend that goes away, hangs or forgets.

use crate::place::{Backend, Host, PATIENCE, eventually, hello, settings};
use mcp_server::Change;
use mcp_server::lines::Ended;
use serde_json::{Value, json};
use spexus_bridge::{BridgeLimits, BridgeSettings};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

// proves 003 R13.5, 003 R4.9, 002 Resil-001
//= specs/spexus-bridge.md#faults
//= type=test
//# A call whose backend cannot be reached MUST be answered with 1080, one that takes too long with 1069, and one that is not tried because too many failed with 1086.
#[tokio::test]
async fn a_backend_that_is_gone_is_told_five_times_and_then_not_tried_any_more() {
    let backend = Backend::start().await;
    let once = BridgeSettings {
        max_retries: 0,
        limits: BridgeLimits {
            breaker_open_ms: 60_000,
            ..settings(backend.address).limits
        },
        ..settings(backend.address)
    };
    // Who does not confirm the handshake is not listened for, so that nothing but the calls fails.
    let mut host = Host::start(once);
    host.request("initialize", hello("2025-11-25")).await;
    host.call("echo", json!({ "title": "there" })).await;
    let nobody = TcpListener::bind(backend.kill().await).await.unwrap();
    let mut codes = Vec::new();
    for round in 0..8 {
        let asking = async { host.call("echo", json!({ "title": "gone" })).await["error"].clone() };
        // Whoever is called hangs up at once.
        let hanging_up = async {
            loop {
                drop(nobody.accept().await);
            }
        };
        let refused = tokio::select! { refused = asking => refused, () = hanging_up => Value::Null };
        assert!(
            !refused["data"]["refusal"]["hint"].as_str().unwrap().is_empty(),
            "{round}: {refused}"
        );
        codes.push(refused["code"].as_u64().unwrap());
    }
    assert_eq!(codes, [1080, 1080, 1080, 1080, 1080, 1086, 1086, 1086]);
}

// proves 003 R15.1, 003 R14.4
#[tokio::test]
async fn a_backend_that_hangs_is_given_up_in_time() {
    let backend = Backend::start().await;
    let hasty = BridgeSettings {
        request_timeout: Duration::from_millis(300),
        ..settings(backend.address)
    };
    let mut host = Host::greeted(hasty, "2025-11-25").await;
    let late = host.call("hang", json!({})).await;
    assert_eq!(late["error"]["code"], 1069, "{late}");
    assert!(
        late["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("unknown"),
        "{late}"
    );
}

//= specs/spexus-bridge.md#faults
//= type=test
//# A session the backend has lost MUST be opened again, with its subscriptions and its log level.
//= specs/spexus-bridge.md#faults
//= type=test
//# After a new session was opened the host MUST be told that lists and subscribed resources may have changed.
#[tokio::test]
async fn a_backend_that_comes_back_is_found_and_told_again_what_is_watched() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    host.request("resources/subscribe", json!({ "uri": "note://one" }))
        .await;
    let address = backend.kill().await;
    let backend = Backend::at(address).await;
    let missed = host.notice("notifications/resources/updated").await;
    assert_eq!(missed["params"]["uri"], "note://one");
    let told = async {
        loop {
            backend.server.resource_changed("note://one", Change::Deleted);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        _ = host.find(|message| message["params"]["change_type"] == "deleted") => {}
        () = told => {}
    }
    let answer = host.call("echo", json!({ "title": "again" })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "again", "{answer}");
}

/// Stands before a backend and hangs up on the first calls of a tool; gives its address and when each call came.
async fn moody(backend: SocketAddr, failures: usize) -> (SocketAddr, Arc<Mutex<Vec<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let calls = Arc::<Mutex<Vec<Instant>>>::default();
    let seen = calls.clone();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let seen = seen.clone();
            tokio::spawn(async move {
                let far = TcpStream::connect(backend).await.unwrap();
                let ((mut from, mut to), (mut back, mut on)) = (near.into_split(), far.into_split());
                tokio::spawn(async move { tokio::io::copy(&mut back, &mut to).await });
                let mut bytes = vec![0; 64 << 10];
                while let Ok(read @ 1..) = from.read(&mut bytes).await {
                    let text = String::from_utf8_lossy(&bytes[..read]);
                    if text.contains("tools/call") {
                        let mut seen = seen.lock().unwrap();
                        seen.push(Instant::now());
                        if seen.len() <= failures {
                            return;
                        }
                    }
                    if on.write_all(&bytes[..read]).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, calls)
}

// proves 003 R13.4
//= specs/spexus-bridge.md#faults
//= type=test
//# A request that may be repeated, or that did not leave, MUST be tried again with pauses that grow and vary.
#[tokio::test]
async fn what_may_be_repeated_is_tried_again_after_pauses_that_grow() {
    let backend = Backend::start().await;
    let (address, calls) = moody(backend.address, 3).await;
    let patient = |max_retries| BridgeSettings {
        max_retries,
        limits: BridgeLimits {
            backoff_first_ms: 100,
            ..settings(address).limits
        },
        ..settings(address)
    };
    let mut host = Host::greeted(patient(0), "2025-11-25").await;
    let refused = host.call("echo", json!({ "title": "once" })).await;
    assert_eq!(
        refused["error"]["code"], 1080,
        "without retries there is one try: {refused}"
    );
    assert_eq!(calls.lock().unwrap().len(), 1);
    let mut host = Host::greeted(patient(3), "2025-11-25").await;
    let answer = host.call("echo", json!({ "title": "through" })).await;
    assert_eq!(answer["result"]["content"][0]["text"], "through", "{answer}");
    let calls = calls.lock().unwrap();
    assert_eq!(
        (calls.len(), backend.runs()),
        (4, 1),
        "the third try of the second host came through"
    );
    let pauses: Vec<Duration> = calls[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A pause is at least half of what it could be: 100 ms, then 200.
    assert!(pauses[0] >= Duration::from_millis(50), "{pauses:?}");
    assert!(pauses[1] >= Duration::from_millis(100), "{pauses:?}");
}

//= specs/spexus-bridge.md#faults
//= type=test
//# A call that may not be repeated MUST NOT be sent again once it has left, and the host MUST be told that its outcome is unknown.
#[tokio::test]
async fn what_may_not_be_repeated_is_sent_once() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    let id = host
        .start("tools/call", json!({ "name": "hang", "arguments": {} }))
        .await;
    eventually("it runs", || backend.runs() == 1).await;
    let again = Backend::at(backend.kill().await).await;
    let answer = host.answer(id).await;
    assert_eq!(answer["error"]["code"], 1080, "{answer}");
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("unknown"),
        "{answer}"
    );
    assert_eq!(again.runs(), 0, "it was answered, so it is not tried any more");
}

//= specs/spexus-bridge.md#lifecycle
//= type=test
//# When input ends, every request that was read MUST be answered before the process exits.
#[tokio::test]
async fn fifty_calls_are_answered_although_the_host_closed_its_side() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(settings(backend.address), "2025-11-25").await;
    for round in 0..50 {
        host.start(
            "tools/call",
            json!({ "name": "echo", "arguments": { "title": round.to_string() } }),
        )
        .await;
    }
    host.close();
    let mut answers = 0;
    while let Some(message) = host.line().await {
        answers += usize::from(message.get("result").is_some());
    }
    assert_eq!(answers, 50);
    assert_eq!(
        tokio::time::timeout(PATIENCE, host.bridge)
            .await
            .unwrap()
            .unwrap(),
        Ended::InPeace
    );
}

#[tokio::test]
async fn what_does_not_end_is_answered_when_the_drain_is_over() {
    let backend = Backend::start().await;
    let limits = BridgeLimits {
        drain_timeout_ms: 100,
        ..settings(backend.address).limits
    };
    let mut host = Host::greeted(
        BridgeSettings {
            limits,
            ..settings(backend.address)
        },
        "2025-11-25",
    )
    .await;
    let id = host
        .start("tools/call", json!({ "name": "hang", "arguments": {} }))
        .await;
    eventually("the tool runs", || backend.runs() == 1).await;
    host.close();
    assert_eq!(host.answer(id).await["error"]["code"], 1077);
}

// proves 003 R15.5, 003 R15.8
//= specs/spexus-bridge.md#limits
//= type=test
//# Requests beyond the limit of running ones MUST be refused with 1001, and beyond the limit of their bytes with 1002.
#[tokio::test]
async fn too_much_at_once_is_refused_and_the_rest_goes_on() {
    let backend = Backend::start().await;
    let limits = BridgeLimits {
        max_in_flight: 2,
        max_in_flight_bytes: 10_000,
        admission_wait_ms: 10,
        ..settings(backend.address).limits
    };
    let mut host = Host::greeted(
        BridgeSettings {
            limits,
            ..settings(backend.address)
        },
        "2025-11-25",
    )
    .await;
    let hang = json!({ "name": "hang", "arguments": {} });
    let first = host.start("tools/call", hang.clone()).await;
    let big = host
        .request(
            "tools/call",
            json!({ "name": "echo", "arguments": { "title": "x".repeat(11_000) } }),
        )
        .await;
    assert_eq!(big["error"]["code"], 1002, "{big}");
    host.start("tools/call", hang.clone()).await;
    let third = host.request("tools/call", hang).await;
    assert_eq!(third["error"]["code"], 1001, "{third}");
    host.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": first } }),
    )
    .await;
    let after = host.call("echo", json!({ "title": "room again" })).await;
    assert_eq!(after["result"]["content"][0]["text"], "room again", "{after}");
}

/// Something that is no MCP server at all.
#[tokio::test]
async fn what_a_proxy_says_never_reaches_the_host_as_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await;
            let page = "<html>\nno such page\n</html>";
            let text = format!(
                "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{page}",
                page.len()
            );
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, text.as_bytes()).await;
        }
    });
    let mut host = Host::start(settings(address));
    let refused: Value = host
        .request("initialize", crate::place::hello("2025-11-25"))
        .await;
    assert_eq!(refused["error"]["code"], 1080, "{refused}");
    assert!(
        refused["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("BACKEND_API_URL"),
        "{refused}"
    );
    proxy.abort();
}
