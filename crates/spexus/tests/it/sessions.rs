//! Sessions of agents, when the server under them is killed.

use crate::serving::Server;
use crate::world::World;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Long enough for a busy machine, short enough for a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);
const UPDATED: &str = "notifications/resources/updated";

fn serve(world: &World) -> Server {
    // Nobody reads what it logs while a test runs.
    Server::start(world.command(&["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]))
}

/// An agent with a token, and its session once it said hello.
struct Agent {
    token: String,
    session: String,
}

impl Agent {
    fn hello(server: &Server, token: &str) -> Self {
        let mut agent = Self {
            token: token.to_owned(),
            session: String::new(),
        };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
        let (status, head, _) = agent.post(server, "initialize", params);
        assert_eq!(status, 200);
        let id = head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        agent.session = id.unwrap().to_owned();
        agent
    }

    /// One request: the status, the head and the body of the answer.
    fn post(&self, server: &Server, method: &str, params: Value) -> (u16, String, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut stream = self.connect(server);
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\n{}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.head(server),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (
            status,
            head.to_lowercase(),
            serde_json::from_str(body).unwrap_or_default(),
        )
    }

    fn ask(&self, server: &Server, method: &str, params: Value) -> Value {
        let (status, _, mut body) = self.post(server, method, params);
        assert_eq!((status, body.get("error")), (200, None), "{method}: {body}");
        body["result"].take()
    }

    fn watch(&self, server: &Server, uri: &str) {
        self.ask(server, "resources/subscribe", json!({ "uri": uri }));
    }

    /// Opens the stream of messages nobody asked for, behind an event when one is named.
    fn listen(&self, server: &Server, last: Option<&str>) -> Events {
        let mut stream = self.connect(server);
        let last = last.map_or_else(String::new, |last| format!("last-event-id: {last}\r\n"));
        write!(
            stream,
            "GET /mcp HTTP/1.1\r\n{}accept: text/event-stream\r\n{last}\r\n",
            self.head(server)
        )
        .unwrap();
        let mut lines = BufReader::new(stream);
        let mut status = String::new();
        lines.read_line(&mut status).unwrap();
        assert!(status.contains(" 200 "), "{status}");
        Events {
            lines,
            last: String::new(),
        }
    }

    fn connect(&self, server: &Server) -> TcpStream {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn head(&self, server: &Server) -> String {
        let session = match self.session.as_str() {
            "" => String::new(),
            id => format!("mcp-session-id: {id}\r\n"),
        };
        format!(
            "host: {}\r\nauthorization: Bearer {}\r\n{session}",
            server.address(),
            self.token
        )
    }
}

struct Events {
    lines: BufReader<TcpStream>,
    /// The id of the last event.
    last: String,
}

impl Events {
    /// Reads until an event has an id; gives it.
    fn first_id(&mut self) -> String {
        while self.last.is_empty() {
            self.line();
        }
        self.last.clone()
    }

    /// Reads until a resource is told to have changed.
    fn until(&mut self, uri: &str) {
        loop {
            let line = self.line();
            let data = line.strip_prefix("data: ").unwrap_or("null");
            let message: Value = serde_json::from_str(data).unwrap_or_default();
            if message["method"] == UPDATED && message["params"]["uri"] == uri {
                return;
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).expect("an event in time");
        assert_ne!(read, 0, "the stream ended");
        let line = line.trim_end().to_owned();
        if let Some(id) = line.strip_prefix("id: ") {
            self.last = id.to_owned();
        }
        line
    }
}

fn token(world: &World, name: &str) -> String {
    let made = world.json(&[
        "token", "create", "--user", "admin", "--name", name, "--scope", "admin",
    ]);
    made["token"].as_str().unwrap().to_owned()
}

fn rename(world: &World, title: &str) {
    world.json(&["item", "update", "EP-001", "--title", title]);
}

// proves 002 Req-Proto-010
// proves 002 Req-Proto-011
#[test]
fn a_killed_server_is_started_again_and_its_sessions_go_on() {
    let world = World::new();
    world.json(&["item", "create", "epic", "--title", "Login"]);
    let server = serve(&world);
    let token = token(&world, "t");
    let (reading, silent) = (Agent::hello(&server, &token), Agent::hello(&server, &token));
    for agent in [&reading, &silent] {
        agent.watch(&server, "epic://EP-001");
        agent.ask(&server, "logging/setLevel", json!({ "level": "error" }));
    }
    let mut events = reading.listen(&server, None);
    rename(&world, "Seen by one");
    events.until("epic://EP-001");
    let last = events.last.clone();
    drop(server);

    // Nobody serves; the world goes on.
    rename(&world, "Seen by nobody");
    let server = serve(&world);
    let mut events = reading.listen(&server, Some(&last));
    events.until("epic://EP-001");
    let mut others = silent.listen(&server, None);
    others.until("epic://EP-001");
    // Both still watch, and can still work.
    rename(&world, "Seen by both");
    events.until("epic://EP-001");
    others.until("epic://EP-001");
    let found = silent.ask(
        &server,
        "tools/call",
        json!({ "name": "get_item", "arguments": { "id": "EP-001" } }),
    );
    assert_eq!(found["structuredContent"]["item"]["title"], "Seen by both");

    // An id of a session opens nothing without the token it was opened with.
    let foreign = Agent {
        token: self::token(&world, "other"),
        session: reading.session.clone(),
    };
    assert_eq!(foreign.post(&server, "tools/list", json!({})).0, 404);
    let nobody = Agent {
        token: String::new(),
        session: reading.session.clone(),
    };
    assert_eq!(nobody.post(&server, "tools/list", json!({})).0, 401);
    assert_eq!(reading.post(&server, "tools/list", json!({})).0, 200);
}

/// Sessions that live when their node is killed.
const LIVE: usize = 50;

// proves 002 Req-Proto-010
#[test]
fn sessions_of_a_killed_node_go_on_at_the_other() {
    let Some(world) = World::postgres() else { return };
    world.json(&["item", "create", "epic", "--title", "Login"]);
    let (one, two) = (serve(&world), serve(&world));
    let token = token(&world, "t");
    let agents: Vec<Agent> = (0..LIVE).map(|_| Agent::hello(&one, &token)).collect();
    let mut streams = Vec::new();
    for agent in &agents {
        agent.watch(&one, "epic://EP-001");
        let mut events = agent.listen(&one, None);
        events.first_id();
        streams.push(events);
    }
    drop(one);
    rename(&world, "Changed meanwhile");
    for (agent, old) in agents.iter().zip(streams) {
        agent.listen(&two, Some(&old.last)).until("epic://EP-001");
        let listed = agent.ask(&two, "tools/list", json!({}));
        assert!(!listed["tools"].as_array().unwrap().is_empty());
    }
}
