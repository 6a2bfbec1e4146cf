//! Answers as only the wire shows them: closed connections, places, pages.

use crate::harness::{Server, both};
use serde_json::json;
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
