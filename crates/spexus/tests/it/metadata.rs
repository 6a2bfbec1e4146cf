//! What the server calls itself and which versions it offers come from the file and the environment, wherever it serves.

use crate::serving::Server;
use crate::stdio::host::Host;
use crate::world::World;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const FILE: &str = "\
[mcp]
name = \"acme requirements\"
title = \"Requirements of Acme\"
version = \"7.1.0\"
protocol_versions = [\"2025-03-26\", \"2025-06-18\"]
";

fn hello(version: &str) -> Value {
    let client = json!({ "name": "exam", "version": "1" });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": version, "capabilities": {}, "clientInfo": client } })
}

/// The answer of the endpoint to a message.
fn post(server: &Server, token: &str, message: &Value) -> Value {
    let body = message.to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "POST /api/v1/mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        server.address(),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|why| panic!("{why}: {answer}"))
}

/// What somebody says who says hello, to the endpoint and to the system in a process of its own.
fn said(world: &World, variables: &[(&str, &str)], version: &str) -> [Value; 2] {
    let file = world.file("c.toml", FILE);
    let command = |arguments: &[&str]| {
        let mut command = world.command(&[arguments, &["--config", &file]].concat());
        command.envs(variables.iter().copied());
        command
    };
    let server = Server::start(command(&["serve", "--listen", "127.0.0.1:0"]));
    let made = world.json(&[
        "token",
        "create",
        "--user",
        "admin",
        "--name",
        &format!("t{}", uuid()),
    ]);
    let over_http = post(&server, made["token"].as_str().unwrap(), &hello(version));
    let mut host = Host::start(command(&["mcp"]));
    let params = hello(version)["params"].clone();
    let over_stdio = host.call("initialize", params);
    [over_http, over_stdio]
}

fn uuid() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_nanos()
}

// proves 001 D4, 001 D12
//= specs/spexus-mcp.md#saying-hello
//= type=test
//# Name, title, version and the offered versions of the protocol MUST be taken from the file or the environment.
#[test]
fn name_title_version_and_offered_versions_are_configured() {
    for world in World::both() {
        for said in said(&world, &[], "2025-06-18") {
            let info =
                json!({ "name": "acme requirements", "title": "Requirements of Acme", "version": "7.1.0" });
            assert_eq!(said["result"]["serverInfo"], info, "{said}");
            assert_eq!(said["result"]["protocolVersion"], "2025-06-18");
        }
        let variables = [
            ("SPEXUS_MCP_NAME", "from the environment"),
            ("SPEXUS_MCP_VERSION", "8.0.0-rc.1"),
            ("SPEXUS_MCP_PROTOCOL_VERSIONS", "2025-11-25"),
        ];
        for said in said(&world, &variables, "2025-11-25") {
            let info = json!({ "name": "from the environment", "title": "Requirements of Acme", "version": "8.0.0-rc.1" });
            assert_eq!(said["result"]["serverInfo"], info, "the environment wins: {said}");
            assert_eq!(said["result"]["protocolVersion"], "2025-11-25");
        }
        for said in said(&world, &[], "2025-11-25") {
            let data = &said["error"]["data"];
            assert_eq!(data["code"], "INVALID_PROTOCOL_VERSION", "{said}");
            assert_eq!(
                data["supported_versions"],
                json!(["2025-03-26", "2025-06-18"]),
                "{said}"
            );
        }
    }
}

#[test]
fn metadata_that_makes_no_sense_is_refused_at_the_start() {
    let world = World::empty();
    for (variable, value, allowed) in [
        ("SPEXUS_MCP_VERSION", "seven", "semantic version"),
        ("SPEXUS_MCP_PROTOCOL_VERSIONS", "1999-01-01", "2025-06-18"),
        ("SPEXUS_MCP_NAME", "", "1 to 100 characters"),
    ] {
        let output = world.command(&["serve"]).env(variable, value).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{told}");
        assert!(told.contains(variable) && told.contains(allowed), "{told}");
    }
}

// proves 003 R15.9
//= specs/spexus.md#serving
//= type=test
//# `/metrics` MUST tell how much memory the process holds and how many requests of agents run.
#[test]
fn a_process_that_grows_can_be_seen_among_the_metrics() {
    let world = World::new();
    let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
    let made = world.json(&["token", "create", "--user", "admin", "--name", "metrics"]);
    let metrics = server.get("/metrics", made["token"].as_str().unwrap());
    let value = |name: &str| -> f64 {
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} in {metrics}"))
            .trim()
            .parse()
            .unwrap()
    };
    // A server of any use holds more than a megabyte, and less than all there is.
    assert!(
        (1e6..1e10).contains(&value("process_resident_memory_bytes")),
        "{metrics}"
    );
    assert!(value("spexus_mcp_in_flight") >= 0.0 && value("spexus_mcp_sessions") >= 0.0);
    assert_eq!(server.stop().0, Some(0));
}

// proves 003 R15.9
//= specs/spexus-bridge.md#logs
//= type=test
//# The system in the process MUST log from time to time, and when it ends, how much memory it holds and how many requests run.
#[test]
fn the_system_in_the_process_logs_how_much_memory_it_holds() {
    let world = World::new();
    let mut command = world.command(&["mcp"]);
    command.env("LOG_LEVEL", "info");
    let mut host = Host::start(command);
    host.greet("2025-06-18");
    let ended = host.end();
    let vitals = ended.log.lines().find(|line| line.contains("vitals"));
    let vitals = vitals.unwrap_or_else(|| panic!("{}", ended.log));
    let held = vitals
        .split("resident_kb=")
        .nth(1)
        .unwrap_or_else(|| panic!("{vitals}"));
    let held: u64 = held.split_whitespace().next().unwrap().parse().unwrap();
    assert!(held > 1_000, "{vitals}");
    assert!(vitals.contains("in_flight="), "{vitals}");
}
