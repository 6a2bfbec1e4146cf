//! Where sessions are kept: a small trait, and an implementation in memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use refusal::Refusal;

use crate::changes::ChangeSet;
use crate::index_key::IndexKey;
use mcp_protocol::ClientCapabilities;

/// A session as a store keeps it: enough to go on after a restart or on another node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionRecord {
    /// Its id.
    pub id: String,
    /// Whose it is; only the same owner may go on with it.
    pub owner: Option<String>,
    /// The agreed version.
    pub version: String,
    /// The client's name.
    pub client_name: String,
    /// The client's version.
    pub client_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Level of log messages, 0 (debug) to 7 (emergency).
    pub log_level: u8,
    /// The resources it is subscribed to.
    pub subscriptions: Vec<Subscription>,
    /// Whose resources and lists it sees, where they differ; see [`Guard::tenant`](crate::Guard::tenant).
    pub tenant: Option<String>,
    /// Messages nobody asked for that its client has not read, oldest first.
    pub unread: Vec<UnreadMessage>,
    /// Its position in the change log: what came later is missed by whoever goes on with it.
    pub mark: u64,
    /// How long ago its client was last heard of.
    pub idle_ms: u64,
    /// Revision of the record, given by the store: grows with every edit of the session.
    pub rev: u64,
}

/// A subscription to a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscription {
    /// The URI as the client wrote it; notifications name it like that.
    pub uri: String,
    /// The topic its changes are published under, whichever URI a client uses for it.
    pub topic: String,
}

impl Subscription {
    /// A subscription whose topic is the URI itself.
    pub fn at(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        Self {
            topic: uri.clone(),
            uri,
        }
    }
}

/// What a client asks of its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEdit {
    /// To watch a resource.
    Subscribe(Subscription),
    /// To watch it no longer.
    Unsubscribe(String),
    /// To be sent log messages from this level on.
    LogLevel(u8),
}

impl SessionEdit {
    /// Does it to a record.
    pub fn apply(self, record: &mut SessionRecord) {
        match self {
            SessionEdit::Subscribe(wanted) => {
                record.subscriptions.retain(|one| one.uri != wanted.uri);
                record.subscriptions.push(wanted);
            }
            SessionEdit::Unsubscribe(uri) => record.subscriptions.retain(|one| one.uri != uri),
            SessionEdit::LogLevel(level) => record.log_level = level,
        }
    }
}

/// An unsolicited message the client has not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadMessage {
    /// The message.
    pub message: String,
    /// The position in the change log before it.
    pub mark: u64,
    /// Whether it can be replayed from the change log.
    pub replayable: bool,
}

// Fulfils 002 Req-Proto-011
/// Keeps sessions.
pub trait SessionStore: Send + Sync + 'static {
    /// Adds a new session. An owner who has more than so many loses those unheard of for longest; gives their ids.
    fn add(&self, record: SessionRecord, max_per_owner: usize)
    -> BoxFuture<'_, Result<Vec<String>, Refusal>>;
    /// Does what a client asked of its session to what is kept of it, and gives that; `None` when it was removed.
    fn edit<'a>(
        &'a self,
        id: &'a str,
        edit: SessionEdit,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>>;
    /// Replaces what is kept of sessions beside what their clients asked for: what was not read, the mark, the idle time.
    /// One that was removed stays so.
    fn save(&self, records: Vec<SessionRecord>) -> BoxFuture<'_, Result<(), Refusal>>;
    /// Finds a session.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>>;
    /// Forgets a session; one that is not there is forgotten already.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>>;
    /// What happened after a place in the history, for a session that comes back. Addresses are only looked for when it
    /// watches any.
    fn missed(&self, mark: u64, watches: bool) -> BoxFuture<'_, Result<ChangeSet, Refusal>> {
        let _ = watches;
        let news = ChangeSet {
            since: mark,
            up_to: mark,
            ..ChangeSet::default()
        };
        std::future::ready(Ok(news)).boxed()
    }
    /// Whether what is kept outlives the process. If so, the store forgets idle sessions itself, for another process may
    /// have heard of them since.
    fn outlives(&self) -> bool {
        true
    }
}

/// Sessions in memory: gone when the process ends.
#[derive(Debug, Default)]
pub struct MemorySessions(Sharded<SessionRecord>);

impl SessionStore for MemorySessions {
    fn add(&self, record: SessionRecord, _: usize) -> BoxFuture<'_, Result<Vec<String>, Refusal>> {
        self.0
            .shard(&record.id)
            .insert(IndexKey(record.id.as_str().into()), record);
        // The table of live sessions, which holds all there are, has seen to the limit.
        std::future::ready(Ok(Vec::new())).boxed()
    }

    fn edit<'a>(
        &'a self,
        id: &'a str,
        edit: SessionEdit,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        let edited = self.0.shard(id).get_mut(id).map(|kept| {
            edit.apply(kept);
            kept.rev += 1;
            kept.clone()
        });
        std::future::ready(Ok(edited)).boxed()
    }

    fn save(&self, _: Vec<SessionRecord>) -> BoxFuture<'_, Result<(), Refusal>> {
        // The live session holds all of it, and nothing outlives that.
        std::future::ready(Ok(())).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        std::future::ready(Ok(self.0.shard(id).get(id).cloned())).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>> {
        self.0.shard(id).remove(id);
        std::future::ready(Ok(())).boxed()
    }

    fn outlives(&self) -> bool {
        false
    }
}

const SHARDS: usize = 16;

/// A hash map in pieces, so that those who look up different keys seldom wait for each other.
#[derive(Debug)]
pub(crate) struct Sharded<T> {
    hasher: RandomState,
    shards: [Mutex<HashMap<IndexKey<Box<str>>, T>>; SHARDS],
}

impl<T> Default for Sharded<T> {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl<T> Sharded<T> {
    pub(crate) fn shard(&self, key: &str) -> MutexGuard<'_, HashMap<IndexKey<Box<str>>, T>> {
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or_default();
        self.at(hash)
    }

    /// One piece after the other, for chores that walk over all.
    pub(crate) fn at(&self, index: usize) -> MutexGuard<'_, HashMap<IndexKey<Box<str>>, T>> {
        self.shards[index % SHARDS].lock()
    }

    pub(crate) const fn pieces(&self) -> usize {
        SHARDS
    }
}
