//! Every message the stdio server can get is handled, in both ways to run it; and what a bridge says to its backend.

use super::everywhere::everywhere;
use super::host::{Backend, Host, bare};
use crate::world::World;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A method, parameters that make sense, and what only its handler answers: a member of the result, or an error that is
/// not "no such method".
fn handled() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let id = json!({ "taskId": "nobody's" });
    vec![
        ("ping", json!({}), Some("")),
        ("requests/cancel", json!({ "requestId": "nobody's" }), Some("")),
        ("tools/list", json!({}), Some("tools")),
        (
            "tools/call",
            json!({ "name": "list_epics", "arguments": {} }),
            Some("content"),
        ),
        ("resources/list", json!({}), Some("resources")),
        ("resources/templates/list", json!({}), Some("resourceTemplates")),
        (
            "resources/read",
            json!({ "uri": "epic://EP-001" }),
            Some("contents"),
        ),
        ("resources/subscribe", json!({ "uri": "epic://EP-001" }), Some("")),
        (
            "resources/unsubscribe",
            json!({ "uri": "epic://EP-001" }),
            Some(""),
        ),
        ("prompts/list", json!({}), Some("prompts")),
        (
            "prompts/get",
            json!({ "name": "decompose_epic", "arguments": { "epic_id": "EP-001" } }),
            Some("messages"),
        ),
        (
            "prompts/create",
            json!({ "name": "handled", "template": "Hello" }),
            Some(""),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": "epic://{id}" }, "argument": { "name": "id", "value": "EP" } }),
            Some("completion"),
        ),
        ("logging/setLevel", json!({ "level": "info" }), Some("")),
        ("tasks/get", id.clone(), None),
        ("tasks/result", id.clone(), None),
        ("tasks/list", json!({}), Some("tasks")),
        ("tasks/cancel", id, None),
        ("initialize", json!({ "protocolVersion": "2025-06-18" }), None),
        ("server/discover", stateless(json!({})), Some("supportedVersions")),
        ("subscriptions/listen", stateless(json!({})), None),
        (
            "tasks/update",
            stateless(json!({ "taskId": "nobody's", "inputResponses": {} })),
            None,
        ),
        // The last one, because the process ends with it.
        ("shutdown", json!({}), Some("")),
    ]
}

fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

// proves 003 R16.1
#[test]
fn every_method_has_a_handler_in_both_modes() {
    let known: Vec<&str> = handled().iter().map(|(method, _, _)| *method).collect();
    for method in mcp_protocol::method_names() {
        assert!(known.contains(&method), "{method} has no row here");
    }
    everywhere(|place| {
        for (method, params, member) in handled() {
            let answer = place.host.call(method, params);
            let name = &place.name;
            match member {
                Some("") => assert!(answer["result"].is_object(), "{name}: {method}: {answer}"),
                Some(member) => assert!(
                    answer["result"].get(member).is_some(),
                    "{name}: {method}: {answer}"
                ),
                None => {
                    let code = &answer["error"]["code"];
                    assert!(code.is_i64() && *code != -32601, "{name}: {method}: {answer}");
                }
            }
        }
    });
}

/// Passes everything on and keeps what the client said.
fn overhearing(port: u16) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = heard.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (back, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let keep = keep.clone();
            std::thread::spawn(move || pass(client, server, Some(&keep)));
            std::thread::spawn(move || pass(back, to_client, None));
        }
    });
    (here, heard)
}

fn pass(mut from: TcpStream, mut to: TcpStream, keep: Option<&Mutex<Vec<u8>>>) {
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(keep) = keep {
            keep.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
        if to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

// proves 003 R4.5
#[test]
fn a_read_is_a_post_to_the_endpoint_with_the_token() {
    let world = World::new();
    world.json(&["item", "create", "epic", "--title", "Read me"]);
    let backend = Backend::start(&world);
    let (port, heard) = overhearing(backend.port);
    let mut command = bare(&world);
    command
        .env("BACKEND_API_URL", format!("http://127.0.0.1:{port}"))
        .env("MCP_PAT_TOKEN", &backend.token);
    let mut host = Host::start(command);
    host.greet("2025-06-18");
    let read = host.call("resources/read", json!({ "uri": "epic://EP-001" }));
    assert!(
        read["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Read me"),
        "{read}"
    );
    host.end();
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    let (before, _) = heard
        .split_once("\"resources/read\"")
        .unwrap_or_else(|| panic!("{heard}"));
    let request = &before[before.rfind("POST ").unwrap_or_else(|| panic!("{heard}"))..];
    assert!(request.starts_with("POST /api/v1/mcp HTTP/1.1\r\n"), "{request}");
    let bearer = format!("authorization: bearer {}", backend.token.to_lowercase());
    assert!(request.to_lowercase().contains(&bearer), "{request}");
    for line in heard.lines().filter(|line| line.ends_with("HTTP/1.1")) {
        assert_eq!(
            line.rsplit(' ').nth(1),
            Some("/api/v1/mcp"),
            "nothing else is asked: {line}"
        );
    }
}
