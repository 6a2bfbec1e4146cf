//! The documentation is tried: its example for Claude Desktop starts a server that works, and its commands make tokens.

use crate::stdio::host::{Backend, Host};
use crate::world::World;
use serde_json::{Value, json};
use std::process::Command;

const CONNECT: &str = include_str!("../../../../docs/connect.md");
const GUIDE: &str = include_str!("../../../../docs/mcp.md");

/// The first fenced block behind a text, without its indentation.
fn block<'a>(document: &'a str, behind: &str, fence: &str) -> String {
    let at = document
        .find(behind)
        .unwrap_or_else(|| panic!("{behind} is missing"));
    let fence = format!("```{fence}");
    let start = document[at..]
        .find(&fence)
        .unwrap_or_else(|| panic!("no example behind {behind}"));
    let rest: &'a str = &document[at + start + fence.len()..];
    let text = &rest[..rest.find("```").unwrap()];
    text.lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
}

/// Starts what a host would start after reading its configuration, with the real program, address and token.
fn started(world: &World, config: &Value, url: &str, token: &str) -> Host {
    let servers = config["mcpServers"].as_object().unwrap();
    assert_eq!(servers.len(), 1, "{config}");
    let server = servers.values().next().unwrap();
    let program = server["command"].as_str().unwrap();
    assert!(program == "spexus" || program.ends_with("/spexus"), "{program}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
    command
        .env_clear()
        .env("HOME", world.path(""))
        .current_dir(world.path(""));
    command.args(
        server["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_str().unwrap()),
    );
    for (name, value) in server["env"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        let real = match value {
            address if address.starts_with("https://") => url,
            secret if secret.starts_with("mcp_pat_") => token,
            other => other,
        };
        command.env(name, real);
    }
    Host::start(command)
}

// proves 003 R17.1, 003 R14.1, 003 R14.2, 003 R14.7
#[test]
fn the_example_for_claude_desktop_starts_a_server_that_works() {
    let world = World::new();
    let backend = Backend::start(&world);
    let url = format!("http://127.0.0.1:{}", backend.port);
    for (document, behind) in [
        (CONNECT, "**Claude Desktop**"),
        (GUIDE, "claude_desktop_config.json"),
    ] {
        let example = block(document, behind, "json");
        let config: Value = serde_json::from_str(&example).unwrap_or_else(|why| panic!("{why}: {example}"));
        for variable in ["BACKEND_API_URL", "MCP_PAT_TOKEN"] {
            assert!(example.contains(variable), "{example}");
        }
        let mut host = started(&world, &config, &url, &backend.token);
        let hello = host.greet("2025-06-18");
        assert_eq!(hello["serverInfo"]["name"], "requirements-mcp-server");
        let made = host.tool("create_epic", json!({ "title": "As the example says" }));
        assert_eq!(made["result"]["isError"], false, "{made}");
        assert_eq!(host.end().code, Some(0));
        // The address and the token of the environment are what it works with, and nothing else.
        let mut without = started(
            &world,
            &config,
            &url,
            "mcp_pat_of_nobody_at_all_0000000000000000000000000",
        );
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {} });
        let refused = without.call("initialize", hello);
        assert_eq!(refused["error"]["data"]["refusal"]["code"], 1011, "{refused}");
    }
    let places = [
        "~/Library/Application Support/Claude/",
        "~/.config/Claude/",
        "%APPDATA%\\Claude\\",
    ];
    for place in places {
        assert!(
            CONNECT.contains(&format!("{place}claude_desktop_config.json")),
            "{place}"
        );
    }
}

/// Runs the commands of a block that begin so, as they are written.
fn run_all(world: &World, commands: &str, begin: &str) -> Vec<String> {
    let lines = commands.lines().filter(|line| line.starts_with(begin));
    let run = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        world.run(&words).ok()
    };
    lines.map(run).collect()
}

// proves 003 R17.2
#[test]
fn tokens_are_made_used_and_revoked_as_the_documentation_says() {
    let mut world = World::new();
    world
        .run_with_input(
            &["user", "create", "maria", "--role", "User", "--password-stdin"],
            "correct horse battery\n",
        )
        .ok();
    let commands = block(CONNECT, "## Tokens", "");
    let made = run_all(&world, &commands, "spexus token create");
    let [made] = made.as_slice() else {
        panic!("{commands}")
    };
    let secret = made.split_whitespace().find(|word| word.starts_with("mcp_pat_"));
    let secret = secret.unwrap_or_else(|| panic!("{made}"));
    assert!(run_all(&world, &commands, "spexus token list")[0].contains("laptop"));

    // The file of the example, with the token that was made.
    let backend = Backend::start(&world);
    let example = block(CONNECT, "## Configuration of the bridge", "json");
    let mut config: Value = serde_json::from_str(&example).unwrap();
    config["backend_api_url"] = json!(format!("http://127.0.0.1:{}", backend.port));
    config["pat_token"] = json!(secret);
    std::fs::create_dir_all(world.path(".requirements-mcp")).unwrap();
    world.file(".requirements-mcp/config.json", &config.to_string());
    let mut host = Host::start(crate::stdio::host::bare(&world));
    host.greet("2025-06-18");
    let listed = host.tool("list_epics", json!({}));
    assert_eq!(listed["result"]["isError"], false, "{listed}");

    // "A revoked token stops working with the next call, also in a running host."
    assert_eq!(run_all(&world, &commands, "spexus token revoke").len(), 1);
    // The server looks twenty times a second for what another process changed in a SQLite file.
    let mut refused = (0..1_000)
        .map(|_| host.tool("list_epics", json!({})))
        .filter(|answer| answer["error"].is_object());
    let mut first = refused.next().expect("the token stops working");
    // The call during which the session was ended is told just that; the next one is refused at the door.
    if first["error"]["data"]["refusal"]["code"] == 1016 {
        first = refused.next().expect("the token stops working");
    }
    let refusal = &first["error"]["data"]["refusal"];
    assert_eq!(refusal["code"], 1011, "{refusal}");
    world.database.clear();
    for told in [
        "works as its owner",
        "can be revoked",
        "`spexus mcp init` makes one",
        "POST /api/v1/tokens",
    ] {
        assert!(CONNECT.contains(told), "{told}");
    }
    assert!(GUIDE.contains("spexus token create --user maria"));
}
