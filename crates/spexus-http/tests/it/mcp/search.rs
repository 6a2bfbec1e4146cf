//! Search by agents.

use super::Agent;
use crate::harness::{Server, on_both};
use serde_json::json;

on_both! {
    // proves 003 R7.3
    // proves 003 R7.4
    // proves 003 R7.5
    // proves 003 R7.8
    // proves 003 R7.9
    //= specs/spexus-mcp.md#tools
    //= type=test
    //# A search for nothing at all MUST be refused with the name of the argument.
    async fn words_and_filters_find_what_they_should(server) {
        server.seed().await;
        let agent = Agent::connect(server).await;
        let found = agent.call("search_global", json!({ "query": "passkey" })).await;
        assert_eq!(found["total_count"], 3, "{found}");
        let named = agent.call("search_global", json!({ "query": "REQ-1" })).await;
        assert!(named["rows"][0].as_str().unwrap().starts_with("REQ-001 [Draft] P3: Passkeys MUST work"), "{named}");
        let only = agent.call("search_global", json!({ "query": "passkey", "kinds": "user_story" })).await;
        assert_eq!(only["total_count"], 1);
        let targeted = agent.call("search_requirements", json!({ "status": "Draft", "type": "functional" })).await;
        assert_eq!(targeted["total_count"], 1);
        let none = agent.ask("tools/call", json!({ "name": "search_requirements", "arguments": { "query": "zebra" } })).await;
        assert_eq!(none["structuredContent"]["rows"], json!([]));
        assert_eq!(none["content"][0]["text"], "No matches found.");
        let empty = agent.fails("search_global", json!({ "query": "  " })).await;
        assert_eq!(empty["fields"][0]["field"], "query");
        let odd = agent.fails("search_requirements", json!({ "type": "Funktional" })).await;
        assert_eq!(odd["fields"][0]["field"], "type");
        // What a database would read as syntax is only words.
        agent.call("search_global", json!({ "query": "user's (login) & | ! \" *" })).await;
        let wrong = agent.fails("search_global", json!({ "query": "a", "cursor": "made up" })).await;
        assert_eq!(wrong["fields"][0]["field"], "cursor");
    }
}
