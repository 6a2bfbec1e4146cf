//! Time limits from outside: a 504 is the truth, and long reads keep nobody out.

use crate::harness::Server;
use reqwest::Method;
use serde_json::json;
use spexus_http::HttpOptions;
use spexus_store::StoreOptions;
use test_support::HeldWriter;

/// Short enough to wait for, and long enough for a login on a machine that is busy.
fn hurried() -> HttpOptions {
    HttpOptions {
        request_timeout_ms: 2_500,
        max_anonymous_requests_per_minute: 10_000,
        ..HttpOptions::default()
    }
}

//= specs/spexus-http.md#limits
//= type=test
//# A request that is answered 504 MUST have written nothing, then or later, unless the answer says that the outcome is unknown.
async fn a_504_is_the_truth(server: &Server) {
    let epics = async || {
        server.get("/api/v1/epics").await.ok()["total_count"]
            .as_i64()
            .unwrap()
    };
    server
        .post("/api/v1/epics", json!({"title": "before"}))
        .await
        .created();
    let before = epics().await;
    let held = HeldWriter::by_another_node(&server.location).await;
    let body = || Some(json!({"title": "late"}));
    let create = |_| server.send(&server.token, Method::POST, "/api/v1/epics", body(), &[]);
    let answers = futures_util::future::join_all((0..12).map(create)).await;
    for answer in &answers {
        assert_eq!(answer.status, 504, "{:?}", answer.body);
        assert_eq!(
            answer.body["error"]["facts"]["outcome"], "nothing_done",
            "{:?}",
            answer.body
        );
    }
    held.release().await;
    server
        .post("/api/v1/epics", json!({"title": "after"}))
        .await
        .created();
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(epics().await, before + 1 + made as i64, "as many as were told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_504_is_the_truth_on_sqlite() {
    let server = Server::with(hurried()).await;
    a_504_is_the_truth(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_504_is_the_truth_on_postgres() {
    let Some(server) = Server::on_postgres_with(hurried()).await else {
        return;
    };
    a_504_is_the_truth(&server).await;
    server.stop().await;
}

/// Readers that take long used to keep everybody out who is not known yet, and the server was called unready.
async fn long_reads_keep_nobody_out(server: &Server) {
    let mut busy = Vec::new();
    for _ in 0..StoreOptions::default().max_read_connections {
        busy.push(server.service.store().read().await.unwrap());
    }
    assert_eq!(server.get("/health/ready").await.status, 200);
    let unknown = server
        .send("mcp_pat_nobody", Method::GET, "/api/v1/epics", None, &[])
        .await;
    assert_eq!(unknown.status, 401, "the token was looked up: {:?}", unknown.body);
    drop(busy);
    server.get("/api/v1/epics").await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_reads_keep_nobody_out_on_sqlite() {
    let server = Server::on_sqlite().await;
    long_reads_keep_nobody_out(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_reads_keep_nobody_out_on_postgres() {
    let Some(server) = Server::on_postgres().await else {
        return;
    };
    long_reads_keep_nobody_out(&server).await;
    server.stop().await;
}
