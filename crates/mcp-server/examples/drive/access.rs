//! Whether finding a tool or a session takes longer when there are many: the same calls among 10 and among 100,000, in
//! turn, through the whole HTTP service.

use std::error::Error;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use mcp_protocol::ToolResult;
use mcp_server::streamable_http::{HttpSettings, McpService};
use mcp_server::{Info, Limits, Server, Settings, Tool};
use serde_json::json;
use tower_service::Service;

use crate::Figure;

const FEW: usize = 10;
const MANY: usize = 100_000;
/// Calls of one round, and rounds of each size.
const CALLS: usize = 20_000;
const ROUNDS: usize = 5;
/// Steps through names and sessions in no order a cache could guess.
const STRIDE: usize = 7_919;

pub(crate) fn measure() -> Result<Vec<Figure>, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (mut few, mut many) = (Fixture::new(FEW, 1).await?, Fixture::new(MANY, 1).await?);
        let [few, many] = in_turn(&mut few, &mut many).await?;
        let mut figures = vec![
            Figure::new("tools/call among 10 tools", few, "/s", "for comparison"),
            Figure::new("tools/call among 100,000 tools", many, "/s", "≥ 0.7 of it"),
        ];
        let (mut few, mut many) = (Fixture::new(1, FEW).await?, Fixture::new(1, MANY).await?);
        let [few, many] = in_turn(&mut few, &mut many).await?;
        figures.extend([
            Figure::new("tools/call in one of 10 sessions", few, "/s", "for comparison"),
            Figure::new("tools/call in one of 100,000 sessions", many, "/s", "≥ 0.7 of it"),
        ]);
        Ok(figures)
    })
}

/// A server with so many tools and so many sessions.
struct Fixture {
    service: McpService,
    tools: usize,
    sessions: Vec<String>,
}

impl Fixture {
    async fn new(tools: usize, sessions: usize) -> Result<Self, Box<dyn Error>> {
        let settings = Settings {
            limits: Limits {
                max_sessions: sessions,
                ..Limits::default()
            },
            ..Settings::default()
        };
        let server = Server::builder(Info::new("access", "1.0.0"))
            .settings(settings)
            .build();
        let tool = |at| Tool::ready(name(at), "Says hello.", |_| Ok(ToolResult::text("hello")));
        server.add_tools((0..tools).map(tool).collect())?;
        let mut fixture = Self {
            service: McpService::new(&server, HttpSettings::default()),
            tools,
            sessions: Vec::with_capacity(sessions),
        };
        let client = json!({ "name": "drive", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let hello =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
        for _ in 0..sessions {
            let response = fixture.service.call(request(None, hello.clone())?).await?;
            let id = response.headers().get("mcp-session-id").ok_or("no session")?;
            fixture.sessions.push(id.to_str()?.to_owned());
        }
        Ok(fixture)
    }

    /// Calls a second.
    async fn rate(&mut self) -> Result<f64, Box<dyn Error>> {
        let started = Instant::now();
        for call in 0..CALLS {
            let (tool, session) = (
                name(call * STRIDE % self.tools),
                call * STRIDE % self.sessions.len(),
            );
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}"}}}}"#);
            let request = request(Some(&self.sessions[session]), body)?;
            let answer = self
                .service
                .call(request)
                .await?
                .into_body()
                .collect()
                .await?
                .to_bytes();
            if !answer.windows(5).any(|word| word == b"hello") {
                return Err(String::from_utf8_lossy(&answer).into_owned().into());
            }
        }
        Ok(CALLS as f64 / started.elapsed().as_secs_f64())
    }
}

/// Both in turn; the middle of the rounds of each.
async fn in_turn(few: &mut Fixture, many: &mut Fixture) -> Result<[f64; 2], Box<dyn Error>> {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rates[0].push(few.rate().await?);
        rates[1].push(many.rate().await?);
    }
    Ok(rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    }))
}

fn name(at: usize) -> String {
    format!("tool_{at}")
}

fn request(session: Option<&str>, body: String) -> Result<Request<Full<Bytes>>, Box<dyn Error>> {
    let mut request = Request::builder()
        .method("POST")
        .uri("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    Ok(request.body(Full::new(Bytes::from(body)))?)
}
