//! A whole story told by an agent, and nothing of the inside in any log line or answer.

use super::{Agent, hello};
use crate::harness::{ADMIN_PASSWORD, Server};
use crate::logs::recorded;
use serde_json::{Value, json};
use spexus_store::Location;

// proves 003 R13.3, 002 Req-Sec-003
//= specs/spexus-mcp.md#answers
//= type=test
//# No answer and no log line MUST hold a token, a path of the host or the text of a statement.
#[test]
fn nothing_of_the_inside_is_told() {
    let (log, (answers, secrets, folder)) = recorded(story());
    assert!(
        log.contains("method=\"tools/call\"") && log.contains("user=\"admin\""),
        "{log}"
    );
    for (place, text) in [("log", &log), ("answers", &answers)] {
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "a secret is in the {place}");
        }
        assert!(!text.contains(&folder), "a path is in the {place}: {text}");
        for word in ["SELECT ", "INSERT INTO", "sqlx", "sqlite", "panicked at", "src/"] {
            assert!(!text.contains(word), "{word} is in the {place}: {text}");
        }
    }
    assert!(
        !log.contains("Whispered"),
        "texts of people are not logged: {log}"
    );
}

/// Calls every tool with and without sense, reads, asks for prompts; gives all that was answered, the secrets, and where
/// the database is.
async fn story() -> (String, Vec<String>, String) {
    let server = Server::on_sqlite().await;
    server.seed().await;
    let token = server.user("ann", "User").await;
    let secrets = vec![ADMIN_PASSWORD.to_owned(), server.token.clone(), token.clone()];
    let Location::File(file) = &server.location else {
        panic!("not a file")
    };
    let folder = file.parent().unwrap().display().to_string();
    let agent = Agent::with(
        &server,
        &server.token,
        "2025-06-18",
        &[("x-spexus-toolsets", "all")],
    )
    .await;
    let mut answers = agent.hello.to_string();
    let list = agent.ask("tools/list", json!({})).await;
    for tool in list["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        for sense in [true, false] {
            let arguments = guess(&tool["inputSchema"], sense);
            let answer = agent
                .request("tools/call", json!({ "name": name, "arguments": arguments }))
                .await;
            answers.push_str(&answer.to_string());
        }
    }
    for uri in [
        "epic://EP-001",
        "epic://EP-001/hierarchy",
        "epic://\u{0}",
        "epics://list?status=x'y",
        "requirements://users",
    ] {
        answers.push_str(
            &agent
                .request("resources/read", json!({ "uri": uri }))
                .await
                .to_string(),
        );
    }
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        answers.push_str(&agent.request(method, json!({})).await.to_string());
    }
    let wrong = Agent::fresh(&server).with_token("mcp_pat_made_up");
    answers.push_str(&wrong.send(&hello("2025-06-18")).await.body.to_string());
    server.service.flush().await;
    server.stop().await;
    (answers, secrets, folder)
}

/// Arguments for a schema: what could be meant, or text where it does not belong.
fn guess(schema: &Value, sense: bool) -> Value {
    let mut arguments = json!({});
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let kind = schema["properties"][name]["type"].as_str().unwrap_or("string");
        arguments[name] = match (kind, sense) {
            ("string", true) if name.contains("story") => json!("US-001"),
            ("string", true) if name.contains("epic") => json!("EP-001"),
            ("string", true) => json!("REQ-001"),
            ("string", false) => json!("Whispered' OR 1=1; --"),
            ("array", true) => json!([{ "op": "update", "id": "EP-001", "title": "Whispered" }]),
            ("array", false) => json!([{ "op": "drop" }]),
            _ => json!(1),
        };
    }
    arguments
}
