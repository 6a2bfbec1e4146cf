//! One door to the models of all clients.
//!
//! A model belongs to the person behind the client: it costs money, it is slow, and it fails in ways a server cannot
//! see. So nothing asks a model directly. The sampler counts what starts, lets only so many be open, keeps a bounded
//! queue, and learns from every answer how much is good for them ([`Strategy`]). What it decides it tells: to clients
//! that ask for its strategy, and to a hook that writes it down.

mod strategy;

pub use strategy::{SamplingSettings, Strategy};

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use strategy::Seen;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::context::Context;
use crate::input::Ask;
use crate::pending::CLIENT_ERROR;
use crate::rate::RateLimiter;
use crate::tool::Stop;

/// What MCP has clients answer when the person said no.
const REJECTED: &str = "-1";

/// Asks models on behalf of one server. Clones are the same sampler.
#[derive(Clone)]
pub struct Sampler(Arc<Inner>);

type Hear = dyn Fn(&Decision) + Send + Sync;

struct Inner {
    settings: SamplingSettings,
    limiter: Option<RateLimiter>,
    state: Mutex<State>,
    room: Notify,
    hear: Box<Hear>,
}

#[derive(Debug)]
struct State {
    strategy: Strategy,
    /// Quick answers since the strategy last changed.
    streak: usize,
    /// How often it was lowered. Trouble of questions that started before is no news.
    setbacks: u64,
    running: usize,
    queued: usize,
    next_start: Instant,
    asked: u64,
    answered: u64,
    refused: u64,
    failed: u64,
}

/// Something the sampler decided.
#[derive(Clone, Debug)]
pub struct Decision {
    /// `admitted`, `refused`, `raised`, `lowered` or `held`.
    pub what: &'static str,
    /// Why: `turn`, `rate`, `queue`, `quick`, `slow`, `failed`, `timed_out` or `rejected`.
    pub why: &'static str,
    /// How long the answer took, or how long the question waited for its turn.
    pub took_ms: u64,
    /// What holds from now on.
    pub strategy: Strategy,
    /// Questions that are open.
    pub running: usize,
    /// Questions that wait for their turn.
    pub queued: usize,
}

/// What a model said.
#[derive(Clone, Debug)]
pub struct Sampled {
    /// The name of the model, as the client gives it.
    pub model: String,
    /// Why it stopped.
    pub stop_reason: Option<String>,
    /// Its words.
    pub text: String,
}

impl Sampler {
    /// A sampler that tells its decisions to a hook. The hook runs within the request that is served.
    pub fn new(settings: SamplingSettings, hear: impl Fn(&Decision) + Send + Sync + 'static) -> Self {
        let state = State {
            strategy: Strategy::first(&settings),
            streak: 0,
            setbacks: 0,
            running: 0,
            queued: 0,
            next_start: Instant::now(),
            asked: 0,
            answered: 0,
            refused: 0,
            failed: 0,
        };
        Self(Arc::new(Inner {
            limiter: RateLimiter::new(settings.max_per_second, settings.burst),
            settings,
            state: Mutex::new(state),
            room: Notify::new(),
            hear: Box::new(hear),
        }))
    }

    /// Whether the client lends its model.
    pub fn can_ask(cx: &Context) -> bool {
        cx.client().capabilities.has("sampling")
    }

    /// Asks the client's model. `params` are those of `sampling/createMessage`; the strategy caps `maxTokens`. Pass the
    /// error on with `?`: in the stateless era it carries the question to the client.
    //= specs/mcp-runtime.md#sampling
    //# Every question to a model MUST pass the sampler: its rate, its queue and its strategy.
    pub async fn ask(&self, cx: &Context, key: &str, mut params: Value) -> Result<Sampled, Stop> {
        // The client came back with the answer: what was asked had its turn in an earlier round.
        if cx.is_answered(key) {
            let answer = cx.ask(key, Ask::model(params)).await;
            if let (true, Some(asked)) = (cx.is_news(key), cx.asked_ms()) {
                let took = u64::try_from(Timestamp::now().as_millisecond() - asked).unwrap_or(0);
                let setbacks = self.0.lock().setbacks;
                self.learn(setbacks, self.judged(&answer, took), took);
            }
            return answer.map(|answer| read(&answer));
        }
        let turn = self.enter().await?;
        cap(&mut params, turn.max_tokens);
        cx.note_asked(Timestamp::now().as_millisecond());
        let ask = Ask::model(params).timeout(Duration::from_millis(self.0.settings.timeout_ms));
        let began = Instant::now();
        let answer = cx.ask(key, ask).await;
        let took = millis(began.elapsed());
        let setbacks = turn.setbacks;
        drop(turn);
        // A question that travels as a result is answered by another request.
        if !matches!(answer, Err(Stop::Input(_))) {
            self.learn(setbacks, self.judged(&answer, took), took);
        }
        answer.map(|answer| read(&answer))
    }

    // Fulfils 002 Req-Sample-001
    /// The strategy and its parameters, as `sampling/request` gives them.
    //= specs/mcp-runtime.md#sampling
    //# `sampling/request` MUST be answered with the name of the strategy and its parameters as they are now.
    pub fn describe(&self) -> Value {
        let (state, settings) = (self.0.lock(), &self.0.settings);
        json!({
            "strategy": "aimd",
            "parameters": state.strategy,
            "limits": {
                "max_per_second": settings.max_per_second, "burst": settings.burst, "max_queued": settings.max_queued,
                "max_concurrency": settings.max_concurrency, "max_spacing_ms": settings.max_spacing_ms,
                "min_tokens": settings.min_tokens, "max_tokens": settings.max_tokens,
                "target_latency_ms": settings.target_latency_ms, "timeout_ms": settings.timeout_ms,
            },
            "load": { "running": state.running, "queued": state.queued },
            "counts": { "asked": state.asked, "answered": state.answered, "failed": state.failed, "refused": state.refused },
        })
    }

    // Fulfils 002 Req-Sample-002
    /// A turn: after the rate, behind those who came before, and not too soon after the last.
    async fn enter(&self) -> Result<Turn, Refusal> {
        //= specs/mcp-runtime.md#sampling
        //# A question above the rate MUST be refused with 1057 and the time to wait, one above the queue with 1001.
        if let Some(Err(refusal)) = self.0.limiter.as_ref().map(RateLimiter::count) {
            self.refuse("rate");
            let message = format!(
                "models are asked at most {} times a second",
                self.0.settings.max_per_second
            );
            return Err(Refusal { message, ..refusal });
        }
        let Some(place) = Place::take(&self.0) else {
            self.refuse("queue");
            let message = format!("{} questions to models wait already", self.0.settings.max_queued);
            return Err(Refusal::new(Code::QueueCapExceeded, message));
        };
        let came = Instant::now();
        let (turn, start) = loop {
            let mut room = pin!(self.0.room.notified());
            room.as_mut().enable();
            if let Some(found) = Turn::take(&self.0) {
                break found;
            }
            room.await;
        };
        drop(place);
        tokio::time::sleep_until(start).await;
        self.tell("admitted", "turn", millis(came.elapsed()));
        Ok(turn)
    }

    fn judged(&self, answer: &Result<Value, Stop>, took_ms: u64) -> Seen {
        let refusal = match answer {
            Ok(_) if took_ms <= self.0.settings.target_latency_ms => return Seen::Quick,
            Ok(_) => return Seen::Slow,
            Err(Stop::Refused(refusal)) => refusal,
            Err(_) => return Seen::Failed,
        };
        match refusal.code {
            Code::Timeout => Seen::TimedOut,
            _ if refusal
                .facts
                .iter()
                .any(|(name, code)| *name == CLIENT_ERROR && code == REJECTED) =>
            {
                Seen::Rejected
            }
            _ => Seen::Failed,
        }
    }

    // Fulfils 002 Req-Sample-003
    /// Adapts the strategy to how an answer came.
    //= specs/mcp-runtime.md#sampling
    //# The strategy MUST grow by steps while answers come within the target and MUST fall by half when one fails, is late or does not come.
    fn learn(&self, setbacks: u64, seen: Seen, took_ms: u64) {
        let what = {
            let (mut state, settings) = (self.0.lock(), &self.0.settings);
            let state = &mut *state;
            let before = state.strategy;
            match seen {
                Seen::Quick => {
                    state.answered += 1;
                    state.streak += 1;
                    if state.streak >= before.concurrency {
                        state.streak = 0;
                        state.strategy = before.raised(settings);
                    }
                }
                //= specs/mcp-runtime.md#sampling
                //# A person who does not let the model answer MUST NOT change the strategy.
                Seen::Rejected => state.failed += 1,
                Seen::Slow | Seen::Failed | Seen::TimedOut => {
                    state.answered += u64::from(seen == Seen::Slow);
                    state.failed += u64::from(seen != Seen::Slow);
                    if setbacks == state.setbacks {
                        state.setbacks += 1;
                        state.streak = 0;
                        state.strategy = before.lowered(settings);
                    }
                }
            }
            match seen {
                _ if state.strategy == before => "held",
                Seen::Quick => "raised",
                _ => "lowered",
            }
        };
        self.tell(what, seen.name(), took_ms);
        self.0.room.notify_waiters();
    }

    fn refuse(&self, why: &'static str) {
        self.0.lock().refused += 1;
        self.tell("refused", why, 0);
    }

    //= specs/mcp-runtime.md#sampling
    //# Every decision of the sampler MUST be told with its reason and the strategy that follows from it.
    fn tell(&self, what: &'static str, why: &'static str, took_ms: u64) {
        let decision = {
            let state = self.0.lock();
            Decision {
                what,
                why,
                took_ms,
                strategy: state.strategy,
                running: state.running,
                queued: state.queued,
            }
        };
        (self.0.hear)(&decision);
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sampler").field(&*self.0.lock()).finish()
    }
}

/// A place in the queue.
struct Place(Arc<Inner>);

impl Place {
    fn take(inner: &Arc<Inner>) -> Option<Self> {
        let mut state = inner.lock();
        if state.queued >= inner.settings.max_queued {
            return None;
        }
        state.queued += 1;
        Some(Self(inner.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.lock().queued -= 1;
    }
}

/// An open question. However it ends, its place is given to the next.
struct Turn {
    inner: Arc<Inner>,
    max_tokens: u64,
    setbacks: u64,
}

impl Turn {
    fn take(inner: &Arc<Inner>) -> Option<(Self, Instant)> {
        let mut state = inner.lock();
        if state.running >= state.strategy.concurrency {
            return None;
        }
        state.running += 1;
        state.asked += 1;
        let start = state.next_start.max(Instant::now());
        state.next_start = start + Duration::from_millis(state.strategy.spacing_ms);
        let turn = Self {
            inner: inner.clone(),
            max_tokens: state.strategy.max_tokens,
            setbacks: state.setbacks,
        };
        Some((turn, start))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.inner.lock().running -= 1;
        self.inner.room.notify_waiters();
    }
}

fn cap(params: &mut Value, max_tokens: u64) {
    let wanted = params.get("maxTokens").and_then(Value::as_u64);
    params["maxTokens"] = json!(wanted.map_or(max_tokens, |wanted| wanted.min(max_tokens)));
}

/// The words of an answer. Content is one piece or, since 2025-11-25, several; what is not text has no words.
fn read(answer: &Value) -> Sampled {
    let pieces = match &answer["content"] {
        Value::Array(pieces) => pieces.as_slice(),
        one => std::slice::from_ref(one),
    };
    let words: Vec<&str> = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    Sampled {
        model: answer["model"].as_str().unwrap_or_default().to_owned(),
        stop_reason: answer["stopReason"].as_str().map(str::to_owned),
        text: words.join("\n"),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
