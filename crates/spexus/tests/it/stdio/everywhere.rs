//! The same conversation four times: bridge and embedded, SQLite and PostgreSQL. Each place has its own database with
//! one small tree in it.

use super::host::{Backend, Host};
use crate::world::World;
use serde_json::{Value, json};

/// One way to run the stdio server.
pub(super) struct Place {
    /// Mode and engine, for whoever reads a failure.
    pub(super) name: String,
    pub(super) world: World,
    pub(super) host: Host,
    /// Must outlive its bridge; there is none in embedded mode.
    pub(super) backend: Option<Backend>,
}

impl Place {
    /// A result.
    pub(super) fn asks(&mut self, method: &str, params: Value) -> Value {
        let answer = self.host.call(method, params);
        assert!(
            answer["result"].is_object() && answer["result"]["isError"] != true,
            "{}: {method}: {answer}",
            self.name
        );
        answer["result"].clone()
    }

    /// What a tool answered, as data.
    pub(super) fn calls(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.asks("tools/call", json!({ "name": tool, "arguments": arguments }));
        result["structuredContent"].clone()
    }

    /// A JSON-RPC error.
    pub(super) fn refuses(&mut self, method: &str, params: Value) -> Value {
        let answer = self.host.call(method, params);
        assert!(answer["error"].is_object(), "{}: {method}: {answer}", self.name);
        answer["error"].clone()
    }

    /// Why a tool that ran said no.
    pub(super) fn fails(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.host.tool(tool, arguments);
        assert_eq!(
            answer["result"]["isError"], true,
            "{}: {tool}: {answer}",
            self.name
        );
        answer["result"]["structuredContent"]["error"].clone()
    }

    /// The content of a resource.
    pub(super) fn reads(&mut self, uri: &str) -> Value {
        let result = self.asks("resources/read", json!({ "uri": uri }));
        let contents = &result["contents"][0];
        assert_eq!(contents["mimeType"], "application/json", "{}: {uri}", self.name);
        let text = contents["text"].as_str().unwrap();
        serde_json::from_str(text).unwrap()
    }
}

/// Runs a conversation in every place; the handshake is done.
pub(super) fn everywhere(talk: impl Fn(&mut Place)) {
    for (engine, make) in [
        ("SQLite", (|| Some(World::new())) as fn() -> Option<World>),
        ("PostgreSQL", World::postgres),
    ] {
        for mode in ["bridge", "embedded"] {
            let Some(world) = make() else { continue };
            seed(&world);
            let backend = (mode == "bridge").then(|| Backend::start(&world));
            let mut host = match &backend {
                Some(backend) => backend.bridge(&world),
                None => Host::start(world.command(&["mcp", "--scope", "admin"])),
            };
            host.greet("2025-06-18");
            let name = format!("{mode} on {engine}");
            let mut place = Place {
                name,
                world,
                host,
                backend,
            };
            talk(&mut place);
            assert_eq!(place.host.end().code, Some(0), "{}", place.name);
        }
    }
}

/// An epic with a story, a criterion and a requirement.
fn seed(world: &World) {
    let operations = json!([
        { "op": "create", "kind": "epic", "title": "Sign in", "priority": 1, "ref": "e" },
        { "op": "create", "kind": "user_story", "epic_id": "@e", "title": "With a passkey", "ref": "s" },
        { "op": "create", "kind": "acceptance_criterion", "user_story_id": "@s", "description": "It opens within a second.", "ref": "c" },
        { "op": "create", "kind": "requirement", "user_story_id": "@s", "title": "Passkeys MUST work", "type": "Functional",
          "acceptance_criterion": "@c" },
    ]);
    let file = world.file("seed.json", &json!({ "operations": operations }).to_string());
    world.run(&["batch", &file]).ok();
}
