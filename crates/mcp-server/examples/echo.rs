//! The smallest server over stdio: `echo` answers on the spot, `echo_task` in a task of its own.

use std::process::ExitCode;

use mcp_protocol::{Arguments, ToolResult};
use mcp_server::{Context, Info, Server, Settings, Tool, stdio};
use refusal::Refusal;
use serde_json::json;

#[tokio::main]
async fn main() -> ExitCode {
    let server = Server::builder(Info::new("echo", "1.0.0"))
        .settings(Settings::default())
        .build();
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string", "description": "What to say back." } },
        "required": ["text"],
    });
    let tools = vec![
        Tool::ready("echo", "Says back what it is given.", |arguments| {
            Ok(said(arguments))
        })
        .input(schema.clone()),
        Tool::new(
            "echo_task",
            "Says back what it is given, from a task of its own.",
            echo_task,
        )
        .input(schema),
    ];
    if let Err(refusal) = server.add_tools(tools) {
        panic!("the example's own tools are well formed: {refusal}");
    }
    ExitCode::from(stdio::exit_status(
        stdio::serve(&server, http::Extensions::new()).await,
    ))
}

async fn echo_task(_cx: Context, arguments: Arguments) -> Result<ToolResult, Refusal> {
    Ok(said(&arguments))
}

fn said(arguments: &Arguments) -> ToolResult {
    ToolResult::text(arguments.text("text").unwrap_or_default())
}
