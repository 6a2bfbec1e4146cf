//! Prompts kept in the database, beside those of the product.

use crate::audit::{self, AuditEntry};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::{Content, PromptArgument, PromptMessage, PromptTemplate, Role};
use mcp_server::{Context, Listing, NewPrompt, Prompt, PromptSource};
use spexus_domain::prompt::{self as domain, Argument, MessageTemplate};
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::{Service, prompt};

/// The prompts of the database.
pub(crate) struct Stored(pub(crate) Service);

impl PromptSource for Stored {
    //= specs/spexus-mcp.md#prompts
    //# Stored prompts MUST be listed beside those of the product.
    fn list<'a>(&'a self, cx: &'a Context, _: &'a str) -> BoxFuture<'a, Result<Listing<Prompt>, Refusal>> {
        async move {
            let found = prompt::list(&self.0, &audit::caller(cx)?).await?;
            Ok(Listing {
                entries: found.data.iter().map(shown).collect(),
                next: None,
            })
        }
        .boxed()
    }

    fn get<'a>(&'a self, cx: &'a Context, name: &'a str) -> BoxFuture<'a, Result<Option<Prompt>, Refusal>> {
        async move {
            let caller = audit::caller(cx)?;
            let watch = AuditEntry::start(&self.0, &caller, "prompts/get", name);
            let found = prompt::get(&self.0, &caller, name).await;
            // What nobody has is not a name but something a client wrote.
            let watch = watch.named(found.as_ref().map_or("", |_| name));
            watch.stop(found.as_ref().map(drop));
            match found {
                Ok(found) => Ok(Some(shown(&found))),
                Err(refusal) if refusal.code == Code::PromptNotFound => Ok(None),
                Err(refusal) => Err(refusal),
            }
        }
        .boxed()
    }

    fn create<'a>(&'a self, cx: &'a Context, wanted: &'a NewPrompt) -> BoxFuture<'a, Result<bool, Refusal>> {
        async move {
            let caller = audit::caller(cx)?;
            let watch = AuditEntry::start(&self.0, &caller, "prompts/create", &wanted.name);
            let made = match understood(wanted) {
                Ok(input) => prompt::create(&self.0, &caller, input).await,
                Err(refusal) => Err(refusal),
            };
            watch.stop(made.as_ref().map(drop));
            made.map(|_| true)
        }
        .boxed()
    }
}

fn shown(prompt: &domain::Prompt) -> Prompt {
    let message = |message: &MessageTemplate| PromptMessage {
        role: match message.role {
            domain::Speaker::User => Role::User,
            domain::Speaker::Assistant => Role::Assistant,
        },
        content: Content::text(message.text.clone()),
    };
    let messages = prompt.messages.iter().map(message).collect();
    let mut shown = Prompt::template(prompt.name.clone(), prompt.description.clone(), messages);
    shown.title = Some(prompt.title.clone());
    let argument = |argument: &Argument| PromptArgument {
        name: argument.name.clone(),
        description: argument.description.clone(),
        required: argument.required,
        ..PromptArgument::default()
    };
    shown.arguments = prompt.arguments.iter().map(argument).collect();
    shown
}

fn understood(wanted: &NewPrompt) -> Ruled<domain::NewPrompt> {
    let message = |message: &PromptMessage| match &message.content {
        Content::Text { text, .. } => Ok(MessageTemplate {
            role: match message.role {
                Role::Assistant => domain::Speaker::Assistant,
                _ => domain::Speaker::User,
            },
            text: text.clone(),
        }),
        _ => Err(Refusal::field(
            Code::InvalidParams,
            "messages",
            "holds more than text",
            "text",
        )),
    };
    let mut messages = wanted.messages.iter().map(message).collect::<Ruled<Vec<_>>>()?;
    messages.extend(wanted.template.iter().map(|text| MessageTemplate {
        role: domain::Speaker::User,
        text: text.clone(),
    }));
    let mut input = domain::NewPrompt {
        name: wanted.name.clone(),
        title: wanted.title.clone(),
        description: wanted.description.clone(),
        messages,
        arguments: wanted
            .arguments
            .iter()
            .map(|argument| Argument {
                name: argument.name.clone(),
                description: argument.description.clone(),
                required: argument.required,
            })
            .collect(),
    };
    declare(&mut input);
    Ok(input)
}

/// Variables nobody declared become optional arguments.
pub(crate) fn declare(input: &mut domain::NewPrompt) {
    for message in &input.messages {
        // A text that is no template is refused by the rules of prompts, with its place.
        let Ok(template) = PromptTemplate::parse(&message.text) else {
            continue;
        };
        for name in template.variables() {
            if !input.arguments.iter().any(|argument| argument.name == name) {
                input.arguments.push(Argument {
                    name: name.to_owned(),
                    description: String::new(),
                    required: false,
                });
            }
        }
    }
}
