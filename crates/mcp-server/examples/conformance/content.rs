//! Tools that answer with every kind of content.

use mcp_protocol::{Content, ResourceContents, ToolResult};
use mcp_server::Tool;
use refusal::{Code, Refusal};
use serde_json::json;

/// One red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A silent sound.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

pub(crate) fn tools() -> Vec<Tool> {
    let embedded = || {
        let uri = "test://embedded-resource";
        Content::resource(ResourceContents::text(
            uri,
            "text/plain",
            "This is an embedded resource content.",
        ))
    };
    let mixed = move || {
        let resource = ResourceContents::text(
            "test://mixed-content-resource",
            "application/json",
            r#"{"test":"data","value":123}"#,
        );
        vec![
            Content::text("Multiple content types test:"),
            Content::image(PNG, "image/png"),
            Content::resource(resource),
        ]
    };
    vec![
        fixed("test_simple_text", || {
            vec![Content::text("This is a simple text response for testing.")]
        }),
        fixed("test_image_content", || vec![Content::image(PNG, "image/png")]),
        fixed("test_audio_content", || vec![Content::audio(WAV, "audio/wav")]),
        fixed("test_embedded_resource", move || vec![embedded()]),
        fixed("test_multiple_content_types", mixed),
        Tool::ready("test_error_handling", "Always fails.", |_| {
            Err(Refusal::new(
                Code::RuleViolated,
                "This tool intentionally returns an error for testing",
            ))
        }),
        Tool::ready(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            |_| Ok(ToolResult::text("fits")),
        )
        .input(schema_2020_12()),
        Tool::ready(
            "test_header_argument",
            "Takes an argument that is repeated in a header.",
            |arguments| Ok(ToolResult::text(arguments.text("region").unwrap_or_default())),
        )
        .input(json!({
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
            "required": ["region"],
        })),
        Tool::ready("greet", "Greets by name.", |arguments| {
            Ok(ToolResult::text(format!(
                "Hello, {}!",
                arguments.text("name").unwrap_or("World")
            )))
        })
        .input(json!({ "type": "object", "properties": { "name": { "type": "string" } } })),
    ]
}

fn fixed(name: &str, content: impl Fn() -> Vec<Content> + Send + Sync + 'static) -> Tool {
    Tool::ready(name, "Answers with content that never changes.", move |_| {
        Ok(ToolResult::of(content()))
    })
}

fn schema_2020_12() -> serde_json::Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
