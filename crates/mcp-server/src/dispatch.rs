//! From a text to an answer: frame, envelope, terms, gate, route, run.
//!
//! What is ready is written into the caller's buffer at once. What may wait gets a task, a place among the running
//! requests, and answers through its sink. Nothing a client can send ends a connection.

mod completion;
mod lifecycle;
mod limited;
mod missing_arguments;
mod prompts;
mod read;
mod resources;
mod route;
mod tasks;
mod tools;
mod visibility;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use limited::Ended;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Class, Code, Refusal};

use crate::breaker::Breaker;
use crate::cancel::CancellationToken;
use crate::random::now_ms;
use crate::rate_meter::Meter;
use crate::roots;
use crate::server::answered::{Answered, OnAnswered};
use crate::server::context::{Call, Context};
use crate::server::core::Core;
use crate::server::tool::{self, Stop};
use crate::server::waits::Waits;
use crate::session::batch::{Batch, no_batches};
use crate::session::quota::SessionOwner;
use crate::session::sink::MessageSink;
use crate::session::{Phase, Session};
use mcp_protocol::{
    Arguments, Fields, InputRounds, Method, Outcome, RpcError, Terms, ToolResult, Version,
    envelope::{self, Malformed, Message, Notification, Received, Request},
};

/// Where a message came in.
#[derive(Clone)]
pub(crate) struct Incoming<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) extensions: &'a Arc<http::Extensions>,
    pub(crate) sink: &'a MessageSink,
    pub(crate) batch: Option<&'a Arc<Batch>>,
    /// Terms the transport settled already.
    pub(crate) terms: Option<&'a Terms>,
    /// Whether the transport can wait when the session has too much to do.
    pub(crate) patient: bool,
    /// Whether nothing waits behind this message, so that its work may begin before it has a task of its own.
    pub(crate) alone: bool,
}

impl Incoming<'_> {
    /// Counts further messages against the rate of whoever sent the request, where somebody keeps one.
    fn count(&self, messages: u32) -> Result<(), Refusal> {
        let meter = self.extensions.get::<Meter>();
        meter.map_or(Ok(()), |meter| meter.count(messages))
    }

    /// The terms of a message: those the transport settled, its own, or those of the handshake before it.
    fn terms_of(&self, request: &Request<'_>) -> Result<Terms, RpcError> {
        if let Some(terms) = self.terms {
            return Ok(terms.clone());
        }
        let own = Terms::of_message(request, &self.core.settings.versions)?;
        Ok(own.unwrap_or_else(|| self.session.terms()))
    }

    /// The earlier rounds of a request, where its revision has any. Their state is signed for what is done, and for whom.
    fn rounds(
        &self,
        terms: &Terms,
        fields: &Fields<'_>,
        what: impl FnOnce() -> String,
    ) -> Result<Option<Box<InputRounds>>, Refusal> {
        if !terms.version.has_input_rounds() {
            return Ok(None);
        }
        let owner = self.extensions.get::<SessionOwner>();
        let purpose = format!("{}\n{}", what(), owner.map_or("", |owner| owner.0.as_str()));
        let rounds = InputRounds::read(fields, &self.core.signer, purpose, now_ms())?;
        Ok(Some(Box::new(rounds)))
    }
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// It needs no answer.
    Nothing,
    /// The answer was written; with the HTTP status, where one is prescribed.
    Answered(Option<u16>),
    /// The answer will come through the sink.
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

/// A text that was taken apart, or why it could not be.
pub(crate) type Parsed<'a> = Result<Received<'a>, Malformed<'a>>;

/// Takes what one text holds: a message or a batch of them.
pub(crate) fn receive(incoming: &Incoming<'_>, parsed: &Parsed<'_>, out: &mut Vec<u8>) -> Disposition {
    match parsed {
        Ok(Received::Message(message)) => receive_one(incoming, message, out),
        Ok(Received::Batch(texts)) => receive_batch(incoming, texts, out),
        Err(malformed) => refuse_malformed(incoming, malformed, out),
    }
}

/// What a route leads to.
enum Routed {
    /// The result is there.
    Now(Outcome),
    /// The result is there, and the connection shall end.
    Last(Result<Outcome, RpcError>, Ending),
    /// The result takes work.
    Later(Job),
}

/// Work to be done for a request.
struct Job {
    body: JobBody,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
    rounds: Option<Box<InputRounds>>,
    /// Whether nothing is lost when it ends halfway, because nobody waits for it any more.
    only_reads: bool,
}

enum JobBody {
    Tool(Arc<tool::Registered>, Arguments),
    Other(Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<Outcome, Stop>> + Send>),
}

impl Job {
    fn new(
        core: &Core,
        run: impl FnOnce(Context) -> BoxFuture<'static, Result<Outcome, Stop>> + Send + 'static,
    ) -> Self {
        Self {
            body: JobBody::Other(Box::new(run)),
            timeout: Some(core.settings.limits.serve_timeout()),
            breaker: None,
            rounds: None,
            only_reads: false,
        }
    }

    /// Work that changes nothing.
    fn reading(
        core: &Core,
        run: impl FnOnce(Context) -> BoxFuture<'static, Result<Outcome, Stop>> + Send + 'static,
    ) -> Self {
        Self {
            only_reads: true,
            ..Self::new(core, run)
        }
    }
}

fn receive_one(incoming: &Incoming<'_>, message: &Message<'_>, out: &mut Vec<u8>) -> Disposition {
    match message {
        Message::Request(request) => receive_request(incoming, request, out),
        Message::Notification(notification) => {
            handle_notification(incoming, notification);
            Disposition::Nothing
        }
        Message::Response(response) => {
            incoming.session.pending.answer(response.id, response.outcome);
            Disposition::Nothing
        }
    }
}

fn receive_request(incoming: &Incoming<'_>, request: &Request<'_>, out: &mut Vec<u8>) -> Disposition {
    let limits = &incoming.core.settings.limits;
    if incoming.patient && incoming.session.in_flight.len() >= limits.max_in_flight_per_session {
        return Disposition::Busy;
    }
    let terms = match incoming.terms_of(request) {
        Ok(terms) => terms,
        Err(error) => return write(incoming, request, Err(error), incoming.session.version(), out),
    };
    let version = terms.version;
    if incoming.batch.is_some() && !version.has_handshake() {
        return write(incoming, request, Err(no_batches(version)), version, out);
    }
    match route::route(incoming, request, &terms) {
        Ok(Routed::Now(outcome)) => write(incoming, request, Ok(outcome), version, out),
        Ok(Routed::Last(outcome, ending)) => {
            write(incoming, request, outcome, version, out);
            Disposition::Ended(ending)
        }
        Ok(Routed::Later(job)) => match start(incoming, request, agreed(incoming, request, terms), job) {
            Ok(()) => Disposition::Running,
            Err(error) => write(incoming, request, Err(error), version, out),
        },
        Err(error) => write(incoming, request, Err(error), version, out),
    }
}

//= specs/mcp-server.md#messages
//# A batch MUST be answered by one array that holds the answer to each of its requests.
fn receive_batch(
    incoming: &Incoming<'_>,
    texts: &[&serde_json::value::RawValue],
    out: &mut Vec<u8>,
) -> Disposition {
    if let Err(error) = check_batch(incoming, texts.len()) {
        let version = incoming.session.version();
        return Disposition::Answered(incoming.core.render_into(out, "null", Err(error), version));
    }
    let limit = incoming.core.settings.limits.max_answer_bytes;
    let batch = Arc::new(Batch::new(incoming.sink.clone(), limit));
    let inside = Incoming {
        batch: Some(&batch),
        patient: false,
        alone: false,
        ..incoming.clone()
    };
    let mut answer = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        answer.clear();
        //= specs/mcp-server.md#limits
        //# Every message of a batch MUST count against the rate of its sender as if it came alone.
        let message = envelope::message(text.get());
        match (incoming.count(u32::from(at > 0)), &message) {
            (Ok(()), Ok(message)) => drop(receive_one(&inside, message, &mut answer)),
            (Ok(()), Err(malformed)) => drop(refuse_malformed(&inside, malformed, &mut answer)),
            (Err(refusal), _) => refuse_one(&inside, &message, refusal.into(), &mut answer),
        }
        if !answer.is_empty() {
            batch.add_ready(&answer, |error| {
                let mut instead = Vec::new();
                refuse_one(&inside, &message, error, &mut instead);
                instead
            });
        }
    }
    batch.skip();
    Disposition::Running
}

/// Refuses an array where there are none, and one that is empty or too long.
fn check_batch(incoming: &Incoming<'_>, messages: usize) -> Result<(), RpcError> {
    //= specs/mcp-server.md#messages
    //# A batch MUST be refused with `-32600` in every version that has none, which are those from `2025-06-18` on.
    let version = match incoming.terms {
        Some(terms) => Some(terms.version),
        // Before the handshake nothing is agreed on; each message is refused for that reason.
        None => (incoming.session.phase() != Phase::New).then(|| incoming.session.version()),
    };
    Batch::check(
        version,
        messages,
        incoming.core.settings.limits.max_batch_messages,
    )
}

/// Answers a message of a batch with an error; one that wants no answer gets none.
fn refuse_one(
    incoming: &Incoming<'_>,
    message: &Result<Message<'_>, Malformed<'_>>,
    error: RpcError,
    out: &mut Vec<u8>,
) {
    if let Ok(Message::Request(request)) = message {
        incoming
            .core
            .render_into(out, request.id, Err(error), incoming.session.version());
    }
}

fn refuse_malformed(incoming: &Incoming<'_>, malformed: &Malformed<'_>, out: &mut Vec<u8>) -> Disposition {
    let (id, error) = RpcError::malformed(malformed);
    let version = incoming.session.version();
    Disposition::Answered(incoming.core.render_into(out, id, Err(error), version))
}

fn write(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    outcome: Result<Outcome, RpcError>,
    version: Version,
    out: &mut Vec<u8>,
) -> Disposition {
    if let Some(observer) = &incoming.core.on_answered {
        let terms = incoming.terms_of(request);
        let terms = terms.unwrap_or_else(|_| incoming.session.terms());
        observer(&Answered {
            method: &request.method,
            params: request.params,
            client: &terms.client,
            extensions: incoming.extensions,
            refusal: outcome.as_ref().err().map(|error| &error.refusal),
            stopped: false,
            took: Duration::ZERO,
        });
    }
    Disposition::Answered(incoming.core.render_into(out, request.id, outcome, version))
}

/// Work the runtime does by itself: those who keep a record are told when it is done.
struct AnsweredNotice {
    observer: Arc<OnAnswered>,
    method: String,
    params: Option<String>,
    started: Instant,
}

impl AnsweredNotice {
    fn of(core: &Core, request: &Request<'_>) -> Option<Self> {
        let observer = core.on_answered.clone()?;
        let has_ref = || request.params.is_some_and(|params| params.contains("\"ref\""));
        let is_handled = match Method::named(&request.method) {
            Some(Method::Initialize | Method::ToolsCall | Method::PromptsGet | Method::PromptsCreate) => true,
            Some(Method::Complete) => !has_ref(),
            Some(_) => false,
            // A method that was added keeps its own record, unless the runtime brings it.
            None => !roots::METHODS.contains(&&*request.method),
        };
        (!is_handled).then(|| Self {
            observer,
            method: request.method.to_string(),
            params: request.params.map(str::to_owned),
            started: Instant::now(),
        })
    }

    fn done(&self, call: &Call, refusal: Option<&Refusal>) {
        self.tell(call, refusal, false);
    }

    fn stopped(&self, call: &Call) {
        // Of whoever listens it was told when it began: it ends by being stopped.
        if self.method != Method::Listen.name() {
            self.tell(call, None, true);
        }
    }

    fn tell(&self, call: &Call, refusal: Option<&Refusal>, stopped: bool) {
        (self.observer)(&Answered {
            method: &self.method,
            params: self.params.as_deref(),
            client: &call.terms.client,
            extensions: &call.extensions,
            refusal,
            stopped,
            took: self.started.elapsed(),
        });
    }
}

/// A greeting is answered under the terms it has just agreed on.
fn agreed(incoming: &Incoming<'_>, request: &Request<'_>, terms: Terms) -> Terms {
    match &*request.method {
        "initialize" => incoming.session.terms(),
        _ => terms,
    }
}

/// Enters a request among the running ones and gives it a task.
fn start(incoming: &Incoming<'_>, request: &Request<'_>, terms: Terms, job: Job) -> Result<(), RpcError> {
    let core = incoming.core;
    let weight = request.params.map_or(0, str::len);
    incoming.session.admit(weight, &core.settings.limits)?;
    //= specs/mcp-server.md#limits
    //# A request above the server's limit of running requests MUST be refused with 1005.
    if core.in_flight() >= core.settings.limits.max_in_flight_total {
        return Err(Refusal::new(
            Code::BackpressureActive,
            "the server has as many requests as it can serve",
        )
        .into());
    }
    let mut call = new_call(incoming, request, terms, job.rounds, weight)?;
    call.only_reads = job.only_reads;
    let call = Arc::new(call);
    if !incoming.session.in_flight.enter(call.clone()) {
        return Err(RpcError::invalid("a request with this `id` is being served"));
    }
    core.entered();
    let notice = AnsweredNotice::of(core, request);
    if let Some(batch) = incoming.batch {
        batch.expect();
        tokio::spawn(run_in_turn(
            call,
            batch.clone(),
            job.body,
            job.timeout,
            job.breaker,
            notice,
        ));
        return Ok(());
    }
    call.begin();
    let mut work = run(call, job.body, job.timeout, job.breaker, notice).boxed();
    // Most work never waits. Where nothing waits behind it, it is tried here: giving it a task wakes another thread for
    // nothing, which costs more than the work. A task asks again, so no wake is lost.
    if !incoming.alone || (&mut work).now_or_never().is_none() {
        tokio::spawn(work);
    }
    Ok(())
}

fn new_call(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: Terms,
    rounds: Option<Box<InputRounds>>,
    weight: usize,
) -> Result<Call, RpcError> {
    let meta = match request.params {
        Some(params) if params.contains("\"_meta\"") => request.fields()?.raw("_meta"),
        _ => None,
    };
    let progress_token = match meta {
        Some(_) => request.meta()?.and_then(|meta| meta.raw("progressToken")),
        None => None,
    };
    Ok(Call {
        core: incoming.core.clone(),
        session: incoming.session.clone(),
        extensions: incoming.extensions.clone(),
        sink: incoming.sink.clone(),
        batch: incoming.batch.cloned(),
        terms,
        id: request.id.into(),
        cancel: CancellationToken::default(),
        progress_token: progress_token.map(Into::into),
        meta: meta.map(Into::into),
        weight,
        rounds: Mutex::new(rounds),
        task: None,
        waits: Waits::default(),
        only_reads: false,
        begun: AtomicBool::new(false),
    })
}

/// Runs a request of a batch when it is its turn.
//= specs/mcp-server.md#limits
//# Of the messages of an account's batches no more than the limit MUST be served at once, so that a long batch does not keep others waiting.
async fn run_in_turn(
    call: Arc<Call>,
    batch: Arc<Batch>,
    body: JobBody,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
    notice: Option<AnsweredNotice>,
) {
    let quota = call.session.quota.clone();
    // The semaphore is never closed, so there is always one to wait for.
    let _turn = quota.batch_permits.acquire().await;
    if batch.is_full() {
        call.answer(Err(batch.not_begun())).await;
    } else if call.begin() {
        run(call, body, timeout, breaker, notice).await;
    }
}

async fn run(
    call: Arc<Call>,
    body: JobBody,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
    notice: Option<AnsweredNotice>,
) {
    let served = serve(&call, body, timeout, breaker).await;
    if let Some(notice) = notice {
        match &served {
            Some(outcome) => notice.done(&call, outcome.as_ref().err().map(|error| &error.refusal)),
            None => notice.stopped(&call),
        }
    }
    if let Some(outcome) = served {
        call.answer(outcome).await;
    }
}

/// Does the body, and ends it when it is cancelled, takes too long or panics. `None` when it was cancelled.
async fn serve(
    call: &Arc<Call>,
    body: JobBody,
    timeout: Option<Duration>,
    breaker: Option<Arc<Breaker>>,
) -> Option<Result<Outcome, RpcError>> {
    let pass = match breaker.as_deref().map(Breaker::enter).transpose() {
        Ok(pass) => pass,
        Err(refusal) => return Some(Err(refusal.into())),
    };
    let tool = match &body {
        JobBody::Tool(registered, _) => Some(registered.clone()),
        JobBody::Other(_) => None,
    };
    let mut done = None;
    // Fulfils 003 R10.10, 002 Resil-003
    let work = async {
        done = Some(
            AssertUnwindSafe(perform(Context(call.clone()), body))
                .catch_unwind()
                .await,
        );
    };
    match limited::run(call, work, timeout).await {
        Ended::Done => {}
        //= specs/mcp-server.md#progress-and-cancellation
        //# A cancelled request MUST be stopped and MUST NOT be answered.
        Ended::Cancelled => {
            pass.into_iter().for_each(|pass| pass.abandoned());
            return None;
        }
        //= specs/mcp-server.md#tools
        //# A call that takes longer than its limit MUST be stopped and answered with 1069.
        Ended::Late(refusal) => {
            call.cancel.cancel();
            return Some(Err(refusal.into()));
        }
    }
    Some(match done {
        Some(Ok(Ok(outcome))) => {
            pass.into_iter().for_each(|pass| pass.succeeded());
            Ok(outcome)
        }
        Some(Ok(Err(stop))) => {
            if let (Some(pass), Stop::Refused(refusal)) = (pass, &stop) {
                pass.refused(refusal.code);
            }
            outcome_of(stop, tool.is_some())
        }
        //= specs/mcp-server.md#resilience
        //# A handler that panics MUST cost no more than its own answer, which is 1079.
        Some(Err(_)) | None => Err(panicked(
            &call.id,
            tool.as_ref().map(|tool| tool.tool.name.as_str()),
        )),
    })
}

/// The answer for a handler that panicked. What it said is for the panic hook, which knows what may be told; here it is
/// logged which request it was.
//= specs/mcp-server.md#resilience
//# A panic of a handler MUST be logged as an error with the id of its request.
fn panicked(request: &str, tool: Option<&str>) -> RpcError {
    tracing::error!(request, tool, "a handler panicked");
    Refusal::new(Code::InternalError, "the request could not be served").into()
}

async fn perform(cx: Context, body: JobBody) -> Result<Outcome, Stop> {
    match body {
        JobBody::Tool(registered, arguments) => tools::perform(cx, &registered, arguments).await,
        JobBody::Other(run) => run(cx).await,
    }
}

/// A handler's "no" as an answer: a tool that ran and failed has a result, everything else is an error.
fn outcome_of(stop: Stop, is_tool: bool) -> Result<Outcome, RpcError> {
    match stop {
        Stop::Refused(refusal) => {
            let own = matches!(
                refusal.code.class(),
                Class::Entity | Class::Validation | Class::Path
            );
            if is_tool && own {
                Ok(Outcome::tool(ToolResult::failed(&refusal)))
            } else {
                Err(refusal.into())
            }
        }
        Stop::Error(error) => Err(*error),
        Stop::Input(input) => Ok(input.outcome()),
    }
}

/// Notifications: none is answered, and one that makes no sense is ignored.
fn handle_notification(incoming: &Incoming<'_>, notification: &Notification<'_>) {
    match notification.method.as_ref() {
        "notifications/initialized" => incoming.session.confirm(),
        "notifications/cancelled" | "cancellation/cancel_request" | "requests/cancel" => {
            if let Ok(fields) = Fields::of(notification.params) {
                cancel(incoming.session, &fields);
            }
        }
        other => {
            if other == "notifications/roots/list_changed" {
                incoming.session.roots.forget();
            }
            if let Some(on_notification) = &incoming.core.on_notification {
                let params = notification
                    .params
                    .and_then(|p| serde_json::from_str(p).ok())
                    .unwrap_or_default();
                let cx = detached_context(incoming, incoming.session.sink());
                // Nobody waits for an answer; the panic itself was reported by the panic hook.
                let _ = catch_unwind(AssertUnwindSafe(|| on_notification(cx, other, params)));
            }
        }
    }
}

/// The context of what is no request being served. In that of a notification the session is spoken to, for nothing was
/// asked.
fn detached_context(incoming: &Incoming<'_>, sink: MessageSink) -> Context {
    Context(Arc::new(Call {
        core: incoming.core.clone(),
        session: incoming.session.clone(),
        extensions: incoming.extensions.clone(),
        sink,
        batch: None,
        terms: incoming.session.terms(),
        id: "null".into(),
        cancel: CancellationToken::default(),
        progress_token: None,
        meta: None,
        weight: 0,
        rounds: Mutex::default(),
        task: None,
        waits: Waits::default(),
        only_reads: false,
        begun: AtomicBool::new(false),
    }))
}

/// Stops the request a message names; one that is over, or never was, is ignored.
fn cancel(session: &Session, fields: &Fields<'_>) {
    let id = ["requestId", "request_id", "id"]
        .into_iter()
        .find_map(|name| fields.raw(name));
    if let Some(call) = id.and_then(|id| session.in_flight.claim(id)) {
        call.abandon();
    }
}
