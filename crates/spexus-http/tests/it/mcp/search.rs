//! Search by agents.

use super::Agent;
use crate::harness::{Server, both};
use serde_json::{Value, json};

both![
    the_tool_and_rest_find_the_same_in_the_same_order,
    words_and_filters_find_what_they_should,
];

// proves 003 R7.3
//= specs/spexus-mcp.md#tools
//= type=test
//# A search by a tool and the same search by REST MUST find the same things in the same order.
async fn the_tool_and_rest_find_the_same_in_the_same_order(server: &mut Server) {
    server.seed().await;
    for n in 0..12 {
        let title = format!("Passkeys on device {n}");
        server
            .post("/api/v1/epics", json!({ "title": title, "priority": 1 + n % 4 }))
            .await
            .created();
    }
    let agent = Agent::connect(server).await;
    server
        .post(
            "/api/v1/requirements/REQ-001/comments",
            json!({ "content": "Which passkey?" }),
        )
        .await
        .created();
    let of_hit = |hit: &Value| {
        let (id, title) = (
            hit["reference_id"].as_str().unwrap(),
            hit["title"].as_str().unwrap(),
        );
        (id.to_owned(), title.to_owned(), hit.get("comment_id").is_some())
    };
    for (query, kinds, limit) in [
        ("passkey", "", 50),
        ("passkey", "epic", 50),
        ("passkey", "", 5),
        ("device 7", "", 50),
        ("REQ-1", "", 50),
        ("paskey", "", 50),
        ("zebra", "", 50),
        ("sign in", "user_story", 50),
    ] {
        let mut path = format!("/api/v1/search?query={}&limit={limit}", query.replace(' ', "%20"));
        let mut arguments = json!({ "query": query, "limit": limit });
        if !kinds.is_empty() {
            path.push_str(&format!("&kinds={kinds}"));
            arguments["kinds"] = json!(kinds);
        }
        let rest = server.get(&path).await.ok();
        let tool = agent.call("search_global", arguments).await;
        let by_rest: Vec<_> = rest["data"].as_array().unwrap().iter().map(of_hit).collect();
        let rows = tool["rows"].as_array().unwrap();
        assert_eq!(rows.len(), by_rest.len(), "{query} {kinds} {limit}: {tool}");
        for (row, (id, title, in_comment)) in rows.iter().zip(&by_rest) {
            let row = row.as_str().unwrap();
            let begins = row.split([' ', ':']).next() == Some(id.as_str());
            assert!(begins && row.contains(title.as_str()), "{row} is {id} {title}");
            assert_eq!(row.contains("in a comment"), *in_comment, "{row}");
        }
        assert_eq!(
            tool["total_count"], rest["total_count"],
            "{query} {kinds} {limit}"
        );
    }
}

// proves 003 R7.4
// proves 003 R7.5
// proves 003 R7.8
// proves 003 R7.9
//= specs/spexus-mcp.md#tools
//= type=test
//# A search for nothing at all MUST be refused with the name of the argument.
async fn words_and_filters_find_what_they_should(server: &mut Server) {
    server.seed().await;
    let agent = Agent::connect(server).await;
    let found = agent.call("search_global", json!({ "query": "passkey" })).await;
    assert_eq!(found["total_count"], 3, "{found}");
    let named = agent.call("search_global", json!({ "query": "REQ-1" })).await;
    assert!(
        named["rows"][0]
            .as_str()
            .unwrap()
            .starts_with("REQ-001 [Draft] P3: Passkeys MUST work"),
        "{named}"
    );
    let only = agent
        .call(
            "search_global",
            json!({ "query": "passkey", "kinds": "user_story" }),
        )
        .await;
    assert_eq!(only["total_count"], 1);
    let targeted = agent
        .call(
            "search_requirements",
            json!({ "status": "Draft", "type": "functional" }),
        )
        .await;
    assert_eq!(targeted["total_count"], 1);
    let none = agent
        .ask(
            "tools/call",
            json!({ "name": "search_requirements", "arguments": { "query": "zebra" } }),
        )
        .await;
    assert_eq!(none["structuredContent"]["rows"], json!([]));
    assert_eq!(none["content"][0]["text"], "No matches found.");
    let empty = agent.fails("search_global", json!({ "query": "  " })).await;
    assert_eq!(empty["fields"][0]["field"], "query");
    let odd = agent
        .fails("search_requirements", json!({ "type": "Funktional" }))
        .await;
    assert_eq!(odd["fields"][0]["field"], "type");
    // What a database would read as syntax is only words.
    agent
        .call("search_global", json!({ "query": "user's (login) & | ! \" *" }))
        .await;
    let wrong = agent
        .fails("search_global", json!({ "query": "a", "cursor": "made up" }))
        .await;
    assert_eq!(wrong["fields"][0]["field"], "cursor");
}
