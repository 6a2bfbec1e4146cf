//! A backend that is killed, a token that is revoked, input that makes no sense, a host that leaves early.

use super::host::{Backend, Host, both_modes, serve};
use crate::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 20;

/// How long it may take until what came back is used again.
const MAX_RECOVERY: Duration = Duration::from_secs(5);

// proves 003 R13.5, 003 R15.8
//= specs/spexus-bridge.md#faults
//= type=test
//# A call that makes something MUST carry a key by which the backend makes it once, however often it is sent.
#[test]
fn twenty_hosts_survive_the_death_of_their_backend() {
    World::both().iter().for_each(twenty_hosts);
}

#[expect(clippy::print_stdout, reason = "a figure for whoever reads the run")]
fn twenty_hosts(world: &World) {
    let backend = Backend::start(world);
    let port = backend.port;
    let back = Arc::new(AtomicBool::new(false));
    let hosts: Vec<_> = (0..CLIENTS).map(|_| backend.bridge(world)).collect();
    let working: Vec<_> = hosts
        .into_iter()
        .enumerate()
        .map(|(client, mut host)| {
            let back = back.clone();
            std::thread::spawn(move || {
                host.greet("2025-11-25");
                let mut outcomes = BTreeMap::new();
                let mut recovered = None;
                let mut since = None;
                for round in 0.. {
                    let title = format!("client {client} round {round}");
                    let answer = host.tool("create_epic", json!({ "title": title }));
                    let made = answer.get("result").is_some();
                    assert!(
                        made || matches!(answer["error"]["code"].as_i64(), Some(1080 | 1086 | 1069)),
                        "{answer}"
                    );
                    outcomes.insert(title, made);
                    if back.load(Ordering::SeqCst) {
                        since.get_or_insert_with(Instant::now);
                        if made {
                            recovered = since.map(|since: Instant| since.elapsed());
                            break;
                        }
                        assert!(round < 10_000, "client {client} does not recover");
                        // A host thinks for a moment before it tries again.
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
                let twice = host.kept().find(|message| message.get("id").is_some());
                assert_eq!(twice, None, "nothing is answered twice");
                assert_eq!(host.end().code, Some(0));
                (outcomes, recovered.unwrap())
            })
        })
        .collect();
    let mut server = backend.server;
    for _ in 0..2 {
        // Long enough for calls to be under way when it dies.
        std::thread::sleep(Duration::from_millis(700));
        // SIGKILL: nothing is flushed, nobody is told.
        drop(server);
        std::thread::sleep(Duration::from_millis(300));
        server = serve(world, port);
    }
    back.store(true, Ordering::SeqCst);
    let ended: Vec<_> = working.into_iter().map(|thread| thread.join().unwrap()).collect();
    let slowest = ended.iter().map(|(_, recovered)| *recovered).max().unwrap();
    println!("the slowest host recovered after {slowest:?}");
    let kept = titles(world);
    for (title, made) in ended.iter().flat_map(|(outcomes, _)| outcomes) {
        let times = kept.get(title).copied().unwrap_or(0);
        assert!(times <= 1, "{title} was made {times} times");
        assert!(
            !made || times == 1,
            "{title} was answered with success and is not there"
        );
    }
}

// proves 002 Resil-002
#[test]
fn a_host_works_again_within_five_seconds_after_its_backend_came_back() {
    World::both().iter().for_each(recovered);
}

fn recovered(world: &World) {
    let backend = Backend::start(world);
    let mut host = backend.bridge(world);
    host.greet("2025-11-25");
    let list = |host: &mut Host| host.tool("list_epics", json!({}));
    assert!(list(&mut host).get("result").is_some());
    let port = backend.port;
    drop(backend.server);
    // Until the bridge has given it up: that is when it takes longest to come back.
    while list(&mut host)["error"]["code"] != 1086 {}
    let _server = serve(world, port);
    let accepting = Instant::now();
    while list(&mut host).get("result").is_none() {
        assert!(accepting.elapsed() < MAX_RECOVERY, "it is still refused");
    }
    assert!(accepting.elapsed() < MAX_RECOVERY, "{:?}", accepting.elapsed());
}

// proves 002 Resil-002
#[test]
fn a_server_works_again_within_five_seconds_after_its_database_came_back() {
    let Some(mut postgres) = test_support::durable_postgres() else {
        return;
    };
    let world = World::at(&postgres.fresh_database());
    world.run(&["init"]).ok();
    let backend = Backend::start(&world);
    let mut host = backend.bridge(&world);
    host.greet("2025-11-25");
    let read = |host: &mut Host| host.tool("list_epics", json!({}))["result"]["isError"] == false;
    assert!(read(&mut host));
    postgres.crash().unwrap();
    while read(&mut host) {}
    postgres.recover().unwrap();
    let accepting = Instant::now();
    while !read(&mut host) {
        assert!(accepting.elapsed() < MAX_RECOVERY, "it is still refused");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(accepting.elapsed() < MAX_RECOVERY, "{:?}", accepting.elapsed());
}

/// How often each title is in the database.
fn titles(world: &World) -> BTreeMap<String, usize> {
    let exported = world.run(&["export", "--format", "jsonl"]).ok();
    let mut titles = BTreeMap::new();
    for line in exported.lines() {
        let row: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(title) = row["title"].as_str().or(row["item"]["title"].as_str()) {
            *titles.entry(title.to_owned()).or_default() += 1;
        }
    }
    titles
}

// proves 003 R12.6, 003 R16.8
#[test]
fn a_token_that_is_revoked_stops_working_at_once() {
    World::both().iter().for_each(revoked);
}

fn revoked(world: &World) {
    let backend = Backend::start(world);
    let mut host = backend.bridge(world);
    host.greet("2025-11-25");
    assert!(
        host.tool("create_epic", json!({ "title": "Before" }))
            .get("result")
            .is_some()
    );
    world.run(&["token", "revoke", "host"]).ok();
    let deadline = Instant::now() + test_support::PATIENCE;
    let refused = loop {
        // Another process revoked it: the server notices within a moment.
        let answer = host.tool("create_epic", json!({ "title": "After" }));
        match answer["error"]["code"].as_i64() {
            Some(1011) => break answer,
            // The session ended with its token, under the call.
            Some(code) => assert_eq!(code, 1016, "{answer}"),
            None => {}
        }
        assert!(Instant::now() < deadline, "the token still works");
    };
    assert!(
        refused["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("token"),
        "{refused}"
    );
    assert_eq!(host.call("ping", json!({}))["result"], json!({}));
    assert_eq!(host.end().code, Some(0));
}

// proves 003 R13.9
#[test]
fn a_host_that_can_no_longer_be_written_to_ends_the_process() {
    let world = World::new();
    let backend = Backend::start(&world);
    let mut command = super::host::bare(&world);
    command
        .env("BACKEND_API_URL", format!("http://127.0.0.1:{}", backend.port))
        .env("MCP_PAT_TOKEN", &backend.token);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    writeln!(
        stdin,
        "{}",
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
    )
    .unwrap();
    // Its input stays open: the process must end by itself.
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(74), "{log}");
    assert!(
        log.contains("ERROR") && log.contains("cannot be written to"),
        "{log}"
    );
}

// proves 003 R15.5
#[test]
fn nonsense_between_good_lines_costs_only_itself() {
    for world in World::both() {
        nonsense(&world);
    }
}

fn nonsense(world: &World) {
    for (mode, mut host, _backend) in both_modes(world) {
        host.greet("2025-11-25");
        host.write("nonsense");
        host.write("{\"jsonrpc\":\"2.0\"}");
        host.write("\u{0}\u{1}");
        host.write(&json!({ "id": "long", "jsonrpc": "2.0", "method": "x", "params": { "x": "y".repeat(1_100_000) } }).to_string());
        let good = host.ask("tools/list", json!({}));
        let mut codes = Vec::new();
        let answer = loop {
            let message = host.line().unwrap();
            if message["id"] == good {
                break message;
            }
            codes.extend(message["error"]["code"].as_i64());
        };
        assert!(answer["result"]["tools"].is_array(), "{mode}: {answer}");
        codes.sort_unstable();
        assert_eq!(codes, [-32700, -32700, -32600, 1068], "{mode}");
        assert_eq!(host.end().code, Some(0), "{mode}");
    }
}

#[test]
fn fifty_calls_are_answered_although_the_host_closed_its_side() {
    for world in World::both() {
        for (mode, mut host, _backend) in both_modes(&world) {
            host.greet("2025-11-25");
            for round in 0..50 {
                host.ask(
                    "tools/call",
                    json!({ "name": "create_epic", "arguments": { "title": format!("{mode} {round}") } }),
                );
            }
            host.close();
            let mut answered = std::collections::BTreeSet::new();
            while let Some(message) = host.line() {
                if message.get("result").is_some() {
                    assert!(
                        answered.insert(message["id"].as_u64().unwrap()),
                        "{mode}: answered twice"
                    );
                }
            }
            assert_eq!(answered.len(), 50, "{mode}");
            assert_eq!(host.end().code, Some(0), "{mode}");
            let made = titles(&world)
                .keys()
                .filter(|title| title.starts_with(mode))
                .count();
            assert_eq!(made, 50, "{mode}");
        }
    }
}
