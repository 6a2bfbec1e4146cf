//! A connection over HTTP: every message a request of its own, and one stream for what the server says unasked.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{CallError, Outbound, Shared};
use crate::backoff::Backoff;
use crate::http::SendError;
use crate::sse::SseReader;
use crate::streamable_http::{HttpEndpoint, HttpReply, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

/// How often the stream of unasked messages is opened again.
const LISTENER_BACKOFF: Backoff = Backoff {
    first_ms: 100,
    max_ms: 10_000,
};

/// The session with a server, and the way to whoever sends for it.
#[derive(Debug)]
pub(super) struct HttpSession {
    endpoint: HttpEndpoint,
    headers: Mutex<HeaderMap>,
    steps: mpsc::UnboundedSender<Step>,
}

/// Something to be done. Messages are few: whoever sends a request waits for its answer.
#[derive(Debug)]
pub(super) enum Step {
    Send(Bytes, Option<u64>),
    Listen,
    Close,
}

impl HttpSession {
    pub(super) fn new(endpoint: HttpEndpoint, steps: mpsc::UnboundedSender<Step>) -> Self {
        Self {
            endpoint,
            headers: Mutex::default(),
            steps,
        }
    }

    pub(super) fn send(&self, message: Bytes, id: Option<u64>) -> bool {
        self.steps.send(Step::Send(message, id)).is_ok()
    }

    /// Every message names the version from now on.
    pub(super) fn agree_on(&self, version: &str) {
        if let Ok(version) = HeaderValue::from_str(version) {
            self.lock().insert(PROTOCOL_VERSION, version);
        }
    }

    /// Opens the stream of unasked messages.
    pub(super) fn listen(&self) {
        let _ = self.steps.send(Step::Listen);
    }

    pub(super) fn close(&self) {
        let _ = self.steps.send(Step::Close);
    }

    fn headers(&self) -> HeaderMap {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HeaderMap> {
        self.headers.lock()
    }
}

/// Sends until the connection is closed. Messages that need no answer are sent in order; requests do not wait for each
/// other.
pub(super) async fn run(shared: Arc<Shared>, mut steps: mpsc::UnboundedReceiver<Step>) {
    let mut tasks = JoinSet::new();
    while let Some(step) = steps.recv().await {
        while tasks.try_join_next().is_some() {}
        match step {
            Step::Send(message, None) => post(&shared, message, None).await,
            Step::Send(message, id) => {
                let shared = shared.clone();
                tasks.spawn(async move { post(&shared, message, id).await });
            }
            Step::Listen => {
                tasks.spawn(listen(shared.clone()));
            }
            Step::Close => {
                if let Outbound::Http(session) = &shared.outbound
                    && session.lock().contains_key(SESSION_ID)
                {
                    // A server that keeps its session, or has none, loses nothing by it.
                    let _ = session.endpoint.delete(&session.headers()).await;
                }
                return shared.end();
            }
        }
    }
}

/// Sends one message and takes what the server answers.
async fn post(shared: &Shared, message: Bytes, id: Option<u64>) {
    let Outbound::Http(session) = &shared.outbound else {
        return;
    };
    let headers = session.headers();
    let reply = session.endpoint.post(message, &headers).await;
    if let Ok(reply) = &reply
        && let Some(opened) = reply.session()
    {
        session.lock().insert(SESSION_ID, opened.clone());
    }
    let problem = match reply {
        Ok(HttpReply::Events { mut events, .. }) => {
            pass_on(shared, &mut events).await;
            CallError::Send(SendError::Broken("the stream ended early".to_owned()))
        }
        Ok(HttpReply::Text { status, .. }) if status == 404 && headers.contains_key(SESSION_ID) => {
            tracing::debug!("a server has forgotten the session");
            return shared.end();
        }
        Ok(HttpReply::Text { status, body, .. }) => {
            shared.receive(std::str::from_utf8(&body).unwrap_or_default());
            CallError::Unexpected(format!("HTTP status {status} without an answer"))
        }
        Err(error) => CallError::Send(error),
    };
    // Nothing happens when the answer was among what came.
    if let Some(id) = id {
        shared.answer(id, Err(problem));
    }
}

/// Takes what the server says unasked, for as long as the connection lives.
async fn listen(shared: Arc<Shared>) {
    let Outbound::Http(session) = &shared.outbound else {
        return;
    };
    let (mut failures, mut last) = (0, None::<String>);
    loop {
        let mut headers = session.headers();
        let at = last.take().and_then(|at| HeaderValue::from_str(&at).ok());
        headers.extend(at.map(|at| (LAST_EVENT_ID, at)));
        match session.endpoint.get(&headers).await {
            Ok(HttpReply::Events { mut events, .. }) => {
                failures = 0;
                last = pass_on(&shared, &mut events).await;
            }
            Ok(HttpReply::Text {
                status: 400 | 404, ..
            }) if headers.contains_key(SESSION_ID) => {
                return shared.end();
            }
            // It has no such stream.
            Ok(HttpReply::Text {
                status: 400..=499, ..
            }) => return,
            Ok(HttpReply::Text { .. }) | Err(_) => failures += 1,
        }
        tokio::time::sleep(LISTENER_BACKOFF.delay(failures)).await;
    }
}

/// Takes the messages of a stream until it ends; the id of its last event.
async fn pass_on(shared: &Shared, events: &mut SseReader) -> Option<String> {
    let mut last = None;
    while let Ok(Some(event)) = events.next().await {
        last = event.id.or(last);
        if !event.data.is_empty() {
            shared.receive(std::str::from_utf8(&event.data).unwrap_or_default());
        }
    }
    last
}
