//! The stream of what the backend says unasked. While it is open the bridge knows that the backend lives; when it
//! breaks it is opened again, and that attempt is also what finds the backend back after a fault.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::json;

use crate::answer::notification;
use crate::backend::Reply;
use crate::events::Events;
use crate::host::Bridge;
use crate::link::Live;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// What a try to listen came to.
enum Heard {
    /// The stream was open until now; the id of its last event.
    Stream(Option<String>),
    /// The session is gone.
    SessionLost,
    /// Nobody is there.
    Nobody,
    /// The backend has no such stream.
    Never,
}

/// Listens until it is dropped.
pub(crate) async fn listen(bridge: Arc<Bridge>) {
    let (mut tries, mut last, mut heard_of) = (0, None, 0);
    loop {
        let heard = hear(&bridge, &mut heard_of, last.take()).await;
        match heard {
            Heard::Stream(at) => {
                last = at;
                tries = 0;
            }
            Heard::SessionLost => tries = 0,
            Heard::Nobody => tries += 1,
            Heard::Never => return,
        }
        tokio::time::sleep(bridge.pause(tries).min(MAX_PAUSE)).await;
    }
}

/// The backend is looked for at least this often: that bounds the time it takes to find it back.
//= specs/spexus-bridge.md#faults
//# A backend that is back MUST be found within five seconds by whoever waits for it: no pause between two tries MUST be longer than four.
pub(crate) const MAX_PAUSE: Duration = Duration::from_millis(1_000);

async fn hear(bridge: &Bridge, heard_of: &mut u64, last: Option<String>) -> Heard {
    let Ok(pass) = bridge.breaker.enter() else {
        return Heard::Nobody;
    };
    let live = match bridge.link.ensure(&bridge.backend).await {
        Ok(live) => live,
        Err(_) => return Heard::Nobody,
    };
    let mut headers = live.headers.clone();
    // The events of another session mean nothing to this one.
    if let Some(at) = last.filter(|_| live.generation == *heard_of) {
        headers.extend(HeaderValue::from_str(&at).map(|at| (LAST_EVENT, at)));
    }
    let reply = bridge.backend.get(&headers).await;
    let status = match reply {
        Ok(Reply::Events(events)) => {
            pass.succeeded();
            greet(bridge, heard_of, &live).await;
            return Heard::Stream(pass_on(bridge, events).await);
        }
        Ok(Reply::Text { status, .. }) => status,
        Err(_) => return Heard::Nobody,
    };
    pass.succeeded();
    match status {
        405 | 501 => Heard::Never,
        400 | 404 => {
            bridge.link.lost(live.generation);
            Heard::SessionLost
        }
        _ => Heard::Nobody,
    }
}

async fn pass_on(bridge: &Bridge, mut events: Events) -> Option<String> {
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
async fn greet(bridge: &Bridge, heard_of: &mut u64, live: &Live) {
    let known = std::mem::replace(heard_of, live.generation);
    let is_first = known == 0 && live.generation == 1 && !bridge.greeted_alone();
    if known == live.generation || is_first {
        return;
    }
    bridge.catalogue.forget();
    for list in ["tools", "resources", "prompts"] {
        let method = format!("notifications/{list}/list_changed");
        bridge.say(&notification(&method, &json!({}))).await;
    }
    for uri in bridge.link.watched() {
        let params = json!({ "uri": uri, "resource_uri": uri, "change_type": "updated" });
        bridge
            .say(&notification("notifications/resources/updated", &params))
            .await;
    }
    tracing::info!("connected to the backend again");
}
