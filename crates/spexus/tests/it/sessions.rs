//! Sessions of agents, when the server under them is killed.

use crate::serving::Server;
use crate::world::World;
use serde_json::json;
use test_support::mcp::{Endpoint, HttpAgent};

/// A server, and the key to it.
struct Node {
    server: Server,
    token: String,
}

impl Node {
    fn serve(world: &World, token: &str) -> Self {
        // Nobody reads what it logs while a test runs.
        let command = world.command(&["serve", "--listen", "127.0.0.1:0", "--log-level", "error"]);
        Self {
            server: Server::start(command),
            token: token.to_owned(),
        }
    }

    async fn greet(&self) -> HttpAgent {
        HttpAgent::with(self, &self.token, "2025-11-25", &[]).await
    }
}

impl Endpoint for Node {
    fn address(&self) -> String {
        format!("http://{}/mcp", self.server.address())
    }

    fn token(&self) -> &str {
        &self.token
    }
}

async fn watch(agent: &HttpAgent, uri: &str) {
    agent.ask("resources/subscribe", json!({ "uri": uri })).await;
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
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_is_started_again_and_its_sessions_go_on() {
    let world = World::new();
    world.json(&["item", "create", "epic", "--title", "Login"]);
    let token = token(&world, "t");
    let node = Node::serve(&world, &token);
    let (reading, silent) = (node.greet().await, node.greet().await);
    for agent in [&reading, &silent] {
        watch(agent, "epic://EP-001").await;
        agent.ask("logging/setLevel", json!({ "level": "error" })).await;
    }
    let mut events = reading.listen().await;
    rename(&world, "Seen by one");
    events.until("epic://EP-001").await;
    let last = events.last_id.clone();
    drop(node);

    // Nobody serves; the world goes on.
    rename(&world, "Seen by nobody");
    let node = Node::serve(&world, &token);
    let (reading, silent) = (reading.at(&node), silent.at(&node));
    let mut events = reading.listen_after(&last).await;
    events.until("epic://EP-001").await;
    let mut others = silent.listen().await;
    others.until("epic://EP-001").await;
    // Both still watch, and can still work.
    rename(&world, "Seen by both");
    events.until("epic://EP-001").await;
    others.until("epic://EP-001").await;
    let found = silent.call("get_item", json!({ "id": "EP-001" })).await;
    assert_eq!(found["item"]["title"], "Seen by both");

    // An id of a session opens nothing without the token it was opened with.
    let foreign = reading.with_token(&self::token(&world, "other"));
    for (agent, status) in [(&foreign, 404), (&reading.with_token(""), 401), (&reading, 200)] {
        assert_eq!(agent.post("tools/list", json!({})).await.status, status);
    }
}

/// Sessions that live when their node is killed.
const LIVE: usize = 50;

// proves 002 Req-Proto-010
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_a_killed_node_go_on_at_the_other() {
    let Some(world) = World::postgres() else { return };
    world.json(&["item", "create", "epic", "--title", "Login"]);
    let token = token(&world, "t");
    let (one, two) = (Node::serve(&world, &token), Node::serve(&world, &token));
    let mut live = Vec::new();
    for _ in 0..LIVE {
        let agent = one.greet().await;
        watch(&agent, "epic://EP-001").await;
        let mut events = agent.listen().await;
        while events.last_id.is_empty() {
            events.event().await.expect("the stream begins with an id");
        }
        live.push((agent, events));
    }
    drop(one);
    rename(&world, "Changed meanwhile");
    for (agent, old) in live {
        let agent = agent.at(&two);
        agent
            .listen_after(&old.last_id)
            .await
            .until("epic://EP-001")
            .await;
        assert!(!agent.tools().await.is_empty());
    }
}
