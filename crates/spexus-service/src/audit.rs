//! The trail of what happens at the door. Events are collected and written together once a second, so that a flood of
//! bad tokens costs the database next to nothing; when even that is too much, the trail says how many it dropped.

use crate::context::reading;
use crate::{Service, told};
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::audit::Event;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Ruled, Uuid, text};
use spexus_store::chain::{self, Verdict};
use spexus_store::{Actor, Store, audit};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Events kept in memory at most.
const MAX_WAITING: usize = 1_000;

/// Where a request comes from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The address.
    pub address: String,
    /// The program, as it calls itself.
    pub client: String,
}

impl Origin {
    /// The program's name for logs and history: one line, no control characters, not too long.
    pub fn clean_client(&self) -> String {
        text::excerpt(&self.client.replace(char::is_control, " "), 100)
    }
}

/// One page of events, newest first.
pub async fn list(service: &Service, caller: &Caller, page: PageRequest) -> Ruled<Page<Event>> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    audit::page(&mut conn, &page).await.map_err(told)
}

/// Whether the history is whole.
pub async fn verify(service: &Service, caller: &Caller) -> Ruled<Verdict> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    chain::verify(&mut conn).await.map_err(told)
}

/// Notes that a caller did something through a surface that speaks of operations. The same operation by the same caller
/// with the same outcome is counted and written as one event, so that thousands a second cost a row each.
pub fn note_operation(service: &Service, caller: &Caller, method: &str, name: &str, outcome: &str) {
    let performed = Performed {
        username: caller.username.clone(),
        token_id: caller.token_id,
        client: caller.client.clone(),
        detail: format!("{method} {} {outcome}", text::excerpt(name, 100)),
    };
    let mut waiting = service.audit.lock();
    if waiting.operations.len() >= MAX_WAITING && !waiting.operations.contains_key(&performed) {
        waiting.dropped += 1;
        return;
    }
    *waiting.operations.entry(performed).or_default() += 1;
}

/// Events on their way to the database.
#[derive(Clone)]
pub(crate) struct AuditTrail {
    waiting: Arc<Mutex<Waiting>>,
    /// Held while events are written, so that whoever flushes finds everything written that was noted before.
    writing: Arc<tokio::sync::Mutex<()>>,
    store: Store,
}

#[derive(Default)]
struct Waiting {
    events: Vec<Event>,
    dropped: u64,
    operations: HashMap<Performed, u64>,
}

/// Somebody did something, however often.
#[derive(PartialEq, Eq, Hash)]
struct Performed {
    username: String,
    token_id: Option<Uuid>,
    client: String,
    detail: String,
}

/// What happened, in the words of the table.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) enum Happening {
    Login,
    LoginFailed,
    Logout,
    TokenUsed,
    TokenRefused,
    Operation,
}

impl Happening {
    const fn name(self) -> &'static str {
        match self {
            Happening::Login => "login",
            Happening::LoginFailed => "login_failed",
            Happening::Logout => "logout",
            Happening::TokenUsed => "token_used",
            Happening::TokenRefused => "token_refused",
            Happening::Operation => "operation",
        }
    }
}

impl AuditTrail {
    pub(crate) fn start(store: Store) -> Self {
        let trail = Self {
            waiting: Arc::default(),
            writing: Arc::default(),
            store,
        };
        let (weak, writing) = (Arc::downgrade(&trail.waiting), trail.writing.clone());
        let store = trail.store.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let Some(waiting) = weak.upgrade() else { return };
                AuditTrail {
                    waiting,
                    writing: writing.clone(),
                    store: store.clone(),
                }
                .flush()
                .await;
            }
        });
        trail
    }

    /// Notes an event. Never waits, never fails the request it is about.
    //= specs/spexus-service.md#audit
    //# Logins, failed logins, logouts, uses of tokens and refused tokens MUST be noted with name, address and program.
    pub(crate) fn note(
        &self,
        what: Happening,
        username: &str,
        token_id: Option<Uuid>,
        origin: &Origin,
        detail: &str,
    ) {
        // A name is whatever somebody typed: on one line, for the log, and without what a database refuses.
        let username = text::excerpt(&username.replace(char::is_control, " "), 100);
        tracing::info!(
            event = what.name(),
            username,
            address = origin.address,
            detail,
            "at the door"
        );
        let mut waiting = self.lock();
        if waiting.events.len() >= MAX_WAITING {
            waiting.dropped += 1;
            return;
        }
        waiting.events.push(Event {
            id: Uuid::nil(),
            at: self.store.now(),
            event: what.name().into(),
            username,
            token_id,
            address: text::excerpt(&origin.address, 100),
            client: origin.clean_client(),
            detail: detail.to_owned(),
        });
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, (performed, times): (Performed, u64)) -> Event {
        let detail = match times {
            1 => performed.detail,
            times => format!("{} ×{times}", performed.detail),
        };
        Event {
            id: Uuid::nil(),
            at: self.store.now(),
            event: Happening::Operation.name().into(),
            username: performed.username,
            token_id: performed.token_id,
            address: String::new(),
            client: performed.client,
            detail,
        }
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self) {
        let _writing = self.writing.lock().await;
        let Waiting {
            mut events,
            dropped,
            operations,
        } = std::mem::take(&mut *self.lock());
        events.extend(operations.into_iter().map(|done| self.event(done)));
        if let Some(last) = events.last_mut().filter(|_| dropped > 0) {
            last.detail = format!("{} (and {dropped} more events that were not kept)", last.detail);
        }
        if events.is_empty() {
            return;
        }
        let actor = Actor {
            user_id: Uuid::nil(),
            username: "system".into(),
            token_id: None,
            client: String::new(),
        };
        let written = self.store.write(actor, move |tx| {
            Box::pin(async move {
                for mut event in events {
                    event.id = tx.new_id();
                    audit::insert(tx, &event).await?;
                }
                Ok(())
            })
        });
        if let Err(error) = written.await {
            tracing::warn!(%error, "audit events could not be written");
        }
    }
}
