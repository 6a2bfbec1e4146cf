//! The fixtures of the official conformance suite, served over streamable HTTP at `/mcp`.
//!
//! `cargo run --release -p mcp-server --example conformance -- --listen 127.0.0.1:8013`

mod content;
mod inputs;
mod jobs;
mod prompts;
mod resources;
mod talking;

use std::error::Error;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp_server::streamable_http::{HttpSettings, McpService, ResponseBody};
use mcp_server::{Info, Instructions, Server, Settings};
use tokio::net::TcpListener;
use tower_service::Service;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--listen"), Some(address)) => address,
        _ => return Err("usage: conformance --listen ADDRESS:PORT".into()),
    };
    let service = McpService::new(&fixtures()?, HttpSettings::default());
    let listener = TcpListener::bind(&address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let serve = service_fn(move |request| route(service.clone(), request));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), serve);
            // A client that leaves in the middle is no news.
            let _ = connection.await;
        });
    }
}

async fn route(
    mut service: McpService,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, std::convert::Infallible> {
    if request.uri().path() == "/mcp" {
        return service.call(request).await;
    }
    let mut response = Response::new(ResponseBody::default());
    *response.status_mut() = StatusCode::NOT_FOUND;
    Ok(response)
}

fn fixtures() -> Result<Server, refusal::Refusal> {
    let mut settings = Settings::default();
    settings.limits.ask_timeout_ms = Duration::from_secs(20).as_millis() as u64;
    let server = Server::builder(Info::new("conformance", "1.0.0"))
        .settings(settings)
        .instructions(Instructions::Fixed(
            "Fixtures of the conformance suite.".to_owned(),
        ))
        .build();
    server.add_tools(content::tools())?;
    server.add_tools(talking::tools())?;
    server.add_tools(inputs::tools())?;
    server.add_tools(jobs::tools())?;
    server.add_resources(resources::resources())?;
    server.add_template(resources::template())?;
    server.add_prompts(prompts::prompts())?;
    Ok(server)
}
