//! What the server tells an agent when it says hello: the active prompt, then a guide to what there is.

use crate::{McpOptions, audit};
use mcp_runtime::Context;
use spexus_domain::Ruled;
use spexus_domain::prompt::Prompt;
use spexus_service::{Service, prompt};

/// The instructions as they are now.
pub(crate) async fn make(cx: &Context, service: &Service, options: &McpOptions) -> String {
    let mut text = match active(cx, service).await {
        Ok(Some(prompt)) => words(&prompt),
        Ok(None) => String::new(),
        Err(refusal) => {
            tracing::warn!(
                code = refusal.code.number(),
                "the active prompt could not be read"
            );
            String::new()
        }
    };
    if options.guide {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(GUIDE);
    }
    text
}

async fn active(cx: &Context, service: &Service) -> Ruled<Option<Prompt>> {
    prompt::active(service, &audit::caller(cx)?).await
}

/// Description, blank line, content.
fn words(prompt: &Prompt) -> String {
    let content: Vec<&str> = prompt
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect();
    let parts = [prompt.description.trim(), content.join("\n\n").trim()].map(str::to_owned);
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

const GUIDE: &str = "Ids are reference ids such as EP-001, US-001, AC-001, REQ-001, or UUIDs.";
