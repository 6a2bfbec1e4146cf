//! The requirements system from outside: the shipped binary as a process of its own, driven over real sockets, beside a
//! bare axum route and bare transactions on the same file that run in the same minute.

pub(super) mod client;
pub(super) mod process;

use super::row::{Row, Target};
use super::sample::{self, Sample};
use anyhow::{Context as _, Result, ensure};
use client::Client;
use process::{Bench, Server};
use std::time::{Duration, Instant};

/// Rounds of every comparison.
const ROUNDS: usize = 7;
/// How long one figure is taken.
const ROUND: Duration = Duration::from_millis(1_200);
/// Items of the large database.
const MANY: usize = 100_000;
/// Items of the small one.
const FEW: usize = 1_000;

const NEW_EPIC: &str = r#"{"title":"Sign in with a passkey","description":"The user signs in with a passkey kept on the device, without a password, within two seconds."}"#;

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let bench = Bench::build()?;
    let mut rows = writes(&bench)?;
    rows.extend(reads(&bench)?);
    rows.extend(growth(&bench)?);
    rows.extend(size(&bench)?);
    Ok(rows)
}

fn writes(bench: &Bench) -> Result<Vec<Row>> {
    let server = Server::start(bench, "writes.db")?;
    let create = |clients| client::rate(&server, clients, ROUND, "POST", "/api/v1/epics", Some(NEW_EPIC));
    let one = sample::alternate(ROUNDS, || create(1), || bench.bare_transactions(&server, ROUND))?;
    let many = sample::alternate(ROUNDS, || create(64), || create(1))?;
    Ok(vec![
        Row::ratio(
            "create, 1 client ÷ bare transaction",
            "/s",
            &one,
            Target::AtLeast(0.6),
        ),
        Row::ratio("create, 64 clients ÷ 1 client", "/s", &many, Target::AtLeast(4.0)),
    ])
}

fn reads(bench: &Bench) -> Result<Vec<Row>> {
    let server = Server::start(bench, "reads.db")?;
    Client::connect(&server)?.post("/api/v1/epics", NEW_EPIC)?;
    let bare = bench.bare_route()?;
    let mut rows = Vec::new();
    for clients in [1, 16] {
        let read = || client::rate(&server, clients, ROUND, "GET", "/api/v1/epics/EP-001", None);
        let floor = || client::rate(&bare, clients, ROUND, "GET", "/item", None);
        let pair = sample::alternate(ROUNDS, read, floor)?;
        let name = format!("point read ÷ bare axum route, {clients} client(s)");
        rows.push(Row::ratio(name, "/s", &pair, Target::AtLeast(0.5)));
    }
    let point = || client::median_seconds(&server, "/api/v1/epics/EP-001", 2_000);
    for tokens in [1, 10_000] {
        let check = || bench.token_check(&server, tokens);
        let pair = sample::alternate(3, || check().map(|s| s * 1e6), || point().map(|s| s * 1e6))?;
        rows.push(Row::ratio(
            format!("token check ÷ point read, {tokens} token(s)"),
            "µs",
            &pair,
            Target::AtMost(0.05),
        ));
    }
    Ok(rows)
}

fn growth(bench: &Bench) -> Result<Vec<Row>> {
    let small = Server::with_demo(bench, "small.db", FEW)?;
    let large = Server::with_demo(bench, "large.db", MANY)?;
    let (few, many) = (tree_of_500(&small)?, tree_of_500(&large)?);
    let mut rows = Vec::new();
    let page = "/api/v1/requirements?limit=50";
    let paths = [
        ("list page", page.to_owned(), page.to_owned()),
        (
            "point read",
            "/api/v1/requirements/REQ-100".into(),
            "/api/v1/requirements/REQ-100".into(),
        ),
        (
            "hierarchy of 500",
            format!("/api/v1/hierarchy/{many}"),
            format!("/api/v1/hierarchy/{few}"),
        ),
    ];
    for (name, on_large, on_small) in paths {
        let cost = |server: &Server, path: &str| Ok(client::median_seconds(server, path, 300)? * 1e6);
        let pair = sample::alternate(ROUNDS, || cost(&large, &on_large), || cost(&small, &on_small))?;
        rows.push(Row::ratio(
            format!("{name}, {MANY} items ÷ {FEW}"),
            "µs",
            &pair,
            Target::AtMost(1.5),
        ));
    }
    let queries = [
        "export",
        "passkey sign",
        "отчёт",
        "требования",
        "requirment",
        "\"must be\"",
        "REQ-500",
        "system",
        "se",
    ];
    let slowest =
        sample::of((0..3).map(|_| client::p99_seconds(&large, &queries, 900).map_or(f64::NAN, |s| s * 1e3)));
    rows.push(Row::alone(
        format!("search p99, {MANY} items"),
        "ms",
        slowest,
        Target::AtMost(25.0),
    ));
    Ok(rows)
}

/// An epic with 499 stories below it, made in one batch; its reference id.
fn tree_of_500(server: &Server) -> Result<String> {
    let mut operations =
        vec![r#"{"op":"create","ref":"root","kind":"epic","title":"Five hundred"}"#.to_owned()];
    operations.extend(
        (1..500).map(|n| {
            format!(r#"{{"op":"create","kind":"user_story","parent":"@root","title":"Story {n}"}}"#)
        }),
    );
    let answer = Client::connect(server)?.post(
        "/api/v1/batch",
        &format!(r#"{{"operations":[{}]}}"#, operations.join(",")),
    )?;
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    answer["results"][0]["label"]
        .as_str()
        .map(str::to_owned)
        .context("the batch names its epic")
}

fn size(bench: &Bench) -> Result<Vec<Row>> {
    let megabytes = bench.binary_bytes()? as f64 / 1e6;
    let mut starts = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let server = Server::start(bench, "size.db")?;
        starts.push(start.elapsed().as_secs_f64() * 1e3);
        Client::connect(&server)?.get("/health/ready")?;
        resident.push(server.resident_bytes()? as f64 / 1e6);
    }
    // The first start made the database; the promise is about an existing one.
    starts.remove(0);
    ensure!(!starts.is_empty(), "the server started more than once");
    let whole = |value| Sample {
        median: value,
        low: value,
        high: value,
    };
    Ok(vec![
        Row::alone("shipped binary", "MB", whole(megabytes), Target::AtMost(30.0)),
        Row::alone(
            "idle resident memory",
            "MB",
            sample::of(resident),
            Target::AtMost(40.0),
        ),
        Row::alone(
            "start to first answer",
            "ms",
            sample::of(starts),
            Target::AtMost(150.0),
        ),
    ])
}
