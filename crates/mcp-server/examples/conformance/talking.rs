//! Tools that say something before they answer, or ask for something.

use std::time::Duration;

use mcp_protocol::{Arguments, Ask, Level, ToolResult};
use mcp_server::{Context, Stop, Tool};
use serde_json::{Value, json};

pub(crate) fn tools() -> Vec<Tool> {
    let text = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    vec![
        Tool::new("test_tool_with_logging", "Logs three times.", logging),
        Tool::new("test_logging_tool", "Logs three times.", logging),
        Tool::new(
            "test_tool_with_progress",
            "Reports progress three times.",
            progress,
        ),
        Tool::new("test_sampling", "Asks the model.", sampling).input(text("prompt")),
        Tool::new(
            "test_missing_capability",
            "Cannot work without the model.",
            |cx, _| sampling(cx, Arguments::default()),
        ),
        Tool::new("test_elicitation", "Asks the user.", elicitation).input(text("message")),
        Tool::new(
            "test_elicitation_sep1034_defaults",
            "Asks with defaults.",
            |cx, _| ask(cx, "Please review", defaults()),
        ),
        Tool::new("test_elicitation_sep1330_enums", "Asks with choices.", |cx, _| {
            ask(cx, "Please choose", choices())
        }),
        Tool::new(
            "test_streaming_elicitation",
            "Reports progress, then asks the user.",
            streaming_elicitation,
        ),
        Tool::new(
            "test_reconnection",
            "Ends its stream before it answers.",
            reconnection,
        ),
        Tool::new(
            "test_trigger_tool_change",
            "Changes the list of tools.",
            trigger_tool_change,
        ),
        Tool::new(
            "test_trigger_prompt_change",
            "Changes the list of prompts.",
            trigger_prompt_change,
        ),
    ]
}

async fn logging(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    for message in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        cx.log(Level::Info, "conformance", json!(message)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(ToolResult::text("Tool with logging executed successfully"))
}

async fn progress(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    for done in [0.0, 50.0, 100.0] {
        cx.progress(done, Some(100.0), Some("working")).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(ToolResult::text("Tool with progress executed successfully"))
}

async fn sampling(cx: Context, arguments: Arguments) -> Result<ToolResult, Stop> {
    let prompt = arguments.text("prompt").unwrap_or("Say something.");
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let answer = cx
        .ask(
            "answer",
            Ask::model(json!({ "messages": [message], "maxTokens": 100 })),
        )
        .await?;
    let text = answer
        .pointer("/content/text")
        .and_then(Value::as_str)
        .unwrap_or("nothing");
    Ok(ToolResult::text(format!("LLM response: {text}")))
}

async fn elicitation(cx: Context, arguments: Arguments) -> Result<ToolResult, Stop> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    let message = arguments.text("message").unwrap_or_default().to_owned();
    let answer = cx.ask("user", Ask::form(message, schema)).await?;
    Ok(ToolResult::text(format!("User response: {answer}")))
}

async fn ask(cx: Context, message: &'static str, schema: Value) -> Result<ToolResult, Stop> {
    let answer = cx.ask("user", Ask::form(message, schema)).await?;
    let action = answer
        .get("action")
        .and_then(Value::as_str)
        .unwrap_or("none")
        .to_owned();
    Ok(ToolResult::text(format!(
        "Elicitation completed: action={action}, content={}",
        answer["content"]
    )))
}

async fn streaming_elicitation(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    cx.progress(1.0, Some(2.0), None).await;
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    cx.ask("confirm", Ask::form("Please confirm", schema)).await?;
    Ok(ToolResult::text("confirmed"))
}

async fn reconnection(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    cx.release_stream();
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(ToolResult::text("Reconnection test completed successfully"))
}

async fn trigger_tool_change(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let extra = Tool::ready("test_changing_tool", "Comes and goes.", |_| {
        Ok(ToolResult::text("here"))
    });
    cx.server().replace_tool(extra)?;
    cx.server().remove_tool("test_changing_tool");
    Ok(ToolResult::text("changed"))
}

async fn trigger_prompt_change(cx: Context, _: Arguments) -> Result<ToolResult, Stop> {
    let message = mcp_protocol::PromptMessage::user(mcp_protocol::Content::text("here"));
    cx.server().replace_prompt(mcp_server::Prompt::template(
        "test_changing_prompt",
        "Comes and goes.",
        vec![message],
    ))?;
    cx.server().remove_prompt("test_changing_prompt");
    Ok(ToolResult::text("changed"))
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": { "type": "string", "description": "User status", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        },
        "required": [],
    })
}

fn choices() -> Value {
    let titled = |n: &str, title: &str| json!({ "const": format!("value{n}"), "title": title });
    let single = vec![
        titled("1", "First Option"),
        titled("2", "Second Option"),
        titled("3", "Third Option"),
    ];
    let multi = vec![
        titled("1", "First Choice"),
        titled("2", "Second Choice"),
        titled("3", "Third Choice"),
    ];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "description": "Select one option", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "description": "Select one option with titles", "oneOf": single },
            "legacyEnum": {
                "type": "string",
                "description": "Select one option (legacy)",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "description": "Select multiple options",
                "minItems": 1,
                "maxItems": 3,
                "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
            },
            "titledMulti": {
                "type": "array",
                "description": "Select multiple options with titles",
                "minItems": 1,
                "maxItems": 3,
                "items": { "anyOf": multi },
            },
        },
        "required": [],
    })
}
