//! The audit trail: what is in it whatever somebody does at the door, how it is searched, and how it is kept small.

use crate::harness::{ADMIN_PASSWORD, Reply, Server, on_both};
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

on_both! {
    // Found by review (S-H3, B-H6): 20,000 bad tokens made 10,587 rows and pushed most logins out of the trail.
    //= specs/spexus-service.md#audit
    //= type=test
    //# Logins, failed logins and logouts MUST be written with the transaction they belong to, so that no flood pushes them out.
    //= specs/spexus-service.md#audit
    //= type=test
    //# A request without a token, with one that is refused, or beyond a rate MUST be noted, folded into one event for each network and second.
    async fn a_flood_of_bad_tokens_neither_fills_the_trail_nor_pushes_logins_out(server) {
        let server = &*server;
        let began = Instant::now();
        let flood = async {
            for _ in 0..20 {
                let some = (0..100).map(|n| async move {
                    let token = format!("mcp_pat_wrong{n}");
                    server.send(&token, Method::GET, "/api/v1/epics", None, &[]).await.status
                });
                assert!(futures_util::future::join_all(some).await.iter().all(|status| *status == 401));
            }
        };
        let logins = async {
            for at in 0..10 {
                log_in(server, "admin", ADMIN_PASSWORD).await.ok();
                log_in(server, &format!("nobody {at}"), "wrong").await.refused(401, 1013);
            }
        };
        tokio::join!(flood, logins);
        let refused = events(server, "event=token_refused").await;
        let flushes = began.elapsed().as_secs() as usize + 2;
        assert!(refused.len() <= flushes, "{} rows in {flushes} flushes", refused.len());
        assert_eq!(total(&refused), 2_000, "counted, every one");
        assert!(refused.iter().all(|event| event["address"] == "127.0.0.1" && event["detail"] == "AUTH_FAILED"));
        assert_eq!(events(server, "event=login").await.len(), 11, "and the one of the harness");
        assert_eq!(events(server, "event=login_failed").await.len(), 10);
        assert!(events(server, "event=events_lost").await.is_empty());
    }

    // Found by review (003 R12.8): a request without any token left no trace.
    // proves 003 R12.8: a request without a token is noted too
    async fn a_request_without_a_token_is_noted(server) {
        for path in ["/api/v1/epics", "/mcp"] {
            assert_eq!(server.send("", Method::GET, path, None, &[]).await.status, 401);
        }
        let missing = events(server, "event=token_missing").await;
        assert_eq!((total(&missing), &missing[0]["detail"]), (2, &json!("AUTH_MISSING")));
    }

    async fn the_trail_is_searched_by_event_user_and_time(server) {
        server.user("kim", "User").await;
        log_in(server, "kim", "wrong").await.refused(401, 1013);
        let first = events(server, "event=login_failed&user=kim").await;
        assert_eq!(first.len(), 1);
        server.jump(3_600);
        log_in(server, "kim", "wrong again").await.refused(401, 1013);
        log_in(server, "ann", "wrong").await.refused(401, 1013);
        let at = first[0]["at"].as_str().unwrap();
        assert_eq!(events(server, "event=login_failed&user=kim").await.len(), 2);
        assert_eq!(events(server, &format!("event=login_failed&until={at}")).await.len(), 0);
        let later = "2026-09-21T15:00:00Z";
        let (since, until) = (format!("event=login_failed&since={later}"), format!("event=login_failed&until={later}"));
        assert_eq!((events(server, &since).await.len(), events(server, &until).await.len()), (2, 1));
        let about_kim: Vec<Value> = events(server, "user=kim").await.iter().map(|event| event["event"].clone()).collect();
        assert!(about_kim.contains(&json!("account_created")), "what was done to kim is found too: {about_kim:?}");
        server.get("/api/v1/audit/events?since=yesterday").await.refused(400, 1021);
    }

    //= specs/spexus-service.md#audit
    //= type=test
    //# Events older than the retention MUST be removed, in small transactions.
    async fn old_events_are_removed_and_young_ones_stay(server) {
        log_in(server, "old", "wrong").await.refused(401, 1013);
        server.jump(364 * 86_400);
        log_in(server, "young", "wrong").await.refused(401, 1013);
        assert_eq!(events(server, "event=login_failed").await.len(), 2);
        server.jump(2 * 86_400);
        let left = events(server, "event=login_failed").await;
        let left = match left.len() {
            // What was removed by this very flush is gone with the next look.
            2 => events(server, "event=login_failed").await,
            _ => left,
        };
        assert_eq!((left.len(), &left[0]["username"]), (1, &json!("young")));
    }

    //= specs/spexus-service.md#audit
    //= type=test
    //# Whoever removes events MUST be named in the trail and in the history.
    async fn whoever_removes_events_is_named(server) {
        for at in 0..3 {
            log_in(server, &format!("old {at}"), "wrong").await.refused(401, 1013);
        }
        server.jump(86_400);
        let caller = spexus_service::account::login::local(&server.service, None, "exam").await.unwrap();
        let now = server.service.store().now();
        let removed = spexus_service::audit::prune(&server.service, &caller, now.plus_seconds(-3_600)).await.unwrap();
        assert!(removed >= 3, "{removed}");
        assert!(events(server, "event=login_failed").await.is_empty());
        let pruned = events(server, "event=trail_pruned").await;
        assert_eq!((pruned.len(), &pruned[0]["username"]), (1, &json!("admin")));
        let kim = server.user("kim", "User").await;
        let kim = spexus_service::account::token::authenticate(&server.service, &kim, &spexus_service::Origin::default()).await.unwrap();
        assert!(spexus_service::audit::prune(&server.service, &kim, now).await.is_err(), "only administrators");
        let mut conn = server.service.store().read().await.unwrap();
        let all = spexus_store::changes::since(&mut conn, None, 0, 200).await;
        drop(conn);
        assert!(format!("{all:?}").contains("audit trail: removed"), "{all:?}");
    }

    // Found by review (S-M1): a reset password and revoked tokens could not be traced to their account.
    //= specs/spexus-service.md#accounts
    //= type=test
    //# A new password, a closed session and a revoked token MUST be told in the history and in the audit trail with the id and the name of what they happened to.
    async fn what_is_done_to_an_account_names_the_account(server) {
        server.user("kim", "User").await;
        let kim = server.get("/api/v1/users/kim").await.ok()["id"].clone();
        let reset = server.put("/api/v1/users/kim/password", json!({"password": "a new long one"})).await;
        assert_eq!(reset.status, 204);
        server.patch("/api/v1/users/kim", json!({"role": "Commenter"})).await.ok();
        server.delete("/api/v1/users/kim").await.ok();
        for event in ["account_created", "password_reset", "sessions_closed", "role_changed", "account_disabled"] {
            let found = events(server, &format!("event={event}&user=kim")).await;
            let last = found.first().unwrap_or_else(|| panic!("no {event}"));
            assert_eq!((&last["target"], &last["target_id"], &last["username"]), (&json!("kim"), &kim, &json!("admin")), "{event}");
        }
        let revoked = events(server, "event=token_revoked").await;
        assert_eq!((revoked.len(), &revoked[0]["target"]), (1, &json!("token test of kim")), "each token of the account");
        let mut conn = server.service.store().read().await.unwrap();
        let all = spexus_store::changes::since(&mut conn, None, 0, 200).await.unwrap();
        drop(conn);
        let id = kim.as_str().unwrap();
        let of_kim: Vec<String> = all.iter().filter(|change| change.entity_id.to_string() == id).map(|change| format!("{} {change:?}", change.rev)).collect();
        assert!(of_kim.iter().any(|change| change.starts_with("2 ") && change.contains("password")), "{of_kim:?}");
        assert!(all.iter().any(|change| change.label == "token test of kim" && format!("{:?}", change.action) == "Deleted"));
        assert!(all.iter().all(|change| !change.entity_id.is_nil()), "nobody is called nothing");
    }
}
