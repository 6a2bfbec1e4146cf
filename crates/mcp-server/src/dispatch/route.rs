//! The gate before every method, and the table that leads to each.

use std::sync::Arc;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use super::{Ending, Incoming, Job, Routed, cancel, completion, lifecycle, prompts, resources, tasks, tools};
use crate::server::core::shutting_down;
use crate::session::Phase;
use mcp_protocol::{Fields, Method, Outcome, RpcError, Terms, envelope::Request, experimental};

// Fulfils 003 R9.6, 003 R10.9
pub(super) fn route(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let named = Method::named(&request.method);
    check_lifecycle(incoming, named, terms)?;
    incoming.session.count()?;
    if is_foreign(incoming, &request.method, terms) {
        return Err(RpcError::unknown_method(&request.method));
    }
    let served = |method: &Method| method.exists_in(terms.version) && is_offered(incoming, *method);
    let Some(method) = named.filter(served) else {
        return custom(incoming, request, terms);
    };
    let fields = request.fields()?;
    let served = serve_method(incoming, request, method, fields, terms);
    served.map_err(|error| match request.params {
        Some(_) => error,
        None => without_params(error),
    })
}

fn serve_method(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    method: Method,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    match method {
        Method::Ping => Ok(Routed::Now(Outcome::empty())),
        Method::Initialize => lifecycle::initialize(incoming, request, fields, terms),
        Method::Discover => lifecycle::discover(incoming, request, terms),
        //= specs/mcp-server.md#shutdown
        //# `shutdown` on a line connection MUST be answered, and the connection MUST then end in peace.
        Method::Shutdown => Ok(Routed::Last(Ok(Outcome::empty()), Ending::Shutdown)),
        Method::Cancel => {
            cancel(incoming.session, fields);
            Ok(Routed::Now(Outcome::empty()))
        }
        Method::ToolsList => tools::list(incoming, request, terms),
        Method::ToolsCall => tools::call(incoming, request, fields, terms),
        Method::ResourcesList => resources::list(incoming, request, fields, terms),
        Method::TemplatesList => resources::templates(incoming, request, fields, terms),
        Method::ResourcesRead => resources::read(incoming, fields, terms),
        Method::Subscribe => resources::subscribe(incoming, fields),
        Method::Unsubscribe => resources::unsubscribe(incoming, fields),
        Method::Listen => resources::listen(incoming, request, fields),
        Method::PromptsList => prompts::list(incoming, request, fields, terms),
        Method::PromptsGet => prompts::get(incoming, fields, terms),
        Method::PromptsCreate => prompts::create(incoming, request),
        Method::Complete if fields.has("ref") => completion::complete(incoming, request, fields, terms),
        Method::Complete => custom(incoming, request, terms),
        Method::SetLevel => lifecycle::set_level(incoming, fields),
        Method::TasksGet => tasks::get(incoming, fields, terms),
        Method::TasksResult => tasks::result(incoming, fields),
        Method::TasksList => tasks::list(incoming, fields),
        Method::TasksCancel => tasks::cancel(incoming, fields, terms),
        Method::TasksUpdate => tasks::update(incoming, fields, terms),
    }
}

// Fulfils 003 R11.2
/// A request that has no parameters where the method needs some.
//= specs/mcp-server.md#messages
//# A request without `params` MUST be served where its method needs none, and else be refused with `-32602`, 1021 and the names of what is missing.
fn without_params(mut error: RpcError) -> RpcError {
    if error.refusal.code == Code::MissingRequiredField {
        let names: Vec<&str> = error
            .refusal
            .faults
            .iter()
            .map(|fault| fault.field.as_str())
            .collect();
        let message = format!("the request has no params; missing: {}", names.join(", "));
        error.refusal.message = message;
        error.refusal.code = Code::InvalidParams;
    }
    error
}

//= specs/mcp-server.md#lifecycle
//# Before `initialize` every request of the handshake era other than `initialize` and `ping` MUST be refused with 1076.
fn check_lifecycle(incoming: &Incoming<'_>, method: Option<Method>, terms: &Terms) -> Result<(), RpcError> {
    if incoming.core.is_draining() {
        return Err(shutting_down());
    }
    let free = !terms.version.has_handshake() || method.is_some_and(Method::needs_no_handshake);
    if !free && incoming.session.phase() == Phase::New {
        let refusal = Refusal::new(Code::ServerUninitialized, "this session was not initialized yet");
        return Err(RpcError::from(refusal).with_status(400));
    }
    //= specs/mcp-server.md#messages
    //# `initialize` inside a batch MUST be refused with `-32600`.
    if method == Some(Method::Initialize) && incoming.batch.is_some() {
        return Err(RpcError::invalid("`initialize` cannot be part of a batch"));
    }
    Ok(())
}

/// Whether a method belongs to a family of which the client speaks another version.
fn is_foreign(incoming: &Incoming<'_>, method: &str, terms: &Terms) -> bool {
    let client = &terms.client.capabilities;
    let foreign = |family: &str, version: &str| {
        experimental::holds(family, method) && experimental::is_foreign(client, family, version)
    };
    client.names_experimental() && incoming.core.capabilities.any_family(foreign)
}

fn is_offered(incoming: &Incoming<'_>, method: Method) -> bool {
    let offers = &incoming.core.settings.offers;
    match method {
        // A client of a shared server cannot stop it for the others.
        Method::Shutdown => incoming.session.is_line(),
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
//= specs/mcp-server.md#messages
//# An unknown method MUST be answered with `-32601`.
fn custom(incoming: &Incoming<'_>, request: &Request<'_>, terms: &Terms) -> Result<Routed, RpcError> {
    let found = incoming
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
    let mut job = Job::new(incoming.core, move |cx| {
        async move { Ok(Outcome::value(run(cx, params).await?)) }.boxed()
    });
    if terms.version.has_input_rounds() {
        let fields = request.fields()?;
        job.rounds = incoming.rounds(terms, fields, || request.method.to_string())?;
    }
    Ok(Routed::Later(job))
}
