//! What a handler may touch while it serves one request.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use crate::answer::{self, Outcome, RpcError};
use crate::batch::Batch;
use crate::cancel::Cancel;
use crate::client::Client;
use crate::core::Core;
use crate::dispatch;
use crate::input::{Ask, InputRequired, Rounds};
use crate::level::Level;
use crate::outlet::Outlet;
use crate::prompt::PromptMessage;
use crate::server::Server;
use crate::session::{Session, Terms};
use crate::task::Task;
use crate::tool::Stop;
use crate::version::Era;
use crate::waits::Waits;

/// One request being served. Cheap to clone; may be moved into tasks of the handler's own.
#[derive(Clone, Debug)]
pub struct Context(pub(crate) Arc<Call>);

/// Everything about one request while it runs; doubles as its entry among the running ones.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) core: Arc<Core>,
    pub(crate) session: Arc<Session>,
    pub(crate) extensions: Arc<http::Extensions>,
    pub(crate) outlet: Outlet,
    pub(crate) batch: Option<Arc<Batch>>,
    pub(crate) terms: Terms,
    pub(crate) id: Box<str>,
    pub(crate) cancel: Cancel,
    /// The client's token for progress, as it was written.
    pub(crate) progress_token: Option<Box<str>>,
    /// `_meta` of the request, as it was written.
    pub(crate) meta: Option<Box<str>>,
    /// Bytes of its parameters.
    pub(crate) weight: usize,
    /// Earlier rounds of the same request, with the purpose their state is sealed for.
    pub(crate) rounds: Mutex<Option<Box<(String, Rounds)>>>,
    /// The task this call became, when it outlives its request.
    pub(crate) task: Option<Arc<Task>>,
    /// How long it waited for the client.
    pub(crate) waits: Waits,
}

impl Context {
    /// True once the client cancelled the request or the server gave it up.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancel.is_raised()
    }

    /// Waits until the request is cancelled; for work the runtime cannot drop, such as a thread.
    pub async fn cancelled(&self) {
        self.0.cancel.raised().await;
    }

    /// The client's own words about itself.
    pub fn client(&self) -> &Client {
        &self.0.terms.client
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
    //= specs/mcp-runtime.md#progress-and-cancellation
    //# Progress MUST be reported under the token the client sent, and not at all when it sent none.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        self.progress_with(progress, total, message, None).await;
    }

    /// The same with facts for programs.
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
    //= specs/mcp-runtime.md#logging
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
            self.0.outlet.room().await;
            self.0.outlet.push(notification(method, params));
        }
    }

    /// Ends the HTTP stream of this request for now: the client comes back for the rest, which is kept. Other
    /// transports have nothing to end.
    pub fn release_stream(&self) {
        if let (Outlet::Stream(stream), Era::Handshake) = (&self.0.outlet, self.0.terms.version.era()) {
            stream.hang_up();
        }
    }

    /// Asks the user, the model or the client, and gives the answer. See [`Ask`].
    ///
    /// `key` names the question within this request. Pass the error on with `?`: in the stateless era it carries the
    /// question to the client.
    pub async fn ask(&self, key: &str, ask: Ask) -> Result<Value, Stop> {
        let mut answers = self.ask_all(vec![(key, ask)]).await?;
        Ok(answers.remove(key).unwrap_or_default())
    }

    /// Asks several questions at once.
    pub async fn ask_all(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        for (_, ask) in &asks {
            ask.check_offered(&self.0.terms.client.capabilities)?;
        }
        match (self.0.terms.version.era(), &self.0.task) {
            (Era::Handshake, _) => {
                let _waiting = self.0.waits.begin();
                self.ask_now(asks).await
            }
            (Era::Stateless, Some(task)) => {
                let _waiting = self.0.waits.begin();
                Ok(self.ask_in_task(task, asks).await)
            }
            (Era::Stateless, None) => self.ask_later(asks),
        }
    }

    /// A prompt of this server as `prompts/get` gives it, for a handler that does something with it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Stop> {
        let found = self.0.core.registry.prompts.load().get(name).cloned();
        let (_, messages) = dispatch::render_prompt(self.clone(), found, name, arguments).await?;
        Ok(messages)
    }

    /// Keeps a value for the next round of the same request, should a question need one.
    pub fn keep(&self, value: Value) {
        self.with_rounds(|_, rounds| rounds.kept = Some(value));
    }

    /// What an earlier round of the same request kept.
    pub fn kept(&self) -> Option<Value> {
        self.with_rounds(|_, rounds| rounds.kept.clone()).flatten()
    }

    /// Whether the answer to a question is heard for the first time: a request that comes back brings all earlier ones.
    pub(crate) fn is_news(&self, key: &str) -> bool {
        self.with_rounds(|_, rounds| rounds.fresh.remove(key) || !rounds.answers.contains_key(key))
            .unwrap_or(true)
    }

    /// Whether the client came back with an answer to this question.
    pub(crate) fn is_answered(&self, key: &str) -> bool {
        self.with_rounds(|_, rounds| rounds.answers.contains_key(key))
            .unwrap_or(false)
    }

    /// Notes in what the client keeps for us when a question to its model went out.
    pub(crate) fn note_asked(&self, at_ms: i64) {
        self.with_rounds(|_, rounds| rounds.asked_ms = Some(at_ms));
    }

    /// When that was.
    pub(crate) fn asked_ms(&self) -> Option<i64> {
        self.with_rounds(|_, rounds| rounds.asked_ms).flatten()
    }

    async fn ask_now(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        let limits = &self.0.core.settings.limits;
        let mut answers = Map::new();
        for (key, ask) in asks {
            let wait = ask.wait(limits.ask_timeout_ms);
            let pending = &self.0.session.pending;
            let max = limits.max_pending_per_session;
            let answer = pending
                .ask(&self.0.outlet, ask.method(), ask.params(), wait, max)
                .await?;
            ask.accept(&answer)?;
            answers.insert(key.to_owned(), answer);
        }
        Ok(answers)
    }

    //= specs/mcp-runtime.md#questions
    //# In the stateless era a question MUST be answered to the client as an input-required result, and the request that comes back with all answers MUST complete.
    fn ask_later(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        let found = self.with_rounds(|purpose, rounds| {
            let (answers, open) = rounds.sort_out(asks);
            if open.is_empty() {
                return Ok(answers);
            }
            let state = rounds.seal(&self.0.core.seal, purpose);
            Err(Stop::Input(Box::new(InputRequired::new(&open, state))))
        });
        // Only tools, prompts and resources carry rounds; nothing else may answer with a question.
        found.unwrap_or_else(|| Err(RpcError::invalid("this method cannot ask questions").into()))
    }

    /// What was asked before the work became a task is known; the rest is asked through the task.
    async fn ask_in_task(&self, task: &Task, asks: Vec<(&str, Ask)>) -> Map<String, Value> {
        let (mut answers, open) = match &mut *self.0.rounds.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(rounds) => rounds.1.sort_out(asks),
            None => (Map::new(), asks),
        };
        if !open.is_empty() {
            answers.extend(task.ask(open).await);
        }
        answers
    }

    fn with_rounds<T>(&self, f: impl FnOnce(&str, &mut Rounds) -> T) -> Option<T> {
        let mut rounds = self.0.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.as_deref_mut().map(|(purpose, rounds)| f(purpose, rounds))
    }
}

impl Call {
    /// Answers, unless somebody else claimed the request before.
    //= specs/mcp-runtime.md#messages
    //# Every request MUST get exactly one answer, unless the client cancelled it.
    pub(crate) async fn answer(self: &Arc<Self>, outcome: Result<Outcome, RpcError>) {
        self.outlet.room().await;
        if self.session.in_flight.claim(&self.id).is_some() {
            self.hand_over(outcome);
        }
    }

    /// Writes the answer of a claimed call and lets it go.
    pub(crate) fn hand_over(&self, outcome: Result<Outcome, RpcError>) {
        let (text, status) = self.core.render(&self.id, outcome, self.terms.version);
        match &self.batch {
            Some(batch) => batch.add(&text),
            None => self.outlet.finish(text, status),
        }
        self.leave();
    }

    /// Stops a claimed call and says why.
    pub(crate) fn end(&self, error: RpcError) {
        self.cancel.raise();
        self.hand_over(Err(error));
    }

    /// Lets a claimed call go without an answer.
    pub(crate) fn abandon(&self) {
        self.cancel.raise();
        if let Some(batch) = &self.batch {
            batch.skip();
        } else if let Outlet::Stream(stream) = &self.outlet {
            stream.close();
        }
        self.leave();
    }

    fn leave(&self) {
        self.session.in_flight.leave(self);
        self.core.left();
    }
}

/// A notification as it goes over the wire.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    answer::write_json(
        &mut out,
        &json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    );
    out
}

fn raw(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
