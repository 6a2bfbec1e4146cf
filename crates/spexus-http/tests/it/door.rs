//! The door: addresses, proxies, connections, streams, and what is shown without a token.

use crate::harness::{Server, both, read_all, read_until};
use crate::mcp::{Agent, hello};
use reqwest::Method;
use serde_json::json;
use spexus_http::HttpOptions;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn status(server: &Server, token: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    server.send(token, Method::GET, path, None, headers).await.status
}

// Found by review (S-H3): beyond its rate every request was still looked up, noted and logged.
//= specs/spexus-http.md#limits
//= type=test
//# An address that sends more than its rate without a valid token MUST be answered 429 with Retry-After, before anything is looked up for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_its_rate_nothing_is_looked_up_for_an_address() {
    let server = Server::with(HttpOptions {
        max_anonymous_requests_per_minute: 8,
        ..HttpOptions::default()
    })
    .await;
    let made = server
        .post("/api/v1/tokens", json!({"name": "new"}))
        .await
        .created();
    let fresh = made["token"].as_str().unwrap();
    let mut refused = 0;
    while status(&server, "mcp_pat_wrong", "/api/v1/epics", &[]).await == 401 {
        refused += 1;
        assert!(refused < 20);
    }
    assert_eq!(
        status(&server, fresh, "/api/v1/epics", &[]).await,
        429,
        "nobody looked whether it is good"
    );
    assert_eq!(
        status(&server, &server.token, "/api/v1/epics", &[]).await,
        200,
        "this one is known to be"
    );
    for _ in 0..50 {
        assert_eq!(status(&server, "mcp_pat_wrong", "/api/v1/epics", &[]).await, 429);
    }
    server.service.flush().await;
    let trail = server.get("/api/v1/audit/events?limit=200").await.ok();
    let times = |event: &str| -> i64 {
        let rows = trail["data"].as_array().unwrap().iter();
        rows.filter(|row| row["event"] == event)
            .map(|row| row["times"].as_i64().unwrap())
            .sum()
    };
    assert_eq!((times("token_refused"), times("rate_limited")), (refused, 52));
    server.stop().await;
}

// Found by review (S-M9): pages, health and unknown addresses were outside of every limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_needs_no_token_is_under_the_rate_of_the_address() {
    for path in [
        "/",
        "/docs",
        "/openapi.json",
        "/health/live",
        "/health/ready",
        "/metrics",
        "/nowhere",
    ] {
        let server = Server::with(HttpOptions {
            max_anonymous_requests_per_minute: 5,
            ..HttpOptions::default()
        })
        .await;
        let mut answers = vec![];
        for _ in 0..6 {
            answers.push(status(&server, "", path, &[]).await);
        }
        assert_eq!(answers.last(), Some(&429), "{path}: {answers:?}");
        assert_ne!(answers[0], 429, "{path}");
        server.stop().await;
    }
}

// Found by review (B-H7): whatever a client wrote into X-Forwarded-For was ignored behind a proxy, and must be without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_trusted_proxy_speaks_for_others() {
    let options = |trusted: &str| HttpOptions {
        max_anonymous_requests_per_minute: 4,
        trusted_proxies: trusted.parse().unwrap(),
        ..HttpOptions::default()
    };
    let server = Server::with(options("")).await;
    let mut answers = vec![];
    for at in 0..6 {
        let from = format!("198.51.100.{at}");
        answers.push(status(&server, "", "/api/v1/epics", &[("X-Forwarded-For", &from)]).await);
    }
    assert!(answers.ends_with(&[429, 429]), "one bucket: {answers:?}");
    server.stop().await;

    let server = Server::with(options("127.0.0.0/8")).await;
    for at in 0..6 {
        let from = format!("for=198.51.100.{at}");
        assert_eq!(
            status(&server, "", "/api/v1/epics", &[("Forwarded", &from)]).await,
            401
        );
    }
    server.service.flush().await;
    let trail = server.get("/api/v1/audit/events?event=token_missing").await.ok();
    let addresses: Vec<&str> = trail["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["address"].as_str())
        .collect();
    assert_eq!(addresses.len(), 6, "each under its own address: {addresses:?}");
    assert!(addresses.contains(&"198.51.100.3"));
    server.stop().await;
}

//= specs/spexus-http.md#proxies
//= type=test
//# Where browsers reach the server by HTTPS, every answer MUST tell them to use nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_are_told_to_stay_with_https() {
    for secure_cookies in [false, true] {
        let server = Server::with(HttpOptions {
            secure_cookies,
            ..HttpOptions::default()
        })
        .await;
        let reply = server.send("", Method::GET, "/health/live", None, &[]).await;
        let strict = reply.headers.get("strict-transport-security");
        assert_eq!(strict.is_some(), secure_cookies);
        server.stop().await;
    }
}

// Found by review (S-L2): everybody read the metrics.
//= specs/spexus-http.md#permissions
//= type=test
//# Metrics MUST be shown only to administrators, and without a token to programs on the same machine that no proxy stands before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_for_this_machine_and_for_administrators() {
    let server = Server::on_sqlite().await;
    let kim = server.user("kim", "User").await;
    assert_eq!(status(&server, "", "/metrics", &[]).await, 200, "this machine");
    for header in [
        ("X-Forwarded-For", "198.51.100.7"),
        ("Forwarded", "for=198.51.100.7"),
    ] {
        assert_eq!(
            status(&server, "", "/metrics", &[header]).await,
            401,
            "through a proxy"
        );
        assert_eq!(status(&server, &server.token, "/metrics", &[header]).await, 200);
        assert_eq!(status(&server, &kim, "/metrics", &[header]).await, 403);
    }
    server.stop().await;
}

/// A page that points a name of its own at this machine reads what the browser of somebody at this machine may read.
//= specs/spexus-http.md#permissions
//= type=test
//# A request that names a foreign `Host` or comes from a page of one MUST NOT be shown metrics without a token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_are_not_for_pages_of_other_sites() {
    let server = Server::on_sqlite().await;
    for header in [
        ("Host", "evil.example"),
        ("Host", "localhost.evil.example:80"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
    ] {
        assert_eq!(
            status(&server, "", "/metrics", &[header]).await,
            401,
            "{header:?}"
        );
        assert_eq!(status(&server, &server.token, "/metrics", &[header]).await, 200);
    }
    let own = [("Host", "localhost"), ("Origin", "http://localhost:8080")];
    for header in own {
        assert_eq!(
            status(&server, "", "/metrics", &[header]).await,
            200,
            "{header:?}"
        );
    }
    server.stop().await;
}

// Found by review (S-M9): one address could take every connection.
//= specs/spexus-http.md#limits
//= type=test
//# A connection beyond the number one address may have open MUST be closed at once; trusted proxies have no such number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_has_so_many_connections_and_no_more() {
    let options = |trusted: &str| HttpOptions {
        max_connections_per_address: 4,
        trusted_proxies: trusted.parse().unwrap(),
        ..HttpOptions::default()
    };
    let live = b"GET /health/live HTTP/1.1\r\nHost: spexus\r\n\r\n";
    let server = Server::with(options("")).await;
    let mut held = vec![];
    let refused = loop {
        let mut stream = server.connect_from("127.0.0.2").await;
        // A peer that is cut off may learn of it by writing or by reading.
        let _ = stream.write_all(live).await;
        let mut first = [0; 1];
        if !matches!(stream.read(&mut first).await, Ok(1)) {
            break held.len();
        }
        held.push(stream);
        assert!(held.len() <= 4);
    };
    assert_eq!(refused, 4);
    // Another address has its own number.
    let mut other = server.connect().await;
    other.write_all(live).await.unwrap();
    assert!(
        read_until(&mut other, "\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 200")
    );
    drop((held, other));
    server.stop().await;

    let server = Server::with(options("127.0.0.1")).await;
    let mut held = vec![];
    for _ in 0..8 {
        let mut stream = server.connect().await;
        stream.write_all(live).await.unwrap();
        assert!(
            read_until(&mut stream, "\r\n\r\n")
                .await
                .starts_with("HTTP/1.1 200")
        );
        held.push(stream);
    }
    drop(held);
    server.stop().await;
}

// Found by review (S-M9): a peer that never read its answers kept its connection for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_does_not_read_gives_its_place_back() {
    let server = Server::with(HttpOptions {
        write_timeout_ms: 300,
        max_connections: 2,
        max_anonymous_requests_per_minute: 100_000,
        ..HttpOptions::default()
    })
    .await;
    let mut deaf = server.connect().await;
    let ask = "GET /openapi.json HTTP/1.1\r\nHost: spexus\r\n\r\n".repeat(400);
    // Some of it may not even fit: what matters is that the answers, some hundred megabytes, are not taken.
    let _ = tokio::time::timeout(Duration::from_secs(2), deaf.write_all(ask.as_bytes())).await;
    let mut next = server.connect().await;
    next.write_all(b"GET /health/live HTTP/1.1\r\nHost: spexus\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    assert!(
        read_all(&mut next).await.starts_with("HTTP/1.1 200"),
        "there was a place again"
    );
    drop(deaf);
    server.stop().await;
}

//= specs/spexus-http.md#limits
//= type=test
//# A stream beyond the number one user may have open, over REST and MCP together, MUST be refused with 429.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_so_many_streams_and_no_more() {
    let server = Server::with(HttpOptions {
        max_streams_per_user: 2,
        ..HttpOptions::default()
    })
    .await;
    let kim = server.user("kim", "User").await;
    let agent = Agent::with(&server, &kim, "2025-06-18", &[]).await;
    let held = (agent.listen().await, server.listen(&kim, "", &[]).await);
    let third = server
        .send(&kim, Method::GET, "/api/v1/changes/stream", None, &[])
        .await;
    third.refused(429, 1060);
    let others = server.listen(&server.token, "", &[]).await;
    drop(held);
    let began = Instant::now();
    loop {
        let url = format!("{}/api/v1/changes/stream", server.url);
        let again = server.client.get(url).bearer_auth(&kim).send().await.unwrap();
        if again.status() == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "places come back");
    }
    drop(others);
    server.stop().await;
}

// Found by review (S-M9): each question about readiness took one of the four connections to the database.
//= specs/spexus-http.md#limits
//= type=test
//# Questions about readiness MUST NOT use more than one connection to the database, however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readiness_is_asked_of_the_database_once_a_second() {
    let server = Server::on_sqlite().await;
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(status(&server, "", "/health/ready", &[]).await, 200);
        let mut all = vec![];
        for _ in 0..4 {
            all.push(server.service.store().read().await.unwrap());
        }
        if began.elapsed() > Duration::from_millis(700) {
            // The machine is too busy to ask within the second; try again.
            continue;
        }
        let asked = (0..20).map(|_| status(&server, "", "/health/ready", &[]));
        let answers = futures_util::future::join_all(asked).await;
        if began.elapsed() > Duration::from_millis(900) {
            continue;
        }
        assert!(answers.iter().all(|status| *status == 200), "{answers:?}");
        drop(all);
        server.stop().await;
        return;
    }
    panic!("no second was quiet enough");
}

both![
    a_stream_ends_when_its_token_expires,
    a_web_session_does_not_open_the_endpoint_of_agents,
    a_foreign_page_is_not_served,
];

// Found by review (S-L1): streams went on after the token they were opened with had expired.
async fn a_stream_ends_when_its_token_expires(server: &mut Server) {
    let made = server
        .post("/api/v1/tokens", json!({"name": "hour", "expires": "1h"}))
        .await
        .created();
    let token = made["token"].as_str().unwrap();
    let agent = Agent::with(server, token, "2025-06-18", &[]).await;
    let (mut feed, mut notices) = (server.listen(token, "", &[]).await, agent.listen().await);
    server.jump(3_700);
    assert!(feed.next().await.is_none(), "the feed");
    assert!(
        notices.next("notifications/nothing").await.is_none(),
        "the stream of MCP"
    );
}

// Found by review (003 R9.2, ruling 31): a web session and its cookie opened the endpoint of agents.
// proves 003 R9.2: nothing but a bearer token opens the endpoint
//= specs/spexus-mcp.md#endpoint
//= type=test
//# The endpoint MUST be opened by a bearer token only: cookies and secrets of web sessions MUST be refused like no token and like a bad one.
async fn a_web_session_does_not_open_the_endpoint_of_agents(server: &mut Server) {
    let session = server.login("admin", crate::harness::ADMIN_PASSWORD).await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        status(server, &session, "/api/v1/epics", &[]).await,
        200,
        "it is good for REST"
    );
    for path in ["/mcp", "/api/v1/mcp"] {
        let cookie = format!("spexus_session={session}");
        let own = server.url.clone();
        let ways: [(&[(&str, &str)], u16); 5] = [
            (&[("Cookie", &cookie), ("Origin", &own)], 1015),
            (&[("Authorization", &format!("Bearer {session}"))], 1011),
            (&[("Authorization", &format!("Basic {}", server.token))], 1011),
            (&[("Authorization", &server.token)], 1011),
            (&[("X-Api-Key", &server.token)], 1015),
        ];
        for (headers, code) in ways {
            let reply = server
                .send("", Method::POST, path, Some(hello("2025-06-18")), headers)
                .await;
            assert_eq!(reply.status, 401, "{headers:?}");
            assert_eq!(
                reply.body["error"]["data"]["refusal"]["code"], code,
                "{headers:?}: {}",
                reply.body
            );
        }
    }
}

// Found by review (S-M13): pages of other sites were served when they had a token.
//= specs/spexus-mcp.md#endpoint
//= type=test
//# A request whose `Host` or `Origin` is neither an address of this server nor one of its names MUST be answered 403, before its token is looked at.
async fn a_foreign_page_is_not_served(server: &mut Server) {
    let own = server.url.clone();
    for path in ["/mcp", "/api/v1/mcp"] {
        for (header, code) in [
            (("Origin", "http://evil.example.com"), 403),
            (("Origin", "null"), 403),
            (("Host", "evil.example.com"), 403),
            (("Origin", own.as_str()), 200),
            (("Origin", "http://localhost:3000"), 200),
            (("Host", "localhost"), 200),
        ] {
            let reply = server
                .send(
                    &server.token,
                    Method::POST,
                    path,
                    Some(hello("2025-06-18")),
                    &[header],
                )
                .await;
            assert_eq!(reply.status, code, "{path} {header:?}: {}", reply.body);
            assert_eq!(reply.body["jsonrpc"], "2.0");
        }
        let unknown = server
            .send(
                "mcp_pat_wrong",
                Method::POST,
                path,
                Some(hello("2025-06-18")),
                &[("Origin", "null")],
            )
            .await;
        assert_eq!(unknown.status, 403, "before the token is looked at");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_the_operator_gave_is_served() {
    let server = Server::with(HttpOptions {
        public_hosts: vec!["spexus.example.org".into()],
        ..HttpOptions::default()
    })
    .await;
    let headers = [
        ("Host", "spexus.example.org"),
        ("Origin", "https://spexus.example.org"),
    ];
    let reply = server
        .send(
            &server.token,
            Method::POST,
            "/mcp",
            Some(hello("2025-06-18")),
            &headers,
        )
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    server.stop().await;
}

// Found by review (S-M2): many tokens of one user multiplied the rate.
//= specs/spexus-http.md#limits
//= type=test
//# A user whose tokens and sessions together send more than the rate of a user MUST be answered 429 with Retry-After.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tokens_of_one_user_do_not_multiply_the_rate() {
    let server = Server::with(HttpOptions {
        max_user_requests_per_minute: 10,
        ..HttpOptions::default()
    })
    .await;
    let kim = server.user("kim", "User").await;
    let second = server
        .post("/api/v1/tokens?user=kim", json!({"name": "second"}))
        .await
        .created();
    let second = second["token"].as_str().unwrap();
    for at in 0..10 {
        let token = if at % 2 == 0 { kim.as_str() } else { second };
        assert_eq!(status(&server, token, "/api/v1/epics", &[]).await, 200, "{at}");
    }
    assert_eq!(status(&server, &kim, "/api/v1/epics", &[]).await, 429);
    assert_eq!(status(&server, second, "/api/v1/epics", &[]).await, 429);
    assert_eq!(
        status(&server, &server.token, "/api/v1/epics", &[]).await,
        200,
        "another user"
    );
    server.stop().await;
}
