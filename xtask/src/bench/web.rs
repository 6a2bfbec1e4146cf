//! The pages from outside: what a page of each kind costs the shipped binary with a large project, and how much of it goes over the
//! wire.

use super::rest::client::Client;
use super::rest::process::{Bench, Server};
use super::row::{Row, Target};
use super::sample;
use anyhow::Result;
use std::time::Instant;

/// Items of the project.
const ITEMS: usize = 100_000;
/// Rounds through all pages; every page is asked for once in each, so that a slow moment falls on all of them.
const ROUNDS: usize = 200;
/// Rounds that do not count.
const WARM: usize = 5;

/// What people look at, with as many rows as a page can have.
const PAGES: [&str; 18] = [
    "/",
    "/p/default",
    "/p/default/REQ-500",
    "/p/default/table",
    "/p/default/table?limit=200",
    "/p/default/table?limit=200&sort=-updated_at",
    "/p/default/table?limit=200&group=status",
    "/p/default/table?limit=200&kind=all",
    "/p/default/table?limit=100&query=invoices",
    "/p/default/table?under=EP-010",
    "/p/default/tree",
    "/p/default/tree?open=EP-001,EP-002,US-001,US-002",
    "/p/default/board",
    "/p/default/board?kind=requirement",
    "/p/default/matrix?limit=200",
    "/p/default/matrix?limit=200&columns=requirement&link=any",
    "/p/default/graph?from=REQ-013&depth=6",
    "/search?query=invoices",
];

/// The whole suite.
pub(super) fn suite() -> Result<Vec<Row>> {
    let bench = Bench::build()?;
    let server = Server::with_demo(&bench, "web.db", ITEMS)?;
    let times = times(&server)?;
    let mut client = Client::connect(&server)?;
    let mut rows = Vec::new();
    for (page, mut times) in PAGES.iter().zip(times) {
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| sample::of([times[(times.len() - 1) * percent / 100] * 1e3]);
        rows.push(Row::alone(
            format!("{page} p50"),
            "ms",
            at(50),
            Target::AtMost(15.0),
        ));
        rows.push(Row::alone(
            format!("{page} p99"),
            "ms",
            at(99),
            Target::AtMost(30.0),
        ));
        let kilobytes = client.compressed_bytes(page)? as f64 / 1024.0;
        rows.push(Row::alone(
            format!("{page} compressed"),
            "KB",
            sample::of([kilobytes]),
            Target::AtMost(60.0),
        ));
    }
    Ok(rows)
}

/// The seconds of every page, round by round.
fn times(server: &Server) -> Result<Vec<Vec<f64>>> {
    let mut client = Client::connect(server)?;
    let mut times = vec![Vec::with_capacity(ROUNDS); PAGES.len()];
    for round in 0..WARM + ROUNDS {
        for (page, times) in PAGES.iter().zip(&mut times) {
            let start = Instant::now();
            client.get(page)?;
            if round >= WARM {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(times)
}
