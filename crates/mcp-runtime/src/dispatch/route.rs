//! The gate before every method, and the table that leads to each.

use std::sync::Arc;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use super::{
    Door, Ending, Plan, Step, cancel, completion, lifecycle, prompts, resources, tasks, terms, tools,
};
use crate::answer::{Outcome, RpcError};
use crate::core::shutting_down;
use crate::envelope::Request;
use crate::fields::Fields;
use crate::input::Rounds;
use crate::method::Method;
use crate::session::{Phase, Terms};
use crate::version::Era;

// Fulfils 003 R9.6, 003 R10.9
pub(super) fn route(door: &Door<'_>, request: &Request<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let named = Method::named(&request.method);
    pass_gate(door, named, terms)?;
    door.session.count()?;
    let served = |method: &Method| method.exists_in(terms.version.era()) && is_offered(door, *method);
    let Some(method) = named.filter(served) else {
        return custom(door, request, terms);
    };
    let fields = Fields::of(request.params)?;
    match method {
        Method::Ping => Ok(Step::Now(Outcome::empty())),
        Method::Initialize => lifecycle::initialize(door, &fields),
        Method::Discover => lifecycle::discover(door),
        //= specs/mcp-runtime.md#shutdown
        //# `shutdown` on a line connection MUST be answered, and the connection MUST then end in peace.
        Method::Shutdown => Ok(Step::Last(Ok(Outcome::empty()), Ending::Shutdown)),
        Method::Cancel => {
            cancel(door.session, &fields);
            Ok(Step::Now(Outcome::empty()))
        }
        Method::ToolsList => tools::list(door, request, terms),
        Method::ToolsCall => tools::call(door, &fields, terms),
        Method::ResourcesList => resources::list(door, request, &fields, terms),
        Method::TemplatesList => resources::templates(door, request, &fields, terms),
        Method::ResourcesRead => resources::read(door, &fields, terms),
        Method::Subscribe => resources::subscribe(door, &fields),
        Method::Unsubscribe => resources::unsubscribe(door, &fields),
        Method::Listen => resources::listen(door, &fields),
        Method::PromptsList => prompts::list(door, request, &fields, terms),
        Method::PromptsGet => prompts::get(door, &fields, terms),
        Method::PromptsCreate => prompts::create(door, request),
        Method::Complete if fields.has("ref") => completion::complete(door, &fields),
        Method::Complete => custom(door, request, terms),
        Method::SetLevel => lifecycle::set_level(door, &fields),
        Method::TasksGet => tasks::get(door, &fields, terms),
        Method::TasksResult => tasks::result(door, &fields),
        Method::TasksList => tasks::list(door, &fields),
        Method::TasksCancel => tasks::cancel(door, &fields, terms),
        Method::TasksUpdate => tasks::update(door, &fields, terms),
    }
}

//= specs/mcp-runtime.md#lifecycle
//# Before `initialize` every request of the handshake era other than `initialize` and `ping` MUST be refused with 1076.
fn pass_gate(door: &Door<'_>, method: Option<Method>, terms: &Terms) -> Result<(), RpcError> {
    if door.core.is_draining() {
        return Err(shutting_down());
    }
    let free = terms.version.era() == Era::Stateless || method.is_some_and(Method::needs_no_handshake);
    if !free && door.session.phase() == Phase::New {
        let refusal = Refusal::new(Code::ServerUninitialized, "this session was not initialized yet");
        return Err(RpcError::from(refusal).status(400));
    }
    //= specs/mcp-runtime.md#messages
    //# `initialize` inside a batch MUST be refused with `-32600`.
    if method == Some(Method::Initialize) && door.batch.is_some() {
        return Err(RpcError::invalid("`initialize` cannot be part of a batch"));
    }
    Ok(())
}

fn is_offered(door: &Door<'_>, method: Method) -> bool {
    let offers = &door.core.settings.offers;
    match method {
        // A client of a shared server cannot stop it for the others.
        Method::Shutdown => door.session.is_line(),
        Method::ToolsList | Method::ToolsCall => offers.tools,
        Method::ResourcesList
        | Method::TemplatesList
        | Method::ResourcesRead
        | Method::Subscribe
        | Method::Unsubscribe => offers.resources,
        Method::PromptsList | Method::PromptsGet => offers.prompts,
        Method::PromptsCreate => offers.prompts && offers.prompt_creation,
        Method::SetLevel => offers.logging,
        Method::TasksGet
        | Method::TasksResult
        | Method::TasksList
        | Method::TasksCancel
        | Method::TasksUpdate => offers.tasks,
        _ => true,
    }
}

/// A method the server added, or nothing.
//= specs/mcp-runtime.md#messages
//# An unknown method MUST be answered with `-32601`.
fn custom(door: &Door<'_>, request: &Request<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let found = door
        .core
        .registry
        .methods
        .load()
        .get(request.method.as_ref())
        .cloned();
    let Some(method) = found else {
        return Err(RpcError::unknown_method(&request.method));
    };
    let params: Value = match request.params {
        Some(text) => serde_json::from_str(text)
            .map_err(|e| Refusal::new(Code::InvalidParams, format!("the parameters cannot be read: {e}")))?,
        None => json!({}),
    };
    let run = Arc::clone(&method.run);
    let mut plan = Plan::new(door.core, move |cx| {
        async move { Ok(Outcome::value(run(cx, params).await?)) }.boxed()
    });
    if terms.version.era() == Era::Stateless {
        let purpose = request.method.to_string();
        let rounds = Rounds::read(&Fields::of(request.params)?, &door.core.seal, &purpose)?;
        plan.rounds = Some(Box::new((purpose, rounds)));
    }
    Ok(Step::Later(plan))
}

pub(super) use terms::level_named;
