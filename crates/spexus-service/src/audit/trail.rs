//! Events on their way to the database, collected and written together once a second.

use super::{Happening, Origin, event, system, tell};
use parking_lot::{Mutex, MutexGuard};
use spexus_domain::account::Caller;
use spexus_domain::audit::AuditEvent;
use spexus_domain::{Timestamp, Uuid, text};
use spexus_store::{Store, audit};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Uses of tokens, and different operations, kept in memory at most.
const MAX_WAITING: usize = 1_000;
/// Networks whose refused requests are told apart in one second; those of all others are one event.
const MAX_FOLDED: usize = 64;
/// How often events are written.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Events on their way to the database.
#[derive(Clone)]
pub(crate) struct AuditTrail {
    waiting: Arc<Mutex<Waiting>>,
    /// Held while events are written, so that whoever flushes finds everything written that was noted before.
    writing: Arc<tokio::sync::Mutex<()>>,
    store: Store,
    /// How long events are kept; 0 means for ever.
    pub(super) retention_days: u32,
}

#[derive(Default)]
struct Waiting {
    events: Vec<AuditEvent>,
    operations: HashMap<Performed, Repeats>,
    folded: HashMap<Folded, Fold>,
    /// Events that found no place, or could not be written.
    lost: i64,
}

/// Somebody did something, however often.
#[derive(PartialEq, Eq, Hash)]
struct Performed {
    username: String,
    token_id: Option<Uuid>,
    client: String,
    detail: String,
}

/// When an operation was first done, as which of those that wait, and how often.
struct Repeats {
    first_at: Timestamp,
    order: usize,
    times: i64,
}

/// Somebody was turned away, however often.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    what: Happening,
    code: &'static str,
}

#[derive(PartialEq, Eq, Hash)]
struct Folded {
    kind: Kind,
    /// `None` stands for all networks that found no place.
    network: Option<String>,
}

struct Fold {
    first_at: Timestamp,
    client: String,
    times: i64,
}

impl AuditTrail {
    pub(crate) fn start(store: Store, retention_days: u32) -> Self {
        let trail = Self {
            waiting: Arc::default(),
            writing: Arc::default(),
            store,
            retention_days,
        };
        let (weak, writing) = (Arc::downgrade(&trail.waiting), trail.writing.clone());
        let store = trail.store.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(FLUSH_EVERY).await;
                let Some(waiting) = weak.upgrade() else { return };
                let trail = AuditTrail {
                    waiting,
                    writing: writing.clone(),
                    store: store.clone(),
                    retention_days,
                };
                trail.flush().await;
            }
        });
        trail
    }

    /// Notes the use of a token. Never waits, never fails the request it is about.
    //= specs/spexus-service.md#audit
    //# Logins, failed logins, logouts, uses of tokens and refused tokens MUST be noted with name, address and program.
    pub(crate) fn note_use(&self, username: &str, token_id: Uuid, origin: &Origin) {
        let mut event = event(Happening::TokenUsed, username, Some(token_id), origin, "");
        event.at = self.store.now();
        tell(&event);
        let mut waiting = self.lock();
        if waiting.events.len() >= MAX_WAITING {
            waiting.lost += 1;
            return;
        }
        waiting.events.push(event);
    }

    /// Notes an operation, with its like of the same second.
    pub(crate) fn note_operation(&self, caller: &Caller, method: &str, name: &str, outcome: &str) {
        let performed = Performed {
            username: caller.username.clone(),
            token_id: caller.token_id,
            client: caller.client.clone(),
            detail: match name {
                "" => format!("{method} {outcome}"),
                name => format!("{method} {} {outcome}", text::excerpt(name, 100)),
            },
        };
        let mut waiting = self.lock();
        if waiting.operations.len() >= MAX_WAITING && !waiting.operations.contains_key(&performed) {
            waiting.lost += 1;
            return;
        }
        let order = waiting.operations.len();
        let repeats = waiting.operations.entry(performed).or_insert_with(|| Repeats {
            first_at: self.store.now(),
            order,
            times: 0,
        });
        repeats.times += 1;
    }

    /// Notes that somebody was turned away, with the like of the same network and second.
    pub(crate) fn note_folded(&self, what: Happening, origin: &Origin, code: &'static str) {
        let kind = Kind { what, code };
        let network = Some(origin.network());
        let key = Folded { kind, network };
        let mut waiting = self.lock();
        let key = match waiting.folded.len() < MAX_FOLDED || waiting.folded.contains_key(&key) {
            true => key,
            false => Folded { kind, network: None },
        };
        let fold = waiting.folded.entry(key).or_insert_with(|| Fold {
            first_at: self.store.now(),
            client: origin.clean_client(),
            times: 0,
        });
        fold.times += 1;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self) {
        let _writing = self.writing.lock().await;
        let waiting = std::mem::take(&mut *self.lock());
        let mut events = waiting.events;
        let mut operations: Vec<_> = waiting.operations.into_iter().collect();
        operations.sort_unstable_by_key(|(_, repeats)| repeats.order);
        events.extend(operations.into_iter().map(performed));
        events.extend(waiting.folded.into_iter().map(folded));
        if waiting.lost > 0 {
            let nobody = Origin::default();
            events.push(AuditEvent {
                at: self.store.now(),
                times: waiting.lost,
                ..event(
                    Happening::EventsLost,
                    "",
                    None,
                    &nobody,
                    "not kept: too many at once",
                )
            });
        }
        if events.is_empty() {
            return;
        }
        let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
        let written = self.store.write(system(), move |tx| {
            Box::pin(async move {
                for event in &mut events {
                    event.id = tx.new_id();
                }
                audit::insert(tx, &events).await
            })
        });
        if let Err(error) = written.await {
            tracing::warn!(%error, "audit events could not be written");
            self.lock().lost += count;
        }
    }
}

/// The event of everything somebody did alike.
fn performed((performed, repeats): (Performed, Repeats)) -> AuditEvent {
    let detail = match repeats.times {
        1 => performed.detail,
        times => format!("{} ×{times}", performed.detail),
    };
    let origin = Origin {
        address: String::new(),
        client: performed.client,
    };
    let (name, token) = (performed.username, performed.token_id);
    AuditEvent {
        at: repeats.first_at,
        times: repeats.times,
        ..event(Happening::Operation, &name, token, &origin, &detail)
    }
}

/// The event of everybody who was turned away alike; it is also the one line of the log.
fn folded((key, fold): (Folded, Fold)) -> AuditEvent {
    let detail = match &key.network {
        Some(_) => key.kind.code.to_owned(),
        None => format!("{} from other addresses", key.kind.code),
    };
    let origin = Origin {
        address: key.network.unwrap_or_default(),
        client: fold.client,
    };
    let event = AuditEvent {
        at: fold.first_at,
        times: fold.times,
        ..event(key.kind.what, "", None, &origin, &detail)
    };
    tell(&event);
    event
}
