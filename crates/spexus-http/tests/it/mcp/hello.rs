//! Saying hello.

use super::Agent;
use crate::harness::{Server, on_both};
use serde_json::json;

on_both! {
    // proves 000 R1.1
    // proves 000 R1.2
    // proves 000 R1.3
    // proves 000 R1.4
    // proves 000 R1.5
    // proves 000 R2.1
    // proves 000 R2.2
    // proves 000 R2.3
    // proves 000 R2.5
    async fn hello_tells_who_the_server_is_and_what_it_can_do(server) {
        let agent = Agent::with(server, &server.token, "2025-03-26", &[]).await;
        let hello = &agent.hello;
        assert_eq!((&hello["jsonrpc"], &hello["id"]), (&json!("2.0"), &json!("hello")));
        let result = &hello["result"];
        assert_eq!(result["protocolVersion"], "2025-03-26");
        let info = json!({
            "name": "spexus mcp",
            "title": "MCP server for requirements management system",
            "version": "1.0.0",
        });
        assert_eq!(result["serverInfo"], info);
        for family in ["prompts", "resources", "tools"] {
            assert_eq!(result["capabilities"][family]["listChanged"], true, "{family}");
        }
        assert_eq!(result["capabilities"]["resources"]["subscribe"], true);
        assert!(result["instructions"].is_string());
    }
}
