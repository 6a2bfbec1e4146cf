//! A host, and the server it talks to.

use crate::serving::Server;
use crate::world::World;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::process::Command;
use test_support::mcp::{EndedProcess, McpProcess};

/// A process on pipes; killed when a test fails.
pub(crate) struct Host(McpProcess);

impl Deref for Host {
    type Target = McpProcess;

    fn deref(&self) -> &McpProcess {
        &self.0
    }
}

impl DerefMut for Host {
    fn deref_mut(&mut self) -> &mut McpProcess {
        &mut self.0
    }
}

/// The backend of a bridge.
pub(crate) struct Backend {
    pub(crate) server: Server,
    pub(crate) token: String,
    pub(crate) port: u16,
}

impl Backend {
    pub(crate) fn start(world: &World) -> Self {
        let made = world.json(&[
            "token", "create", "--user", "admin", "--name", "host", "--scope", "admin",
        ]);
        let port = free_port();
        Self {
            server: serve(world, port),
            token: made["token"].as_str().unwrap().to_owned(),
            port,
        }
    }

    /// A bridge to it.
    pub(crate) fn bridge(&self, world: &World) -> Host {
        let mut command = bare(world);
        command
            .env("BACKEND_API_URL", format!("http://127.0.0.1:{}", self.port))
            .env("MCP_PAT_TOKEN", &self.token);
        Host::start(command)
    }
}

pub(crate) fn serve(world: &World, port: u16) -> Server {
    let listen = format!("127.0.0.1:{port}");
    Server::start(world.command(&[
        "serve",
        "--listen",
        &listen,
        "--http-max-requests-per-minute",
        "1000000",
    ]))
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// The stdio server without a database of its own.
pub(crate) fn bare(world: &World) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spexus"));
    command
        .env_clear()
        .env("HOME", world.path(""))
        .current_dir(world.path(""))
        .arg("mcp");
    command
}

/// Both ways to run the stdio server on a world's database. The backend must outlive its bridge.
pub(crate) fn both_modes(world: &World) -> Vec<(&'static str, Host, Option<Backend>)> {
    let backend = Backend::start(world);
    let bridge = backend.bridge(world);
    vec![
        ("bridge", bridge, Some(backend)),
        (
            "embedded",
            Host::start(world.command(&["mcp", "--scope", "admin"])),
            None,
        ),
    ]
}

impl Host {
    pub(crate) fn start(command: Command) -> Self {
        Self(McpProcess::start(command))
    }

    /// Shakes hands; what the server said.
    pub(crate) fn greet(&mut self, version: &str) -> Value {
        self.handshake(version, json!({}))["result"].take()
    }

    pub(crate) fn write(&mut self, line: &str) {
        self.send_text(line);
    }

    /// Sends a request without waiting; its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.start_request(method, params)
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params)
    }

    /// Closes the input and waits for the process.
    //= specs/spexus-bridge.md#standard-output
    //= type=test
    //# Nothing but JSON-RPC messages, one on a line, MUST be written to standard output.
    pub(crate) fn end(self) -> EndedProcess {
        self.0.end()
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(self) -> EndedProcess {
        self.0.ended()
    }
}
