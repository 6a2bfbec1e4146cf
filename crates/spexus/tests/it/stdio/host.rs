//! A host, and the server it talks to.

use crate::serving::Server;
use crate::world::World;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Nothing here takes longer; what does is a failure with a name.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A process on pipes; killed when a test fails.
pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Option<JoinHandle<String>>,
    next: u64,
    /// What was said that was not waited for.
    pub(crate) heard: Vec<Value>,
    /// Everything that was written to standard output.
    pub(crate) all: String,
}

/// How a process ended, and what it logged.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) log: String,
    pub(crate) out: String,
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
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (told, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .try_for_each(|line| told.send(line))
        });
        let mut err = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            let _ = err.read_to_string(&mut log);
            log
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            log: Some(log),
            next: 0,
            heard: Vec::new(),
            all: String::new(),
        }
    }

    /// Shakes hands; what the server said.
    pub(crate) fn greet(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test host", "version": "1" });
        let hello = self.call(
            "initialize",
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }),
        );
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        hello["result"].clone()
    }

    pub(crate) fn write(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a request without waiting; its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.write(
            &json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }).to_string(),
        );
        self.next
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.line().expect("the server is there");
            if wanted(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The next line, which must be a JSON-RPC message; `None` at the end.
    //= specs/spexus-bridge.md#standard-output
    //= type=test
    //# Nothing but JSON-RPC messages, one on a line, MUST be written to standard output.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("no answer within {PATIENCE:?}"),
        };
        self.all.push_str(&line);
        self.all.push('\n');
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    pub(crate) fn close(&mut self) {
        self.stdin.take();
    }

    /// Closes the input and waits for the process.
    pub(crate) fn end(mut self) -> Ended {
        self.close();
        self.ended()
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(mut self) -> Ended {
        while self.line().is_some() {}
        let code = self.child.wait().unwrap().code();
        let log = self.log.take().unwrap().join().unwrap();
        Ended {
            code,
            log,
            out: std::mem::take(&mut self.all),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
