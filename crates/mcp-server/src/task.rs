//! Long work that outlives its request: the client gets a handle and asks for the result later.
//!
//! Two published forms are served from one table: the one in the core of 2025-11-25 (`tasks/result` waits) and the
//! extension of 2026-07-28 (`tasks/get` carries the result, questions are answered by `tasks/update`).

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::Limits;
use crate::random::random_id;
use crate::session::in_flight::RunningRequest;
use mcp_protocol::{Ask, RpcError, Version};

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    table: Mutex<HashMap<String, Arc<Task>>>,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    owner: String,
    created: Timestamp,
    ttl: Duration,
    poll_ms: u64,
    started: Instant,
    state: Mutex<State>,
    changed: Notify,
    work: OnceLock<Weak<dyn RunningRequest>>,
}

#[derive(Debug)]
struct State {
    status: Status,
    updated: Timestamp,
    outcome: Option<Result<Map<String, Value>, RpcError>>,
    questions: Map<String, Value>,
    answers: Map<String, Value>,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Status::Working => "working",
            Status::InputRequired => "input_required",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    const fn is_final(self) -> bool {
        matches!(self, Status::Completed | Status::Failed | Status::Cancelled)
    }
}

impl Tasks {
    /// A new task. Those whose time is over make room first.
    pub(crate) fn create(
        &self,
        owner: &str,
        ttl_ms: Option<u64>,
        limits: &Limits,
    ) -> Result<Arc<Task>, Refusal> {
        let mut table = self.lock();
        table.retain(|_, task| !task.is_over());
        if table.len() >= limits.max_tasks {
            return Err(Refusal::new(
                Code::ResourceExhausted,
                format!("{} tasks are remembered already", table.len()),
            ));
        }
        let ttl_ms = ttl_ms.unwrap_or(limits.task_ttl_ms).clamp(1, limits.task_ttl_ms);
        let task = Arc::new(Task::new(
            owner,
            Duration::from_millis(ttl_ms),
            limits.task_poll_ms,
        ));
        table.insert(task.id.clone(), task.clone());
        Ok(task)
    }

    /// The caller's own task with this id.
    pub(crate) fn find(&self, id: &str, owner: &str) -> Result<Arc<Task>, Refusal> {
        let found = self
            .lock()
            .get(id)
            .filter(|task| task.owner == owner && !task.is_over())
            .cloned();
        found.ok_or_else(|| {
            Refusal::field(
                Code::InvalidParams,
                "taskId",
                format!("there is no task {id:?} here"),
                "the id of a task",
            )
            .hint("A task lives in the process that began it and ends with it: behind several nodes, ask the one that began it, or call the tool again.")
        })
    }

    /// All of the caller's tasks, by id.
    pub(crate) fn of(&self, owner: &str) -> Vec<Arc<Task>> {
        let mut own: Vec<_> = self
            .lock()
            .values()
            .filter(|t| t.owner == owner && !t.is_over())
            .cloned()
            .collect();
        own.sort_by(|a, b| a.id.cmp(&b.id));
        own
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Task>>> {
        self.table.lock()
    }
}

impl Task {
    fn new(owner: &str, ttl: Duration, poll_ms: u64) -> Self {
        let created = Timestamp::now();
        let state = State {
            status: Status::Working,
            updated: created,
            outcome: None,
            questions: Map::new(),
            answers: Map::new(),
        };
        Self {
            id: random_id(),
            owner: owner.to_owned(),
            created,
            ttl,
            poll_ms,
            started: Instant::now(),
            state: Mutex::new(state),
            changed: Notify::new(),
            work: OnceLock::new(),
        }
    }

    /// The call that does the work, so that a cancel reaches it.
    pub(crate) fn works_in(&self, call: Weak<dyn RunningRequest>) {
        let _ = self.work.set(call);
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    pub(crate) fn finish(&self, outcome: Result<Map<String, Value>, RpcError>) {
        self.change(|state| {
            state.status = if outcome.is_ok() {
                Status::Completed
            } else {
                Status::Failed
            };
            state.outcome = Some(outcome);
            state.questions.clear();
        });
    }

    /// Stops the work; a task that is over stays as it is.
    pub(crate) fn cancel(&self) -> bool {
        let changed = self.change(|state| {
            state.status = Status::Cancelled;
            state.questions.clear();
        });
        if let Some(call) = self.work.get().and_then(Weak::upgrade).filter(|_| changed) {
            call.cancel();
        }
        changed
    }

    /// Puts questions to the client and waits until all are answered. An answer that does not fit is asked for again.
    pub(crate) async fn ask(&self, asks: Vec<(&str, Ask)>) -> Map<String, Value> {
        let mut answers = Map::new();
        loop {
            let open = asks
                .iter()
                .filter(|(key, ask)| answers.get(*key).is_none_or(|a| ask.accept(a).is_err()));
            let question = |(key, ask): &(&str, Ask)| {
                (
                    (*key).to_owned(),
                    json!({ "method": ask.method(), "params": ask.params() }),
                )
            };
            let questions: Map<String, Value> = open.map(question).collect();
            if questions.is_empty() {
                return answers;
            }
            let open = self.change(|state| {
                state.questions = questions;
                state.status = Status::InputRequired;
            });
            if !open {
                // Nobody will answer any more; the work is dropped where it waits.
                std::future::pending::<()>().await;
            }
            answers.extend(
                self.until(|state| state.questions.is_empty().then(|| state.answers.clone()))
                    .await,
            );
        }
    }

    /// Answers of the client. Each answered question disappears; the work goes on when none is left.
    pub(crate) fn update(&self, answers: Map<String, Value>) {
        self.change(|state| {
            for (key, answer) in answers {
                if state.questions.remove(&key).is_some() {
                    state.answers.insert(key, answer);
                }
            }
            if state.questions.is_empty() && state.status == Status::InputRequired {
                state.status = Status::Working;
            }
        });
    }

    /// The outcome, once there is one.
    pub(crate) async fn finished(&self) -> Result<Map<String, Value>, RpcError> {
        self.until(|state| match (&state.outcome, state.status) {
            (Some(outcome), _) => Some(outcome.clone()),
            (None, Status::Cancelled) => {
                Some(Err(
                    Refusal::new(Code::InvalidParams, "the task was cancelled").into()
                ))
            }
            _ => None,
        })
        .await
    }

    /// As 2025-11-25 writes it.
    pub(crate) fn core_form(&self) -> Value {
        let mut form = self.common(&self.lock());
        form.insert("ttl".to_owned(), json!(self.ttl.as_millis() as u64));
        form.insert("pollInterval".to_owned(), json!(self.poll_ms));
        form.into()
    }

    /// As the extension writes it, without what came of it.
    pub(crate) fn handle_form(&self) -> Map<String, Value> {
        let mut form = self.common(&self.lock());
        form.insert("ttlMs".to_owned(), json!(self.ttl.as_millis() as u64));
        form.insert("pollIntervalMs".to_owned(), json!(self.poll_ms));
        form
    }

    /// As the extension writes it, with its result, error or questions.
    pub(crate) fn detailed_form(&self, version: Version) -> Map<String, Value> {
        let mut form = self.handle_form();
        let state = self.lock();
        form.insert("status".to_owned(), state.status.name().into());
        match &state.outcome {
            Some(Ok(result)) => drop(form.insert("result".to_owned(), result.clone().into())),
            Some(Err(error)) => drop(form.insert("error".to_owned(), error.object(version))),
            None if state.status == Status::InputRequired => {
                form.insert("inputRequests".to_owned(), state.questions.clone().into());
            }
            None => {}
        }
        form
    }

    fn common(&self, state: &State) -> Map<String, Value> {
        let form = json!({
            "taskId": self.id,
            "status": state.status.name(),
            "createdAt": self.created.to_string(),
            "lastUpdatedAt": state.updated.to_string(),
        });
        match form {
            Value::Object(form) => form,
            _ => Map::new(),
        }
    }

    /// Changes a task that is not over; says whether it did.
    fn change(&self, f: impl FnOnce(&mut State)) -> bool {
        let mut state = self.lock();
        let open = !state.status.is_final();
        if open {
            f(&mut state);
            state.updated = Timestamp::now();
        }
        drop(state);
        self.changed.notify_waiters();
        open
    }

    async fn until<T>(&self, look: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    fn is_over(&self) -> bool {
        self.started.elapsed() > self.ttl
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
