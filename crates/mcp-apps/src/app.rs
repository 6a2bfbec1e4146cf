//! One app as those see it who call it: what state it is in, and how a request reaches it.

use std::sync::Arc;
use std::time::Duration;

use mcp_client::{CallError, Peer, RequestUpdate};
use mcp_server::{Breaker, Context, Permit};
use refusal::{Code, Refusal};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

use crate::options::AppLimits;

/// An app somebody supervises.
pub(crate) struct App {
    pub(crate) name: String,
    pub(crate) limits: AppLimits,
    breaker: Breaker,
    phase: watch::Sender<Phase>,
    doubts: Notify,
    asked: Notify,
}

/// What state an app is in.
#[derive(Clone)]
pub(crate) enum Phase {
    /// It was started and has not said hello yet.
    Starting,
    /// It can be called.
    Running(Peer),
    /// It ended, and will be started again.
    BackingOff {
        /// After this long.
        pause: Duration,
        /// Why it ended.
        problem: String,
    },
    /// Starting it again would not help.
    Failed { problem: String },
    /// It was told to end.
    Stopped,
}

impl Phase {
    /// As it stands in lists.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Running(_) => "running",
            Phase::BackingOff { .. } => "backing-off",
            Phase::Failed { .. } => "failed",
            Phase::Stopped => "stopped",
        }
    }

    /// What is wrong, if anything is.
    pub(crate) fn problem(&self) -> Option<&str> {
        match self {
            Phase::BackingOff { problem, .. } | Phase::Failed { problem } => Some(problem),
            _ => None,
        }
    }
}

impl App {
    pub(crate) fn new(name: &str, limits: &AppLimits) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            limits: limits.clone(),
            breaker: Breaker::new(format!("the app {name:?}"), limits.breaker),
            phase: watch::Sender::new(Phase::Starting),
            doubts: Notify::new(),
            asked: Notify::new(),
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Somebody calls it while it does not run.
    pub(crate) fn note_asked(&self) {
        self.asked.notify_one();
    }

    /// Waits until somebody called it while it did not run.
    pub(crate) async fn asked_for(&self) {
        self.asked.notified().await;
    }

    /// Waits until somebody waited too long for an answer.
    pub(crate) async fn doubted(&self) {
        self.doubts.notified().await;
    }

    /// Sends a request to the app and gives the object it answers with. Progress is passed on, and a caller who loses interest cancels
    /// the request there too.
    pub(crate) async fn ask(
        &self,
        cx: &Context,
        method: &str,
        params: Value,
    ) -> Result<Map<String, Value>, Refusal> {
        let limit = self.limits.call_timeout();
        //= specs/mcp-apps.md#calls
        //# A call that an app does not answer within its time limit MUST be answered with 1069 and the app's name.
        let late = || {
            self.doubts.notify_one();
            let problem = format!(
                "the app {:?} did not answer within {} ms",
                self.name,
                limit.as_millis()
            );
            self.about(Refusal::new(Code::Timeout, problem))
        };
        let deadline = tokio::time::Instant::now() + limit;
        let peer = tokio::time::timeout_at(deadline, self.peer())
            .await
            .map_err(|_| late())??;
        //= specs/mcp-apps.md#calls
        //# After five failures in a row an app's calls MUST be refused with 1086 and its name until one call succeeded.
        let pass = self.breaker.enter().map_err(|refusal| self.about(refusal))?;
        let guard = BreakerGuard { pass: Some(pass), cx };
        let answered = match tokio::time::timeout_at(deadline, self.exchange(cx, &peer, method, params)).await
        {
            Ok(answered) => answered,
            Err(_) => Err(late()),
        };
        guard.report(&answered);
        answered
    }

    /// The way to the app. Whoever calls while it starts waits for it.
    async fn peer(&self) -> Result<Peer, Refusal> {
        let mut phase = self.phase.subscribe();
        loop {
            match &*phase.borrow_and_update() {
                Phase::Running(peer) => return Ok(peer.clone()),
                Phase::Starting => {}
                Phase::BackingOff { pause, .. } => {
                    self.note_asked();
                    let pause = (*pause).min(Duration::from_millis(self.limits.longest_asked_pause_ms));
                    let problem = format!("the app {:?} ended and is started again in a moment", self.name);
                    let refusal = Refusal::new(Code::DependencyUnavailable, problem);
                    return Err(self
                        .about(refusal)
                        .fact("retry_after_seconds", pause.as_secs().max(1)));
                }
                Phase::Failed { problem } => {
                    let problem = format!("the app {:?} cannot run: {problem}", self.name);
                    let hint = "An administrator must correct or remove the app.";
                    return Err(self.about(Refusal::new(Code::DependencyUnavailable, problem).hint(hint)));
                }
                Phase::Stopped => return Err(self.gone()),
            }
            if phase.changed().await.is_err() {
                return Err(self.gone());
            }
        }
    }

    //= specs/mcp-apps.md#calls
    //# A call that is cancelled MUST be cancelled at the app.
    async fn exchange(
        &self,
        cx: &Context,
        peer: &Peer,
        method: &str,
        params: Value,
    ) -> Result<Map<String, Value>, Refusal> {
        // Dropped, it is cancelled at the app.
        let mut request = peer
            .request(method, params)
            .map_err(|error| self.refused(&error))?;
        let result = loop {
            match request.next().await {
                RequestUpdate::Progress(step) => {
                    cx.progress(step.progress, step.total, step.message.as_deref())
                        .await;
                }
                RequestUpdate::Done(result) => break result,
            }
        };
        let text = result.map_err(|error| self.refused(&error))?;
        serde_json::from_str(&text).map_err(|_| self.nonsense())
    }

    /// What an app or the connection to it said instead of an answer.
    fn refused(&self, error: &CallError) -> Refusal {
        let refusal = match error {
            CallError::Refused { code, message } => {
                let said: String = message.chars().take(500).collect();
                let refusal_code = match code {
                    -32602 => Code::InvalidParams,
                    -32002 => Code::ResourceNotFound,
                    _ => Code::RuleViolated,
                };
                Refusal::new(refusal_code, format!("the app {:?} refused: {said}", self.name))
                    .hint("Correct what the app complains about, and try again.")
                    .fact("app_error_code", code)
            }
            CallError::Unexpected(_) => {
                let problem = format!("the app {:?} gave an answer that makes no sense", self.name);
                Refusal::new(Code::DependencyUnavailable, problem)
            }
            CallError::Send(_) | CallError::Closed => {
                let problem = format!("the app {:?} ended before it answered", self.name);
                Refusal::new(Code::DependencyUnavailable, problem)
                    .hint("It is started again by itself; whether the call was done is not known.")
            }
        };
        self.about(refusal)
    }

    pub(crate) fn nonsense(&self) -> Refusal {
        self.refused(&CallError::Unexpected(String::new()))
    }

    fn gone(&self) -> Refusal {
        let problem = format!("the app {:?} was removed or is being ended", self.name);
        self.about(Refusal::new(Code::DependencyUnavailable, problem))
    }

    fn about(&self, refusal: Refusal) -> Refusal {
        refusal.fact("app", &self.name)
    }
}

/// A breaker's permit. A caller who lost interest teaches it nothing.
struct BreakerGuard<'a> {
    pass: Option<Permit<'a>>,
    cx: &'a Context,
}

impl BreakerGuard<'_> {
    fn report<T>(mut self, answered: &Result<T, Refusal>) {
        let Some(pass) = self.pass.take() else { return };
        match answered {
            Ok(_) => pass.succeeded(),
            Err(refusal) => pass.refused(refusal.code),
        }
    }
}

impl Drop for BreakerGuard<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take().filter(|_| self.cx.is_cancelled()) {
            pass.abandoned();
        }
    }
}
