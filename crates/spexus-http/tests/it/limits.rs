//! Limits on rate, number, time and size, and a server that answers whatever it accepted.

use crate::harness::{Server, read_all, read_until};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_http::HttpOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const EPIC: &str = r#"{"title": "In flight"}"#;

/// A request whose body is not sent yet, known to be under way because the server asked for the body.
async fn in_flight(server: &Server) -> TcpStream {
    let mut stream = server.connect().await;
    let head = server.head("POST", "/api/v1/epics", EPIC.len());
    let head = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(
        read_until(&mut stream, "\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 100")
    );
    stream
}

async fn one_at_a_time(options: HttpOptions) -> Server {
    Server::with(HttpOptions {
        max_concurrent_requests: 1,
        ..options
    })
    .await
}

fn json_of(answer: &str) -> Value {
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

//= specs/spexus-http.md#limits
//= type=test
//# A token that sends more than its rate MUST be answered 429 with Retry-After, and no other token with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_has_a_rate() {
    let server = Server::with(HttpOptions {
        max_requests_per_minute: 5,
        ..HttpOptions::default()
    })
    .await;
    let made = server
        .post("/api/v1/tokens", json!({"name": "second"}))
        .await
        .created();
    for _ in 0..4 {
        server.get("/api/v1/epics").await.ok();
    }
    let reply = server.get("/api/v1/epics").await;
    let wait: u32 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(
        reply.refused(429, 1056)["facts"]["retry_after_seconds"],
        wait.to_string()
    );
    assert_eq!(
        server
            .as_token(
                made["token"].as_str().unwrap(),
                Method::GET,
                "/api/v1/epics",
                None
            )
            .await
            .0,
        200
    );
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# An address that sends more than its rate without a valid token MUST be answered 429 with Retry-After, before anything is looked up for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_without_a_token_has_a_rate() {
    let server = Server::with(HttpOptions {
        max_anonymous_requests_per_minute: 4,
        ..HttpOptions::default()
    })
    .await;
    // The first was the login of the administrator.
    for _ in 0..3 {
        server
            .send("mcp_pat_guess", Method::GET, "/api/v1/epics", None, &[])
            .await
            .refused(401, 1011);
    }
    let reply = server
        .send("mcp_pat_guess", Method::GET, "/api/v1/epics", None, &[])
        .await;
    assert!(reply.headers.contains_key("retry-after"));
    reply.refused(429, 1056);
    let login = json!({"username": "admin", "password": "correct horse battery"});
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(login), &[])
        .await
        .refused(429, 1056);
    server.get("/api/v1/epics").await.ok();
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# Requests beyond the number that may run at once MUST be refused at once, not queued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_so_many_requests_run_at_once() {
    let server = one_at_a_time(HttpOptions::default()).await;
    let mut stream = in_flight(&server).await;
    let reply = server.get("/api/v1/epics").await;
    assert_eq!(reply.headers["retry-after"], "1");
    reply.refused(429, 1060);
    stream.write_all(EPIC.as_bytes()).await.unwrap();
    assert!(
        read_until(&mut stream, "In flight")
            .await
            .starts_with("HTTP/1.1 201")
    );
    server.get("/api/v1/epics").await.ok();
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# A request that takes longer than its time MUST be answered 504.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_takes_too_long_is_answered() {
    let server = Server::with(HttpOptions {
        request_timeout_ms: 2_500,
        ..HttpOptions::default()
    })
    .await;
    let mut stream = server.connect().await;
    stream
        .write_all(server.head("POST", "/api/v1/epics", EPIC.len()).as_bytes())
        .await
        .unwrap();
    let answer = read_until(&mut stream, "TIMEOUT").await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    server.get("/api/v1/epics").await.ok();
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# A body that does not arrive in its time MUST be refused, and nothing of it written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_too_slowly_is_refused() {
    let server = Server::with(HttpOptions {
        read_timeout_ms: 300,
        ..HttpOptions::default()
    })
    .await;
    let before = server.chain_head().await;
    let mut stream = server.connect().await;
    let head = server.head("POST", "/api/v1/epics", EPIC.len());
    stream
        .write_all(format!("{head}{{\"title\"").as_bytes())
        .await
        .unwrap();
    let answer = read_until(&mut stream, "PROTOCOL_ERROR").await;
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("did not arrive within 300 ms"),
        "{answer}"
    );
    // Asked inside: a client's idle connection may be closed by the same time limit just when it is used again.
    assert_eq!(server.chain_head().await, before);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_never_ends_is_let_go() {
    let server = Server::with(HttpOptions {
        read_timeout_ms: 300,
        ..HttpOptions::default()
    })
    .await;
    let mut stream = server.connect().await;
    stream
        .write_all(b"GET /api/v1/epics HTTP/1.1\r\nHost: spexus\r\n")
        .await
        .unwrap();
    read_all(&mut stream).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_cut_off_writes_nothing() {
    let server = one_at_a_time(HttpOptions::default()).await;
    let before = server.chain_head().await;
    let mut stream = in_flight(&server).await;
    stream.write_all(&EPIC.as_bytes()[..10]).await.unwrap();
    drop(stream);
    while server.get("/api/v1/epics").await.status == 429 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.chain_head().await, before);
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# A head larger than the limit MUST be answered 431.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_have_a_size() {
    let server = Server::on_sqlite().await;
    for (bytes, status) in [(20_000, "200"), (64_000, "431")] {
        let mut stream = server.connect().await;
        let head = format!(
            "GET /health/live HTTP/1.1\r\nHost: spexus\r\nConnection: close\r\nX-Long: {}\r\n\r\n",
            "x".repeat(bytes)
        );
        // The server may answer before it has read everything.
        let _ = stream.write_all(head.as_bytes()).await;
        let answer = read_all(&mut stream).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{bytes}: {answer}"
        );
    }
    let many: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    let mut stream = server.connect().await;
    let _ = stream
        .write_all(
            format!("GET /health/live HTTP/1.1\r\nHost: spexus\r\nConnection: close\r\n{many}\r\n")
                .as_bytes(),
        )
        .await;
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 431"));
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# A body larger than the limit MUST be answered 413 without being kept in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_have_a_size() {
    let server = Server::on_sqlite().await;
    let fits = |bytes: usize| format!("{{\"title\": \"x\"{}}}", " ".repeat(bytes - 14));
    for (bytes, status) in [(1 << 20, 201), ((1 << 20) + 1, 413), (8 << 20, 413)] {
        let body = fits(bytes);
        assert_eq!(body.len(), bytes);
        let request = server
            .client
            .post(format!("{}/api/v1/epics", server.url))
            .bearer_auth(&server.token);
        let reply = request
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap();
        assert_eq!(reply.status(), status, "{bytes}");
        if status == 413 {
            let error: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
            assert_eq!(
                (
                    &error["error"]["code"],
                    &error["error"]["facts"]["max_body_bytes"]
                ),
                (&json!(1068), &json!("1048576"))
            );
        }
    }
    // Said to be large and never sent: refused by its word.
    let mut stream = server.connect().await;
    stream
        .write_all(server.head("POST", "/api/v1/epics", 1 << 40).as_bytes())
        .await
        .unwrap();
    let answer = read_until(&mut stream, "MESSAGE_TOO_LARGE").await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    server.stop().await;
}

//= specs/spexus-http.md#stopping
//= type=test
//# A server that is told to stop MUST answer every request it accepted before it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_answers_what_was_accepted() {
    let mut server = one_at_a_time(HttpOptions::default()).await;
    let mut stream = in_flight(&server).await;
    let mut idle = server.connect().await;
    server.begin_stop();
    read_all(&mut idle).await;
    stream.write_all(EPIC.as_bytes()).await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(json_of(&answer)["reference_id"], "EP-001");
    assert!(
        TcpStream::connect(server.url.trim_start_matches("http://"))
            .await
            .is_err(),
        "nobody new is let in"
    );
    server.stop().await;
}

//= specs/spexus-http.md#stopping
//= type=test
//# A server that is told to stop SHOULD end after the drain limit, whatever its clients do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_does_not_wait_for_ever() {
    let server = one_at_a_time(HttpOptions {
        drain_timeout_ms: 100,
        ..HttpOptions::default()
    })
    .await;
    let _stream = in_flight(&server).await;
    server.stop().await;
}

//= specs/spexus-http.md#answers
//= type=test
//# A fault inside MUST cost one answer, tell nothing of the inside, and leave the server working.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_costs_one_answer() {
    let armed = Arc::new(AtomicBool::new(true));
    let bomb = armed.clone();
    let metrics = Arc::new(move || {
        assert!(!bomb.load(Ordering::Relaxed), "the inside of the inside");
        "spexus_up 1\n".to_owned()
    });
    let server = Server::with(HttpOptions {
        metrics,
        ..HttpOptions::default()
    })
    .await;
    let error = server.get("/metrics").await.refused(500, 1079);
    assert!(!error.to_string().contains("inside of"), "{error}");
    armed.store(false, Ordering::Relaxed);
    assert_eq!(server.get("/metrics").await.ok(), json!("spexus_up 1\n"));
    server.stop().await;
}

//= specs/spexus-http.md#answers
//= type=test
//# Every answer MUST carry a request id: the client's own when it is plain, else a new one.
//= specs/spexus-http.md#answers
//= type=test
//# Every answer MUST forbid browsers to guess its type, to frame it and to keep it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_has_an_id_and_guards() {
    let server = Server::on_sqlite().await;
    let long = "x".repeat(65);
    for path in ["/", "/docs", "/health/live", "/api/v1/epics", "/api/v1/nothing"] {
        let reply = server
            .send(
                &server.token,
                Method::GET,
                path,
                None,
                &[("X-Request-Id", "my-id.1_2")],
            )
            .await;
        assert_eq!(reply.headers["x-request-id"], "my-id.1_2");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["x-frame-options"], "DENY");
        assert_eq!(reply.headers["referrer-policy"], "no-referrer");
        assert!(
            reply.headers["content-security-policy"]
                .to_str()
                .unwrap()
                .starts_with("default-src 'none'")
        );
        assert_eq!(reply.headers["cache-control"], "no-store");
        let mut made = vec![];
        for odd in ["", "a b", "<script>", long.as_str()] {
            let reply = server
                .send(&server.token, Method::GET, path, None, &[("X-Request-Id", odd)])
                .await;
            made.push(reply.headers["x-request-id"].to_str().unwrap().to_owned());
        }
        made.dedup();
        assert!(
            made.len() == 4 && made.iter().all(|id| id.len() == 32),
            "{made:?}"
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_sent_together_are_answered_in_order() {
    let server = Server::on_sqlite().await;
    let mut stream = server.connect().await;
    let both = format!(
        "{}{EPIC}GET /health/live HTTP/1.1\r\nHost: spexus\r\nX-Request-Id: second\r\nConnection: close\r\n\r\n",
        server.head("POST", "/api/v1/epics", EPIC.len())
    );
    stream.write_all(both.as_bytes()).await.unwrap();
    let answers = read_all(&mut stream).await;
    let (first, second) = answers.split_at(answers.rfind("HTTP/1.1").unwrap());
    assert!(
        first.starts_with("HTTP/1.1 201") && first.contains("EP-001"),
        "{answers}"
    );
    assert!(
        second.starts_with("HTTP/1.1 200") && second.contains("x-request-id: second"),
        "{answers}"
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_http_is_let_go() {
    let server = Server::on_sqlite().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let mut stream = server.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = read_all(&mut stream).await;
        assert!(!answer.contains(" 500 "), "{answer}");
    }
    server.get("/api/v1/epics").await.ok();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_tells_the_truth() {
    let server = Server::on_sqlite().await;
    assert_eq!(
        server.send("", Method::GET, "/health/live", None, &[]).await.ok(),
        json!({"status": "live"})
    );
    let ready = server
        .send("", Method::GET, "/health/ready", None, &[])
        .await
        .ok();
    assert_eq!(
        ready,
        json!({"status": "ready", "checks": {"database": "ok", "accepting": "ok"}})
    );
    server.service.clone().close().await;
    // The answer before holds for a second.
    let broken = loop {
        let reply = server.send("", Method::GET, "/health/ready", None, &[]).await;
        if reply.status != 200 {
            break reply;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    assert_eq!(
        (broken.status, &broken.body["checks"]["database"]),
        (503, &json!("failed"))
    );
    let reply = server.get("/api/v1/epics").await;
    assert!([500, 503].contains(&reply.status), "{}", reply.body);
    let told = reply.body.to_string().to_lowercase();
    assert!(
        !told.contains("sql") && !told.contains(".db") && !told.contains("pool"),
        "{told}"
    );
    server.stop().await;
}
