//! Answers have a size: what does not fit says so, and how to get the rest.

use crate::harness::{Server, on_both};
use crate::mcp::Agent;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest description there is, two bytes a letter.
fn long_text() -> String {
    "я".repeat(50_000)
}

async fn story_with_requirements(server: &Server, many: usize, text: &str) {
    server.seed().await;
    for at in 0..many {
        let requirement = json!({
            "title": format!("Long {at}"), "description": text, "parent": "US-001", "type": "Functional",
        });
        server.post("/api/v1/requirements", requirement).await.created();
    }
}

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

on_both! {
    //= specs/spexus-http.md#description
    //= type=test
    //# An answer given before the body was read to its end MUST say that the connection closes.
    async fn a_refusal_before_the_body_says_that_the_connection_closes(server) {
        for (token, path, status) in [("mcp_pat_wrong", "/api/v1/epics", "401"), (server.token.as_str(), "/api/v1/nothing", "404")] {
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
    async fn a_list_is_not_taken_for_an_object_by_position(server) {
        for body in [json!(["arr", "Arr name"]), json!([])] {
            server.post("/api/v1/projects", body.clone()).await.refused(400, 1021);
            server.put("/api/v1/requirement-types/Data", body).await.refused(400, 1021);
        }
        assert_eq!(server.get("/api/v1/projects").await.ok()["total_count"], 1);
        let types = server.get("/api/v1/requirement-types").await.ok();
        assert!(!types.to_string().contains("\"description\":\"\""), "{types}");
    }

    //= specs/spexus-http.md#description
    //= type=test
    //# Every answer to something made that has an address MUST name it as `Location`.
    async fn what_was_made_is_found_where_the_answer_says(server) {
        server.seed().await;
        for (path, body) in [
            ("/api/v1/epics", json!({"title": "Located"})),
            ("/api/v1/user-stories/US-001/requirements", json!({"title": "Located", "type": "Functional"})),
            ("/api/v1/epics/EP-001/comments", json!({"content": "Located"})),
            ("/api/v1/projects", json!({"key": "located", "name": "Located"})),
            ("/api/v1/users", json!({"username": "located", "password": "long enough", "role": "User"})),
        ] {
            let reply = server.post(path, body).await;
            let location = reply.headers.get("location").map(|place| place.to_str().unwrap().to_owned());
            let made = reply.created();
            let found = server.get(&location.unwrap()).await.ok();
            assert_eq!((&found["id"], &found["key"]), (&made["id"], &made["key"]), "{path}");
        }
        let missing = server.post("/api/v1/requirements", json!({"title": "No parent", "type": "Functional"})).await;
        assert_eq!(missing.body["error"]["fields"][0]["field"], "parent", "by the documented name: {}", missing.body);
    }

    async fn the_page_for_people_shows_its_own_address(server) {
        let page = server.get("/docs").await;
        let address = server.url.trim_start_matches("http://").to_owned();
        let text = page.body.as_str().unwrap();
        assert!(text.contains(&format!("http://{address}/api/v1/epics")) && !text.contains("127.0.0.1:8080"));
        let odd = server.send("", reqwest::Method::GET, "/docs", None, &[("host", "a\"><script>")]).await;
        assert!(!odd.body.to_string().contains("<script>"));
    }

    //= specs/spexus-service.md#trees
    //= type=test
    //# A hierarchy that does not fit into one answer MUST say so, with the number of items in all and how to get the rest.
    async fn a_hierarchy_of_long_texts_is_cut_and_says_so(server) {
        story_with_requirements(server, 50, &long_text()).await;
        let tree = server.get("/api/v1/hierarchy/EP-001").await.ok();
        assert_eq!((&tree["total_count"], &tree["truncated"]), (&json!(54), &json!(true)));
        let shown = tree["shown_count"].as_i64().unwrap();
        assert!((20..54).contains(&shown), "{shown}");
        assert!(tree["rest"].as_str().unwrap().contains("under=EP-001"), "{}", tree["rest"]);
        assert!(tree.to_string().len() < 5_000_000);
        let whole = server.get("/api/v1/hierarchy/US-001?depth=0").await.ok();
        assert_eq!((&whole["total_count"], &whole["shown_count"], whole.get("rest")), (&json!(1), &json!(1), None));
        // An outline needs no texts and is not cut for them.
        let agent = Agent::connect(server).await;
        let outline = agent.call("epic_hierarchy", json!({ "epic": "EP-001" })).await;
        assert_eq!((&outline["total_count"], &outline["truncated"]), (&json!(54), &json!(false)));
        assert_eq!(outline["outline"].as_str().unwrap().lines().count(), 54);
    }

    //= specs/spexus-mcp.md#answers
    //= type=test
    //# A list MUST end before its answer exceeds the bytes an answer may have, and MUST then say that it was cut and how to go on.
    async fn a_full_list_of_long_texts_comes_in_answers_an_agent_can_read(server) {
        story_with_requirements(server, 12, &"x".repeat(20_000)).await;
        let agent = Agent::connect(server).await;
        let mut seen = BTreeSet::new();
        let mut cursor = Value::Null;
        loop {
            let mut wanted = json!({ "detail": "full", "limit": 200 });
            if cursor.is_string() {
                wanted["cursor"] = cursor;
            }
            let page = agent.call("list_requirements", wanted).await;
            assert!(page.to_string().len() <= 48_000, "{}", page.to_string().len());
            assert_eq!(page["total_count"], 13);
            for row in page["rows"].as_array().unwrap() {
                assert!(seen.insert(row["reference_id"].to_string()), "{row} twice");
            }
            cursor = page["next_cursor"].clone();
            assert_eq!(page["truncated"], cursor.is_string());
            if !cursor.is_string() {
                break;
            }
        }
        assert_eq!(seen.len(), 13);
    }
}
