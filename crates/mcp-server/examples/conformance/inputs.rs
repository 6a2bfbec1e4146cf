//! Tools that need one or several answers before they can finish.

use mcp_protocol::{Arguments, Ask, ToolResult};
use mcp_server::{Context, Stop, Tool};
use serde_json::{Value, json};

pub(crate) fn tools() -> Vec<Tool> {
    let named = |part: &str| format!("test_input_required_result_{part}");
    vec![
        Tool::new(named("elicitation"), "Asks for a name.", elicitation),
        Tool::new(named("sampling"), "Asks the model.", sampling),
        Tool::new(named("list_roots"), "Asks for the roots.", roots),
        Tool::new(named("request_state"), "Asks and remembers.", request_state),
        Tool::new(named("tampered_state"), "Asks and remembers.", request_state),
        Tool::new(
            named("multiple_inputs"),
            "Asks three questions at once.",
            multiple,
        ),
        Tool::new(named("multi_round"), "Asks two questions in turn.", multi_round),
        Tool::new(
            named("capabilities"),
            "Asks what the client can answer.",
            by_capability,
        ),
    ]
}

pub(crate) fn form(message: &str, field: &str, kind: &str) -> Ask {
    let schema = json!({ "type": "object", "properties": { field: { "type": kind } }, "required": [field] });
    Ask::form(message, schema)
}

fn model(question: &str, tokens: u32) -> Ask {
    let message = json!({ "role": "user", "content": { "type": "text", "text": question } });
    Ask::model(json!({ "messages": [message], "maxTokens": tokens }))
}

async fn elicitation(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let answer = cx
        .ask("user_name", form("What is your name?", "name", "string"))
        .await?;
    let name = answer
        .pointer("/content/name")
        .and_then(Value::as_str)
        .unwrap_or("nobody");
    Ok(ToolResult::text(format!("Hello, {name}!")))
}

async fn sampling(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let answer = cx
        .ask("capital_question", model("What is the capital of France?", 100))
        .await?;
    let text = answer
        .pointer("/content/text")
        .and_then(Value::as_str)
        .unwrap_or("nothing");
    Ok(ToolResult::text(text))
}

async fn roots(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let answer = cx.ask("client_roots", Ask::roots()).await?;
    Ok(ToolResult::text(format!("Roots: {}", answer["roots"])))
}

async fn request_state(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    cx.keep(json!("remembered"));
    cx.ask("confirm", form("Please confirm", "ok", "boolean")).await?;
    Ok(ToolResult::text("state-ok"))
}

async fn multiple(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    cx.keep(json!("remembered"));
    let asks = vec![
        ("user_name", form("What is your name?", "name", "string")),
        ("greeting", model("Generate a greeting", 50)),
        ("client_roots", Ask::roots()),
    ];
    let answers = cx.ask_all(asks).await?;
    Ok(ToolResult::text(format!("{} answers", answers.len())))
}

async fn multi_round(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    cx.keep(json!("remembered"));
    let name = cx
        .ask("step1", form("Step 1: What is your name?", "name", "string"))
        .await?;
    let color = cx
        .ask(
            "step2",
            form("Step 2: What is your favorite color?", "color", "string"),
        )
        .await?;
    Ok(ToolResult::text(format!(
        "{} likes {}",
        name["content"]["name"], color["content"]["color"]
    )))
}

async fn by_capability(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let mut asks = Vec::new();
    if cx.client().capabilities.has("elicitation") {
        asks.push(("user", form("What is your name?", "name", "string")));
    }
    if cx.client().capabilities.has("sampling") {
        asks.push(("model", model("Say hello", 50)));
    }
    let answers = cx.ask_all(asks).await?;
    Ok(ToolResult::text(format!("{} answers", answers.len())))
}
