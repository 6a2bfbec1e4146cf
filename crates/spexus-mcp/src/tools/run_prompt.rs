//! A prompt, run: with the model of the client, and as a text where the client lends none.

use super::spec::{Effect, Invocation, Spec};
use crate::Toolset;
use crate::render::Answer;
use crate::schema::{answer, field, number, object, text};
use mcp_protocol::{Arguments, Content, PromptMessage};
use mcp_server::{Sampled, Sampler, Stop};
use serde_json::{Map, Value, json};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal};
use tracing::Instrument;

/// The tool that runs prompts.
pub(super) fn tools() -> Vec<Spec> {
    let description = "Runs a prompt of prompts/list with the client's own model and gives what it said, unchecked. Gives the prompt itself where the client lends no model.";
    let arguments = json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "of the prompt" });
    vec![
        Spec::new("run_prompt", "Run a prompt", description, run)
            .does(Effect::Read, Operation::ReadSettings)
            .set(Toolset::Author)
            .alone()
            .takes(
                object([
                    text("name", "such as analyze_requirement_quality").required(),
                    field("arguments", arguments),
                    number("max_tokens", ""),
                ]),
                answer(&[
                    ("prompt", "string"),
                    ("ran", "boolean"),
                    ("origin", "string"),
                    ("text", "string"),
                    ("model", "string"),
                    ("messages", "array"),
                ]),
            )
            .rest("prompts/get gives the prompt whole; a shorter answer of the model comes with max_tokens."),
    ]
}

//= specs/spexus-mcp.md#asking
//# `run_prompt` MUST run the prompt with the client's model and mark what it said as a model's, and MUST give the prompt where the client lends no model.
async fn run(invocation: Invocation, arguments: Arguments) -> Result<Answer, Stop> {
    let Some(asker) = invocation.asker else {
        return Err(Refusal::new(Code::RuleViolated, "a batch cannot run a prompt").into());
    };
    let name = arguments.text("name").unwrap_or_default();
    let values = match arguments.get("arguments") {
        Some(Value::Object(values)) => values.clone(),
        _ => Map::new(),
    };
    let messages = asker.cx.prompt(name, values).await?;
    if !Sampler::can_ask(&asker.cx) {
        let value = json!({ "prompt": name, "ran": false, "origin": "prompt", "messages": messages });
        return Ok(Answer::new(
            "This client lends no model. Here is the prompt to follow.",
            value,
        ));
    }
    let messages: Vec<Value> = messages.iter().map(message).collect();
    let mut params = json!({ "messages": messages });
    if let Some(max_tokens) = arguments.get("max_tokens").and_then(Value::as_u64) {
        params["maxTokens"] = json!(max_tokens);
    }
    let span = tracing::info_span!("sampling", prompt = name);
    let said = asker
        .sampler
        .ask(&asker.cx, "run_prompt", params)
        .instrument(span)
        .await?;
    Ok(render(name, &said))
}

/// A message of a prompt as models are asked: they take words, pictures and sound, and the words of a resource.
fn message(message: &PromptMessage) -> Value {
    let content = match &message.content {
        Content::Resource { resource, .. } => {
            let words = resource.text.as_deref().unwrap_or_default();
            json!({ "type": "text", "text": format!("{}\n{words}", resource.uri) })
        }
        other => json!(other),
    };
    json!({ "role": message.role, "content": content })
}

/// What the model said is nobody's word: neither ours nor the person's.
fn render(name: &str, said: &Sampled) -> Answer {
    let mut value = json!({
        "prompt": name, "ran": true, "origin": "model", "text": said.text, "model": said.model,
    });
    if let Some(reason) = &said.stop_reason {
        value["stop_reason"] = json!(reason);
    }
    Answer::new(
        "The text was written by the client's model and is not checked.",
        value,
    )
}
