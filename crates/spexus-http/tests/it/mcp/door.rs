//! The door: tokens, rights and what is no message.

use super::Agent;
use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::json;

on_both! {
    // proves 003 R9.1
    // proves 003 R9.2
    // proves 003 R9.3
    // proves 003 R9.4
    // proves 003 R9.5
    //= specs/spexus-mcp.md#endpoint
    //= type=test
    //# The endpoint MUST be served at `/api/v1/mcp` and at `/mcp`.
    //= specs/spexus-mcp.md#endpoint
    //= type=test
    //# A request without a valid token MUST be answered 401 with a JSON-RPC error and `WWW-Authenticate`.
    async fn only_a_valid_token_opens_the_endpoint(server) {
        server.seed().await;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        for path in ["/api/v1/mcp", "/mcp"] {
            for (token, code) in [("", 1015), ("mcp_pat_wrong", 1011), ("nonsense", 1011)] {
                let reply = server.send(token, Method::POST, path, Some(ping.clone()), &[]).await;
                assert_eq!(reply.status, 401, "{path} {token}");
                assert_eq!(reply.headers["www-authenticate"], "Bearer realm=\"spexus\"");
                assert_eq!(reply.body["jsonrpc"], "2.0");
                assert_eq!(reply.body["error"]["data"]["refusal"]["code"], code, "{}", reply.body);
            }
        }
        let token = server.user("ann", "User").await;
        let ann = Agent::with(server, &token, "2025-06-18", &[]).await;
        let read = ann.call("get_item", json!({ "id": "REQ-1" })).await;
        assert_eq!(read["item"]["reference_id"], "REQ-001");
        assert_eq!(ann.read("requirement://REQ-001").await["title"], "Passkeys MUST work");
        ann.call("create_epic", json!({ "title": "Made by Ann" })).await;
        let made = server.get("/api/v1/epics/EP-002").await.ok();
        assert_eq!(made["creator"], "ann");
    }
}
