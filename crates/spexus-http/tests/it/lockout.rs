//! Failed logins behind a proxy: the address they come from is the client's, and the wait is told in a header. The rules
//! are tested in the service.

use crate::harness::{ADMIN_PASSWORD, Reply, Server};
use reqwest::Method;
use serde_json::json;
use spexus_http::HttpOptions;

const PASSWORD: &str = "long enough";

/// A server behind a proxy on this machine, so that requests can come from anywhere.
fn behind_a_proxy() -> HttpOptions {
    HttpOptions {
        max_anonymous_requests_per_minute: 10_000,
        trusted_proxies: "127.0.0.1".parse().unwrap(),
        ..HttpOptions::default()
    }
}

async fn log_in(server: &Server, from: &str, username: &str, password: &str) -> Reply {
    let body = json!({"username": username, "password": password});
    let headers = [("X-Forwarded-For", from)];
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(body), &headers)
        .await
}

async fn fail(server: &Server, from: &str, username: &str) {
    log_in(server, from, username, "wrong").await.refused(401, 1013);
}

fn wait(reply: &Reply) -> u32 {
    assert_eq!(reply.status, 429, "{}", reply.body);
    reply.headers["retry-after"].to_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_wrong_passwords_elsewhere_lock_nobody_out() {
    let server = Server::with(behind_a_proxy()).await;
    failures_count_for_the_forwarded_address(&server).await;
    server.stop().await;
}

// Found by review (S-H8): behind a proxy six wrong passwords locked an account out for everybody.
async fn failures_count_for_the_forwarded_address(server: &Server) {
    server.user("kim", "User").await;
    for _ in 0..6 {
        fail(server, "198.51.100.1", "kim").await;
    }
    assert_eq!(wait(&log_in(server, "198.51.100.1", "kim", PASSWORD).await), 2);
    log_in(server, "198.51.100.2", "kim", PASSWORD).await.ok();
    log_in(server, "198.51.100.1", "admin", ADMIN_PASSWORD).await.ok();
}
