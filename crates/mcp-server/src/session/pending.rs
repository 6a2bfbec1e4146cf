//! Requests the server sent to a client, waiting for its answers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::session::sink::MessageSink;

/// The fact that tells which number the client refused with.
pub(crate) const CLIENT_ERROR: &str = "client_error";

#[derive(Debug, Default)]
pub(crate) struct Pending {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
}

impl Pending {
    // Fulfils 002 Req-Proto-003, 002 Req-Proto-012
    /// Sends a request and waits for its answer.
    //= specs/mcp-server.md#requests-of-the-server
    //# A request of the server that is not answered in time MUST end with 1069, and the client MUST be told that it is cancelled.
    pub(crate) async fn ask(
        &self,
        sink: &MessageSink,
        method: &str,
        params: Value,
        timeout: Duration,
        max_waiting: usize,
    ) -> Result<Value, Refusal> {
        let (id, answer) = self.enter(max_waiting)?;
        let waiting = Waiting {
            pending: self,
            sink,
            id,
        };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        sink.room().await;
        sink.push(message.to_string().into_bytes());
        let answered = tokio::time::timeout(timeout, answer).await;
        drop(waiting);
        match answered {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(declined(method, &error)),
            Ok(Err(_closed)) => Err(Refusal::new(Code::TransportError, "the client is gone")),
            Err(_elapsed) => Err(Refusal::new(
                Code::Timeout,
                format!(
                    "the client did not answer {method} within {} ms",
                    timeout.as_millis()
                ),
            )),
        }
    }

    //= specs/mcp-server.md#elicitation
    //# Questions MUST be independent of each other: an answer to one MUST NOT wait for another.
    /// An answer arrived. One that nobody waits for is ignored: it came too late or was never asked for.
    //= specs/mcp-server.md#requests-of-the-server
    //# An answer of the client MUST reach the request whose id it carries, in whatever order answers come.
    pub(crate) fn answer(&self, id: &str, outcome: Result<&str, &str>) {
        let sender = id.parse().ok().and_then(|id| self.lock().remove(&id));
        if let Some(sender) = sender {
            let parse = |text| serde_json::from_str(text).unwrap_or(Value::Null);
            // The asker may have gone in this very moment; then nobody needs the answer.
            let _ = sender.send(outcome.map(parse).map_err(parse));
        }
    }

    /// How many answers are waited for.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn enter(&self, max_waiting: usize) -> Result<(u64, oneshot::Receiver<Result<Value, Value>>), Refusal> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        if waiting.len() >= max_waiting {
            let problem = format!("{max_waiting} requests already wait for this client's answers");
            return Err(Refusal::new(Code::QueueCapExceeded, problem));
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        waiting.insert(id, sender);
        Ok((id, receiver))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, Value>>>> {
        self.waiting.lock()
    }
}

/// Takes the entry out however the wait ends, and tells the client when it ended without an answer.
struct Waiting<'a> {
    pending: &'a Pending,
    sink: &'a MessageSink,
    id: u64,
}

//= specs/mcp-server.md#elicitation
//# A person who does not answer in time MUST cost the request 1069, and nothing of the question MUST be kept.
impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let unanswered = self.pending.lock().remove(&self.id).is_some();
        if unanswered {
            let params = json!({ "requestId": self.id, "reason": "no longer needed" });
            let notice = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            self.sink.offer(notice.to_string().into_bytes());
        }
    }
}

fn declined(method: &str, error: &Value) -> Refusal {
    let reason = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("without a reason");
    let refusal = Refusal::new(
        Code::DependencyUnavailable,
        format!("the client refused {method}: {reason}"),
    );
    match error.get("code").and_then(Value::as_i64) {
        Some(code) => refusal.fact(CLIENT_ERROR, code),
        None => refusal,
    }
}
