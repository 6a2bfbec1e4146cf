//! Prompts of every kind.

use mcp_protocol::{Content, PromptMessage, ResourceContents};
use mcp_server::{Completer, Context, Prompt, Stop};
use serde_json::{Map, Value};

use crate::content::PNG;
use crate::inputs::form;

pub(crate) fn prompts() -> Vec<Prompt> {
    let text = |text: &str| PromptMessage::user(Content::text(text));
    let embedded = ResourceContents::text(
        "{{resourceUri}}",
        "text/plain",
        "Embedded resource content for testing.",
    );
    let mut with_arguments = Prompt::template(
        "test_prompt_with_arguments",
        "A prompt with two arguments.",
        vec![text("Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'")],
    )
    .argument("arg1", "First test argument", true)
    .argument("arg2", "Second test argument", true);
    with_arguments.completer = Some(Completer::new(|_, typed| async move {
        let all = ["paris", "park", "party"].into_iter().map(str::to_owned);
        Ok::<_, Stop>(all.filter(|value| value.starts_with(&typed.value)).collect())
    }));
    vec![
        Prompt::template(
            "test_simple_prompt",
            "A simple prompt.",
            vec![text("This is a simple prompt for testing.")],
        ),
        with_arguments,
        Prompt::template(
            "test_prompt_with_embedded_resource",
            "A prompt with a resource.",
            vec![
                PromptMessage::user(Content::resource(embedded)),
                text("Please process the embedded resource above."),
            ],
        )
        .argument("resourceUri", "URI of the resource to embed", true),
        Prompt::template(
            "test_prompt_with_image",
            "A prompt with a picture.",
            vec![
                PromptMessage::user(Content::image(PNG, "image/png")),
                text("Please analyze the image above."),
            ],
        ),
        Prompt::new(
            "test_input_required_result_prompt",
            "A prompt that asks first.",
            asking,
        ),
    ]
}

async fn asking(cx: Context, _: Map<String, Value>) -> Result<Vec<PromptMessage>, Stop> {
    let answer = cx
        .ask(
            "user_context",
            form("What context should the prompt use?", "context", "string"),
        )
        .await?;
    let context = answer
        .pointer("/content/context")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(vec![PromptMessage::user(Content::text(format!(
        "Use this context: {context}"
    )))])
}
