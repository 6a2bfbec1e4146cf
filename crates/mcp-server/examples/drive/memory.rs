//! Memory under pressure: 100,000 requests in flight, and 10,000 sessions at rest.

use std::error::Error;
use std::io::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Server};
use tower_service::Service;

use crate::Figure;
use crate::pipe;

const IN_FLIGHT: usize = 100_000;
const SESSIONS: usize = 10_000;
const PRESSURE: Duration = Duration::from_secs(5);

pub(crate) fn measure_pressure() -> Result<Vec<Figure>, Box<dyn Error>> {
    let (before, highest) = under_pressure()?;
    Ok(vec![
        Figure::new("memory of the server at rest", before, "MB", "for comparison"),
        Figure::new(
            "growth with 100,000 requests in flight",
            highest - before,
            "MB",
            "≤ 10",
        ),
    ])
}

/// To be called before anything else: memory that other measurements freed would be taken again, and the sessions would
/// seem to need none.
pub(crate) fn measure_sessions() -> Result<Vec<Figure>, Box<dyn Error>> {
    let sessions = sessions_at_rest()?;
    Ok(vec![
        Figure::new("10,000 idle sessions", sessions, "MB", "≤ 20"),
        Figure::new(
            "one idle session",
            sessions * 1_048_576.0 / SESSIONS as f64,
            "bytes",
            "≤ 2,048",
        ),
    ])
}

/// Keeps so many requests ahead of the answers for a while; gives memory before and at its highest.
fn under_pressure() -> Result<(f64, f64), Box<dyn Error>> {
    let mut server = pipe::Server::start("echo")?;
    let pid = server.child.id();
    // A first round brings the allocator to its working size.
    round(&mut server, 1_000)?;
    let before = megabytes(pid)?;
    let (mut highest, started) = (before, Instant::now());
    while started.elapsed() < PRESSURE {
        highest = highest.max(round(&mut server, IN_FLIGHT)?);
    }
    server.stop()?;
    Ok((before, highest))
}

/// Sends all requests without reading, as far as the pipes take them, then reads all answers.
fn round(server: &mut pipe::Server, requests: usize) -> Result<f64, Box<dyn Error>> {
    let mut text = String::new();
    for id in 1..=requests {
        text.push_str(&pipe::call(id, "echo_task"));
        text.push('\n');
    }
    let pid = server.child.id();
    std::thread::scope(|scope| -> Result<f64, Box<dyn Error>> {
        let input = &mut server.input;
        let writer = scope.spawn(move || input.write_all(text.as_bytes()));
        // Nobody reads for a moment: everything that can pile up does.
        std::thread::sleep(Duration::from_millis(200));
        let full = megabytes(pid)?;
        pipe::count_lines(&mut server.output, requests)?;
        writer.join().map_err(|_| "the writer panicked")??;
        Ok(full.max(megabytes(pid)?))
    })
}

fn sessions_at_rest() -> Result<f64, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = Server::builder(Info::new("sessions", "1.0.0")).build();
        let mut service = McpService::new(&server, HttpSettings::default());
        let pid = std::process::id();
        for _ in 0..100 {
            open_session(&mut service).await?;
        }
        let before = megabytes(pid)?;
        for _ in 0..SESSIONS {
            open_session(&mut service).await?;
        }
        Ok(megabytes(pid)? - before)
    })
}

async fn open_session(service: &mut McpService) -> Result<(), Box<dyn Error>> {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"drive","version":"1"}}}"#;
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(hello.as_bytes())))?;
    service.call(request).await?.into_body().collect().await?;
    Ok(())
}

fn megabytes(pid: u32) -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1024.0)
}
