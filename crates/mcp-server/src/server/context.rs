//! What a handler may touch while it serves one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use refusal::Refusal;
use serde_json::{Map, Value, json};

use crate::cancel::CancellationToken;
use crate::rate_meter::Meter;
use crate::server::Server;
use crate::server::core::Core;
use crate::server::prompt;
use crate::server::tool::Stop;
use crate::server::waits::Waits;
use crate::session::Session;
use crate::session::batch::Batch;
use crate::session::in_flight::{Identified, RunningRequest};
use crate::session::sink::MessageSink;
use crate::task::Task;
use mcp_protocol::{Client, InputRounds, Level, Outcome, PromptMessage, RpcError, Terms, notification};

/// One request being served. Cheap to clone; may be moved into tasks of the handler's own.
#[derive(Clone, Debug)]
pub struct Context(pub(crate) Arc<Call>);

/// Everything about one request while it runs; doubles as its entry among the running ones.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) core: Arc<Core>,
    pub(crate) session: Arc<Session>,
    pub(crate) extensions: Arc<http::Extensions>,
    pub(crate) sink: MessageSink,
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) terms: Terms,
    pub(crate) id: Box<str>,
    pub(crate) cancel: CancellationToken,
    /// The client's token for progress, as it was written.
    pub(crate) progress_token: Option<Box<str>>,
    /// `_meta` of the request, as it was written.
    pub(crate) meta: Option<Box<str>>,
    /// Bytes of its parameters.
    pub(crate) weight: usize,
    /// Earlier rounds of the same request.
    pub(crate) rounds: Mutex<Option<Box<InputRounds>>>,
    /// The task this call became, when it outlives its request.
    pub(crate) task: Option<Arc<Task>>,
    /// How long it waited for the client.
    pub(crate) waits: Waits,
    /// Whether nothing is lost when it ends halfway.
    pub(crate) only_reads: bool,
    /// Whether its work was begun.
    pub(crate) begun: AtomicBool,
}

impl Context {
    /// True once the client cancelled the request or the server gave it up.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// Waits until the request is cancelled; for work the runtime cannot drop, such as a thread.
    pub async fn cancelled(&self) {
        self.0.cancel.cancelled().await;
    }

    /// The client's own words about itself.
    pub fn client(&self) -> &Client {
        &self.0.terms.client
    }

    /// Counts as many further messages against the rate of whoever sent this one, for a method that does the work of
    /// several. Where nobody keeps a rate, all are allowed.
    pub fn count(&self, messages: u32) -> Result<(), Refusal> {
        let meter = self.extension::<Meter>();
        meter.map_or(Ok(()), |meter| meter.count(messages))
    }

    /// Something the transport or a layer before it attached, such as the authenticated user.
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.extensions.get()
    }

    /// The name of the protocol's revision, for counting. What a handler does must not depend on it.
    pub fn protocol_version(&self) -> &'static str {
        self.0.terms.version.name()
    }

    /// The id of the request, as the client wrote it.
    pub fn request_id(&self) -> &str {
        &self.0.id
    }

    /// The session's id; empty for requests without one.
    pub fn session_id(&self) -> &str {
        &self.0.session.id
    }

    /// The account a request comes from; where there is none, its owner, else its session.
    pub(crate) fn account(&self) -> &str {
        let session = &self.0.session;
        session.account.as_deref().unwrap_or(&session.id)
    }

    /// The `_meta` of the request, such as trace ids.
    pub fn meta(&self) -> Map<String, Value> {
        self.0
            .meta
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The server, to add tools or to tell of changes.
    pub fn server(&self) -> Server {
        Server(self.0.core.clone())
    }

    // Fulfils 002 Req-Tool-005, 002 Req-Proto-009
    /// Tells the client how far the work is. Does nothing when the client did not ask.
    //= specs/mcp-server.md#progress-and-cancellation
    //# Progress MUST be reported under the token the client sent, and not at all when it sent none.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.progress_with(progress, total, message, None).await;
    }

    /// The same with MCP `_meta`.
    pub async fn progress_with(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        meta: Option<Value>,
    ) {
        let Some(token) = self.0.progress_token.as_deref() else {
            return;
        };
        let mut params = json!({ "progressToken": raw(token), "progress": progress });
        if let Some(total) = total {
            params["total"] = json!(total);
        }
        if let Some(message) = message {
            params["message"] = json!(message);
        }
        if let Some(meta) = meta {
            params["_meta"] = meta;
        }
        self.notify("notifications/progress", &params).await;
    }

    /// True when the client wants progress.
    pub fn wants_progress(&self) -> bool {
        self.0.progress_token.is_some()
    }

    /// Sends a log message when the client wants messages of this level.
    //= specs/mcp-server.md#logging
    //# A log message below the level the client asked for MUST NOT be sent.
    pub async fn log(&self, level: Level, logger: &str, data: Value) {
        let wanted =
            self.0.core.settings.offers.logging && self.0.terms.log_level.is_some_and(|from| level >= from);
        if wanted {
            let params = json!({ "level": level.name(), "logger": logger, "data": data });
            self.notify("notifications/message", &params).await;
        }
    }

    /// Sends a notification that belongs to this request.
    pub async fn notify(&self, method: &str, params: &Value) {
        if !self.is_cancelled() {
            self.0.sink.room().await;
            self.0.sink.push(notification(method, params));
        }
    }

    /// Ends the HTTP stream of this request for now: the client comes back for the rest, which is kept. Other
    /// transports have nothing to end.
    pub fn release_stream(&self) {
        if let (MessageSink::Stream(stream), true) = (&self.0.sink, self.0.terms.version.has_handshake()) {
            stream.hang_up();
        }
    }

    /// A prompt of this server as `prompts/get` gives it, for a handler that does something with it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Stop> {
        let found = self.0.core.registry.prompts.load().get(name).cloned();
        let (_, messages) = prompt::render(self.clone(), found, name, arguments).await?;
        Ok(messages)
    }

    /// Keeps a value for the next round of the same request, should a question need one.
    pub fn keep(&self, value: Value) {
        self.with_rounds(|rounds| rounds.kept = Some(value));
    }

    /// What an earlier round of the same request kept.
    pub fn kept(&self) -> Option<Value> {
        self.with_rounds(|rounds| rounds.kept.clone()).flatten()
    }

    /// Whether the answer to a question is heard for the first time: a request that comes back brings all earlier ones.
    pub(crate) fn is_news(&self, key: &str) -> bool {
        self.with_rounds(|rounds| rounds.fresh.remove(key) || !rounds.answers.contains_key(key))
            .unwrap_or(true)
    }

    /// Whether the client came back with an answer to this question.
    pub(crate) fn is_answered(&self, key: &str) -> bool {
        self.with_rounds(|rounds| rounds.answers.contains_key(key))
            .unwrap_or(false)
    }

    /// Notes in what the client keeps for us when a question to its model went out.
    pub(crate) fn note_asked(&self, at_ms: i64) {
        self.with_rounds(|rounds| rounds.asked_ms = Some(at_ms));
    }

    /// When that was.
    pub(crate) fn asked_ms(&self) -> Option<i64> {
        self.with_rounds(|rounds| rounds.asked_ms).flatten()
    }

    /// Looks at the rounds of this request, where it has any.
    pub(crate) fn with_rounds<T>(&self, f: impl FnOnce(&mut InputRounds) -> T) -> Option<T> {
        let mut rounds = self.0.rounds.lock();
        rounds.as_deref_mut().map(f)
    }
}

impl Call {
    /// Answers, unless somebody else claimed the request before.
    //= specs/mcp-server.md#messages
    //# Every request MUST get exactly one answer, unless the client cancelled it.
    pub(crate) async fn answer(self: &Arc<Self>, outcome: Result<Outcome, RpcError>) {
        self.sink.room().await;
        if self.session.in_flight.claim(&self.id).is_some() {
            self.hand_over(outcome);
        }
    }

    /// Writes the answer of a claimed call and lets it go.
    pub(crate) fn hand_over(&self, outcome: Result<Outcome, RpcError>) {
        let (text, status) = self.core.render(&self.id, outcome, self.terms.version);
        match &self.batch {
            Some(batch) => batch.add(&text, |error| {
                self.core.render(&self.id, Err(error), self.terms.version).0
            }),
            None => self.sink.finish(text, status),
        }
        self.leave();
    }

    /// Its work begins now; false when it was given up before.
    pub(crate) fn begin(&self) -> bool {
        self.begun.store(true, Ordering::Release);
        !self.cancel.is_cancelled()
    }

    fn leave(&self) {
        self.session.in_flight.leave(self.weight);
        self.core.left();
    }
}

impl Identified for Call {
    fn id(&self) -> &str {
        &self.id
    }

    fn weight(&self) -> usize {
        self.weight
    }
}

impl RunningRequest for Call {
    fn session(&self) -> &Arc<Session> {
        &self.session
    }

    fn sink(&self) -> &MessageSink {
        &self.sink
    }

    fn cancel(&self) {
        self.cancel.cancel();
    }

    fn can_be_abandoned(&self) -> bool {
        self.only_reads || !self.begun.load(Ordering::Acquire)
    }

    fn end(&self, outcome: Result<Outcome, RpcError>) {
        self.cancel.cancel();
        self.hand_over(outcome);
    }

    fn abandon(&self) {
        self.core.broker.unlisten(self);
        self.cancel.cancel();
        if let Some(batch) = &self.batch {
            batch.skip();
        } else if let MessageSink::Stream(stream) = &self.sink {
            stream.close();
        }
        self.leave();
    }
}

fn raw(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
