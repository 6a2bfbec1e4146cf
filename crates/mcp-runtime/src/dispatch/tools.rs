//! `tools/list` and `tools/call`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use refusal::{Code, Refusal};
use serde_json::Value;

use super::sight::seen;
use super::{Door, Plan, Step, Work, missing, settle, tasks};
use crate::answer::{Outcome, RpcError};
use crate::context::Context;
use crate::envelope::Request;
use crate::fields::Fields;
use crate::guard::Access;
use crate::input::Rounds;
use crate::registry::{Family, list_text};
use crate::schema;
use crate::session::Terms;
use crate::tool::{Arguments, Handler, Registered, Stop, TaskSupport, ToolResult};
use crate::version::Era;

// Fulfils 002 Req-Tool-001
pub(super) fn list(door: &Door<'_>, request: &Request<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let tools = seen(door, request, terms, &door.core.registry.tools)?;
    // Tools are one page, so there is always a whole; an empty list stands for what cannot be.
    let all = tools
        .whole()
        .unwrap_or_else(|| list_text::<Registered>(b"", None));
    Ok(Step::Now(Outcome::text(all)))
}

// Fulfils 002 Req-Tool-002, 002 Req-Tool-008
pub(super) fn call(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let name = match fields.text("name")? {
        Some(name) => name,
        None => fields
            .text("tool")?
            .ok_or_else(|| crate::fields::missing("name"))?,
    };
    let tools = door.core.registry.tools.load();
    let registered = find(&tools, &name)?;
    let (given, admitted) = arguments(registered, fields);
    let arguments = match admitted {
        Ok(()) => given,
        Err(refusal) if missing::can_be_asked(registered, terms, &given, &refusal) => given,
        // From 2025-11-25 on the model reads what was wrong and corrects itself.
        Err(refusal) if terms.version.faults_are_results() => {
            return Ok(Step::Now(Outcome::tool(ToolResult::failed(&refusal))));
        }
        Err(refusal) => return Err(RpcError::numbered(-32602, refusal)),
    };
    let rounds = match terms.version.era() {
        Era::Handshake => None,
        Era::Stateless => {
            let purpose = format!("tools/call {name}");
            let rounds = Rounds::read(fields, &door.core.seal, &purpose)?;
            Some(Box::new((purpose, rounds)))
        }
    };
    if let Some(task) = tasks::wanted(door, registered, fields, terms)? {
        return tasks::start(door, registered, arguments, task, terms, rounds);
    }
    if let (Handler::Ready(run), true) = (registered.handler(), runs_inline(door, registered)) {
        return Ok(Step::Now(run_inline(&**run, registered, &arguments)?));
    }
    let timeout = registered
        .tool
        .timeout
        .unwrap_or(door.core.settings.limits.serve_timeout());
    Ok(Step::Later(Plan {
        work: Work::Tool(registered.clone(), arguments),
        timeout: Some(timeout),
        breaker: registered.tool.breaker.clone(),
        rounds,
    }))
}

// Fulfils 002 Req-Tool-009
/// Runs a tool's handler in its own task.
pub(super) async fn perform(
    cx: Context,
    registered: &Registered,
    arguments: Arguments,
) -> Result<Outcome, Stop> {
    let access = Access::CallTool(&registered.tool.name);
    // Not allowed is no failure of the tool: it did not run.
    cx.0.core.check(&cx, access).map_err(RpcError::from)?;
    let arguments = missing::complete(&cx, registered, arguments).await?;
    let result = match registered.handler() {
        Handler::Ready(run) => run(&arguments)?,
        Handler::Work(run) => run(cx, arguments).await?,
    };
    registered.check_output(&result).map_err(RpcError::from)?;
    Ok(Outcome::tool(result))
}

fn find<'a>(tools: &'a Family<Registered>, name: &str) -> Result<&'a Arc<Registered>, Refusal> {
    tools.get(name).ok_or_else(|| {
        let refusal = Refusal::new(Code::ToolNotFound, format!("there is no tool {name:?}"));
        match nearest(tools, name) {
            Some(near) => refusal.hint(format!("Did you mean {near:?}? List the tools to see them all.")),
            None => refusal,
        }
    })
}

/// A tool whose name is the same but for case and separators, or begins or ends alike.
fn nearest<'a>(tools: &'a Family<Registered>, name: &str) -> Option<&'a str> {
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
    let mut value = match schema::arguments(fields.raw("arguments")) {
        Ok(given) => Value::Object(given),
        Err(refusal) => return (Arguments::default(), Err(refusal)),
    };
    let admitted = registered.input.admit(&mut value);
    match value {
        Value::Object(arguments) => (Arguments(arguments), admitted),
        _ => (Arguments::default(), admitted),
    }
}

/// A ready tool runs where the message was read, unless something before it may have to wait.
fn runs_inline(door: &Door<'_>, registered: &Registered) -> bool {
    door.core.guard.is_none()
        && !registered.tool.asks_for_missing
        && registered.tool.breaker.is_none()
        && registered.tool.task_support == TaskSupport::Forbidden
}

fn run_inline(
    run: &(dyn Fn(&Arguments) -> Result<ToolResult, Refusal> + Send + Sync),
    registered: &Registered,
    arguments: &Arguments,
) -> Result<Outcome, RpcError> {
    match catch_unwind(AssertUnwindSafe(|| run(arguments))) {
        Ok(Ok(result)) => {
            registered.check_output(&result)?;
            Ok(Outcome::tool(result))
        }
        Ok(Err(refusal)) => settle(Stop::Refused(refusal), true),
        Err(_panic) => Err(Refusal::new(Code::InternalError, "the request could not be served").into()),
    }
}
