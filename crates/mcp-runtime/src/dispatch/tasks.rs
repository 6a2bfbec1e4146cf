//! `tools/call` that becomes a task, and `tasks/*` in both forms.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use super::{Door, Plan, Step, Work, serve};
use crate::answer::{Kind, Outcome, RpcError};
use crate::cancel::Cancel;
use crate::client::TASKS_EXTENSION;
use crate::context::Call;
use crate::cursor::Place;
use crate::fields::Fields;
use crate::input::{Ask, InputRequired, Rounds, missing_capability};
use crate::session::{Session, Terms};
use crate::task::Task;
use crate::tool::{Arguments, Registered, TaskSupport};
use crate::version::{Era, Version};
use crate::waits::Waits;

const LIST: &str = "tasks/list";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// A task that is to be made, and what the request said about it.
pub(super) struct Wanted {
    ttl_ms: Option<u64>,
    meta: Option<Box<str>>,
    progress_token: Option<Box<str>>,
}

/// Whether a call becomes a task: by the client's wish in the first form, by its abilities in the second.
//= specs/mcp-runtime.md#tasks
//# A call MUST become a task only when the tool allows it and the client asked for it or declared that it can follow tasks.
pub(super) fn wanted(
    door: &Door<'_>,
    registered: &Registered,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Option<Wanted>, RpcError> {
    let (support, offered) = (registered.tool.task_support, door.core.settings.offers.tasks);
    let asked = match terms.version.era() {
        Era::Handshake => terms.version == Version::V2025_11_25 && fields.raw("task").is_some(),
        Era::Stateless => {
            terms.client.capabilities.has_extension(TASKS_EXTENSION) && support != TaskSupport::Forbidden
        }
    };
    match (support, asked && offered) {
        (TaskSupport::Forbidden, true) => Err(not_as_task(&registered.tool.name, "cannot run as a task")),
        (TaskSupport::Required, false) if terms.version.era() == Era::Stateless => Err(missing_extension()),
        (TaskSupport::Required, false) => Err(not_as_task(&registered.tool.name, "only runs as a task")),
        (_, false) => Ok(None),
        (_, true) => {
            let ttl = Fields::of(fields.raw("task")).unwrap_or_default();
            let meta = fields.raw("_meta");
            let progress_token = Fields::of(meta)?.raw("progressToken");
            Ok(Some(Wanted {
                ttl_ms: ttl.decode("ttl")?,
                meta: meta.map(Into::into),
                progress_token: progress_token.map(Into::into),
            }))
        }
    }
}

/// Starts the work and answers with its handle.
pub(super) fn start(
    door: &Door<'_>,
    registered: &Arc<Registered>,
    arguments: Arguments,
    wanted: Wanted,
    terms: &Terms,
    mut rounds: Option<Box<(String, Rounds)>>,
) -> Result<Step, RpcError> {
    let core = door.core;
    if let Some((purpose, rounds)) = rounds.as_deref_mut()
        && let Some(input) = ask_first(door, registered, terms, purpose, rounds)?
    {
        return Ok(Step::Now(input.outcome()));
    }
    let task = core
        .tasks
        .create(owner(door.session), wanted.ttl_ms, &core.settings.limits)?;
    let call = Arc::new(task_call(door, &task, wanted, terms, rounds));
    task.works_in(&call);
    let answer = match terms.version.era() {
        Era::Handshake => Outcome::value(json!({ "task": task.core_form() })),
        Era::Stateless => Outcome::object(task.handle_form()).kind(Kind::Task),
    };
    let registered = registered.clone();
    let (timeout, breaker) = (
        registered.tool.timeout.unwrap_or(task.ttl()),
        registered.tool.breaker.clone(),
    );
    tokio::spawn(async move {
        let work = Work::Tool(registered, arguments);
        if let Some(outcome) = serve(&call, work, Some(timeout), breaker).await {
            task.finish(outcome.map(Outcome::into_object));
        }
    });
    Ok(Step::Now(answer))
}

/// The call the work runs in: it outlives the request, so what it says belongs to the session.
fn task_call(
    door: &Door<'_>,
    task: &Arc<Task>,
    wanted: Wanted,
    terms: &Terms,
    rounds: Option<Box<(String, Rounds)>>,
) -> Call {
    Call {
        core: door.core.clone(),
        session: door.session.clone(),
        extensions: door.extensions.clone(),
        outlet: door.session.outlet(),
        batch: None,
        terms: terms.clone(),
        id: format!("\"{}\"", task.id).into(),
        cancel: Cancel::default(),
        progress_token: wanted.progress_token,
        meta: wanted.meta,
        weight: 0,
        rounds: Mutex::new(rounds),
        task: Some(task.clone()),
        waits: Waits::default(),
    }
}

/// What is still to be asked before the call can become a task.
fn ask_first(
    door: &Door<'_>,
    registered: &Registered,
    terms: &Terms,
    purpose: &str,
    rounds: &mut Rounds,
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
    Ok(Some(InputRequired::new(
        &open,
        rounds.seal(&door.core.seal, purpose),
    )))
}

pub(super) fn get(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let task = asked(door, fields, terms)?;
    Ok(Step::Now(match terms.version.era() {
        Era::Handshake => Outcome::value(task.core_form()),
        Era::Stateless => Outcome::object(task.detailed_form(terms.version)),
    }))
}

/// Waits for the task's result and gives it as the call would have.
pub(super) fn result(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let task = door
        .core
        .tasks
        .find(&fields.required_text("taskId")?, owner(door.session))?;
    let ttl = task.ttl();
    let run = move |_cx| {
        async move {
            let mut result = task.settled().await?;
            let meta = result.entry("_meta").or_insert_with(|| json!({}));
            meta[RELATED] = json!({ "taskId": task.id });
            Ok(Outcome::object(result))
        }
        .boxed()
    };
    Ok(Step::Later(Plan {
        timeout: Some(ttl),
        ..Plan::new(door.core, run)
    }))
}

pub(super) fn list(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let (core, limit) = (door.core, door.core.settings.limits.page_entries);
    let after = match Place::asked(fields, &core.seal, LIST)? {
        Some(Place::After(id)) => id,
        _ => String::new(),
    };
    let own = core.tasks.of(owner(door.session));
    let mut rest = own.iter().filter(|task| task.id > after);
    let page: Vec<&Arc<Task>> = rest.by_ref().take(limit).collect();
    let mut answer = json!({ "tasks": page.iter().map(|t| t.core_form()).collect::<Vec<_>>() });
    if let (Some(last), Some(_)) = (page.last(), rest.next()) {
        answer["nextCursor"] = json!(Place::After(last.id.clone()).seal(&core.seal, LIST));
    }
    Ok(Step::Now(Outcome::value(answer)))
}

//= specs/mcp-runtime.md#tasks
//# Cancelling a task MUST stop its work, and a task that is over MUST keep its outcome.
pub(super) fn cancel(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let task = asked(door, fields, terms)?;
    let cancelled = task.cancel();
    match terms.version.era() {
        Era::Stateless => Ok(Step::Now(Outcome::empty())),
        Era::Handshake if cancelled => Ok(Step::Now(Outcome::value(task.core_form()))),
        Era::Handshake => Err(Refusal::field(
            Code::InvalidParams,
            "taskId",
            "the task is over already",
            "a task that runs",
        )
        .into()),
    }
}

pub(super) fn update(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Step, RpcError> {
    let task = asked(door, fields, terms)?;
    let answers: Option<Map<String, Value>> = fields.decode("inputResponses")?;
    task.update(answers.ok_or_else(|| crate::fields::missing("inputResponses"))?);
    Ok(Step::Now(Outcome::empty()))
}

fn asked(door: &Door<'_>, fields: &Fields<'_>, terms: &Terms) -> Result<Arc<Task>, RpcError> {
    if terms.version.era() == Era::Stateless && !terms.client.capabilities.has_extension(TASKS_EXTENSION) {
        return Err(missing_extension());
    }
    Ok(door
        .core
        .tasks
        .find(&fields.required_text("taskId")?, owner(door.session))?)
}

/// Whose tasks a session sees: its owner's, else its own.
fn owner(session: &Session) -> &str {
    session.owner.as_deref().unwrap_or(&session.id)
}

fn not_as_task(name: &str, problem: &str) -> RpcError {
    RpcError::numbered(
        -32601,
        Refusal::new(Code::ProtocolError, format!("the tool {name:?} {problem}")),
    )
}

fn missing_extension() -> RpcError {
    missing_capability(TASKS_EXTENSION, json!({ "extensions": { TASKS_EXTENSION: {} } }))
}
