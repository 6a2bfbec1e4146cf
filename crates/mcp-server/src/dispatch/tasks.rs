//! `tools/call` that becomes a task, and `tasks/*` in both forms.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use super::{Incoming, Job, JobBody, Routed, serve};
use crate::cancel::CancellationToken;
use crate::server::context::Call;
use crate::server::tool::Registered;
use crate::server::waits::Waits;
use crate::session::Session;
use crate::task::Task;
use mcp_protocol::{
    Arguments, Ask, Cursor, Fields, InputRequired, InputRounds, Outcome, ResultType, RpcCode, RpcError,
    TASKS_EXTENSION, TaskSupport, Terms, missing_capability,
};

const LIST: &str = "tasks/list";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A task that is to be made, and what the request said about it.
pub(super) struct TaskRequest {
    ttl_ms: Option<u64>,
    meta: Option<Box<str>>,
    progress_token: Option<Box<str>>,
}

/// Whether a call becomes a task: by the client's wish in the first form, by its abilities in the second.
//= specs/mcp-server.md#tasks
//# A call MUST become a task only when the tool allows it and the client asked for it or declared that it can follow tasks.
pub(super) fn requested(
    incoming: &Incoming<'_>,
    registered: &Registered,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Option<TaskRequest>, RpcError> {
    let (support, offered) = (registered.tool.task_support, incoming.core.settings.offers.tasks);
    let by_extension = terms.version.has_task_extension();
    let asked = match by_extension {
        true => terms.client.capabilities.has_extension(TASKS_EXTENSION) && support != TaskSupport::Forbidden,
        false => terms.version.has_core_tasks() && fields.raw("task").is_some(),
    };
    match (support, asked && offered) {
        (TaskSupport::Forbidden, true) => Err(not_as_task(&registered.tool.name, "cannot run as a task")),
        (TaskSupport::Required, false) if by_extension => Err(missing_extension()),
        (TaskSupport::Required, false) => Err(not_as_task(&registered.tool.name, "only runs as a task")),
        (_, false) => Ok(None),
        (_, true) => {
            let ttl = Fields::of(fields.raw("task")).unwrap_or_default();
            let meta = fields.raw("_meta");
            let progress_token = Fields::of(meta)?.raw("progressToken");
            Ok(Some(TaskRequest {
                ttl_ms: ttl.decode("ttl")?,
                meta: meta.map(Into::into),
                progress_token: progress_token.map(Into::into),
            }))
        }
    }
}

/// Starts the work and answers with its handle.
pub(super) fn start(
    incoming: &Incoming<'_>,
    registered: &Arc<Registered>,
    arguments: Arguments,
    wanted: TaskRequest,
    terms: &Terms,
    mut rounds: Option<Box<InputRounds>>,
) -> Result<Routed, RpcError> {
    let core = incoming.core;
    if let Some(rounds) = rounds.as_deref_mut()
        && let Some(input) = ask_first(incoming, registered, terms, rounds)?
    {
        return Ok(Routed::Now(input.outcome()));
    }
    let task = core
        .tasks
        .create(owner(incoming.session), wanted.ttl_ms, &core.settings.limits)?;
    let call = Arc::new(task_call(incoming, &task, wanted, terms, rounds));
    let weak: std::sync::Weak<Call> = Arc::downgrade(&call);
    task.works_in(weak);
    let answer = match terms.version.has_task_extension() {
        true => Outcome::object(task.handle_form()).typed(ResultType::Task),
        false => Outcome::value(json!({ "task": task.core_form() })),
    };
    let registered = registered.clone();
    let (timeout, breaker) = (
        registered.tool.timeout.unwrap_or(task.ttl()),
        registered.tool.breaker.clone(),
    );
    tokio::spawn(async move {
        let work = JobBody::Tool(registered, arguments);
        if let Some(outcome) = serve(&call, work, Some(timeout), breaker).await {
            task.finish(outcome.map(Outcome::into_object));
        }
    });
    Ok(Routed::Now(answer))
}

/// The call the work runs in: it outlives the request, so what it says belongs to the session.
fn task_call(
    incoming: &Incoming<'_>,
    task: &Arc<Task>,
    wanted: TaskRequest,
    terms: &Terms,
    rounds: Option<Box<InputRounds>>,
) -> Call {
    Call {
        core: incoming.core.clone(),
        session: incoming.session.clone(),
        extensions: incoming.extensions.clone(),
        sink: incoming.session.sink(),
        batch: None,
        terms: terms.clone(),
        id: format!("\"{}\"", task.id).into(),
        cancel: CancellationToken::default(),
        progress_token: wanted.progress_token,
        meta: wanted.meta,
        weight: 0,
        rounds: Mutex::new(rounds),
        task: Some(task.clone()),
        waits: Waits::default(),
        only_reads: false,
        begun: AtomicBool::new(true),
    }
}

/// What is still to be asked before the call can become a task.
fn ask_first(
    incoming: &Incoming<'_>,
    registered: &Registered,
    terms: &Terms,
    rounds: &mut InputRounds,
) -> Result<Option<InputRequired>, RpcError> {
    let asks: Vec<(&str, Ask)> = registered
        .tool
        .first_asks
        .iter()
        .map(|(key, ask)| (key.as_str(), ask.clone()))
        .collect();
    for (_, ask) in &asks {
        ask.check_offered(&terms.client.capabilities)?;
    }
    let (_, open) = rounds.sort_out(asks);
    if open.is_empty() {
        return Ok(None);
    }
    Ok(Some(InputRequired::new(&open, incoming.core.sign_rounds(rounds))))
}

pub(super) fn get(incoming: &Incoming<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Routed, RpcError> {
    let task = asked(incoming, fields, terms)?;
    Ok(Routed::Now(match terms.version.has_task_extension() {
        true => Outcome::object(task.detailed_form(terms.version)),
        false => Outcome::value(task.core_form()),
    }))
}

/// Waits for the task's result and gives it as the call would have.
pub(super) fn result(incoming: &Incoming<'_>, fields: &Fields<'_>) -> Result<Routed, RpcError> {
    let task = incoming
        .core
        .tasks
        .find(&fields.required_text("taskId")?, owner(incoming.session))?;
    let ttl = task.ttl();
    let run = move |_cx| {
        async move {
            let mut result = task.finished().await?;
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            meta[RELATED] = json!({ "taskId": task.id });
            Ok(Outcome::object(result))
        }
        .boxed()
    };
    Ok(Routed::Later(Job {
        timeout: Some(ttl),
        ..Job::new(incoming.core, run)
    }))
}

pub(super) fn list(incoming: &Incoming<'_>, fields: &Fields<'_>) -> Result<Routed, RpcError> {
    let (core, limit) = (incoming.core, incoming.core.settings.limits.page_entries);
    let after = match Cursor::requested(fields, &core.signer, LIST)? {
        Some(Cursor::AfterKey(id)) => id,
        _ => String::new(),
    };
    let own = core.tasks.of(owner(incoming.session));
    let mut rest = own.iter().filter(|task| task.id > after);
    let page: Vec<&Arc<Task>> = rest.by_ref().take(limit).collect();
    let mut answer = json!({ "tasks": page.iter().map(|t| t.core_form()).collect::<Vec<_>>() });
    if let (Some(last), Some(_)) = (page.last(), rest.next()) {
        answer["nextCursor"] = json!(Cursor::AfterKey(last.id.clone()).sign(&core.signer, LIST));
    }
    Ok(Routed::Now(Outcome::value(answer)))
}

//= specs/mcp-server.md#tasks
//# Cancelling a task MUST stop its work, and a task that is over MUST keep its outcome.
pub(super) fn cancel(
    incoming: &Incoming<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let task = asked(incoming, fields, terms)?;
    let cancelled = task.cancel();
    match (terms.version.has_task_extension(), cancelled) {
        (true, _) => Ok(Routed::Now(Outcome::empty())),
        (false, true) => Ok(Routed::Now(Outcome::value(task.core_form()))),
        (false, false) => Err(Refusal::field(
            Code::InvalidParams,
            "taskId",
            "the task is over already",
            "a task that runs",
        )
        .into()),
    }
}

pub(super) fn update(
    incoming: &Incoming<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let task = asked(incoming, fields, terms)?;
    let answers: Option<Map<String, Value>> = fields.decode("inputResponses")?;
    task.update(answers.ok_or_else(|| mcp_protocol::fields::missing("inputResponses"))?);
    Ok(Routed::Now(Outcome::empty()))
}

fn asked(incoming: &Incoming<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Arc<Task>, RpcError> {
    if terms.version.has_task_extension() && !terms.client.capabilities.has_extension(TASKS_EXTENSION) {
        return Err(missing_extension());
    }
    Ok(incoming
        .core
        .tasks
        .find(&fields.required_text("taskId")?, owner(incoming.session))?)
}

/// Whose tasks a session sees: its owner's, else its own.
fn owner(session: &Session) -> &str {
    session.owner.as_deref().unwrap_or(&session.id)
}

fn not_as_task(name: &str, problem: &str) -> RpcError {
    RpcError::numbered(
        RpcCode::MethodNotFound,
        Refusal::new(Code::ProtocolError, format!("the tool {name:?} {problem}")),
    )
}

fn missing_extension() -> RpcError {
    missing_capability(TASKS_EXTENSION, json!({ "extensions": { TASKS_EXTENSION: {} } }))
}
