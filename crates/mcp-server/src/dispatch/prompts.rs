//! `prompts/list`, `prompts/get` and `prompts/create`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use super::visibility::visible;
use super::{Incoming, Job, Routed};
use crate::changes::List;
use crate::server::context::Context;
use crate::server::guard::Access;
use crate::server::prompt::{NewPrompt, PromptSource, Registered, render, unknown};
use crate::server::registry::{Listing, list_text, with_entries};
use crate::server::tool::Stop;
use mcp_protocol::{
    Cursor, Fields, Outcome, RpcError, Terms, arguments as decode_arguments, envelope::Request,
};

const LIST: &str = "prompts/list";

// Fulfils 002 Req-Prompt-001, 002 Req-Prompt-008
//= specs/mcp-server.md#registry
//# A list with more entries than a page holds MUST be given page by page, and the pages together MUST hold each entry once.
pub(super) fn list(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let core = incoming.core;
    let cursor = Cursor::requested(fields, &core.signer, LIST)?;
    let source = core.prompt_source.clone();
    let after = match cursor {
        Some(Cursor::InSource(from)) => {
            let Some(source) = source else {
                return Ok(Routed::Now(Outcome::text(list_text::<Registered>(b"", None))));
            };
            return Ok(Routed::Later(Job::reading(core, move |cx| {
                list_source(cx, source, from, Bytes::new()).boxed()
            })));
        }
        Some(Cursor::AfterKey(key)) => Some(key),
        None => None,
    };
    let prompts = visible(incoming, request, terms, &core.registry.prompts)?;
    if let (None, None, Some(whole)) = (&after, &source, prompts.whole()) {
        return Ok(Routed::Now(Outcome::text(whole)));
    }
    let (entries, ends) = prompts.page(after.as_deref());
    // What the source holds goes on the page on which the registered ones end.
    if let (None, Some(source)) = (&ends, source) {
        return Ok(Routed::Later(Job::reading(core, move |cx| {
            list_source(cx, source, String::new(), entries).boxed()
        })));
    }
    let next = ends.map(|key| Cursor::AfterKey(key.to_string()).sign(&core.signer, LIST));
    Ok(Routed::Now(Outcome::text(list_text::<Registered>(
        &entries,
        next.as_deref(),
    ))))
}

// Fulfils 002 Req-Prompt-002
pub(super) fn get(incoming: &Incoming<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Routed, RpcError> {
    let name = fields.required_text("name")?.into_owned();
    let arguments = decode_arguments(fields.raw("arguments"))?;
    let found = incoming.core.registry.prompts.load().get(&name).cloned();
    if found.is_none() && incoming.core.prompt_source.is_none() {
        return Err(unknown(&name).into());
    }
    let rounds = incoming.rounds(terms, fields, || format!("prompts/get {name}"))?;
    let mut job = Job::reading(incoming.core, move |cx| make(cx, found, name, arguments).boxed());
    job.rounds = rounds;
    Ok(Routed::Later(job))
}

// Fulfils 002 Req-Prompt-006
pub(super) fn create(incoming: &Incoming<'_>, request: &Request<'_>) -> Result<Routed, RpcError> {
    let new: NewPrompt = serde_json::from_str(request.params.unwrap_or("{}"))
        .map_err(|e| Refusal::new(Code::InvalidParams, format!("the prompt cannot be read: {e}")))?;
    Ok(Routed::Later(Job::new(incoming.core, move |cx| {
        keep(cx, new).boxed()
    })))
}

async fn make(
    cx: Context,
    found: Option<Arc<Registered>>,
    name: String,
    arguments: Map<String, Value>,
) -> Result<Outcome, Stop> {
    let (registered, messages) = render(cx, found, &name, arguments).await?;
    Ok(Outcome::value(
        json!({ "description": registered.prompt.description, "messages": messages }),
    ))
}

async fn keep(cx: Context, new: NewPrompt) -> Result<Outcome, Stop> {
    let core = cx.0.core.clone();
    core.check(&cx, Access::CreatePrompt(&new.name))?;
    let prompt = new.clone().into_prompt();
    // A prompt that makes no sense is refused before any source sees it.
    let entry = Registered::new(prompt.clone())?.prompt.entry();
    let kept = match &core.prompt_source {
        Some(source) => source.create(&cx, &new).await?,
        None => false,
    };
    if !kept {
        core.registry.exchange_prompts(&[], vec![prompt])?;
    }
    core.broker.list_changed(List::Prompts, false);
    Ok(Outcome::value(json!({ "prompt": entry })))
}

/// A page of the source, behind entries that were written already.
async fn list_source(
    cx: Context,
    source: Arc<dyn PromptSource>,
    from: String,
    before: Bytes,
) -> Result<Outcome, Stop> {
    let Listing { entries, next } = source.list(&cx, &from).await?;
    let next = next.map(|at| Cursor::InSource(at).sign(&cx.0.core.signer, LIST));
    let entries: Result<Vec<Value>, Refusal> = entries
        .into_iter()
        .map(|p| Ok(Registered::new(p)?.prompt.entry()))
        .collect();
    let all = with_entries(&before, &entries?);
    Ok(Outcome::text(list_text::<Registered>(&all, next.as_deref())))
}
