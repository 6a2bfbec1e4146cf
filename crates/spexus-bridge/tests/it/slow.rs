//! A host that reads slowly or not at all, and answers that are large.

use crate::place::{Backend, Host, LARGE, PIECES, settings, settled};
use mcp_server::lines::Ended;
use serde_json::{Value, json};
use spexus_bridge::{BridgeLimits, BridgeSettings};
use std::time::Duration;

/// BridgeSettings by which little is held for the host, and time plays no part.
fn narrow(backend: &Backend) -> BridgeSettings {
    let settings = settings(backend.address);
    BridgeSettings {
        request_timeout: Duration::from_secs(120),
        limits: BridgeLimits {
            max_connections: 4,
            max_outbox_bytes: 256 << 10,
            ..settings.limits.clone()
        },
        ..settings
    }
}

// proves 003 R15.8
//= specs/spexus-bridge.md#limits
//= type=test
//# A host that does not read MUST NOT be read from once as much as the outbox may hold waits for it.
#[tokio::test]
async fn a_host_that_does_not_read_does_not_make_the_bridge_hold_its_answers() {
    const CALLS: usize = 600;
    let backend = Backend::start().await;
    let mut host = Host::greeted(narrow(&backend), "2025-11-25").await;
    let mut ids = Vec::new();
    for _ in 0..CALLS {
        ids.push(
            host.start("tools/call", json!({ "name": "large", "arguments": {} }))
                .await,
        );
    }
    // What the pipe holds (1 MiB), what the outbox holds twice (once more while it is written), what four calls hold.
    let held = (1 << 20) / LARGE + 2 * ((256 << 10) / LARGE + 1) + 2 * 4 + 4;
    let asked = settled(|| backend.runs()).await;
    assert!(
        asked <= held,
        "{asked} answers of {LARGE} bytes were fetched for a host that reads nothing"
    );
    for id in ids {
        let answer = host.answer(id).await;
        assert_eq!(
            answer["result"]["content"][0]["text"].as_str().map(str::len),
            Some(LARGE)
        );
    }
    assert_eq!(backend.runs(), CALLS, "all of them are answered once it reads");
}

// proves 003 R15.7
//= specs/spexus-bridge.md#messages-in-both-directions
//= type=test
//# Streamed messages MUST be passed on one by one, so that a large answer is never held whole.
#[tokio::test]
async fn a_hundred_megabytes_pass_without_being_held() {
    let backend = Backend::start().await;
    let mut host = Host::greeted(narrow(&backend), "2025-11-25").await;
    let params = json!({ "name": "pour", "arguments": {}, "_meta": { "progressToken": "t" } });
    let id = host.start("tools/call", params).await;
    // The host reads nothing: the backend stops when pipes and sockets are full, long before the end.
    let poured = settled(|| backend.runs()).await;
    assert!(
        poured < PIECES as usize / 2,
        "{poured} of {PIECES} pieces of {LARGE} bytes wait somewhere"
    );
    for at in 0..PIECES {
        let piece = host.notice("notifications/progress").await;
        assert_eq!(piece["params"]["_meta"]["piece"]["index"], at);
    }
    assert_eq!(host.answer(id).await["result"]["content"][0]["text"], "poured");
}

#[tokio::test]
async fn a_bridge_is_stopped_although_its_host_reads_nothing() {
    let backend = Backend::start().await;
    let quick = BridgeSettings {
        limits: BridgeLimits {
            drain_timeout_ms: 50,
            flush_timeout_ms: 50,
            ..narrow(&backend).limits
        },
        ..narrow(&backend)
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut host = Host::stoppable(quick, async { drop(stopped.await) });
    host.request("initialize", crate::place::hello("2025-11-25"))
        .await;
    for _ in 0..100 {
        host.start("tools/call", json!({ "name": "large", "arguments": {} }))
            .await;
    }
    settled(|| backend.runs()).await;
    stop.send(()).unwrap();
    let ended = tokio::time::timeout(crate::place::PATIENCE, &mut host.bridge).await;
    assert_eq!(ended.expect("it ends").unwrap(), Ended::Broken);
}

//= specs/spexus-bridge.md#limits
//= type=test
//# An array of messages MUST be refused with `-32600` in versions that have none, and its answer MUST NOT grow beyond the limit of an answer.
#[tokio::test]
async fn an_array_is_refused_where_the_version_has_none() {
    let backend = Backend::start().await;
    for version in ["2025-06-18", "2025-11-25"] {
        let mut host = Host::greeted(settings(backend.address), version).await;
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "large", "arguments": {} } });
        host.send(&json!([call])).await;
        let refused = host
            .find(|message| message["id"] == Value::Null && message.get("error").is_some())
            .await;
        assert_eq!(refused["error"]["code"], -32600, "{version}: {refused}");
    }
    assert_eq!(backend.runs(), 0);
}
