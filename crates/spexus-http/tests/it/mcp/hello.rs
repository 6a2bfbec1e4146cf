//! Saying hello: who the server is, what it can do, what it tells agents.

use super::{Agent, hello};
use crate::harness::{Server, both};
use serde_json::{Value, json};
use spexus_http::HttpOptions;
use spexus_mcp::McpOptions;
use test_support::eventually;

/// Waits until all that happened so far was told: the server reads it for that.
pub(super) async fn told(server: &Server) {
    let is_told =
        || server.mcp.server().told_up_to() >> 20 == server.service.follow().borrow().unsigned_abs();
    eventually("everything is told", is_told).await;
}

/// The same, and somebody said hello since: what is kept of the first time is kept.
pub(super) async fn quiet(server: &Server) {
    told(server).await;
    Agent::connect(server).await.tools().await;
}

fn instructions(agent: &Agent) -> &str {
    agent.hello["result"]["instructions"].as_str().unwrap()
}

both![
    hello_tells_who_the_server_is_and_what_it_can_do,
    what_is_declared_works_and_what_is_not_does_not,
    instructions_are_the_active_prompt_and_a_guide,
    a_hello_that_makes_no_sense_is_refused_in_json_rpc,
    hello_and_the_list_of_tools_cost_no_query,
];

// proves 000 R1.1
// proves 000 R1.2
// proves 000 R1.3
// proves 000 R1.4
// proves 000 R1.5
// proves 000 R2.1
// proves 000 R2.2
// proves 000 R2.3
// proves 000 R2.5
// proves 000 R4.1
// proves 000 R4.2
// proves 000 R4.3
// proves 001 D1, 001 D2
// proves 001 D12: valid, response format
// proves 003 R3.1
// proves 003 R3.2
// proves 003 R3.3
// proves 003 R3.4
// proves 003 R11.4
// proves 003 R11.5
//= specs/spexus-mcp.md#saying-hello
//= type=test
//# The server MUST introduce itself with its configured name, title and version; by default `spexus mcp`, `MCP server for requirements management system` and the version of the product.
async fn hello_tells_who_the_server_is_and_what_it_can_do(server: &mut Server) {
    let agent = Agent::with(server, &server.token, "2025-03-26", &[]).await;
    let hello = &agent.hello;
    assert_eq!(
        (&hello["jsonrpc"], &hello["id"]),
        (&json!("2.0"), &json!("hello"))
    );
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
}

// proves 000 R4.4
// proves 000 R4.5
async fn what_is_declared_works_and_what_is_not_does_not(server: &mut Server) {
    server.seed().await;
    let agent = Agent::connect(server).await;
    let declared = agent.hello["result"]["capabilities"].as_object().unwrap().clone();
    let tries = [
        ("tools", "tools/list", json!({})),
        (
            "resources",
            "resources/subscribe",
            json!({ "uri": "epic://EP-001" }),
        ),
        ("prompts", "prompts/list", json!({})),
        ("logging", "logging/setLevel", json!({ "level": "info" })),
        (
            "completions",
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "epic://{id}" }, "argument": { "name": "id", "value": "EP" },
            }),
        ),
    ];
    for (family, method, params) in tries {
        assert!(declared.contains_key(family), "{family}");
        agent.ask(method, params).await;
    }
    // Every family outside of MCP that is declared is served, and none of those that are not.
    let families = declared["experimental"].as_object().unwrap();
    let outside = [
        ("batch/execute", "batch/execute", json!({ "operations": [] })),
        (
            "completion/text",
            "completion/complete",
            json!({ "text": "The system" }),
        ),
        ("elicitation/request", "elicitation/request", json!({})),
        ("sampling/request", "sampling/request", json!({})),
        ("prompts/create", "prompts/create", json!({})),
        ("roots", "roots/list", json!({})),
        ("apps", "apps/list", json!({})),
        ("teapots", "teapots/list", json!({})),
    ];
    for family in families.keys() {
        assert!(
            outside.iter().any(|(known, _, _)| known == family),
            "nothing is known of {family}"
        );
    }
    for (family, method, params) in outside {
        let answer = agent.request(method, params).await;
        let is_served = answer["error"]["code"] != -32601;
        assert_eq!(is_served, families.contains_key(family), "{family}: {answer}");
    }
    assert!(!families.contains_key("roots") && families.contains_key("prompts/create"));
}

// proves 000 R3.1
// proves 000 R3.2
// proves 001 D3
// proves 001 D12: instructions
//= specs/spexus-mcp.md#saying-hello
//= type=test
//# The instructions MUST begin with the active prompt as it is now; without one, or when it cannot be read, that part MUST be empty.
//= specs/spexus-mcp.md#saying-hello
//= type=test
//# The instructions MUST name the tools listed to the client, the forms of addresses and the prompts, as they are now.
async fn instructions_are_the_active_prompt_and_a_guide(server: &mut Server) {
    let shipped = server.get("/api/v1/prompts/active").await.ok();
    let agent = Agent::connect(server).await;
    assert!(instructions(&agent).starts_with(shipped["description"].as_str().unwrap()));
    for part in [
        "search_global",
        "apply_changes",
        "epic://{id}",
        "requirements://search",
        "decompose_epic",
    ] {
        assert!(instructions(&agent).contains(part), "{part}");
    }
    assert!(
        !instructions(&agent).contains("put_workflow"),
        "tools outside of the toolset are not named"
    );

    let input = json!({ "name": "reviewer", "description": "Be strict.", "messages": [{ "role": "user", "text": "Look twice." }] });
    server.post("/api/v1/prompts", input).await.created();
    server
        .post("/api/v1/prompts/reviewer/activate", json!({}))
        .await
        .ok();
    let next = Agent::connect(server).await;
    assert!(
        instructions(&next).starts_with("Be strict.\n\nLook twice.\n\n"),
        "never stale"
    );
    server.delete("/api/v1/prompts/reviewer").await.ok();
    let none = Agent::connect(server).await;
    assert!(
        instructions(&none).starts_with("# How to work"),
        "{}",
        instructions(&none)
    );
}

// proves 000 R2.4
// proves 001 D5
// proves 001 D6
// proves 001 D12: wrong version and malformed
// proves 003 R2.5
// proves 003 R2.7
// proves 003 R11.6
// proves 003 R11.7
async fn a_hello_that_makes_no_sense_is_refused_in_json_rpc(server: &mut Server) {
    let agent = Agent::connect(server).await;
    let fresh = Agent::fresh(server);
    let wrong = fresh.send(&hello("1999-01-01")).await.body;
    assert!(wrong.get("result").is_none());
    assert_eq!(wrong["error"]["code"], -32602);
    let data = &wrong["error"]["data"];
    assert_eq!(
        (&data["code"], &data["received_version"]),
        (&json!("INVALID_PROTOCOL_VERSION"), &json!("1999-01-01"))
    );
    let message = wrong["error"]["message"].as_str().unwrap();
    assert!(message.contains("1999-01-01"), "{message}");
    assert!(
        data["supported_versions"]
            .as_array()
            .unwrap()
            .contains(&json!("2025-06-18"))
    );

    let mut nameless = hello("2025-06-18");
    nameless["params"]
        .as_object_mut()
        .unwrap()
        .remove("protocolVersion");
    let refused = fresh.send(&nameless).await.body;
    assert_eq!(refused["error"]["code"], -32602);
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("protocolVersion"),
        "{refused}"
    );

    let odd = fresh.send(&json!({ "id": 1, "method": "initialize" })).await;
    assert_eq!((odd.status, &odd.body["error"]["code"]), (400, &json!(-32600)));
    assert_eq!(odd.body["error"]["data"]["code"], "MALFORMED_REQUEST");
    assert_eq!(agent.refused("no/such", json!({})).await["code"], -32601);
}

// proves 001 D7
//= specs/spexus-mcp.md#saying-hello
//= type=test
//# After the first time, saying hello and listing tools MUST NOT read from the database.
async fn hello_and_the_list_of_tools_cost_no_query(server: &mut Server) {
    quiet(server).await;
    let before = server.service.store().reads();
    for _ in 0..5 {
        Agent::connect(server).await.tools().await;
    }
    assert_eq!(server.service.store().reads(), before);
}

// proves 003 R3.5
#[tokio::test]
async fn names_can_be_configured_and_the_guide_left_out() {
    let options = McpOptions {
        name: "requirements-mcp-server".to_owned(),
        title: "Ours".to_owned(),
        version: "2.1.0".to_owned(),
        guide: false,
        ..McpOptions::default()
    };
    let server = Server::with(options).await;
    let active = server.get("/api/v1/prompts/active").await.ok();
    let path = format!("/api/v1/prompts/{}", active["reference_id"].as_str().unwrap());
    server.delete(&path).await.ok();
    let agent = Agent::connect(&server).await;
    let info = json!({ "name": "requirements-mcp-server", "title": "Ours", "version": "2.1.0" });
    assert_eq!(agent.hello["result"]["serverInfo"], info);
    assert_eq!(agent.hello["result"]["instructions"], Value::from(""));
    server.stop().await;
}

// proves 001 D9
#[tokio::test]
async fn hellos_are_limited_like_everything_else() {
    let options = HttpOptions {
        max_requests_per_minute: 5,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    let agent = Agent::fresh(&server);
    let mut last = agent.send(&hello("2025-06-18")).await;
    for _ in 0..10 {
        last = agent.send(&hello("2025-06-18")).await;
    }
    assert_eq!(last.status, 429);
    assert_eq!(last.body["error"]["data"]["refusal"]["code"], 1056);
    assert!(last.headers.contains_key("retry-after"));
    server.stop().await;
}
