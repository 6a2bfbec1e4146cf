//! The trail of what happens at the door and to accounts.
//!
//! What changes something (a login, a password, a revoked token) is written in the transaction that changes it, so one is
//! never there without the other. What merely knocks (refused tokens, requests beyond a rate) is folded per network and
//! second, so that a flood costs a row a second and pushes nothing out.

mod trail;

pub(crate) use trail::AuditTrail;

use crate::Service;
use crate::context::reading;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::audit::{AuditEvent, EventFilter, day_name, day_of};
use spexus_domain::checkpoint::Checkpoint;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, network, text};
pub use spexus_store::chain::Verdict;
use spexus_store::verification::{self, OnProgress};
use spexus_store::{Actor, Result, Tx, audit, audit_days, changes, checkpoints};
use std::sync::Arc;

/// Rows removed by one transaction, so that nobody waits for a long one.
const PRUNED_ROWS: u32 = 1_000;
/// Transactions of one round of retention; the rest waits for the next round.
const PRUNED_CHUNKS: u32 = 10;

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

    /// The network of the address, which failures are counted by.
    pub(crate) fn network(&self) -> String {
        text::excerpt(&network::name(&self.address), 100)
    }
}

/// What happened, in the words of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Happening {
    Login,
    LoginFailed,
    Logout,
    TokenUsed,
    TokenRefused,
    TokenMissing,
    RateLimited,
    Operation,
    EventsLost,
    AccountCreated,
    AccountEnabled,
    AccountDisabled,
    RoleChanged,
    PasswordChanged,
    PasswordReset,
    SessionsClosed,
    TokenCreated,
    TokenRevoked,
    TrailPruned,
    HistoryDropped,
    MemberChanged,
    GroupChanged,
}

impl Happening {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Happening::Login => "login",
            Happening::LoginFailed => "login_failed",
            Happening::Logout => "logout",
            Happening::TokenUsed => "token_used",
            Happening::TokenRefused => "token_refused",
            Happening::TokenMissing => "token_missing",
            Happening::RateLimited => "rate_limited",
            Happening::Operation => "operation",
            Happening::EventsLost => "events_lost",
            Happening::AccountCreated => "account_created",
            Happening::AccountEnabled => "account_enabled",
            Happening::AccountDisabled => "account_disabled",
            Happening::RoleChanged => "role_changed",
            Happening::PasswordChanged => "password_changed",
            Happening::PasswordReset => "password_reset",
            Happening::SessionsClosed => "sessions_closed",
            Happening::TokenCreated => "token_created",
            Happening::TokenRevoked => "token_revoked",
            Happening::TrailPruned => "trail_pruned",
            Happening::HistoryDropped => "history_dropped",
            Happening::MemberChanged => "member_changed",
            Happening::GroupChanged => "group_changed",
        }
    }
}

/// One page of the events a filter lets through, newest first.
#[boxed]
pub async fn list(
    service: &Service,
    caller: &Caller,
    filter: &EventFilter,
    page: PageRequest,
) -> Ruled<Page<AuditEvent>> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    audit::page(&mut conn, filter, &page).await.map_err(Refusal::from)
}

/// Whether the history is whole, and what checkpoints say that were kept elsewhere.
#[boxed]
pub async fn verify(service: &Service, caller: &Caller, checkpoints: &[Checkpoint]) -> Ruled<Verdict> {
    verify_watched(service, caller, checkpoints, Arc::new(|_| {})).await
}

/// The same, and somebody hears how far it has come.
#[boxed]
pub async fn verify_watched(
    service: &Service,
    caller: &Caller,
    checkpoints: &[Checkpoint],
    progress: OnProgress,
) -> Ruled<Verdict> {
    caller.may(Operation::Audit)?;
    verification::verify(&service.store, caller.user_id, checkpoints.to_vec(), progress)
        .await
        .map_err(Refusal::from)
}

/// How many changes there are, roughly: enough for somebody who waits.
#[boxed]
pub async fn changes(service: &Service, caller: &Caller) -> Ruled<i64> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    changes::head(&mut conn).await.map_err(Refusal::from)
}

/// Takes down where every ledger ends, to be signed with this key. Another key than that of the last checkpoint is taken only
/// where it is meant.
#[boxed]
pub async fn checkpoint(
    service: &Service,
    caller: &Caller,
    key: &str,
    is_new_key: bool,
) -> Ruled<Checkpoint> {
    let key = key.to_owned();
    let job = service.change_anywhere(caller, Operation::Audit, move |tx, _| {
        Box::pin(async move {
            let last = checkpoints::last(&mut tx.conn).await?;
            if !is_new_key {
                refuse_other_key(last.map(|(key, _)| key), &key)?;
            }
            checkpoints::take(tx, &key).await
        })
    });
    job.await
}

/// The same for a server that does it by itself; nothing where nothing happened since the last one.
pub async fn scheduled_checkpoint(service: &Service, key: &str) -> Ruled<Option<Checkpoint>> {
    let key = key.to_owned();
    let job = service.write_as(system(), move |tx| {
        Box::pin(async move {
            let last = checkpoints::last(&mut tx.conn).await?;
            if last.as_ref().is_some_and(|(_, is_last)| *is_last) {
                return Ok(None);
            }
            refuse_other_key(last.map(|(key, _)| key), &key)?;
            checkpoints::take(tx, &key).await.map(Some)
        })
    });
    job.await.map_err(Refusal::from)
}

//= specs/spexus-service.md#audit
//# A checkpoint MUST be refused where the one before it was signed with another key, unless a new key is meant.
fn refuse_other_key(last: Option<String>, key: &str) -> Ruled<()> {
    match last {
        Some(last) if last != key => Err(Refusal::field(
            Code::RuleViolated,
            "key",
            format!("the last checkpoint was signed with another key, {last}"),
            "the key of this installation",
        )
        .hint("Name the right key file; or say --new-key, and keep the old public key with the old checkpoints.")),
        _ => Ok(()),
    }
}

/// Removes the events of days that ended before a time; that it was done, and by whom, stays in the trail and in the history.
//= specs/spexus-service.md#audit
//# Whoever removes events MUST be named in the trail and in the history.
#[boxed]
pub async fn prune(service: &Service, caller: &Caller, before: Timestamp) -> Ruled<u64> {
    let job = service.change_anywhere(caller, Operation::Audit, move |tx, _| {
        Box::pin(async move {
            audit_days::seal_finished(tx).await?;
            let removed = audit_days::drop_before(tx, day_of(before)).await?.unsigned_abs();
            let detail = format!("{removed} events from before {}", day_name(day_of(before)));
            record(tx, Happening::TrailPruned, None, "", &detail).await?;
            Ok(removed)
        })
    });
    let removed = job.await?;
    while sweep(service, Actor::from(caller)).await? == u64::from(PRUNED_ROWS) {}
    Ok(removed)
}

/// Seals the days that are over, and drops those that are older than the retention allows, a bounded number of rows at a time.
//= specs/spexus-service.md#audit
//# Events older than the retention MUST be removed, by whole days and in small transactions.
pub(crate) async fn retain(service: &Service) {
    let days = i64::from(service.audit.retention_days);
    let job = service.write_as(system(), move |tx| {
        Box::pin(async move {
            audit_days::seal_finished(tx).await?;
            let before = day_of(tx.now()) - days;
            match days {
                0 => Ok(0),
                _ => audit_days::drop_before(tx, before).await,
            }
        })
    });
    if let Err(error) = job.await {
        tracing::warn!(%error, "days of the audit trail could not be sealed or dropped");
        return;
    }
    for _ in 0..PRUNED_CHUNKS {
        match sweep(service, system()).await {
            Ok(rows) if rows == u64::from(PRUNED_ROWS) => {}
            Ok(_) => return,
            Err(error) => {
                tracing::warn!(%error, "old audit events could not be removed");
                return;
            }
        }
    }
}

async fn sweep(service: &Service, actor: Actor) -> Result<u64> {
    let job = service.write_as(actor, move |tx| {
        Box::pin(async move { audit_days::sweep(tx, PRUNED_ROWS).await })
    });
    job.await
}

/// Notes that a caller did something through a surface that speaks of operations. The same operation by the same caller
/// with the same outcome is counted and written as one event, so that thousands a second cost a row each.
pub fn note_operation(service: &Service, caller: &Caller, method: &str, name: &str, outcome: &str) {
    service.audit.note_operation(caller, method, name, outcome);
}

/// Notes that a request was turned away at the door: it has no token, a bad one, or comes too fast.
// Fulfils 003 R12.8
//= specs/spexus-service.md#audit
//# A request without a token, with one that is refused, or beyond a rate MUST be noted, folded into one event for each network and second.
pub fn note_turned_away(service: &Service, origin: &Origin, refusal: &Refusal) {
    let what = match (refusal.code, refusal.code.http_status()) {
        (spexus_domain::Code::AuthMissing, _) => Happening::TokenMissing,
        (_, 401) => Happening::TokenRefused,
        (_, 429) => Happening::RateLimited,
        _ => return,
    };
    service.audit.note_folded(what, origin, refusal.code.name());
}

/// Writes an event with the transaction it belongs to, as done by whoever acts in it.
pub(crate) async fn record(
    tx: &mut Tx,
    what: Happening,
    target_id: Option<Uuid>,
    target: &str,
    detail: &str,
) -> Result<()> {
    let actor = tx.actor().clone();
    let origin = Origin {
        address: String::new(),
        client: actor.client,
    };
    let mut event = event(what, &actor.username, actor.token_id, &origin, detail);
    (event.target_id, event.target) = (target_id, target.to_owned());
    insert(tx, event).await
}

/// Writes the line of the log that belongs to an event of the door, once its transaction stands.
pub(crate) fn tell_at_door(what: Happening, username: &str, origin: &Origin) {
    tell(&event(what, username, None, origin, ""));
}

/// Writes an event of the door with the transaction it belongs to.
//= specs/spexus-service.md#audit
//# Logins, failed logins and logouts MUST be written with the transaction they belong to, so that no flood pushes them out.
pub(crate) async fn record_at_door(
    tx: &mut Tx,
    what: Happening,
    username: &str,
    origin: &Origin,
) -> Result<()> {
    insert(tx, event(what, username, None, origin, "")).await
}

async fn insert(tx: &mut Tx, mut event: AuditEvent) -> Result<()> {
    (event.id, event.at) = (tx.new_id(), tx.now());
    audit::insert(tx, &[event]).await
}

fn event(
    what: Happening,
    username: &str,
    token_id: Option<Uuid>,
    origin: &Origin,
    detail: &str,
) -> AuditEvent {
    AuditEvent {
        id: Uuid::nil(),
        at: Timestamp(0),
        event: what.name().into(),
        // A name is whatever somebody typed: on one line, for the log, and without what a database refuses.
        username: text::excerpt(&username.replace(char::is_control, " "), 100),
        token_id,
        address: text::excerpt(&origin.address, 100),
        client: origin.clean_client(),
        detail: detail.to_owned(),
        target_id: None,
        target: String::new(),
        times: 1,
    }
}

/// The line of the log that belongs to an event.
fn tell(event: &AuditEvent) {
    tracing::info!(
        event = event.event,
        username = event.username,
        address = event.address,
        detail = event.detail,
        times = event.times,
        "at the door"
    );
}

fn system() -> Actor {
    Actor {
        user_id: Uuid::nil(),
        username: "system".into(),
        token_id: None,
        client: String::new(),
    }
}
