//! The real `duvet mcp` as a host drives it: a child process, lines over its pipes.

mod changes;
mod client;
mod corpus;
mod criteria;
mod fresh;
mod resources;
mod roots;
mod tools;

use crate::scratch::Scratch;
use client::Client;
use serde_json::json;

const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"src/**/*.rs\"\n[[specification]]\nsource = \"specs/pot.md\"\n";

const SPECIFICATION: &str = "# Coffee\n\nHow pots behave.\n\n## Brewing\n\nA pot MUST brew. A pot SHOULD whistle.\n\n## Delivery\n\nA pot MUST pour.\n";

const CODE: &str = "fn brew() {\n    //= specs/pot.md#brewing\n    //# A pot MUST brew.\n    println!(\"brewing\");\n}\n//= specs/pot.md#delivery\n//= type=todo\n//# A pot MUST pour.\n//= specs/pot.md#nowhere\n//# A pot MUST fly.\n";

/// A project with a requirement that needs tests, one only planned, one not mentioned, and a broken citation.
fn project() -> Scratch {
    Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/pot.md", SPECIFICATION),
        ("src/main.rs", CODE),
        ("secret.txt", "secret"),
    ])
}

// proves 004 §2
// proves 004 §5
//= specs/duvet.md#mcp-server
//= type=test
//# The server MUST hand its guide to the model as instructions and as a prompt.
#[test]
fn the_server_introduces_itself_in_both_eras() {
    let scratch = project();
    let mut client = Client::silent(scratch.root(), &[]);
    let hello = client.initialize("2025-11-25");
    assert_eq!(hello["serverInfo"]["name"], "duvet");
    let guide = hello["instructions"].as_str().unwrap().to_owned();
    assert_eq!(guide, duvet::mcp::GUIDE);
    assert!(guide.starts_with("You are interacting with the Duvet MCP server"));
    let prompt = client.request("prompts/get", json!({ "name": "duvet" }));
    assert_eq!(prompt["messages"][0]["content"]["text"], guide.as_str());
    for capability in ["tools", "resources", "prompts", "completions"] {
        assert!(hello["capabilities"][capability].is_object(), "{hello}");
    }
    assert_eq!(hello["capabilities"]["resources"]["subscribe"], true);
    assert_eq!(client.leave(), Some(0));

    let mut client = Client::silent(scratch.root(), &[]);
    let found = client.stateless("server/discover", json!({}));
    assert_eq!(found["instructions"], guide.as_str());
    let answer = client.stateless(
        "tools/call",
        json!({ "name": "resolve_spec_id", "arguments": { "url": "specs/pot.md" } }),
    );
    assert_eq!(answer["structuredContent"], json!({ "spec_id": "specs-pot-md" }));
}

#[test]
fn a_prompt_brings_a_requirement_with_the_way_to_cite_it() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let id = client.requirement("brew");
    let arguments = json!({ "name": "implement_requirement", "arguments": { "req_identifier": id } });
    let prompt = client.request("prompts/get", arguments);
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(
        text.contains("A pot MUST brew.") && text.contains("src/main.rs:2"),
        "{text}"
    );
    let unknown = json!({ "name": "implement_requirement", "arguments": { "req_identifier": "zz" } });
    assert_eq!(client.refused("prompts/get", unknown), 1046);
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_stop_leaves_in_peace() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    assert_eq!(client.terminate(), Some(0));
}

#[test]
fn settings_follow_the_configuration_while_the_server_runs() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    assert_eq!(client.read("/requirements").as_array().unwrap().len(), 3);
    scratch.write("specs/cup.md", "# Cup\n\nA cup MUST hold.\n");
    scratch.write(
        ".duvet/config.toml",
        format!("{CONFIG}[[specification]]\nsource = \"specs/cup.md\"\n"),
    );
    assert_eq!(client.read("/requirements").as_array().unwrap().len(), 4);
    // What is extracted lies beside the configuration, as with the public tool; it is read where a pattern says so.
    let other = ["--config-path", "other.toml"];
    scratch.write(
        "other.toml",
        format!("{CONFIG}[[requirement]]\npattern = \"requirements/**/*.toml\"\n"),
    );
    let mut client = Client::with(scratch.root(), &other);
    assert_eq!(client.read("/requirements").as_array().unwrap().len(), 3);
}
