//! One request of the host, forwarded to the backend: tried again where that is safe, given up in time.

use parking_lot::Mutex;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use mcp_client::{HttpReply, LAST_EVENT_ID, Retries, SendError, SseReader, is_json, retry_after};
use mcp_protocol::envelope::{self, Message};
use mcp_server::Permit;
use refusal::{Code, Refusal};
use serde_json::Value;
use tokio::sync::SemaphorePermit;
use tokio::time::Instant;

use crate::answer;
use crate::backend::header_value;
use crate::bridge::Bridge;
use crate::message::one_line;
use crate::session::{OpenSession, SessionError};
use crate::stats::Stats;

/// How often a session may turn out to be gone within one request.
const MAX_LOST_SESSIONS: u32 = 3;

/// A request to be forwarded, and whether it may be sent twice.
#[derive(Debug)]
pub(crate) struct RetryableRequest<'a> {
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) body: Bytes,
    /// The headers of the stateless era; `None` when it belongs to the session.
    pub(crate) headers: Option<HeaderMap>,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(crate) repeatable: bool,
    /// More time than usual, once somebody was asked in its course.
    pub(crate) extension: DeadlineExtension,
}

/// A later deadline for a request in whose course a person or a model is asked something.
#[derive(Debug, Default)]
pub(crate) struct DeadlineExtension(Mutex<Option<Instant>>);

impl DeadlineExtension {
    fn extend(&self, until: Instant) {
        *self.0.lock() = Some(until);
    }

    fn until(&self, deadline: Instant) -> Instant {
        self.0.lock().unwrap_or(deadline)
    }

    /// Ends when the time is over, however much was added meanwhile.
    async fn elapsed(&self, deadline: Instant) {
        while Instant::now() < self.until(deadline) {
            tokio::time::sleep_until(self.until(deadline)).await;
        }
    }
}

/// What became of one try.
enum Attempt {
    /// An answer.
    Answered(Vec<u8>),
    /// The session is gone; nothing was done.
    SessionLost,
    /// The backend wants less; nothing was done.
    RateLimited(Duration, Vec<u8>),
    /// It failed.
    Failed(SendError),
    /// The breaker is open; nothing was sent.
    BreakerOpen(Refusal),
}

impl Bridge {
    /// A permit for a call to the backend, to be kept until the host has the answer: a host that reads nothing makes no
    /// more answers wait than there are permits.
    pub(crate) async fn permit(&self, deadline: Instant) -> Result<Option<SemaphorePermit<'_>>, Refusal> {
        tokio::time::timeout_at(deadline, self.backend.permit())
            .await
            .map_err(|_| answer::overdue(self.settings.request_timeout, true))
    }

    // Fulfils 003 R13.4, 003 R13.5, 003 R15.1, 003 R15.4
    /// Forwards a request and gives its answer. Whoever calls holds a [`permit`](Bridge::permit).
    //= specs/spexus-bridge.md#faults
    //# A request that may be repeated, or that did not leave, MUST be tried again with pauses that grow and vary.
    pub(crate) async fn forward(
        &self,
        request: &RetryableRequest<'_>,
        deadline: Instant,
    ) -> Result<Vec<u8>, Refusal> {
        let backoff = self.settings.limits.backoff();
        let mut retries = Retries::new(backoff, self.settings.max_retries).until(deadline);
        let mut lost = 0;
        loop {
            let refusal = match self.attempt(request, deadline).await? {
                Attempt::Answered(answer) => return Ok(answer),
                Attempt::SessionLost if lost < MAX_LOST_SESSIONS => {
                    lost += 1;
                    continue;
                }
                Attempt::SessionLost => {
                    return Err(Refusal::new(
                        Code::SessionInvalid,
                        "the requirements server forgets its sessions",
                    ));
                }
                Attempt::RateLimited(delay, answer) => match retries.wait_for(delay).await {
                    true => continue,
                    false => return Ok(answer),
                },
                Attempt::Failed(error) => {
                    //= specs/spexus-bridge.md#faults
                    //# A call that may not be repeated MUST NOT be sent again once it has left, and the host MUST be told that its outcome is unknown.
                    let again = request.repeatable || matches!(error, SendError::NotSent(_));
                    let refusal = answer::unreachable(&error, request.repeatable);
                    tracing::warn!(request = %request.id, method = %request.method, ?error, tries = retries.used(), again, "the backend failed");
                    if !again {
                        return Err(refusal);
                    }
                    refusal
                }
                // A pause may be enough.
                Attempt::BreakerOpen(refusal) => refusal,
            };
            if !retries.wait().await {
                return Err(refusal);
            }
            Stats::count(&self.stats.retries);
        }
    }

    /// One try, through the breaker and before the deadline.
    async fn attempt(&self, request: &RetryableRequest<'_>, deadline: Instant) -> Result<Attempt, Refusal> {
        let permit = match self.breaker.enter() {
            Ok(permit) => BreakerGuard(Some(permit)),
            Err(refusal) => return Ok(Attempt::BreakerOpen(refusal)),
        };
        let attempt = tokio::select! {
            attempt = self.exchange(request) => attempt,
            () = request.extension.elapsed(deadline) => {
                permit.end(|permit| permit.refused(Code::Timeout));
                return Err(answer::overdue(self.settings.request_timeout, request.repeatable));
            }
        };
        match &attempt {
            Attempt::Failed(_) => permit.end(|permit| permit.refused(Code::DependencyUnavailable)),
            _ => permit.end(Permit::succeeded),
        }
        Ok(attempt)
    }

    /// Sends the request once, in the session unless it has headers of its own.
    async fn exchange(&self, request: &RetryableRequest<'_>) -> Attempt {
        let body = request.body.clone();
        let (session, reply) = match &request.headers {
            Some(headers) => (None, self.backend.endpoint.post(body, headers).await),
            None => match self.session.ensure(&self.backend.endpoint).await {
                Ok(session) => {
                    let reply = session.endpoint.post(body, &HeaderMap::new()).await;
                    (Some(session), reply)
                }
                Err(error) => return self.without_session(request, error),
            },
        };
        let session = session.as_deref();
        match reply {
            Err(error) => Attempt::Failed(error),
            Ok(HttpReply::Events { events, .. }) => self.follow(request, events, session).await,
            Ok(HttpReply::Text {
                status,
                headers,
                body,
            }) => self.classify(request, session, status, &headers, &body),
        }
    }

    /// What it means that there is no session.
    fn without_session(&self, request: &RetryableRequest<'_>, error: SessionError) -> Attempt {
        match error {
            // The request itself did not leave.
            SessionError::Send(SendError::NotSent(reason) | SendError::Broken(reason)) => {
                Attempt::Failed(SendError::NotSent(reason))
            }
            SessionError::Refused(_, Some(error)) => Attempt::Answered(answer::error(request.id, &error)),
            SessionError::Refused(status, None) => {
                Attempt::Answered(self.refused(request, answer::not_mcp(status)))
            }
            SessionError::NoHandshake => Attempt::Answered(self.refused(request, answer::uninitialized())),
        }
    }

    /// What a plain answer means.
    fn classify(
        &self,
        request: &RetryableRequest<'_>,
        session: Option<&OpenSession>,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Attempt {
        // A request has an answer; whoever gives none has lost it.
        if matches!(status, 202 | 204) {
            let problem = format!("HTTP status {status} without an answer");
            return Attempt::Failed(SendError::Broken(problem));
        }
        if let (404, Some(session)) = (status, session) {
            self.session.lost(session.generation);
            return Attempt::SessionLost;
        }
        let text = std::str::from_utf8(body).unwrap_or_default();
        let Ok(Message::Response(response)) = envelope::message(text) else {
            return match status {
                // Whoever stands before the backend says so: it did not take the request, or nobody knows.
                503 => Attempt::Failed(SendError::NotSent(format!("HTTP status {status}"))),
                502 | 504 => Attempt::Failed(SendError::Broken(format!("HTTP status {status}"))),
                _ => Attempt::Answered(self.refused(request, answer::not_mcp(status))),
            };
        };
        let answer = match response.outcome {
            _ if is_json(headers) && response.id == request.id => one_line(body).into_owned(),
            Ok(result) => answer::result(request.id, result),
            Err(error) => answer::error(request.id, error),
        };
        match response.outcome {
            Err(error) if is_leaving(error) => {
                Attempt::Failed(SendError::NotSent("the server is stopping".into()))
            }
            Err(_) if status == 503 => Attempt::Failed(SendError::NotSent(format!("HTTP status {status}"))),
            Err(_) if status == 429 => {
                let delay = retry_after(headers).unwrap_or(Duration::from_secs(1));
                Attempt::RateLimited(delay, answer)
            }
            _ => Attempt::Answered(answer),
        }
    }

    // Fulfils 003 R15.7
    /// Passes messages on until the answer comes; a stream that breaks is taken up again where it broke.
    //= specs/spexus-bridge.md#messages-in-both-directions
    //# Streamed messages MUST be passed on one by one, so that a large answer is never held whole.
    async fn follow(
        &self,
        request: &RetryableRequest<'_>,
        mut events: SseReader,
        session: Option<&OpenSession>,
    ) -> Attempt {
        let mut last = None;
        loop {
            let broken = match events.next().await {
                Ok(Some(event)) => {
                    last = event.id.or(last);
                    if answers(&event.data, request.id) {
                        return Attempt::Answered(one_line(&event.data).into_owned());
                    }
                    //= specs/spexus-bridge.md#calling-the-backend
                    //# A call in whose course the host is asked something MUST wait for the answer, beyond the time a call usually has.
                    if is_question(&event.data) {
                        let limit = Duration::from_millis(self.settings.limits.question_timeout_ms);
                        request.extension.extend(Instant::now() + limit);
                    }
                    self.relay(&event.data).await;
                    continue;
                }
                Ok(None) => SendError::Broken("the stream ended early".into()),
                Err(error) => error,
            };
            let (Some(session), Some(at)) = (session, last.take()) else {
                return Attempt::Failed(broken);
            };
            let headers = header_value(&at).map(|at| (LAST_EVENT_ID, at));
            events = match session.endpoint.get(&headers.into_iter().collect()).await {
                Ok(HttpReply::Events { events, .. }) => events,
                _ => return Attempt::Failed(broken),
            };
        }
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

/// A breaker's permit. Whoever loses interest in between has learned nothing about the backend.
struct BreakerGuard<'a>(Option<Permit<'a>>);

impl<'a> BreakerGuard<'a> {
    fn end(mut self, report: impl FnOnce(Permit<'a>)) {
        if let Some(permit) = self.0.take() {
            report(permit);
        }
    }
}

impl Drop for BreakerGuard<'_> {
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
