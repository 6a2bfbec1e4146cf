//! `prompts/list`, `prompts/get` and `prompts/create`.

use std::sync::Arc;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use super::resources::first_of_source;
use super::sight::seen;
use super::{Door, Plan, Step};
use crate::answer::{Outcome, RpcError};
use crate::context::Context;
use crate::cursor::Place;
use crate::envelope::Request;
use crate::fields::Fields;
use crate::guard::Access;
use crate::hub::List;
use crate::input::Rounds;
use crate::prompt::{NewPrompt, PromptMessage, PromptSource, Registered};
use crate::registry::{Listing, list_text};
use crate::schema;
use crate::session::Terms;
use crate::tool::Stop;
use crate::version::Era;

const LIST: &str = "prompts/list";

// Fulfils 002 Req-Prompt-001, 002 Req-Prompt-008
//= specs/mcp-runtime.md#registry
//# A list with more entries than a page holds MUST be given page by page, and the pages together MUST hold each entry once.
pub(super) fn list(
    door: &Door<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Step, RpcError> {
    let core = door.core;
    let place = Place::asked(fields, &core.seal, LIST)?;
    let source = core.prompt_source.clone();
    let after = match place {
        Some(Place::Source(from)) => {
            let Some(source) = source else {
                return Ok(Step::Now(Outcome::text(list_text::<Registered>(b"", None))));
            };
            return Ok(Step::Later(Plan::new(core, move |cx| {
                list_source(cx, source, from).boxed()
            })));
        }
        Some(Place::After(key)) => Some(key),
        None => None,
    };
    let prompts = seen(door, request, terms, &core.registry.prompts)?;
    if let (None, None, Some(whole)) = (&after, &source, prompts.whole()) {
        return Ok(Step::Now(Outcome::text(whole)));
    }
    let (entries, ends) = prompts.page(after.as_deref());
    let next = ends
        .map(|key| Place::After(key.to_string()))
        .or_else(|| first_of_source(source.is_some()));
    if let (true, Some(source)) = (entries.is_empty() && prompts.len() == 0, source) {
        return Ok(Step::Later(Plan::new(core, move |cx| {
            list_source(cx, source, String::new()).boxed()
        })));
    }
    let next = next.map(|place| place.seal(&core.seal, LIST));
    Ok(Step::Now(Outcome::text(list_text::<Registered>(
        &entries,
        next.as_deref(),
    ))))
}

// Fulfils 002 Req-Prompt-002
pub(super) fn get(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let name = fields.required_text("name")?.into_owned();
    let arguments = schema::arguments(fields.raw("arguments"))?;
    let found = door.core.registry.prompts.load().get(&name).cloned();
    if found.is_none() && door.core.prompt_source.is_none() {
        return Err(unknown(&name).into());
    }
    let rounds = match terms.version.era() {
        Era::Handshake => None,
        Era::Stateless => {
            let purpose = format!("prompts/get {name}");
            let rounds = Rounds::read(fields, &door.core.seal, &purpose)?;
            Some(Box::new((purpose, rounds)))
        }
    };
    let mut plan = Plan::new(door.core, move |cx| make(cx, found, name, arguments).boxed());
    plan.rounds = rounds;
    Ok(Step::Later(plan))
}

// Fulfils 002 Req-Prompt-006
pub(super) fn create(door: &Door<'_>, request: &Request<'_>) -> Result<Step, RpcError> {
    let new: NewPrompt = serde_json::from_str(request.params.unwrap_or("{}"))
        .map_err(|e| Refusal::new(Code::InvalidParams, format!("the prompt cannot be read: {e}")))?;
    Ok(Step::Later(Plan::new(door.core, move |cx| keep(cx, new).boxed())))
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

/// Looks a prompt up as `prompts/get` does, and fills it in.
pub(crate) async fn render(
    cx: Context,
    found: Option<Arc<Registered>>,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<(Arc<Registered>, Vec<PromptMessage>), Stop> {
    let core = cx.0.core.clone();
    core.check(&cx, Access::GetPrompt(name))?;
    let registered = match (found, &core.prompt_source) {
        (Some(found), _) => found,
        (None, Some(source)) => match source.get(&cx, name).await? {
            Some(prompt) => Arc::new(Registered::new(prompt)?),
            None => return Err(unknown(name).into()),
        },
        (None, None) => return Err(unknown(name).into()),
    };
    let messages = registered.get(cx, arguments).await?;
    Ok((registered, messages))
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
    core.hub.list_changed(List::Prompts, false);
    Ok(Outcome::value(json!({ "prompt": entry })))
}

async fn list_source(cx: Context, source: Arc<dyn PromptSource>, from: String) -> Result<Outcome, Stop> {
    let Listing { entries, next } = source.list(&cx, &from).await?;
    let next = next.map(|at| Place::Source(at).seal(&cx.0.core.seal, LIST));
    let entries: Result<Vec<Value>, Refusal> = entries
        .into_iter()
        .map(|p| Ok(Registered::new(p)?.prompt.entry()))
        .collect();
    let mut answer = json!({ "prompts": entries? });
    if let Some(next) = next {
        answer["nextCursor"] = json!(next);
    }
    Ok(Outcome::value(answer).cacheable())
}

fn unknown(name: &str) -> Refusal {
    Refusal::new(Code::PromptNotFound, format!("there is no prompt {name:?}"))
}
