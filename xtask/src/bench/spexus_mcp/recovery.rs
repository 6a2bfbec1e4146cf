//! How long sessions stand still when the server under them is killed.

use super::super::rest::client::Client;
use super::super::rest::process::{Bench, Server};
use super::super::row::{Row, Target};
use super::super::sample;
use super::{ITEM, NEW_EPIC};
use anyhow::Result;
use std::time::Instant;

const SESSIONS: usize = 50;
const KILLS: usize = 5;
const MOST_MS: f64 = 5_000.0;
/// What one hello costs where it is written down, set against where it is not.
const HELLOS: usize = 200;

/// From the kill until a new process has answered every session that lived.
pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let mut server = Server::start(bench, "recovery.db")?;
    Client::connect(&server)?.post("/api/v1/epics", NEW_EPIC)?;
    let token = server.token.clone();
    let mut client = Client::connect(&server)?;
    let began = Instant::now();
    for _ in 0..HELLOS {
        client.hello()?;
    }
    let hello_ms = began.elapsed().as_secs_f64() * 1e3 / HELLOS as f64;
    let sessions = (0..SESSIONS)
        .map(|_| client.hello())
        .collect::<Result<Vec<_>>>()?;
    let mut all = Vec::new();
    for _ in 0..KILLS {
        let began = Instant::now();
        // Ending with the value is SIGKILL.
        drop(server);
        server = Server::start(bench, "recovery.db")?.with_token(&token);
        let mut client = Client::connect(&server)?;
        for session in &sessions {
            client.call_in(session, "get_item", ITEM)?;
        }
        all.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(vec![
        Row::alone(
            format!("{SESSIONS} sessions go on after SIGKILL and a new start"),
            "ms",
            sample::of(all),
            Target::AtMost(MOST_MS),
        ),
        Row::alone(
            "hello, written to the database",
            "ms",
            sample::of([hello_ms]),
            Target::AtMost(20.0),
        ),
    ])
}
