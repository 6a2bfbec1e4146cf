//! How long a change takes to be heard by a host that watches what it concerns.

use super::super::rest::client::Client;
use super::super::rest::process::{Bench, Server};
use super::super::row::{Row, Target};
use super::super::sample;
use super::{Host, NEW_EPIC, bridge, embedded};
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::process::Command;
use std::time::Instant;

const CHANGES: usize = 100;
const MOST_MS: f64 = 200.0;
/// Set by `with-postgres`.
const ADMIN_URL_VARIABLE: &str = "SPEXUS_TEST_POSTGRES";

/// The slowest of many, from before the change was sent until its notice was read.
pub(super) fn rows(bench: &Bench, server: &Server) -> Result<Vec<Row>> {
    let mut rows = vec![
        row(
            "a change by REST heard through the bridge",
            Host::start(bridge(bench, server))?,
            server,
        )?,
        row(
            "a change by REST heard with the system inside",
            Host::start(embedded(bench, server))?,
            server,
        )?,
    ];
    if let Ok(admin) = std::env::var(ADMIN_URL_VARIABLE) {
        let database = fresh_database(&admin)?;
        let (one, two) = (Server::on(bench, &database)?, Server::on(bench, &database)?);
        Client::connect(&one)?.post("/api/v1/epics", NEW_EPIC)?;
        let host = Host::start(bridge(bench, &two))?;
        rows.push(row(
            "a change on one node heard on another, PostgreSQL",
            host,
            &one,
        )?);
    }
    Ok(rows)
}

fn row(name: &str, mut host: Host, server: &Server) -> Result<Row> {
    host.next += 1;
    let watch = json!({ "jsonrpc": "2.0", "id": host.next, "method": "resources/subscribe", "params": { "uri": "epic://EP-001" } });
    host.write(&watch.to_string())?;
    while host.answer()?["id"] != host.next {}
    let mut client = Client::connect(server)?;
    let (mut all, mut slowest) = (Vec::new(), 0.0_f64);
    for change in 0..=CHANGES {
        let began = Instant::now();
        client.patch(
            "/api/v1/epics/EP-001",
            &format!(r#"{{"title":"Sign in with a passkey {change}"}}"#),
        )?;
        while host.answer()?["method"] != "notifications/resources/updated" {}
        // The first may wake things up.
        if change > 0 {
            all.push(began.elapsed().as_secs_f64() * 1e3);
            slowest = all.iter().copied().fold(slowest, f64::max);
        }
    }
    println!("{name}: median {:.1} ms of {CHANGES}", sample::of(all).median);
    Ok(Row::alone(
        format!("{name}, slowest of {CHANGES}"),
        "ms",
        sample::of([slowest]),
        Target::AtMost(MOST_MS),
    ))
}

fn fresh_database(admin: &str) -> Result<String> {
    let name = format!("bench_{}", std::process::id());
    let made = Command::new("psql")
        .args([admin, "-qc", &format!("create database {name}")])
        .status()?;
    ensure!(made.success(), "psql cannot make a database");
    let (server, _) = admin.rsplit_once('/').context("a URL with a database")?;
    Ok(format!("{server}/{name}"))
}
