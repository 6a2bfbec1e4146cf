//! From a text to an answer: frame, envelope, terms, gate, route, run.
//!
//! What is ready is written into the caller's buffer at once. What may wait gets a task, a place among the running
//! requests, and answers through its outlet. Nothing a client can send ends a connection.

mod completion;
mod lifecycle;
mod missing;
mod prompts;
mod reading;
mod resources;
mod route;
mod sight;
mod tasks;
mod terms;
mod tools;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Class, Code, Refusal};

use crate::answer::{Outcome, RpcError};
use crate::batch::Batch;
use crate::breaker::Breaker;
use crate::cancel::Cancel;
use crate::context::{Call, Context};
use crate::core::Core;
use crate::envelope::{self, Frame, Malformed, Message, Notification, Request};
use crate::fields::Fields;
use crate::input::Rounds;
use crate::outlet::Outlet;
use crate::session::{Session, Terms};
use crate::tool::{self, Arguments, Stop};
use crate::version::{Era, Version};
use crate::waits::Waits;

pub(crate) use prompts::render as render_prompt;
pub(crate) use terms::{META_VERSION, stateless, unsupported_version};

/// Where a message came in.
#[derive(Clone)]
pub(crate) struct Door<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) extensions: &'a Arc<http::Extensions>,
    pub(crate) outlet: &'a Outlet,
    pub(crate) batch: Option<&'a Arc<Batch>>,
    /// Terms the transport settled already.
    pub(crate) terms: Option<&'a Terms>,
    /// Whether the transport can wait when the session has too much to do.
    pub(crate) patient: bool,
    /// Whether nothing waits behind this message, so that its work may begin before it has a task of its own.
    pub(crate) alone: bool,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It needs no answer.
    Nothing,
    /// The answer was written; with the HTTP status, where one is prescribed.
    Answered(Option<u16>),
    /// The answer will come through the outlet.
    Running,
    /// The session has too much to do; nothing was done.
    Busy,
    /// The answer was written, and the connection shall end.
    Ended(Ending),
}

/// Why a connection ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Shutdown,
    VersionRefused,
}

/// Takes one text: a message or a batch of them.
pub(crate) fn receive(door: &Door<'_>, text: &str, out: &mut Vec<u8>) -> Taken {
    match envelope::frame(text) {
        Ok(Frame::Single(text)) => receive_one(door, text, out),
        Ok(Frame::Batch(texts)) => receive_batch(door, &texts, out),
        Err(malformed) => refuse_malformed(door, malformed, out),
    }
}

/// What a route leads to.
enum Step {
    /// The result is there.
    Now(Outcome),
    /// The result is there, and the connection shall end.
    Last(Result<Outcome, RpcError>, Ending),
    /// The result takes work.
    Later(Plan),
}

/// Work to be done for a request.
struct Plan {
    work: Work,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
    rounds: Option<Box<(String, Rounds)>>,
}

enum Work {
    Tool(Arc<tool::Registered>, Arguments),
    Other(Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<Outcome, Stop>> + Send>),
}

impl Plan {
    fn new(
        core: &Core,
        run: impl FnOnce(Context) -> BoxFuture<'static, Result<Outcome, Stop>> + Send + 'static,
    ) -> Self {
        Self {
            work: Work::Other(Box::new(run)),
            timeout: Some(core.settings.limits.serve_timeout()),
            breaker: None,
            rounds: None,
        }
    }
}

fn receive_one(door: &Door<'_>, text: &str, out: &mut Vec<u8>) -> Taken {
    match envelope::message(text) {
        Ok(Message::Request(request)) => receive_request(door, &request, out),
        Ok(Message::Notification(notification)) => {
            hear(door, &notification);
            Taken::Nothing
        }
        Ok(Message::Response(response)) => {
            door.session.pending.answer(response.id, response.outcome);
            Taken::Nothing
        }
        Err(malformed) => refuse_malformed(door, malformed, out),
    }
}

fn receive_request(door: &Door<'_>, request: &Request<'_>, out: &mut Vec<u8>) -> Taken {
    let limits = &door.core.settings.limits;
    if door.patient && door.session.in_flight.len() >= limits.max_in_flight_per_session {
        return Taken::Busy;
    }
    let terms = match terms::of(door, request) {
        Ok(terms) => terms,
        Err(error) => return write(door, request, Err(error), door.session.version(), out),
    };
    let version = terms.version;
    match route::route(door, request, &terms) {
        Ok(Step::Now(outcome)) => write(door, request, Ok(outcome), version, out),
        Ok(Step::Last(outcome, ending)) => {
            write(door, request, outcome, version, out);
            Taken::Ended(ending)
        }
        Ok(Step::Later(plan)) => match start(door, request, agreed(door, request, terms), plan) {
            Ok(()) => Taken::Running,
            Err(error) => write(door, request, Err(error), version, out),
        },
        Err(error) => write(door, request, Err(error), version, out),
    }
}

//= specs/mcp-runtime.md#messages
//# A batch MUST be answered by one array that holds the answer to each of its requests.
fn receive_batch(door: &Door<'_>, texts: &[&serde_json::value::RawValue], out: &mut Vec<u8>) -> Taken {
    let version = door.session.version();
    let refuse = |error: RpcError, out: &mut Vec<u8>| {
        Taken::Answered(door.core.render_into(out, "null", Err(error), version))
    };
    let max = door.core.settings.limits.max_batch_messages;
    if texts.is_empty() {
        return refuse(RpcError::invalid("the batch is empty"), out);
    }
    if texts.len() > max {
        let problem = format!("the batch has {} messages, more than {max}", texts.len());
        return refuse(Refusal::new(Code::QueueCapExceeded, problem).into(), out);
    }
    if door
        .terms
        .is_some_and(|terms| terms.version.era() == Era::Stateless)
    {
        return refuse(RpcError::invalid("this version has no batches"), out);
    }
    let batch = Arc::new(Batch::new(door.outlet.clone()));
    let inside = Door {
        batch: Some(&batch),
        patient: false,
        alone: false,
        ..door.clone()
    };
    let mut answer = Vec::new();
    for text in texts {
        answer.clear();
        receive_one(&inside, text.get(), &mut answer);
        if !answer.is_empty() {
            batch.add_ready(&answer);
        }
    }
    batch.skip();
    Taken::Running
}

fn refuse_malformed(door: &Door<'_>, malformed: Malformed<'_>, out: &mut Vec<u8>) -> Taken {
    let (id, error) = match malformed {
        Malformed::Syntax(problem) => (None, RpcError::unreadable(&problem)),
        Malformed::Shape { id, problem } => (id, RpcError::invalid(problem)),
    };
    Taken::Answered(
        door.core
            .render_into(out, id.unwrap_or("null"), Err(error), door.session.version()),
    )
}

fn write(
    door: &Door<'_>,
    request: &Request<'_>,
    outcome: Result<Outcome, RpcError>,
    version: Version,
    out: &mut Vec<u8>,
) -> Taken {
    Taken::Answered(door.core.render_into(out, request.id, outcome, version))
}

/// A greeting is answered under the terms it has just agreed on.
fn agreed(door: &Door<'_>, request: &Request<'_>, terms: Terms) -> Terms {
    match &*request.method {
        "initialize" => door.session.terms(),
        _ => terms,
    }
}

/// Enters a request among the running ones and gives it a task.
fn start(door: &Door<'_>, request: &Request<'_>, terms: Terms, plan: Plan) -> Result<(), RpcError> {
    let core = door.core;
    let weight = request.params.map_or(0, str::len);
    door.session.admit(weight, &core.settings.limits)?;
    //= specs/mcp-runtime.md#limits
    //# A request above the server's limit of running requests MUST be refused with 1005.
    if core.in_flight() >= core.settings.limits.max_in_flight_total {
        return Err(Refusal::new(
            Code::BackpressureActive,
            "the server has as many requests as it can serve",
        )
        .into());
    }
    let call = Arc::new(new_call(door, request, terms, plan.rounds, weight)?);
    if !door.session.in_flight.enter(&call) {
        return Err(RpcError::invalid("a request with this `id` is being served"));
    }
    core.entered();
    if let Some(batch) = door.batch {
        batch.expect();
    }
    let mut work = run(call, plan.work, plan.timeout, plan.breaker).boxed();
    // Most work never waits. Where nothing waits behind it, it is tried here: giving it a task wakes another thread for
    // nothing, which costs more than the work. A task asks again, so no wake is lost.
    if !door.alone || (&mut work).now_or_never().is_none() {
        tokio::spawn(work);
    }
    Ok(())
}

fn new_call(
    door: &Door<'_>,
    request: &Request<'_>,
    terms: Terms,
    rounds: Option<Box<(String, Rounds)>>,
    weight: usize,
) -> Result<Call, RpcError> {
    let meta = match request.params {
        Some(params) if params.contains("\"_meta\"") => Fields::of(Some(params))?.raw("_meta"),
        _ => None,
    };
    let progress_token = match meta {
        Some(meta) => Fields::of(Some(meta))?.raw("progressToken"),
        None => None,
    };
    Ok(Call {
        core: door.core.clone(),
        session: door.session.clone(),
        extensions: door.extensions.clone(),
        outlet: door.outlet.clone(),
        batch: door.batch.cloned(),
        terms,
        id: request.id.into(),
        cancel: Cancel::default(),
        progress_token: progress_token.map(Into::into),
        meta: meta.map(Into::into),
        weight,
        rounds: Mutex::new(rounds),
        task: None,
        waits: Waits::default(),
    })
}

async fn run(call: Arc<Call>, work: Work, timeout: Option<Duration>, breaker: Option<Arc<Breaker>>) {
    if let Some(outcome) = serve(&call, work, timeout, breaker).await {
        call.answer(outcome).await;
    }
}

/// Does the work, and ends it when it is cancelled, takes too long or panics. `None` when it was cancelled.
async fn serve(
    call: &Arc<Call>,
    work: Work,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
) -> Option<Result<Outcome, RpcError>> {
    let pass = match breaker.as_deref().map(Breaker::enter).transpose() {
        Ok(pass) => pass,
        Err(refusal) => return Some(Err(refusal.into())),
    };
    let is_tool = matches!(work, Work::Tool(..));
    // Fulfils 003 R10.10, 002 Resil-003
    let done = AssertUnwindSafe(perform(Context(call.clone()), work)).catch_unwind();
    let limit = timeout.unwrap_or(Duration::MAX);
    tokio::select! {
        biased;
        done = done => Some(match done {
            Ok(Ok(outcome)) => {
                pass.into_iter().for_each(|pass| pass.succeeded());
                Ok(outcome)
            }
            Ok(Err(stop)) => {
                if let (Some(pass), Stop::Refused(refusal)) = (pass, &stop) {
                    pass.refused(refusal.code);
                }
                settle(stop, is_tool)
            }
            //= specs/mcp-runtime.md#resilience
            //# A handler that panics MUST cost no more than its own answer, which is 1079.
            Err(_panic) => Err(Refusal::new(Code::InternalError, "the request could not be served").into()),
        }),
        //= specs/mcp-runtime.md#progress-and-cancellation
        //# A cancelled request MUST be stopped and MUST NOT be answered.
        () = call.cancel.raised() => {
            pass.into_iter().for_each(|pass| pass.abandoned());
            None
        }
        //= specs/mcp-runtime.md#tools
        //# A call that takes longer than its limit MUST be stopped and answered with 1069.
        () = call.waits.worked_for(limit), if timeout.is_some() => {
            call.cancel.raise();
            Some(Err(Refusal::new(Code::Timeout, format!("the request took longer than {} ms", limit.as_millis())).into()))
        }
    }
}

async fn perform(cx: Context, work: Work) -> Result<Outcome, Stop> {
    match work {
        Work::Tool(registered, arguments) => tools::perform(cx, &registered, arguments).await,
        Work::Other(run) => run(cx).await,
    }
}

/// A handler's "no" as an answer: a tool that ran and failed has a result, everything else is an error.
fn settle(stop: Stop, is_tool: bool) -> Result<Outcome, RpcError> {
    match stop {
        Stop::Refused(refusal) => {
            let own = matches!(
                refusal.code.class(),
                Class::Entity | Class::Validation | Class::Path
            );
            if is_tool && own {
                Ok(Outcome::tool(tool::ToolResult::failed(&refusal)))
            } else {
                Err(refusal.into())
            }
        }
        Stop::Error(error) => Err(*error),
        Stop::Input(input) => Ok(input.outcome()),
    }
}

/// Notifications: none is answered, and one that makes no sense is ignored.
fn hear(door: &Door<'_>, notification: &Notification<'_>) {
    match notification.method.as_ref() {
        "notifications/initialized" => door.session.confirm(),
        "notifications/cancelled" | "cancellation/cancel_request" | "requests/cancel" => {
            if let Ok(fields) = Fields::of(notification.params) {
                cancel(door.session, &fields);
            }
        }
        other => {
            if other == "notifications/roots/list_changed" {
                door.session.roots.forget();
            }
            if let Some(on_notification) = &door.core.on_notification {
                let params = notification
                    .params
                    .and_then(|p| serde_json::from_str(p).ok())
                    .unwrap_or_default();
                let cx = heard(door);
                // Nobody waits for an answer; the panic itself was reported by the panic hook.
                let _ = catch_unwind(AssertUnwindSafe(|| on_notification(cx, other, params)));
            }
        }
    }
}

/// The context of a notification: what is said in it belongs to the session, for nothing was asked.
fn heard(door: &Door<'_>) -> Context {
    Context(Arc::new(Call {
        core: door.core.clone(),
        session: door.session.clone(),
        extensions: door.extensions.clone(),
        outlet: door.session.outlet(),
        batch: None,
        terms: door.session.terms(),
        id: "null".into(),
        cancel: Cancel::default(),
        progress_token: None,
        meta: None,
        weight: 0,
        rounds: Mutex::default(),
        task: None,
        waits: Waits::default(),
    }))
}

/// Stops the request a message names; one that is over, or never was, is ignored.
fn cancel(session: &Session, fields: &Fields<'_>) {
    let id = ["requestId", "request_id", "id"]
        .into_iter()
        .find_map(|name| fields.raw(name));
    if let Some(call) = id.and_then(|id| session.in_flight.claim(id)) {
        call.core.hub.unlisten(&call);
        call.abandon();
    }
}
