//! The audit trail: what is in it whatever somebody does at the door.

use crate::harness::{ADMIN_PASSWORD, Reply, Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Instant;

async fn log_in(server: &Server, username: &str, password: &str) -> Reply {
    let body = json!({"username": username, "password": password});
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(body), &[])
        .await
}

/// All events a query finds.
async fn events(server: &Server, query: &str) -> Vec<Value> {
    server.service.flush().await;
    let page = server
        .get(&format!("/api/v1/audit/events?limit=200&{query}"))
        .await
        .ok();
    assert!(
        page.get("next_cursor").is_none_or(Value::is_null),
        "more than a page"
    );
    page["data"].as_array().unwrap().clone()
}

fn total(events: &[Value]) -> i64 {
    events.iter().map(|event| event["times"].as_i64().unwrap()).sum()
}

both![
    the_trail_is_asked_by_query,
    a_flood_of_bad_tokens_neither_fills_the_trail_nor_pushes_logins_out,
    a_request_without_a_token_is_noted,
];

// Found by review (S-H3, B-H6): 20,000 bad tokens made 10,587 rows and pushed most logins out of the trail.
//= specs/spexus-service.md#audit
//= type=test
//# Logins, failed logins and logouts MUST be written with the transaction they belong to, so that no flood pushes them out.
//= specs/spexus-service.md#audit
//= type=test
//# A request without a token, with one that is refused, or beyond a rate MUST be noted, folded into one event for each network and second.
async fn a_flood_of_bad_tokens_neither_fills_the_trail_nor_pushes_logins_out(server: &mut Server) {
    let server = &*server;
    let began = Instant::now();
    let flood = async {
        for _ in 0..20 {
            let some = (0..100).map(|n| async move {
                let token = format!("mcp_pat_wrong{n}");
                server
                    .send(&token, Method::GET, "/api/v1/epics", None, &[])
                    .await
                    .status
            });
            assert!(
                futures_util::future::join_all(some)
                    .await
                    .iter()
                    .all(|status| *status == 401)
            );
        }
    };
    let logins = async {
        for at in 0..10 {
            log_in(server, "admin", ADMIN_PASSWORD).await.ok();
            log_in(server, &format!("nobody {at}"), "wrong")
                .await
                .refused(401, 1013);
        }
    };
    tokio::join!(flood, logins);
    let refused = events(server, "event=token_refused").await;
    let flushes = began.elapsed().as_secs() as usize + 2;
    assert!(
        refused.len() <= flushes,
        "{} rows in {flushes} flushes",
        refused.len()
    );
    assert_eq!(total(&refused), 2_000, "counted, every one");
    assert!(
        refused
            .iter()
            .all(|event| event["address"] == "127.0.0.1" && event["detail"] == "AUTH_FAILED")
    );
    assert_eq!(
        events(server, "event=login").await.len(),
        11,
        "and the one of the harness"
    );
    assert_eq!(events(server, "event=login_failed").await.len(), 10);
    assert!(events(server, "event=events_lost").await.is_empty());
}

// Found by review (003 R12.8): a request without any token left no trace.
// proves 003 R12.8: a request without a token is noted too
async fn a_request_without_a_token_is_noted(server: &mut Server) {
    for path in ["/api/v1/epics", "/mcp"] {
        assert_eq!(server.send("", Method::GET, path, None, &[]).await.status, 401);
    }
    let missing = events(server, "event=token_missing").await;
    assert_eq!(
        (total(&missing), &missing[0]["detail"]),
        (2, &json!("AUTH_MISSING"))
    );
}

async fn the_trail_is_asked_by_query(server: &mut Server) {
    server.user("kim", "User").await;
    log_in(server, "kim", "wrong").await.refused(401, 1013);
    let found = events(server, "event=login_failed&user=kim&since=2020-01-01T00:00:00Z").await;
    assert_eq!(found.len(), 1);
    let before = events(server, "event=login_failed&until=2020-01-01T00:00:00Z").await;
    assert!(before.is_empty());
    server
        .get("/api/v1/audit/events?since=yesterday")
        .await
        .refused(400, 1021);
}
