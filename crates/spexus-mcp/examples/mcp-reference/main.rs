//! Prints `docs/mcp-reference.md`: every address, tool and prompt, and for each tool a call that was really made and the
//! answer that really came, on a fresh database with a clock that stands still. `cargo xtask gen` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a chore: what goes wrong ends it, and what it makes is printed"
)]

mod agent;
mod story;

use agent::Agent;
use serde_json::{Value, json};
use spexus_mcp::{Toolset, reference};
use std::collections::BTreeMap;
use std::fmt::Write;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut agent = Agent::connect().await;
    let listed = agent.ask("tools/list", json!({})).await;
    let schemas: BTreeMap<String, Value> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone()))
        .collect();
    let mut calls: BTreeMap<&str, (Value, Value)> = BTreeMap::new();
    // First of all, while exactly one thing has happened.
    agent.flush().await;
    let mut story = vec![("list_audit_events", json!({ "limit": 1 }))];
    for round in 0..2 {
        for (tool, arguments) in std::mem::take(&mut story) {
            let params = json!({ "name": tool, "arguments": arguments });
            let mut result = agent.ask("tools/call", params).await;
            assert_eq!(result["isError"], false, "{tool}: {result}");
            // Where the next page begins is different on every run.
            if let Some(cursor) = result["structuredContent"].get_mut("next_cursor") {
                *cursor = json!("…");
            }
            calls.entry(tool).or_insert((arguments, result));
        }
        if round == 0 {
            story = story::calls(&mut agent).await;
        }
    }
    let mut text = String::from(
        "# MCP reference\n\nWritten by `cargo xtask gen` from the tables that serve it. The guide is [mcp.md](mcp.md).\n\n",
    );
    addresses(&mut text);
    tools(&mut text, &schemas, &calls);
    prompts(&mut text);
    print!("{}", agent::plain(&text));
}

fn addresses(text: &mut String) {
    text.push_str("## Resource addresses\n\nAn `id` is a reference id such as `EP-001` or a UUID.\n\n| address | what stands there |\n|---|---|\n");
    for entry in reference::addresses() {
        let _ = writeln!(text, "| `{}` | {} |", entry.address, entry.description);
    }
}

fn tools(text: &mut String, schemas: &BTreeMap<String, Value>, calls: &BTreeMap<&str, (Value, Value)>) {
    for (set, words) in [
        (Toolset::Core, "listed unless another toolset is chosen"),
        (
            Toolset::Agent,
            "listed with the toolset `agent` or `all`, beside `get_context`, `search_global` and `apply_changes`",
        ),
        (
            Toolset::Author,
            "listed beside the core with the toolset `author` or `all`",
        ),
        (
            Toolset::Admin,
            "listed beside the core with the toolset `admin` or `all`",
        ),
    ] {
        let _ = writeln!(text, "\n## Tools: {}\n\nThese are {words}.", set.name());
        for entry in reference::tools().iter().filter(|entry| entry.toolset == set) {
            tool(text, &schemas[entry.name], calls.get(entry.name));
        }
    }
}

fn tool(text: &mut String, schema: &Value, call: Option<&(Value, Value)>) {
    let name = schema["name"].as_str().unwrap();
    let hints = &schema["annotations"];
    let effect = match (hints["readOnlyHint"] == true, hints["destructiveHint"] == true) {
        (true, _) => "Reads only.",
        (false, true) => "Writes, and may remove something.",
        (false, false) => "Writes.",
    };
    let _ = writeln!(
        text,
        "\n### {name}\n\n{} {effect}\n",
        schema["description"].as_str().unwrap()
    );
    let _ = writeln!(text, "Input: `{}`\n", agent::sorted(&schema["inputSchema"]));
    let _ = writeln!(text, "Output: `{}`", agent::sorted(&schema["outputSchema"]));
    let (arguments, result) = call.unwrap_or_else(|| panic!("no example for {name}"));
    let _ = writeln!(
        text,
        "\n```json\n{}\n```\n",
        agent::sorted(&json!({ "arguments": arguments, "name": name }))
    );
    let words = result["content"][0]["text"].as_str().unwrap();
    let payload = agent::excerpt(
        &serde_json::to_string_pretty(&agent::sorted(&result["structuredContent"])).unwrap(),
        40,
    );
    let _ = writeln!(text, "> {words}\n\n```json\n{payload}\n```");
}

fn prompts(text: &mut String) {
    text.push_str("\n## Prompts\n\nEach brings its context along: the item, what contains it, its siblings, what it contains, its links and the steering documents its epic follows.\n");
    for prompt in reference::prompts() {
        let _ = writeln!(
            text,
            "\n### {}\n\n{}\n\n*When:* {}\n",
            prompt.name, prompt.description, prompt.scenario
        );
        let mut arguments = json!({});
        for (name, meaning, required) in prompt.arguments {
            let need = if required { "required" } else { "optional" };
            let _ = writeln!(text, "- `{name}` ({need}): {meaning}");
            let example = match name {
                "requirement_id" | "id" => "REQ-001",
                "user_story_id" => "US-001",
                "epic_id" => "EP-001",
                "need" => "sign in without a phone",
                _ => continue,
            };
            arguments[name] = json!(example);
        }
        let _ = writeln!(
            text,
            "\n```json\n{}\n```",
            agent::sorted(&json!({ "arguments": arguments, "name": prompt.name }))
        );
    }
}
