//! `tools/list` and `tools/call`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use refusal::{Code, Refusal};
use serde_json::Value;

use super::visibility::{guarded, visible, visible_to};
use super::{Incoming, Job, JobBody, Routed, missing_arguments, new_call, outcome_of, panicked, tasks};
use crate::server::context::Context;
use crate::server::guard::Access;
use crate::server::registry::{Snapshot, list_text};
use crate::server::tool::{Handler, Registered, Stop};
use mcp_protocol::{
    Arguments, Fields, Outcome, RpcCode, RpcError, TaskSupport, Terms, ToolResult,
    arguments as decode_arguments, envelope::Request,
};

// Fulfils 002 Req-Tool-001
pub(super) fn list(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let tools = visible(incoming, request, terms, &incoming.core.registry.tools)?;
    // Tools are one page, so there is always a whole; an empty list stands for what cannot be.
    let all = tools
        .whole()
        .unwrap_or_else(|| list_text::<Registered>(b"", None));
    Ok(Routed::Now(Outcome::text(all)))
}

// Fulfils 002 Req-Tool-002, 002 Req-Tool-008
pub(super) fn call(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let name = match fields.text("name")? {
        Some(name) => name,
        None => fields
            .text("tool")?
            .ok_or_else(|| mcp_protocol::fields::missing("name"))?,
    };
    let tools = incoming.core.registry.tools.load();
    let caller = || new_call(incoming, request, terms.clone(), None, 0).map(|call| Context(Arc::new(call)));
    let Some(registered) = tools.get(&name) else {
        return Err(not_there(&caller()?, &name));
    };
    let (given, admitted) = arguments(registered, fields);
    //= specs/mcp-server.md#tools
    //# What is wrong with the arguments of a tool MUST be told only to those who may call it.
    if admitted.is_err() {
        check(&caller()?, &name)?;
    }
    let arguments = match admitted {
        Ok(()) => given,
        Err(refusal) if missing_arguments::can_be_asked(registered, terms, &given, &refusal) => given,
        // From 2025-11-25 on the model reads what was wrong and corrects itself.
        Err(refusal) if terms.version.faults_are_results() => {
            return Ok(Routed::Now(Outcome::tool(ToolResult::failed(&refusal))));
        }
        Err(refusal) => return Err(RpcError::numbered(RpcCode::InvalidParams, refusal)),
    };
    let rounds = incoming.rounds(terms, fields, || format!("tools/call {name}"))?;
    if let Some(task) = tasks::requested(incoming, registered, fields, terms)? {
        return tasks::start(incoming, registered, arguments, task, terms, rounds);
    }
    if let (Handler::Ready(run), true) = (registered.handler(), runs_inline(incoming, registered)) {
        return Ok(Routed::Now(run_inline(
            request.id, &**run, registered, &arguments,
        )?));
    }
    let timeout = registered
        .tool
        .timeout
        .unwrap_or(incoming.core.settings.limits.serve_timeout());
    Ok(Routed::Later(Job {
        body: JobBody::Tool(registered.clone(), arguments),
        timeout: Some(timeout),
        breaker: registered.tool.breaker.clone(),
        rounds,
        only_reads: registered.tool.annotations.read_only_hint == Some(true),
    }))
}

// Fulfils 002 Req-Tool-009
/// Runs a tool's handler in its own task.
pub(super) async fn perform(
    cx: Context,
    registered: &Registered,
    arguments: Arguments,
) -> Result<Outcome, Stop> {
    // Not allowed is no failure of the tool: it did not run.
    check(&cx, &registered.tool.name)?;
    let arguments = missing_arguments::complete(&cx, registered, arguments).await?;
    let result = match registered.handler() {
        Handler::Ready(run) => run(&arguments)?,
        Handler::Async(run) => run(cx, arguments).await?,
    };
    registered.check_output(&result).map_err(RpcError::from)?;
    Ok(Outcome::tool(result))
}

/// Whether a tool may be called. One that is hidden is refused in the very words for a name that no tool has.
fn check(cx: &Context, name: &str) -> Result<(), RpcError> {
    match guarded(|| cx.0.core.check(cx, Access::CallTool(name)))? {
        Err(refusal) if refusal.code == Code::ToolNotFound => Err(not_there(cx, name)),
        allowed => Ok(allowed?),
    }
}

//= specs/mcp-server.md#tools
//# A name that is suggested for one that no tool has MUST be among those that are listed to the client.
/// The refusal for a name that no tool has, with one that was probably meant.
fn not_there(cx: &Context, name: &str) -> RpcError {
    let refusal = Refusal::new(Code::ToolNotFound, format!("there is no tool {name:?}"));
    let listed = match visible_to(cx, &cx.0.core.registry.tools) {
        Ok(listed) => listed,
        Err(error) => return error,
    };
    match nearest(&listed, name) {
        Some(near) => refusal.hint(format!("Did you mean {near:?}? List the tools to see them all.")),
        None => refusal,
    }
    .into()
}

/// A tool whose name is the same but for case and separators, or begins or ends alike.
fn nearest<'a>(tools: &'a Snapshot<Registered>, name: &str) -> Option<&'a str> {
    let plain = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let wanted = plain(name);
    let near = |own: &str| {
        let own = plain(own);
        own == wanted || (wanted.len() > 3 && (own.contains(&wanted) || wanted.contains(&own)))
    };
    tools.values().map(|t| t.tool.name.as_str()).find(|own| near(own))
}

// Fulfils 002 Req-Tool-006, 002 Req-Sec-001
/// The arguments as they were given, and whether they fit.
fn arguments(registered: &Registered, fields: &Fields<'_>) -> (Arguments, Result<(), Refusal>) {
    let mut value = match decode_arguments(fields.raw("arguments")) {
        Ok(given) => Value::Object(mcp_protocol::renamed(given, &registered.tool.aliases)),
        Err(refusal) => return (Arguments::default(), Err(refusal)),
    };
    let admitted = registered.input.admit(&mut value);
    match value {
        Value::Object(arguments) => (Arguments(arguments), admitted),
        _ => (Arguments::default(), admitted),
    }
}

/// A ready tool runs where the message was read, unless something before it may have to wait.
fn runs_inline(incoming: &Incoming<'_>, registered: &Registered) -> bool {
    incoming.core.guard.is_none()
        && !registered.tool.asks_for_missing
        && registered.tool.breaker.is_none()
        && registered.tool.task_support == TaskSupport::Forbidden
}

fn run_inline(
    id: &str,
    run: &(dyn Fn(&Arguments) -> Result<ToolResult, Refusal> + Send + Sync),
    registered: &Registered,
    arguments: &Arguments,
) -> Result<Outcome, RpcError> {
    match catch_unwind(AssertUnwindSafe(|| run(arguments))) {
        Ok(Ok(result)) => {
            registered.check_output(&result)?;
            Ok(Outcome::tool(result))
        }
        Ok(Err(refusal)) => outcome_of(Stop::Refused(refusal), true),
        Err(_panic) => Err(panicked(id, Some(&registered.tool.name))),
    }
}
