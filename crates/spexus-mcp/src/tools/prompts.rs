//! Prompts kept in the database: the active one is what agents are told when they connect.

use super::items::{pages, rows};
use super::spec::{Effect, Invocation, Spec, read, take};
use super::structure::page_request;
use crate::Toolset;
use crate::prompts::declare;
use crate::render::{Answer, part_of};
use crate::schema::{answer, field, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Map, Value, json};
use spexus_domain::permission::Operation;
use spexus_domain::prompt::{NewPrompt, Prompt, PromptPatch};
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::prompt;

/// How to read a prompt that is too long for one answer.
const LONG_PROMPT: &str = "prompts/get gives it whole, by its name.";

/// The tools of prompts.
pub(super) fn tools() -> Vec<Spec> {
    vec![list(), active(), get(), create(), update(), activate(), delete()]
}

fn list() -> Spec {
    reads(
        "list_prompts",
        "List prompts",
        "Lists the stored prompts; the active one is marked.",
        |invocation, arguments| async move {
            let found = prompt::list(&invocation.service, &invocation.caller).await?;
            let page = page_request(&arguments)?;
            Ok(part_of("prompts", found, &page, |one| json!(line(one))))
        },
    )
    .takes(object(pages()), rows())
}

fn active() -> Spec {
    reads(
        "get_active_prompt",
        "Get the active prompt",
        "Reads the prompt agents are given when they connect.",
        |invocation, _| async move {
            match prompt::active(&invocation.service, &invocation.caller).await? {
                Some(one) => Ok(shown(&one)),
                None => Err(Refusal::new(Code::PromptNotFound, "no prompt is active")
                    .hint("Activate one with activate_prompt.")),
            }
        },
    )
    .takes(object([]), answer(&[("prompt", "object")]))
    .rest(LONG_PROMPT)
}

fn get() -> Spec {
    reads(
        "get_prompt",
        "Get a prompt",
        "Reads one stored prompt.",
        |invocation, arguments| async move {
            Ok(shown(
                &prompt::get(&invocation.service, &invocation.caller, id(&arguments)).await?,
            ))
        },
    )
    .takes(object([prompt_id()]), answer(&[("prompt", "object")]))
    .rest(LONG_PROMPT)
}

fn create() -> Spec {
    let description =
        "Stores a prompt. Give content for one message, or messages; {{name}} in a text is an argument.";
    writes(
        "create_prompt",
        "Create a prompt",
        description,
        Effect::Add,
        |invocation, arguments| async move {
            let mut input: NewPrompt = read(with_messages(arguments.0))?;
            declare(&mut input);
            Ok(shown(
                &prompt::create(&invocation.service, &invocation.caller, input).await?,
            ))
        },
    )
    .takes(
        object([
            text("name", "").required(),
            text("title", ""),
            text("description", ""),
            text("content", ""),
            messages(),
            arguments_schema(),
        ]),
        answer(&[("prompt", "object")]),
    )
}

fn update() -> Spec {
    let description = "Changes a stored prompt; fields left out stay.";
    writes(
        "update_prompt",
        "Update a prompt",
        description,
        Effect::Set,
        |invocation, arguments| async move {
            let mut arguments = arguments.0;
            let id = take(&mut arguments, "prompt_id").unwrap_or_default();
            let patch: PromptPatch = read(with_messages(arguments))?;
            Ok(shown(
                &prompt::update(&invocation.service, &invocation.caller, &id, patch).await?,
            ))
        },
    )
    .takes(
        object([
            prompt_id(),
            text("title", ""),
            text("description", ""),
            text("content", ""),
            messages(),
            arguments_schema(),
            number("expect_rev", ""),
        ]),
        answer(&[("prompt", "object")]),
    )
}

fn activate() -> Spec {
    let description = "Makes a stored prompt the one agents are given when they connect.";
    writes(
        "activate_prompt",
        "Activate a prompt",
        description,
        Effect::Set,
        |invocation, arguments| async move {
            Ok(shown(
                &prompt::activate(&invocation.service, &invocation.caller, id(&arguments), true).await?,
            ))
        },
    )
    .takes(object([prompt_id()]), answer(&[("prompt", "object")]))
}

fn delete() -> Spec {
    writes(
        "delete_prompt",
        "Delete a prompt",
        "Removes a stored prompt.",
        Effect::Remove,
        |invocation, arguments| async move {
            Ok(shown(
                &prompt::delete(&invocation.service, &invocation.caller, id(&arguments)).await?,
            ))
        },
    )
    .takes(object([prompt_id()]), answer(&[("prompt", "object")]))
}

fn reads<F, Fut>(name: &'static str, title: &'static str, description: &str, run: F) -> Spec
where
    F: Fn(Invocation, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Ruled<Answer>> + Send + 'static,
{
    Spec::new(name, title, description, run)
        .does(Effect::Read, Operation::ReadSettings)
        .set(Toolset::Author)
}

fn writes<F, Fut>(name: &'static str, title: &'static str, description: &str, effect: Effect, run: F) -> Spec
where
    F: Fn(Invocation, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Ruled<Answer>> + Send + 'static,
{
    Spec::new(name, title, description, run)
        .does(effect, Operation::ManagePrompts)
        .set(Toolset::Admin)
}

fn prompt_id() -> crate::schema::Field {
    text("prompt_id", "PROMPT-001, UUID or name").required()
}

fn id(arguments: &Arguments) -> &str {
    arguments.text("prompt_id").unwrap_or_default()
}

fn messages() -> crate::schema::Field {
    let message = json!({ "type": "object", "properties": { "role": { "enum": ["user", "assistant"] }, "text": { "type": "string" } }, "required": ["role", "text"] });
    field("messages", json!({ "type": "array", "items": message }))
}

fn arguments_schema() -> crate::schema::Field {
    let argument = json!({ "type": "object", "properties": { "name": { "type": "string" }, "description": { "type": "string" }, "required": { "type": "boolean" } }, "required": ["name"] });
    field("arguments", json!({ "type": "array", "items": argument }))
}

/// One text is one message of the user.
fn with_messages(mut arguments: Map<String, Value>) -> Map<String, Value> {
    if let Some(content) = arguments.remove("content") {
        arguments
            .entry("messages")
            .or_insert_with(|| json!([{ "role": "user", "text": content }]));
    }
    arguments
}

fn line(prompt: &Prompt) -> String {
    let mark = if prompt.active { " [active]" } else { "" };
    format!("{}{mark} {}: {}", prompt.reference_id, prompt.name, prompt.title)
}

fn shown(prompt: &Prompt) -> Answer {
    Answer::new(
        format!("{} (rev {}).", line(prompt), prompt.rev),
        json!({ "prompt": prompt }),
    )
}
