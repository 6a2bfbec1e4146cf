//! Sessions in the database: a restart keeps them, and another node goes on with them.

use crate::guard::tenants;
use crate::mark::Mark;
use crate::watch::{MAX_READ, gather};
use crate::{McpOptions, Sessions};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::ClientCapabilities;
use mcp_server::{
    ChangeSet, Limits, Server, SessionEdit, SessionRecord, SessionStore, Subscription, UnreadMessage,
};
use serde::{Deserialize, Serialize};
use spexus_domain::{Refusal, Ruled, Timestamp, Uuid};
use spexus_service::account::token;
use spexus_service::mcp_session::{SessionKeeper, StoredSession};
use spexus_service::{Service, changes};
use tokio::sync::watch;

/// Changes read for one session that comes back. Where it missed more it is told that everything may have changed.
const MAX_MISSED: u64 = 2_000;

/// The store may hear of a client up to two minutes later than the client was heard of.
const GRACE_MS: u64 = 2 * 60 * 1_000;

/// Keeps sessions in the database.
#[derive(Clone)]
pub(crate) struct DatabaseSessionStore {
    service: Service,
    keeper: SessionKeeper,
}

impl DatabaseSessionStore {
    /// The store the options ask for; `None` for the memory of the process.
    pub(crate) fn new(service: &Service, options: &McpOptions, limits: &Limits) -> Ruled<Option<Self>> {
        if options.sessions == Sessions::Memory {
            return Ok(None);
        }
        let max_idle_ms = limits.session_idle_ms.saturating_add(GRACE_MS);
        Ok(Some(Self {
            service: service.clone(),
            keeper: SessionKeeper::new(service, max_idle_ms, limits.max_sessions_per_owner)?,
        }))
    }

    /// Follows the number of the last write to sessions.
    pub(crate) fn follow(&self) -> watch::Receiver<i64> {
        self.keeper.follow()
    }

    /// Whether another node may have written up to this number.
    pub(crate) fn is_behind(&self, number: i64) -> bool {
        self.keeper.is_behind(number)
    }

    /// Waits until this number is known as our own, as far as it may be.
    pub(crate) async fn settled(&self, number: i64) {
        self.keeper.settled(number).await;
    }

    /// Lets the server take over what other nodes wrote.
    //= specs/spexus-mcp.md#sessions
    //# What a client asked one node for MUST be told it by the node it listens to, and what ended at one node MUST end at the others.
    pub(crate) async fn take_over(&self, server: &Server) {
        let written = match self.keeper.written().await {
            Ok(written) => written,
            Err(refusal) => {
                tracing::warn!(%refusal, "what other nodes wrote to sessions cannot be read");
                return;
            }
        };
        for session in written {
            let record = session.state.as_deref().and_then(State::read);
            let record = record.map(|state| state.into_record(&session.id, session.rev));
            server.session_written(&session.id, record);
        }
    }

    async fn read_missed(&self, mark: u64, watches: bool) -> Ruled<ChangeSet> {
        let head = *self.service.follow().borrow();
        let brought = Mark::of_number(mark);
        let there = Mark::read(&self.service, brought.seq).await?;
        let mut since = brought;
        //= specs/spexus-mcp.md#sessions
        //# A client that was told of another history, or was away for long, MUST be told that everything it watches may have changed.
        let is_of_another = !there.is_some_and(|there| brought.agrees(there));
        if is_of_another || head.abs_diff(since.seq) > MAX_MISSED {
            return Ok(ChangeSet {
                since: mark,
                up_to: Mark::at(head).number(),
                everything: true,
                ..ChangeSet::default()
            });
        }
        let mut all = Vec::new();
        loop {
            let found = changes::news(&self.service, since.seq, MAX_READ, watches).await?;
            let Some(last) = found.last().map(|news| Mark::behind(&news.change)) else {
                break;
            };
            since = last;
            all.extend(found);
        }
        Ok(gather(mark, since.number(), &all))
    }
}

// Fulfils 002 Req-Proto-010, 002 Req-Proto-011
//= specs/spexus-mcp.md#sessions
//# A session MUST go on at every node of an installation, for the token it was opened with and for no other.
impl SessionStore for DatabaseSessionStore {
    fn add(
        &self,
        record: SessionRecord,
        _max_per_owner: usize,
    ) -> BoxFuture<'_, Result<Vec<String>, Refusal>> {
        self.keeper.add(self.stored(record)).boxed()
    }

    fn edit<'a>(
        &'a self,
        id: &'a str,
        edit: SessionEdit,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        async move {
            let whose = id.to_owned();
            let change = move |state: &str| {
                let mut record = State::read(state)?.into_record(&whose, 0);
                edit.apply(&mut record);
                Some(written(&State::of(&record)))
            };
            let edited = self.keeper.edit(id, change).await?;
            Ok(edited.and_then(|(state, rev)| Some(State::read(&state)?.into_record(id, rev))))
        }
        .boxed()
    }

    fn save(&self, records: Vec<SessionRecord>) -> BoxFuture<'_, Result<(), Refusal>> {
        let kept = records.into_iter().map(|record| self.stored(record)).collect();
        self.keeper.save(kept).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        async move {
            let Some(kept) = self.keeper.get(id).await? else {
                return Ok(None);
            };
            // What its token sees may have become less while nobody had it.
            let seen = token::sight(&self.service, kept.owner).await?;
            Ok(record(&kept).map(|record| SessionRecord {
                tenant: tenants(seen),
                ..record
            }))
        }
        .boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>> {
        self.keeper.end(id).boxed()
    }

    fn missed(&self, mark: u64, watches: bool) -> BoxFuture<'_, Result<ChangeSet, Refusal>> {
        self.read_missed(mark, watches).boxed()
    }
}

/// What a client said and asked for, as it is written down.
#[derive(Serialize, Deserialize)]
struct State {
    version: String,
    client_name: String,
    client_version: String,
    capabilities: String,
    log_level: u8,
    /// Addresses, each with the topic of its news.
    watched: Vec<(String, String)>,
    /// The projects that are seen; empty for all.
    tenant: String,
}

/// A message that was not read, as it is written down: the message, its mark, whether the history can tell it again.
#[derive(Serialize, Deserialize)]
struct Waiting(String, u64, bool);

impl State {
    fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    fn of(record: &SessionRecord) -> Self {
        Self {
            version: record.version.clone(),
            client_name: record.client_name.clone(),
            client_version: record.client_version.clone(),
            capabilities: record.capabilities.as_json().to_owned(),
            log_level: record.log_level,
            watched: record
                .subscriptions
                .iter()
                .map(|one| (one.uri.clone(), one.topic.clone()))
                .collect(),
            tenant: record.tenant.clone().unwrap_or_default(),
        }
    }

    fn into_record(self, id: &str, rev: i64) -> SessionRecord {
        SessionRecord {
            rev: rev.unsigned_abs(),
            id: id.to_owned(),
            version: self.version,
            client_name: self.client_name,
            client_version: self.client_version,
            capabilities: ClientCapabilities::from_json(&self.capabilities).unwrap_or_default(),
            log_level: self.log_level,
            subscriptions: self
                .watched
                .into_iter()
                .map(|(uri, topic)| Subscription { uri, topic })
                .collect(),
            tenant: Some(self.tenant).filter(|tenant| !tenant.is_empty()),
            ..SessionRecord::default()
        }
    }
}

impl DatabaseSessionStore {
    fn stored(&self, record: SessionRecord) -> StoredSession {
        let idle_micros = i64::try_from(record.idle_ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let state = written(&State::of(&record));
        let unread = record.unread.into_iter();
        let unread: Vec<_> = unread
            .map(|unread| Waiting(unread.message, unread.mark, unread.replayable))
            .collect();
        StoredSession {
            state,
            rev: 0,
            id: record.id,
            // Every visit has an owner, and its id is a UUID.
            owner: record
                .owner
                .and_then(|owner| Uuid::try_parse(&owner).ok())
                .unwrap_or_default(),
            unread: written(&unread),
            mark: i64::try_from(record.mark).unwrap_or(i64::MAX),
            seen_at: Timestamp(self.service.store().now().0.saturating_sub(idle_micros)),
        }
    }
}

/// The record of a kept session; `None` when it cannot be understood, as if there were none.
fn record(kept: &StoredSession) -> Option<SessionRecord> {
    let unread: Vec<Waiting> = serde_json::from_str(&kept.unread).ok()?;
    let unread = unread
        .into_iter()
        .map(|Waiting(message, mark, replayable)| UnreadMessage {
            message,
            mark,
            replayable,
        });
    Some(SessionRecord {
        owner: Some(kept.owner.to_string()),
        unread: unread.collect(),
        mark: kept.mark.unsigned_abs(),
        ..State::read(&kept.state)?.into_record(&kept.id, kept.rev)
    })
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
