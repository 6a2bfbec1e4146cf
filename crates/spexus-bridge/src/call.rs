//! One request of the host, carried to the backend and back: tried again where that is safe, given up in time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_protocol::envelope::{self, Message};
use mcp_server::Permit;
use refusal::{Code, Refusal};
use serde_json::Value;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use crate::answer;
use crate::backend::{Fault, Reply};
use crate::events::Events;
use crate::host::Bridge;
use crate::link::{Closed, Live};
use crate::text::one_line;
use crate::vitals::Vitals;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How often a session may turn out to be gone within one request.
const MAX_LOST_SESSIONS: u32 = 3;

/// A request to be carried.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) id: Box<str>,
    pub(crate) method: String,
    pub(crate) body: Bytes,
    /// The headers of the stateless era; `None` when it belongs to the session.
    pub(crate) headers: Option<HeaderMap>,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(crate) repeatable: bool,
    /// Until when it may take, once somebody was asked in its course.
    pub(crate) asked: Patience,
}

/// The time a call has. A question to a person or a model gives it more.
#[derive(Debug, Default)]
pub(crate) struct Patience(Mutex<Option<Instant>>);

impl Patience {
    fn extend(&self, until: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    fn until(&self, deadline: Instant) -> Instant {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .unwrap_or(deadline)
    }

    /// Ends when the time is over, however much was added meanwhile.
    async fn over(&self, deadline: Instant) {
        while Instant::now() < self.until(deadline) {
            tokio::time::sleep_until(self.until(deadline)).await;
        }
    }
}

/// What became of one try.
enum Try {
    /// An answer, or none because the request was cancelled at the backend.
    Done(Option<Vec<u8>>),
    /// The session is gone; nothing was done.
    SessionLost,
    /// The backend wants less; nothing was done.
    Slower(Duration, Vec<u8>),
    /// The backend refuses to open a session; its answer.
    Unwanted(Vec<u8>),
    /// It failed.
    Failed(Fault),
}

impl Bridge {
    /// A place among the calls to the backend, to be kept until the host has the answer: a host that reads nothing makes
    /// no more answers wait than there are places.
    pub(crate) async fn place(&self, deadline: Instant) -> Result<Option<SemaphorePermit<'_>>, Refusal> {
        tokio::time::timeout_at(deadline, self.backend.place())
            .await
            .map_err(|_| answer::overdue(self.settings.request_timeout, true))
    }

    // Fulfils 003 R13.4, 003 R13.5, 003 R15.1, 003 R15.4
    /// Carries a request; `None` when it needs no answer any more. Whoever calls holds a [`place`](Bridge::place).
    //= specs/spexus-bridge.md#faults
    //# A request that may be repeated, or that did not leave, MUST be tried again with pauses that grow and vary.
    pub(crate) async fn carry(&self, errand: &Errand, deadline: Instant) -> Result<Option<Vec<u8>>, Refusal> {
        let (mut tries, mut lost) = (0, 0);
        loop {
            let refusal = match self.attempt(errand, deadline).await? {
                Ok(Try::Done(answer)) => return Ok(answer),
                Ok(Try::Unwanted(answer)) => return Ok(Some(answer)),
                Ok(Try::SessionLost) if lost < MAX_LOST_SESSIONS => {
                    lost += 1;
                    continue;
                }
                Ok(Try::SessionLost) => {
                    return Err(Refusal::new(
                        Code::SessionInvalid,
                        "the requirements server forgets its sessions",
                    ));
                }
                Ok(Try::Slower(pause, answer)) => {
                    if tries >= self.settings.max_retries || Instant::now() + pause >= deadline {
                        return Ok(Some(answer));
                    }
                    tries += 1;
                    tokio::time::sleep(pause).await;
                    continue;
                }
                Ok(Try::Failed(fault)) => {
                    //= specs/spexus-bridge.md#faults
                    //# A call that may not be repeated MUST NOT be sent again once it has left, and the host MUST be told that its outcome is unknown.
                    let again = errand.repeatable || matches!(fault, Fault::NotSent(_));
                    let refusal = answer::unreachable(&fault, errand.repeatable);
                    tracing::warn!(request = %errand.id, method = %errand.method, ?fault, tries, again, "the backend failed");
                    if !again {
                        return Err(refusal);
                    }
                    refusal
                }
                // The breaker is open: a pause may be enough.
                Err(refusal) => refusal,
            };
            let pause = self.pause(tries);
            if tries >= self.settings.max_retries || Instant::now() + pause >= deadline {
                return Err(refusal);
            }
            tries += 1;
            Vitals::count(&self.vitals.retries);
            tokio::time::sleep(pause).await;
        }
    }

    /// One try, through the breaker and before the deadline. The inner error is the breaker's.
    async fn attempt(&self, errand: &Errand, deadline: Instant) -> Result<Result<Try, Refusal>, Refusal> {
        let pass = match self.breaker.enter() {
            Ok(pass) => Passing(Some(pass)),
            Err(refusal) => return Ok(Err(refusal)),
        };
        let tried = tokio::select! {
            tried = self.once(errand) => Ok(tried),
            () = errand.asked.over(deadline) => Err(()),
        };
        match &tried {
            Ok(Try::Failed(_)) => pass.end(|pass| pass.refused(Code::DependencyUnavailable)),
            Ok(_) => pass.end(Permit::succeeded),
            Err(_) => pass.end(|pass| pass.refused(Code::Timeout)),
        }
        tried
            .map(Ok)
            .map_err(|_| answer::overdue(self.settings.request_timeout, errand.repeatable))
    }

    async fn once(&self, errand: &Errand) -> Try {
        let (live, headers) = match &errand.headers {
            Some(headers) => (None, headers.clone()),
            None => match self.link.ensure(&self.backend).await {
                Ok(live) => {
                    let headers = live.headers.clone();
                    (Some(live), headers)
                }
                Err(Closed::Fault(Fault::NotSent(reason) | Fault::Broken(reason))) => {
                    return Try::Failed(Fault::NotSent(reason));
                }
                Err(Closed::Refused(_, Some(error))) => {
                    return Try::Unwanted(answer::error(&errand.id, &error));
                }
                Err(Closed::Refused(status, None)) => {
                    return Try::Unwanted(self.refused(errand, answer::odd(status)));
                }
                Err(Closed::NoGreeting) => {
                    let refusal =
                        Refusal::new(Code::ServerUninitialized, "this session was not initialized yet");
                    return Try::Unwanted(self.refused(errand, refusal));
                }
            },
        };
        match self.backend.post(errand.body.clone(), &headers).await {
            Err(fault) => Try::Failed(fault),
            Ok(Reply::Events(events)) => self.follow(errand, events, live.as_ref()).await,
            Ok(Reply::Text {
                status,
                retry_after,
                is_json,
                body,
                ..
            }) => self.sort(errand, live.as_ref(), status, retry_after, is_json, &body),
        }
    }

    /// What a plain answer means.
    fn sort(
        &self,
        errand: &Errand,
        live: Option<&Live>,
        status: u16,
        retry_after: Option<Duration>,
        is_json: bool,
        body: &[u8],
    ) -> Try {
        // A request has an answer; whoever gives none has lost it.
        if matches!(status, 202 | 204) {
            return Try::Failed(Fault::Broken(format!("HTTP status {status} without an answer")));
        }
        if let (404, Some(live)) = (status, live) {
            self.link.lost(live.generation);
            return Try::SessionLost;
        }
        let text = std::str::from_utf8(body).unwrap_or_default();
        let Ok(Message::Response(response)) = envelope::message(text) else {
            return match status {
                // Whoever stands before the backend says so: it did not take the request, or nobody knows.
                503 => Try::Failed(Fault::NotSent(format!("HTTP status {status}"))),
                502 | 504 => Try::Failed(Fault::Broken(format!("HTTP status {status}"))),
                _ => Try::Done(Some(self.refused(errand, answer::odd(status)))),
            };
        };
        let answer = match response.outcome {
            _ if is_json && response.id == &*errand.id => one_line(body).into_owned(),
            Ok(result) => answer::result(&errand.id, result),
            Err(error) => answer::error(&errand.id, error),
        };
        match response.outcome {
            Err(error) if is_leaving(error) => Try::Failed(Fault::NotSent("the server is stopping".into())),
            Err(_) if status == 503 => Try::Failed(Fault::NotSent(format!("HTTP status {status}"))),
            Err(_) if status == 429 => Try::Slower(retry_after.unwrap_or(Duration::from_secs(1)), answer),
            _ => Try::Done(Some(answer)),
        }
    }

    /// Passes messages on until the answer comes; a stream that breaks is taken up again where it broke.
    async fn follow(&self, errand: &Errand, mut events: Events, live: Option<&Live>) -> Try {
        let mut last = None;
        loop {
            let broken = match events.next().await {
                Ok(Some(event)) => {
                    last = event.id.or(last);
                    if answers(&event.data, &errand.id) {
                        return Try::Done(Some(one_line(&event.data).into_owned()));
                    }
                    //= specs/spexus-bridge.md#calling-the-backend
                    //# A call in whose course the host is asked something MUST wait for the answer, beyond the time a call usually has.
                    if is_question(&event.data) {
                        let limit = Duration::from_millis(self.settings.limits.question_timeout_ms);
                        errand.asked.extend(Instant::now() + limit);
                    }
                    self.relay(&event.data).await;
                    continue;
                }
                Ok(None) => Fault::Broken("the stream ended early".into()),
                Err(fault) => fault,
            };
            let (Some(live), Some(at)) = (live, last.take()) else {
                return Try::Failed(broken);
            };
            let mut headers = live.headers.clone();
            headers.extend(HeaderValue::from_str(&at).map(|at| (LAST_EVENT, at)));
            events = match self.backend.get(&headers).await {
                Ok(Reply::Events(events)) => events,
                _ => return Try::Failed(broken),
            };
        }
    }

    /// The pause before the next try.
    pub(crate) fn pause(&self, tries: u32) -> Duration {
        self.settings
            .limits
            .pause(tries, getrandom::u32().unwrap_or(u32::MAX / 2))
    }
}

/// Whether a message is the answer to this request.
pub(crate) fn answers(data: &[u8], id: &str) -> bool {
    let text = std::str::from_utf8(data).unwrap_or_default();
    matches!(envelope::message(text), Ok(Message::Response(response)) if response.id == id)
}

/// Whether a message asks the host for something.
fn is_question(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).unwrap_or_default();
    matches!(envelope::message(text), Ok(Message::Request(_)))
}

/// A server that stops refuses what it did not begin.
fn is_leaving(error: &str) -> bool {
    let leaving = Code::ServerShuttingDown.number();
    let error: Value = serde_json::from_str(error).unwrap_or_default();
    error["code"] == leaving || error["data"]["refusal"]["code"] == leaving
}

/// A place in the breaker. Whoever loses interest in between has learned nothing about the backend.
struct Passing<'a>(Option<Permit<'a>>);

impl<'a> Passing<'a> {
    fn end(mut self, report: impl FnOnce(Permit<'a>)) {
        if let Some(pass) = self.0.take() {
            report(pass);
        }
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Permit::abandoned);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_leaves_is_known_by_its_refusal() {
        assert!(is_leaving(r#"{"code":1077,"message":"x"}"#));
        assert!(is_leaving(r#"{"code":-1,"data":{"refusal":{"code":1077}}}"#));
        assert!(!is_leaving(r#"{"code":1014}"#) && !is_leaving("nonsense"));
    }
}
