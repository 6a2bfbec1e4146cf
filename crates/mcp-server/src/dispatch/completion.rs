//! `completion/complete`: suggestions for the arguments of prompts and templates.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use super::visibility::visible;
use super::{Incoming, Job, Routed};
use crate::server::completion::{Completer, Completing};
use mcp_protocol::{Fields, Outcome, RpcError, Terms, envelope::Request, fields};

/// What one answer may hold.
const MAX_SUGGESTIONS: usize = 100;

pub(super) fn complete(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let reference = Fields::of(fields.raw("ref"))?;
    let argument = Fields::of(Some(
        fields
            .raw("argument")
            .ok_or_else(|| fields::missing("argument"))?,
    ))?;
    let completing = Completing {
        argument: argument.required_text("name")?.into_owned(),
        value: argument.required_text("value")?.into_owned(),
        context: context(fields)?,
    };
    let completer = match reference.required_text("type")?.as_ref() {
        "ref/prompt" => of_prompt(incoming, request, terms, &reference.required_text("name")?)?,
        "ref/resource" => of_template(incoming, request, terms, &reference.required_text("uri")?)?,
        other => {
            return Err(Refusal::field(
                Code::InvalidParams,
                "ref.type",
                format!("{other:?} is not known"),
                "ref/prompt or ref/resource",
            )
            .into());
        }
    };
    let Some(completer) = completer else {
        return Ok(Routed::Now(suggestions(Vec::new())));
    };
    let run = move |cx| async move { Ok(suggestions((completer.0)(cx, completing).await?)) }.boxed();
    Ok(Routed::Later(Job::reading(incoming.core, run)))
}

//= specs/mcp-server.md#registry
//# What the lists of a request do not hold MUST NOT be completed, and MUST be refused like what is not there.
fn of_prompt(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
    name: &str,
) -> Result<Option<Completer>, RpcError> {
    let prompts = visible(incoming, request, terms, &incoming.core.registry.prompts)?;
    match prompts.get(name) {
        Some(found) => Ok(found.prompt.completer.clone()),
        None if incoming.core.prompt_source.is_some() => Ok(None),
        None => Err(Refusal::new(Code::PromptNotFound, format!("there is no prompt {name:?}")).into()),
    }
}

fn of_template(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
    uri: &str,
) -> Result<Option<Completer>, RpcError> {
    let registry = &incoming.core.registry;
    let templates = visible(incoming, request, terms, &registry.templates)?;
    if let Some(found) = templates.get(uri) {
        return Ok(found.template.completer.clone());
    }
    // The address of a single resource has nothing to complete.
    let resources = visible(incoming, request, terms, &registry.resources)?;
    match resources.get(uri) {
        Some(_) => Ok(None),
        None => {
            let problem = format!("there is no template {uri:?}");
            let fix = "a template of the list";
            Err(Refusal::field(Code::InvalidParams, "ref.uri", problem, fix).into())
        }
    }
}

fn context(fields: &Fields<'_>) -> Result<BTreeMap<String, String>, Refusal> {
    let context: Option<Value> = fields.decode("context")?;
    let arguments = context
        .as_ref()
        .and_then(|c| c.get("arguments"))
        .and_then(Value::as_object);
    let pairs = arguments.into_iter().flatten();
    Ok(pairs
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect())
}

fn suggestions(mut values: Vec<String>) -> Outcome {
    let total = values.len();
    values.truncate(MAX_SUGGESTIONS);
    Outcome::value(
        json!({ "completion": { "values": values, "total": total, "hasMore": total > MAX_SUGGESTIONS } }),
    )
}
