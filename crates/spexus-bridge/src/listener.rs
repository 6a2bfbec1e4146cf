//! The stream of what the backend says unasked. While it is open the bridge knows that the backend lives; when it
//! breaks it is opened again, and that attempt is also what finds the backend back after a fault.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use mcp_client::{HttpReply, LAST_EVENT_ID, SseReader};
use serde_json::json;

use crate::answer::notification;
use crate::backend::header_value;
use crate::bridge::Bridge;
use crate::session::OpenSession;

/// The backend is looked for at least this often: that bounds the time it takes to find it back.
//= specs/spexus-bridge.md#faults
//# A backend that is back MUST be found within five seconds by whoever waits for it: no pause between two tries MUST be longer than four.
pub(crate) const MAX_DELAY: Duration = Duration::from_millis(1_000);

/// How a try to listen ended.
enum Listened {
    /// The stream was open until now; the id of its last event.
    Stream(Option<String>),
    /// The session is gone.
    SessionLost,
    /// Nobody is there.
    Unreachable,
    /// The backend has no such stream.
    Unsupported,
}

/// Listens until it is dropped.
pub(crate) async fn run(bridge: Arc<Bridge>) {
    let (mut failures, mut last_event, mut known_session) = (0, None, 0);
    let backoff = bridge.settings.limits.backoff();
    loop {
        match listen(&bridge, &mut known_session, last_event.take()).await {
            Listened::Stream(last) => {
                last_event = last;
                failures = 0;
            }
            Listened::SessionLost => failures = 0,
            Listened::Unreachable => failures += 1,
            Listened::Unsupported => return,
        }
        tokio::time::sleep(backoff.delay(failures).min(MAX_DELAY)).await;
    }
}

async fn listen(bridge: &Bridge, known_session: &mut u64, last_event: Option<String>) -> Listened {
    let Ok(permit) = bridge.breaker.enter() else {
        return Listened::Unreachable;
    };
    let Ok(session) = bridge.session.ensure(&bridge.backend.endpoint).await else {
        return Listened::Unreachable;
    };
    let mut headers = HeaderMap::new();
    // The events of another session mean nothing to this one.
    let last_event = last_event.filter(|_| session.generation == *known_session);
    let last_event = last_event.and_then(|id| header_value(&id));
    headers.extend(last_event.map(|id| (LAST_EVENT_ID, id)));
    let status = match session.endpoint.get(&headers).await {
        Ok(HttpReply::Events { events, .. }) => {
            permit.succeeded();
            announce(bridge, known_session, &session).await;
            return Listened::Stream(relay_all(bridge, events).await);
        }
        Ok(HttpReply::Text { status, .. }) => status,
        Err(_) => return Listened::Unreachable,
    };
    permit.succeeded();
    match status {
        405 | 501 => Listened::Unsupported,
        400 | 404 => {
            bridge.session.lost(session.generation);
            Listened::SessionLost
        }
        _ => Listened::Unreachable,
    }
}

async fn relay_all(bridge: &Bridge, mut events: SseReader) -> Option<String> {
    let mut last = None;
    while let Ok(Some(event)) = events.next().await {
        last = event.id.or(last);
        bridge.relay(&event.data).await;
    }
    last
}

/// Tells the host what it may have missed when this is not the session it knew.
//= specs/spexus-bridge.md#faults
//# After a new session was opened the host MUST be told that lists and subscribed resources may have changed.
async fn announce(bridge: &Bridge, known_session: &mut u64, session: &OpenSession) {
    let known = std::mem::replace(known_session, session.generation);
    let is_first = known == 0 && session.generation == 1 && !bridge.was_initialized_alone();
    if known == session.generation || is_first {
        return;
    }
    bridge.tools.clear();
    for list in ["tools", "resources", "prompts"] {
        let method = format!("notifications/{list}/list_changed");
        bridge.send(&notification(&method, &json!({}))).await;
    }
    for uri in bridge.session.subscriptions() {
        let params = json!({ "uri": uri, "resource_uri": uri, "change_type": "updated" });
        bridge
            .send(&notification("notifications/resources/updated", &params))
            .await;
    }
    tracing::info!("connected to the backend again");
}
