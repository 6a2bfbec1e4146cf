//! Time limits from outside: a 504 is the truth, and long reads keep nobody out.

use crate::harness::Server;
use reqwest::Method;
use serde_json::json;
use spexus_http::HttpOptions;
use spexus_store::{Actor, Store, StoreOptions};
use std::sync::Arc;
use tokio::sync::Notify;

/// Short enough to wait for, and long enough for a login on a machine that is busy.
fn hurried() -> HttpOptions {
    HttpOptions {
        request_timeout_ms: 2_500,
        max_anonymous_requests_per_minute: 10_000,
        ..HttpOptions::default()
    }
}

/// Holds the place of the one writer in another process, until told.
struct Held {
    go_on: Arc<Notify>,
    holding: tokio::task::JoinHandle<spexus_store::Result<()>>,
}

impl Held {
    async fn by_another_node(server: &Server) -> Self {
        let clock: spexus_store::Clock = Arc::new(|| spexus_domain::Timestamp(0));
        let (store, _) = Store::open(&server.location, &StoreOptions::default(), clock)
            .await
            .unwrap();
        let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (signal, wait) = (entered.clone(), go_on.clone());
        let actor = Actor {
            user_id: spexus_domain::Uuid::nil(),
            username: "another node".into(),
            token_id: None,
            client: String::new(),
        };
        let holding = tokio::spawn(async move {
            let held = store.write(actor, move |_| {
                Box::pin(async move {
                    signal.notify_one();
                    wait.notified().await;
                    Ok(())
                })
            });
            held.await
        });
        entered.notified().await;
        Self { go_on, holding }
    }

    async fn release(self) {
        self.go_on.notify_one();
        self.holding.await.unwrap().unwrap();
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
    let held = Held::by_another_node(server).await;
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
