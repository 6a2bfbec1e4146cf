//! One door to the models of all clients.
//!
//! A model belongs to the person behind the client: it costs money, it is slow, and it fails in ways a server cannot
//! see. So nothing asks a model directly. The sampler counts what starts, lets only so many be open, keeps a bounded
//! queue, and learns from every answer how much is good for them ([`Strategy`]). What it decides it tells: to clients
//! that ask for its strategy, and to a hook that writes it down.
//!
//! All of this is kept for each account by itself ([`Lane`]): a client that never answers costs itself its batch_permits, and
//! nobody else.

mod strategy;

pub use strategy::{SamplingSettings, Strategy};

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use strategy::Seen;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::rate_limiter::RateLimiter;
use crate::server::context::Context;
use crate::server::tool::Stop;
use crate::session::pending::CLIENT_ERROR;
use mcp_protocol::Ask;

/// What MCP has clients answer when the person said no.
const REJECTED: &str = "-1";

/// Asks models on behalf of one server. Clones are the same sampler.
#[derive(Clone)]
pub struct Sampler(Arc<Inner>);

type Hear = dyn Fn(&Decision) + Send + Sync;

struct Inner {
    settings: SamplingSettings,
    lanes: Mutex<HashMap<Box<str>, Arc<Lane>>>,
    hear: Box<Hear>,
}

/// The questions to the models of one account, and what was learned from them.
#[derive(Debug)]
struct Lane {
    limiter: Option<RateLimiter>,
    state: Mutex<State>,
    room: Notify,
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
        Self(Arc::new(Inner {
            settings,
            lanes: Mutex::default(),
            hear: Box::new(hear),
        }))
    }

    /// Whether the client lends its model.
    pub fn can_ask(cx: &Context) -> bool {
        cx.client().capabilities.has("sampling")
    }

    /// Asks the client's model. `params` are those of `sampling/createMessage`; the strategy caps `maxTokens`. Pass the
    /// error on with `?`: in the stateless era it carries the question to the client.
    //= specs/mcp-server.md#sampling
    //# Every question to a model MUST pass the sampler: its rate, its queue and its strategy.
    pub async fn ask(&self, cx: &Context, key: &str, mut params: Value) -> Result<Sampled, Stop> {
        let lane = self.lane(cx);
        // The client came back with the answer: what was asked had its turn in an earlier round.
        if cx.is_answered(key) {
            let answer = cx.ask(key, Ask::model(params)).await;
            if let (true, Some(asked)) = (cx.is_news(key), cx.asked_ms()) {
                let took = u64::try_from(Timestamp::now().as_millisecond() - asked).unwrap_or(0);
                let setbacks = lane.lock().setbacks;
                self.learn(&lane, setbacks, self.judged(&answer, took), took);
            }
            return answer.map(|answer| read(&answer));
        }
        let turn = self.enter(&lane).await?;
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
            self.learn(&lane, setbacks, self.judged(&answer, took), took);
        }
        answer.map(|answer| read(&answer))
    }

    // Fulfils 002 Req-Sample-001
    /// The strategy for whoever asks and its parameters, as `sampling/request` gives them.
    //= specs/mcp-server.md#sampling
    //# `sampling/request` MUST be answered with the name of the strategy and its parameters as they are now.
    pub fn describe(&self, cx: &Context) -> Value {
        let (lane, settings) = (self.lane(cx), &self.0.settings);
        let state = lane.lock();
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

    /// How many questions of all accounts are open, and how many wait for their turn.
    pub fn load(&self) -> (usize, usize) {
        let lanes = self.0.lanes.lock();
        lanes.values().fold((0, 0), |(running, queued), lane| {
            let state = lane.lock();
            (running + state.running, queued + state.queued)
        })
    }

    /// The lane of the account a request comes from; of its session where there is no account.
    //= specs/mcp-server.md#sampling
    //# Rate, queue and strategy MUST be kept for each account by itself: a client that does not answer MUST NOT slow the questions to others.
    fn lane(&self, cx: &Context) -> Arc<Lane> {
        let key = cx.account();
        let mut lanes = self.0.lanes.lock();
        if let Some(lane) = lanes.get(key) {
            return lane.clone();
        }
        if lanes.len() >= self.0.settings.max_lanes {
            forget_idle(&mut lanes);
        }
        let lane = Arc::new(Lane::new(&self.0.settings));
        lanes.insert(key.into(), lane.clone());
        lane
    }

    // Fulfils 002 Req-Sample-002
    /// A turn: after the rate, behind those who came before, and not too soon after the last.
    async fn enter(&self, lane: &Arc<Lane>) -> Result<Turn, Refusal> {
        //= specs/mcp-server.md#sampling
        //# A question above the rate MUST be refused with 1057 and the time to wait, one above the queue with 1001.
        if let Some(Err(refusal)) = lane.limiter.as_ref().map(RateLimiter::count) {
            self.refuse(lane, "rate");
            let message = format!(
                "models are asked at most {} times a second",
                self.0.settings.max_per_second
            );
            return Err(Refusal { message, ..refusal });
        }
        let Some(slot) = QueueSlot::take(lane, self.0.settings.max_queued) else {
            self.refuse(lane, "queue");
            let message = format!("{} questions to models wait already", self.0.settings.max_queued);
            return Err(Refusal::new(Code::QueueCapExceeded, message));
        };
        let came = Instant::now();
        let (turn, start) = loop {
            let mut room = pin!(lane.room.notified());
            room.as_mut().enable();
            if let Some(found) = Turn::take(lane) {
                break found;
            }
            room.await;
        };
        drop(slot);
        tokio::time::sleep_until(start).await;
        self.tell(lane, "admitted", "turn", millis(came.elapsed()));
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
    //= specs/mcp-server.md#sampling
    //# The strategy MUST grow by steps while answers come within the target and MUST fall by half when one fails, is late or does not come.
    fn learn(&self, lane: &Lane, setbacks: u64, seen: Seen, took_ms: u64) {
        let what = {
            let (mut state, settings) = (lane.lock(), &self.0.settings);
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
                //= specs/mcp-server.md#sampling
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
        self.tell(lane, what, seen.name(), took_ms);
        lane.room.notify_waiters();
    }

    fn refuse(&self, lane: &Lane, why: &'static str) {
        lane.lock().refused += 1;
        self.tell(lane, "refused", why, 0);
    }

    //= specs/mcp-server.md#sampling
    //# Every decision of the sampler MUST be told with its reason and the strategy that follows from it.
    fn tell(&self, lane: &Lane, what: &'static str, why: &'static str, took_ms: u64) {
        let decision = {
            let state = lane.lock();
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

impl Lane {
    fn new(settings: &SamplingSettings) -> Self {
        let state = State {
            strategy: Strategy::first(settings),
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
        Self {
            limiter: RateLimiter::new(settings.max_per_second, settings.burst),
            state: Mutex::new(state),
            room: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Forgets the half of the lanes nobody is in that was used least recently; what was learned there is learned again.
fn forget_idle(lanes: &mut HashMap<Box<str>, Arc<Lane>>) {
    let idle = |lane: &Arc<Lane>| Arc::strong_count(lane) == 1;
    let mut used: Vec<Instant> = lanes
        .values()
        .filter(|lane| idle(lane))
        .map(|lane| lane.lock().next_start)
        .collect();
    used.sort_unstable();
    if let Some(middle) = used.get(used.len() / 2).copied() {
        lanes.retain(|_, lane| !idle(lane) || lane.lock().next_start > middle);
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sampler").field(&self.0.settings).finish()
    }
}

/// A place in the queue.
struct QueueSlot(Arc<Lane>);

impl QueueSlot {
    fn take(lane: &Arc<Lane>, max_queued: usize) -> Option<Self> {
        let mut state = lane.lock();
        if state.queued >= max_queued {
            return None;
        }
        state.queued += 1;
        drop(state);
        Some(Self(lane.clone()))
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.lock().queued -= 1;
    }
}

/// An open question. However it ends, its place is given to the next.
struct Turn {
    lane: Arc<Lane>,
    max_tokens: u64,
    setbacks: u64,
}

impl Turn {
    fn take(lane: &Arc<Lane>) -> Option<(Self, Instant)> {
        let mut state = lane.lock();
        if state.running >= state.strategy.concurrency {
            return None;
        }
        state.running += 1;
        state.asked += 1;
        let start = state.next_start.max(Instant::now());
        state.next_start = start + Duration::from_millis(state.strategy.spacing_ms);
        let turn = Self {
            lane: lane.clone(),
            max_tokens: state.strategy.max_tokens,
            setbacks: state.setbacks,
        };
        Some((turn, start))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lane.lock().running -= 1;
        self.lane.room.notify_waiters();
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
