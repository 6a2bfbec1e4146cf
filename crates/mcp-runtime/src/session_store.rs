//! Where sessions are kept: a small trait, and an implementation in memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::Refusal;

use crate::client::ClientCapabilities;

/// What is worth keeping of a session: enough to go on after a restart or on another node.
#[derive(Clone, Debug, PartialEq)]
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
    /// Addresses of the resources it watches.
    pub watched: Vec<String>,
}

// Fulfils 002 Req-Proto-011
/// Keeps sessions.
pub trait SessionStore: Send + Sync + 'static {
    /// Adds or replaces a session.
    fn put(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Refusal>>;
    /// Finds a session.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>>;
    /// Forgets a session; one that is not there is forgotten already.
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>>;
}

/// Sessions in memory: gone when the process ends.
#[derive(Debug, Default)]
pub struct MemorySessions(Sharded<SessionRecord>);

impl SessionStore for MemorySessions {
    fn put(&self, record: SessionRecord) -> BoxFuture<'_, Result<(), Refusal>> {
        self.0.shard(&record.id).insert(record.id.as_str().into(), record);
        std::future::ready(Ok(())).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        std::future::ready(Ok(self.0.shard(id).get(id).cloned())).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>> {
        self.0.shard(id).remove(id);
        std::future::ready(Ok(())).boxed()
    }
}

const SHARDS: usize = 16;

/// A hash map in pieces, so that those who look up different keys seldom wait for each other.
#[derive(Debug)]
pub(crate) struct Sharded<T> {
    hasher: RandomState,
    shards: [Mutex<HashMap<Box<str>, T>>; SHARDS],
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
    pub(crate) fn shard(&self, key: &str) -> MutexGuard<'_, HashMap<Box<str>, T>> {
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or_default();
        self.at(hash)
    }

    /// One piece after the other, for chores that walk over all.
    pub(crate) fn at(&self, index: usize) -> MutexGuard<'_, HashMap<Box<str>, T>> {
        self.shards[index % SHARDS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn pieces(&self) -> usize {
        SHARDS
    }
}
