//! Tools whose work may outlive their request.

use std::time::Duration;

use mcp_protocol::{Arguments, TaskSupport, ToolResult};
use mcp_server::{Context, Stop, Tool};
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use crate::inputs::form;

pub(crate) fn tools() -> Vec<Tool> {
    let mut named = Tool::new("test_tool_with_task", "Asks first, then runs as a task.", named)
        .tasks(TaskSupport::Required);
    named.first_asks = vec![(
        "user_name".to_owned(),
        form("What is your name?", "name", "string"),
    )];
    vec![
        named,
        Tool::new("slow_compute", "Takes as many seconds as it is told.", slow)
            .input(json!({
                "type": "object",
                "properties": { "seconds": { "type": "number" }, "label": { "type": "string" } },
            }))
            .timeout(Duration::from_secs(120))
            .tasks(TaskSupport::Optional),
        Tool::new("failing_job", "Runs and fails.", failing).tasks(TaskSupport::Required),
        Tool::new("protocol_error_job", "Breaks.", broken).tasks(TaskSupport::Optional),
        Tool::new("confirm_delete", "Asks before it goes on.", confirm)
            .input(json!({ "type": "object", "properties": { "filename": { "type": "string" } } }))
            .tasks(TaskSupport::Optional),
        Tool::new("multi_input", "Asks two questions at once.", multi).tasks(TaskSupport::Optional),
    ]
}

async fn slow(_cx: Context, arguments: Arguments) -> Result<ToolResult, Stop> {
    let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(0.0);
    tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 60.0))).await;
    Ok(ToolResult::text(format!(
        "computed {}",
        arguments.text("label").unwrap_or("nothing")
    )))
}

async fn failing(_cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    tokio::time::sleep(Duration::from_millis(500)).await;
    Err(Refusal::new(Code::RuleViolated, "this job always fails").into())
}

async fn broken(_cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    Err(Refusal::new(Code::InternalError, "this job always breaks").into())
}

async fn confirm(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let answer = cx
        .ask("confirm", form("Really delete it?", "confirm", "boolean"))
        .await?;
    Ok(ToolResult::text(format!(
        "deleted: {}",
        answer["content"]["confirm"]
    )))
}

async fn named(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let answer = cx
        .ask("user_name", form("What is your name?", "name", "string"))
        .await?;
    Ok(ToolResult::text(format!("Hello, {}!", answer["content"]["name"])))
}

async fn multi(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let asks = vec![
        ("first", form("First?", "confirm", "boolean")),
        ("second", form("Second?", "confirm", "boolean")),
    ];
    let answers = cx.ask_all(asks).await?;
    Ok(ToolResult::text(format!("{} answers", answers.len())))
}
