//! The door: tokens, rights, limits, and what is no message.

use super::{Agent, hello};
use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_http::HttpOptions;

both![
    pages_of_named_origins_are_let_in_with_a_token,
    a_toolset_that_is_none_is_refused_at_the_door,
    only_a_valid_token_opens_the_endpoint,
    an_expired_or_revoked_token_opens_nothing_and_is_noted,
    a_missing_right_is_403_and_1014,
    what_is_no_message_is_400_and_what_is_unknown_says_so,
    every_operation_is_noted_with_who_did_it,
    a_session_belongs_to_the_token_that_opened_it,
];

// proves 003 R9.1
// proves 003 R9.2
// proves 003 R9.3
// proves 003 R9.4
// proves 003 R9.5
// proves 003 R12.2
// proves 003 R16.8
//= specs/spexus-mcp.md#endpoint
//= type=test
//# The endpoint MUST be served at `/api/v1/mcp` and at `/mcp`.
//= specs/spexus-mcp.md#endpoint
//= type=test
//# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
//= specs/spexus-mcp.md#rights
//= type=test
//# Every request MUST run as the owner of its token, with the rights as they are now.
async fn only_a_valid_token_opens_the_endpoint(server: &mut Server) {
    server.seed().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for path in ["/api/v1/mcp", "/mcp"] {
        for (token, code) in [("", 1015), ("mcp_pat_wrong", 1011), ("nonsense", 1011)] {
            let reply = server
                .send(token, Method::POST, path, Some(list.clone()), &[])
                .await;
            assert_eq!(reply.status, 401, "{path} {token}");
            assert_eq!(reply.headers["www-authenticate"], "Bearer realm=\"spexus\"");
            assert_eq!(reply.body["jsonrpc"], "2.0");
            assert_eq!(
                reply.body["error"]["data"]["refusal"]["code"], code,
                "{}",
                reply.body
            );
        }
        let reply = server
            .send(&server.token, Method::POST, path, Some(hello("2025-06-18")), &[])
            .await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    }
    let token = server.user("ann", "User").await;
    let ann = Agent::with(server, &token, "2025-06-18", &[]).await;
    ann.call("create_epic", json!({ "title": "Made by Ann" })).await;
    let made = server.get("/api/v1/epics/EP-002").await.ok();
    assert_eq!(made["creator"], "ann");
    server
        .patch("/api/v1/users/ann", json!({ "role": "Commenter" }))
        .await
        .ok();
    let refused = ann
        .refused(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "title": "Again" } }),
        )
        .await;
    assert_eq!(refused["code"], 1014, "the role counts as it is now");
}

// proves 003 R12.6
// proves 003 R12.8
async fn an_expired_or_revoked_token_opens_nothing_and_is_noted(server: &mut Server) {
    let made = server
        .post("/api/v1/tokens", json!({ "name": "short", "expires": "1h" }))
        .await
        .created();
    let token = made["token"].as_str().unwrap();
    let agent = Agent::with(server, token, "2025-06-18", &[]).await;
    server.jump(3_700);
    let late = agent
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
        .await;
    assert_eq!(
        (late.status, &late.body["error"]["data"]["refusal"]["code"]),
        (401, &json!(1012))
    );

    let made = server
        .post("/api/v1/tokens", json!({ "name": "gone" }))
        .await
        .created();
    let agent = Agent::with(server, made["token"].as_str().unwrap(), "2025-06-18", &[]).await;
    server
        .delete(&format!("/api/v1/tokens/{}", made["id"].as_str().unwrap()))
        .await
        .ok();
    let late = agent
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
        .await;
    assert_eq!(
        (late.status, &late.body["error"]["data"]["refusal"]["code"]),
        (401, &json!(1011))
    );
    server.service.flush().await;
    let events = server.get("/api/v1/audit/events").await.ok();
    let refused: Vec<&Value> = events["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["event"] == "token_refused")
        .collect();
    for reason in ["AUTH_EXPIRED", "AUTH_FAILED"] {
        let noted = refused.iter().find(|event| event.to_string().contains(reason));
        let noted = noted.unwrap_or_else(|| panic!("{reason} is not noted: {events}"));
        assert!(
            noted["address"].as_str().unwrap().starts_with("127.0.0.1"),
            "{noted}"
        );
    }
}

// proves 003 R12.3
// proves 003 R12.4
//= specs/spexus-mcp.md#rights
//= type=test
//# Every tool, resource and prompt MUST be refused with 1014 to a token that lacks the right.
//= specs/mcp-server.md#http-transport
//= type=test
//# A request the client has no right to MUST be answered with status 403 beside its JSON-RPC error.
async fn a_missing_right_is_403_and_1014(server: &mut Server) {
    server.seed().await;
    let token = server.user("kim", "Commenter").await;
    let kim = Agent::with(server, &token, "2025-06-18", &[]).await;
    let head = server.chain_head().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "update_requirement", "arguments": { "requirement_id": "REQ-001", "title": "Mine" } } });
    let answer = kim.send(&call).await;
    assert_eq!(answer.status, 403, "{}", answer.body);
    assert_eq!(answer.body["error"]["code"], 1014);
    assert_eq!(server.chain_head().await, head, "nothing was written");
    kim.call(
        "add_comment",
        json!({ "id": "REQ-001", "content": "Which passkeys?" }),
    )
    .await;
}

// proves 003 R9.6
// proves 003 R9.10
// proves 003 R9.11
// proves 003 R10.9
// proves 003 R11.1
// proves 003 R11.9
async fn what_is_no_message_is_400_and_what_is_unknown_says_so(server: &mut Server) {
    let agent = Agent::connect(server).await;
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
    ] {
        let response = agent.request_to(Method::POST).body(body).send().await.unwrap();
        assert_eq!(response.status(), 400, "{body}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
    assert_eq!(agent.refused("epics/list", json!({})).await["code"], -32601);
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/anything", "params": {} });
    assert_eq!(agent.send(&note).await.status, 202);
    let unknown = agent
        .refused("tools/call", json!({ "name": "create_epik", "arguments": {} }))
        .await;
    assert_eq!(unknown["code"], -32602);
}

// proves 003 R12.5
// proves 001 D8
// proves 001 D10
//= specs/spexus-mcp.md#audit
//= type=test
//# Every operation MUST be noted with the user, the token, the client and its outcome.
//= specs/spexus-mcp.md#audit
//= type=test
//# What a client calls itself MUST be kept on one line and short before it is logged or kept.
async fn every_operation_is_noted_with_who_did_it(server: &mut Server) {
    server.seed().await;
    let token = server.user("ann", "User").await;
    let mut odd = hello("2025-06-18");
    odd["params"]["clientInfo"] = json!({ "name": format!("bad\nname{}", "x".repeat(500)), "version": "1" });
    let agent = Agent::introduced(server, &token, &odd).await;
    agent.call("get_item", json!({ "id": "EP-001" })).await;
    agent.call("get_item", json!({ "id": "EP-001" })).await;
    agent.fails("get_item", json!({ "id": "EP-999" })).await;
    agent.read("epic://EP-001").await;
    agent
        .ask(
            "prompts/get",
            json!({ "name": "decompose_epic", "arguments": { "epic_id": "EP-001" } }),
        )
        .await;
    agent.call("create_epic", json!({ "title": "Noted" })).await;
    server.service.flush().await;
    let events = server.get("/api/v1/audit/events?limit=200").await.ok();
    let of_ann: Vec<&Value> = events["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["event"] == "operation" && event["username"] == "ann")
        .collect();
    let details: Vec<&str> = of_ann
        .iter()
        .map(|event| event["detail"].as_str().unwrap())
        .collect();
    for expect in [
        "tools/call get_item RESOURCE_NOT_FOUND",
        "resources/read epic ok",
        "prompts/get decompose_epic ok",
        "initialize 2025-06-18 ok",
    ] {
        assert!(details.contains(&expect), "{expect}: {details:?}");
    }
    // Both in one row, unless the second between two writes ended between them.
    let times: u32 = details
        .iter()
        .filter_map(|detail| detail.strip_prefix("tools/call get_item ok"))
        .map(|more| more.strip_prefix(" ×").map_or(1, |times| times.parse().unwrap()))
        .sum();
    assert_eq!(times, 2, "{details:?}");
    for event in &of_ann {
        let client = event["client"].as_str().unwrap();
        assert!(
            client.starts_with("bad name") && client.chars().count() <= 100 && !client.contains('\n'),
            "{client:?}"
        );
        assert!(event["token_id"].is_string());
    }
    let history = server.get("/api/v1/epics/EP-002/history").await.ok();
    assert_eq!(history["data"][0]["user"], "ann");
    assert!(
        history["data"][0]["client"]
            .as_str()
            .unwrap()
            .starts_with("bad name")
    );
}

// proves 003 R10.4
async fn a_session_belongs_to_the_token_that_opened_it(server: &mut Server) {
    let one = server.user("ann", "User").await;
    let two = server.user("bob", "User").await;
    let ann = Agent::with(server, &one, "2025-06-18", &[]).await;
    let thief = ann.with_token(&two);
    let answer = thief
        .send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))
        .await;
    assert_eq!(answer.status, 404, "{}", answer.body);
    ann.ask("ping", json!({})).await;
}

// proves 003 R12.7
#[tokio::test]
async fn the_rate_of_a_token_counts_here_too() {
    let options = HttpOptions {
        max_requests_per_minute: 20,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::connect(&server).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let mut last = agent.send(&ping).await;
    for _ in 0..30 {
        last = agent.send(&ping).await;
    }
    assert_eq!(last.status, 429, "{}", last.body);
    assert_eq!(last.body["error"]["code"], 1056);
    server.stop().await;
}

async fn a_toolset_that_is_none_is_refused_at_the_door(server: &mut Server) {
    let headers = [("x-spexus-toolsets", "auther")];
    let hello = Some(super::hello("2025-06-18"));
    let odd = server
        .send(&server.token, Method::POST, "/mcp", hello, &headers)
        .await;
    assert_eq!(odd.status, 400, "{}", odd.body);
    assert!(odd.body["error"].to_string().contains("author"), "{}", odd.body);
}

//= specs/spexus-http.md#pages-of-other-sites
//= type=test
//# A page MUST be let in only where its origin is one that the operator named, and MUST NOT be let in with a cookie.
async fn pages_of_named_origins_are_let_in_with_a_token(first: &mut Server) {
    let options = HttpOptions {
        cors_origins: vec!["https://app.example.org".to_owned()],
        ..HttpOptions::default()
    };
    let server = Server::second_node(first, options).await;
    let page = [("origin", "https://app.example.org")];
    for path in ["/api/v1/mcp", "/mcp", "/api/v1/epics"] {
        let asks = [page[0], ("access-control-request-method", "POST")];
        let told = server.send("", Method::OPTIONS, path, None, &asks).await;
        assert_eq!(told.status, 204, "{path}");
        let allowed = |name: &str| told.headers[name].to_str().unwrap().to_owned();
        assert_eq!(allowed("access-control-allow-origin"), "https://app.example.org");
        assert!(allowed("access-control-allow-headers").contains("mcp-session-id"));
        assert!(!told.headers.contains_key("access-control-allow-credentials"));
    }
    let hello = Some(hello("2025-06-18"));
    let said = server
        .send(&first.token, Method::POST, "/mcp", hello.clone(), &page)
        .await;
    assert_eq!(said.status, 200, "{}", said.body);
    assert!(
        said.headers["access-control-expose-headers"]
            .to_str()
            .unwrap()
            .contains("mcp-session-id")
    );
    for origin in [
        "https://evil.example",
        "null",
        "https://app.example.org.evil.example",
    ] {
        let foreign = [("origin", origin), ("access-control-request-method", "POST")];
        let told = server
            .send(&first.token, Method::OPTIONS, "/mcp", None, &foreign)
            .await;
        assert!(
            !told.headers.contains_key("access-control-allow-origin"),
            "{origin}"
        );
        let said = server
            .send(&first.token, Method::POST, "/mcp", hello.clone(), &foreign[..1])
            .await;
        assert_eq!(said.status, 403, "{origin}: {}", said.body);
    }
    // Without the setting nobody is let in.
    let shut = first.send(&first.token, Method::POST, "/mcp", hello, &page).await;
    assert_eq!(shut.status, 403, "{}", shut.body);
    server.end().await;
}
