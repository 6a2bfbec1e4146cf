//! Answers as only the wire shows them: closed connections, places, pages.

use crate::harness::{Server, both};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a head without its body and reads what comes back.
async fn head_alone(server: &Server, token: &str, path: &str) -> String {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.to_lowercase()
}

both![
    a_refusal_before_the_body_says_that_the_connection_closes,
    a_list_is_not_taken_for_an_object_by_position,
    what_was_made_is_found_where_the_answer_says,
    the_page_for_people_shows_its_own_address,
    the_pages_of_a_short_list_hold_every_row_once,
];

//= specs/spexus-http.md#description
//= type=test
//# An answer given before the body was read to its end MUST say that the connection closes.
async fn a_refusal_before_the_body_says_that_the_connection_closes(server: &mut Server) {
    for (token, path, status) in [
        ("mcp_pat_wrong", "/api/v1/epics", "401"),
        (server.token.as_str(), "/api/v1/nothing", "404"),
    ] {
        let answer = head_alone(server, token, path).await;
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    }
    // One that was read to its end leaves the connection to the next.
    let reply = server.post("/api/v1/epics", json!({"title": ""})).await;
    assert_eq!((reply.status, reply.headers.get("connection")), (400, None));
}

//= specs/spexus-http.md#description
//= type=test
//# A body that is not a JSON object MUST be refused, also where its members would fit by their order.
async fn a_list_is_not_taken_for_an_object_by_position(server: &mut Server) {
    for body in [json!(["arr", "Arr name"]), json!([])] {
        server
            .post("/api/v1/projects", body.clone())
            .await
            .refused(400, 1021);
        server
            .put("/api/v1/requirement-types/Data", body)
            .await
            .refused(400, 1021);
    }
    assert_eq!(server.get("/api/v1/projects").await.ok()["total_count"], 1);
    let types = server.get("/api/v1/requirement-types").await.ok();
    assert!(!types.to_string().contains("\"description\":\"\""), "{types}");
}

//= specs/spexus-http.md#description
//= type=test
//# Every answer to something made that has an address MUST name it as `Location`, and no answer MUST name an address that
//# cannot be read.
async fn what_was_made_is_found_where_the_answer_says(server: &mut Server) {
    server.seed().await;
    for (path, body) in [
        ("/api/v1/epics", json!({"title": "Located"})),
        (
            "/api/v1/user-stories/US-001/requirements",
            json!({"title": "Located", "type": "Functional"}),
        ),
        ("/api/v1/epics/EP-001/comments", json!({"content": "Located"})),
        ("/api/v1/projects", json!({"key": "located", "name": "Located"})),
        (
            "/api/v1/users",
            json!({"username": "located", "password": "long enough", "role": "User"}),
        ),
    ] {
        let reply = server.post(path, body).await;
        let location = reply
            .headers
            .get("location")
            .map(|place| place.to_str().unwrap().to_owned());
        let made = reply.created();
        let found = server.get(&location.unwrap()).await.ok();
        assert_eq!(
            (&found["id"], &found["key"]),
            (&made["id"], &made["key"]),
            "{path}"
        );
    }
    let document = json!({"title": "Located", "description": "Once."});
    server
        .post("/api/v1/steering-documents", document)
        .await
        .created();
    for (path, body) in [
        (
            "/api/v1/links",
            json!({"source": "EP-001", "target": "EP-002", "type": "relates_to"}),
        ),
        ("/api/v1/epics/EP-001/steering-documents/STD-001", json!(null)),
        ("/api/v1/tokens", json!({"name": "located"})),
        ("/api/v1/baselines", json!({"name": "located"})),
    ] {
        let reply = server.post(path, body).await;
        assert_eq!(
            reply.headers.get("location"),
            None,
            "{path} names what cannot be read"
        );
        reply.created();
    }
    let missing = server
        .post(
            "/api/v1/requirements",
            json!({"title": "No parent", "type": "Functional"}),
        )
        .await;
    assert_eq!(
        missing.body["error"]["fields"][0]["field"], "parent",
        "by the documented name: {}",
        missing.body
    );
}

async fn the_page_for_people_shows_its_own_address(server: &mut Server) {
    let page = server.get("/docs").await;
    let address = server.url.trim_start_matches("http://").to_owned();
    let text = page.body.as_str().unwrap();
    assert!(text.contains(&format!("http://{address}/api/v1/epics")) && !text.contains("127.0.0.1:8080"));
    let odd = server
        .send(
            "",
            reqwest::Method::GET,
            "/docs",
            None,
            &[("host", "a\"><script>")],
        )
        .await;
    assert!(!odd.body.to_string().contains("<script>"));
}

/// Lists of the installation that grow with it, and how to make one more row of each.
const GROWING: [(&str, &str, &str); 7] = [
    (
        "/api/v1/projects",
        "POST /api/v1/projects",
        r#"{"key": "page-N"}"#,
    ),
    (
        "/api/v1/users",
        "POST /api/v1/users",
        r#"{"username": "pageN", "role": "User", "password": "correct-horse-N"}"#,
    ),
    ("/api/v1/groups", "POST /api/v1/groups", r#"{"name": "groupN"}"#),
    (
        "/api/v1/projects/default/members",
        "PUT /api/v1/projects/default/members/pageN",
        r#"{"role": "reader"}"#,
    ),
    (
        "/api/v1/tokens",
        "POST /api/v1/tokens",
        r#"{"name": "page N", "scopes": ["read"]}"#,
    ),
    (
        "/api/v1/prompts",
        "POST /api/v1/prompts",
        r#"{"name": "page-N", "messages": [{"role": "user", "text": "N"}]}"#,
    ),
    (
        "/api/v1/baselines",
        "POST /api/v1/baselines",
        r#"{"name": "page N"}"#,
    ),
];

//= specs/spexus-http.md#answers
//= type=test
//# A list that can grow MUST come in pages, and the pages together MUST hold every row once.
async fn the_pages_of_a_short_list_hold_every_row_once(server: &mut Server) {
    server.seed().await;
    for (list, made_by, body) in GROWING {
        let (method, path) = made_by.split_once(' ').unwrap();
        for number in 1..=5 {
            let number = number.to_string();
            let body: Value = serde_json::from_str(&body.replace('N', &number)).unwrap();
            let path = path.replace('N', &number);
            let reply = match method {
                "PUT" => server.put(&path, body).await,
                _ => server.post(&path, body).await,
            };
            assert!(reply.status < 300, "{made_by}: {reply:?}");
        }
        let whole = server.get(&format!("{list}?limit=200")).await.ok();
        let rows: Vec<String> = whole["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        assert!(rows.len() >= 5 && whole.get("next_cursor").is_none(), "{whole}");
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("{list}?limit=2{cursor}")).await.ok();
            assert_eq!(page["total_count"], rows.len(), "{list}");
            let found = page["data"].as_array().unwrap();
            assert!((1..=2).contains(&found.len()), "{list}: {page}");
            paged.extend(found.iter().map(Value::to_string));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={}", next.replace(':', "%3A")),
                None => break,
            }
        }
        assert_eq!(paged, rows, "{list}");
        assert_eq!(paged.iter().collect::<BTreeSet<_>>().len(), rows.len(), "{list}");
        server.get(&format!("{list}?limit=0")).await.refused(400, 1021);
    }
}

/// Lists whose rows an administrator names once for the whole installation, or that are as long as a tree is deep.
const WHOLE: [&str; 3] = [
    "/api/v1/requirement-types",
    "/api/v1/link-types",
    "/api/v1/workflows",
];

#[test]
fn every_list_of_the_document_has_pages() {
    let document = spexus_http::openapi();
    let mut lists = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let operation = &methods["get"];
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
        let is_list = schema.as_str().is_some_and(|name| name.contains("/Page_"));
        if !is_list || WHOLE.contains(&path.as_str()) || path.ends_with("/path") {
            continue;
        }
        lists += 1;
        let names: Vec<&str> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert!(names.contains(&"limit"), "{path} has no pages: {names:?}");
    }
    assert!(lists >= 15, "only {lists} lists were found");
}
