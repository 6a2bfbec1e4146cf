//! Sessions of MCP clients, kept in the database: they outlive the process and are shared by all nodes.
//!
//! No caller and no right here: a session is a place to go on at, not a key. Whoever comes with its id has shown a token
//! to the surface before, and the surface hands a session only to the token it was opened with.

use crate::Service;
use crate::setup::random_bytes;
use async_recursion::async_recursion as boxed;
use spexus_domain::{Refusal, Ruled, Uuid};
use spexus_store::mcp_sessions::{self, SessionLimits};
use spexus_store::{Actor, Result, Tx};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::watch;

pub use spexus_store::mcp_sessions::{SessionWrite, StoredSession};

/// Writes of other nodes read at once.
const MAX_READ: u32 = 200;

/// Nothing of what others wrote has been looked at, and nothing had to be.
const NOT_YET: i64 = -1;

type BoxedWrite<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

/// Keeps the sessions of one node.
#[derive(Clone)]
pub struct SessionKeeper {
    service: Service,
    /// Tells our own writes from those of others.
    node: Uuid,
    limits: SessionLimits,
    /// The number up to which writes are our own or were looked at.
    known: Arc<AtomicI64>,
}

impl SessionKeeper {
    /// A keeper that forgets sessions after so long without a sign of their clients, and ends those an owner has too
    /// many of.
    pub fn new(service: &Service, max_idle_ms: u64, max_per_owner: usize) -> Ruled<Self> {
        let mut node = [0; 16];
        node.copy_from_slice(&random_bytes()?[..16]);
        Ok(Self {
            service: service.clone(),
            node: Uuid::from_bytes(node),
            limits: SessionLimits {
                max_idle_ms: i64::try_from(max_idle_ms).unwrap_or(i64::MAX),
                max_per_owner: u32::try_from(max_per_owner).unwrap_or(u32::MAX),
            },
            known: Arc::new(AtomicI64::new(NOT_YET)),
        })
    }

    /// Adds a session; gives the ids of those that had to end for it.
    #[boxed]
    pub async fn add(&self, session: StoredSession) -> Ruled<Vec<String>> {
        let (node, limits) = (self.node, self.limits);
        self.write(move |tx| {
            Box::pin(async move { Ok(mcp_sessions::open(tx, &session, node, limits).await?.1) })
        })
        .await
    }

    /// Writes what was not read and when clients were heard of, in one transaction.
    #[boxed]
    pub async fn save(&self, sessions: Vec<StoredSession>) -> Ruled<()> {
        let node = self.node;
        self.write(move |tx| {
            Box::pin(async move {
                for session in &sessions {
                    mcp_sessions::save(tx, session, node).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Changes what a client asked for, on top of what it asked other nodes for. Gives the state that resulted and the
    /// number of the write; `None` when the session ended.
    pub async fn edit(
        &self,
        id: &str,
        change: impl FnOnce(&str) -> Option<String> + Send + 'static,
    ) -> Ruled<Option<(String, i64)>> {
        let (node, id) = (self.node, id.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                let Some(state) = mcp_sessions::state(tx, &id).await?.as_deref().and_then(change) else {
                    return Ok(None);
                };
                let rev = mcp_sessions::set_state(tx, &id, &state, node).await?;
                Ok(Some((state, rev)))
            })
        })
        .await
    }

    /// Ends a session, on whatever node it lives.
    #[boxed]
    pub async fn end(&self, id: &str) -> Ruled<()> {
        let (node, id) = (self.node, id.to_owned());
        self.write(move |tx| Box::pin(async move { mcp_sessions::end(tx, &id, node).await.map(drop) }))
            .await
    }

    /// A session that lives.
    #[boxed]
    pub async fn get(&self, id: &str) -> Ruled<Option<StoredSession>> {
        let mut conn = self.service.store.look_up().await?;
        if self.known.load(Ordering::Acquire) == NOT_YET {
            let last = mcp_sessions::last_rev(&mut conn).await?;
            self.claim(NOT_YET, last);
        }
        let now = self.service.store.now();
        mcp_sessions::get(&mut conn, id, now, self.limits)
            .await
            .map_err(Refusal::from)
    }

    /// Follows the number of the last write, whoever made it.
    pub fn follow(&self) -> watch::Receiver<i64> {
        self.service.store.follow_sessions()
    }

    /// Whether there may be a write of another node up to this number that was not looked at.
    pub fn is_behind(&self, number: i64) -> bool {
        let known = self.known.load(Ordering::Acquire);
        known != NOT_YET && number > known
    }

    /// What other nodes wrote since this was last asked.
    #[boxed]
    pub async fn written(&self) -> Ruled<Vec<SessionWrite>> {
        let known = self.known.load(Ordering::Acquire);
        if known == NOT_YET {
            return Ok(Vec::new());
        }
        let mut conn = self.service.store.look_up().await?;
        let last = mcp_sessions::last_rev(&mut conn).await?;
        if last <= known {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let mut since = known;
        loop {
            let found = mcp_sessions::written_since(&mut conn, since, self.node, MAX_READ).await?;
            since = found.last().map_or(since, |last| last.rev);
            let is_last = found.len() < MAX_READ as usize;
            all.extend(found);
            if is_last {
                break;
            }
        }
        self.known.fetch_max(last.max(since), Ordering::AcqRel);
        Ok(all)
    }

    /// Runs a write and takes its numbers for our own, once they are: a write that fails leaves them to other nodes, and
    /// what those write with them must be heard of.
    //= specs/spexus-store.md#sessions
    //# A write of another node MUST be heard of, also where an own write with the same numbers failed.
    async fn write<T, F>(&self, work: F) -> Ruled<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxedWrite<'t, T> + Send + 'static,
    {
        let job = self.service.write_as(nobody(), move |tx| {
            Box::pin(async move {
                let base = mcp_sessions::last_rev(&mut tx.conn).await?;
                let done = work(tx).await?;
                let last = mcp_sessions::last_rev(&mut tx.conn).await?;
                Ok((done, base, last))
            })
        });
        let (done, base, last) = job.await?;
        self.claim(NOT_YET, base);
        self.claim(base, last);
        Ok(done)
    }

    fn claim(&self, from: i64, to: i64) {
        let _ = self
            .known
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Sessions leave no trace in the history, so nobody is named there.
fn nobody() -> Actor {
    Actor {
        user_id: Uuid::nil(),
        username: String::new(),
        token_id: None,
        client: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceOptions;
    use spexus_domain::Timestamp;
    use spexus_store::Location;
    use tokio::sync::Notify;

    fn session(id: &str) -> StoredSession {
        StoredSession {
            id: id.into(),
            owner: Uuid::from_u128(7),
            state: "{}".into(),
            unread: "[]".into(),
            mark: 0,
            seen_at: Timestamp(1),
            rev: 0,
        }
    }

    async fn node(location: &Location) -> SessionKeeper {
        let clock: spexus_store::Clock = Arc::new(|| Timestamp(1));
        let (service, _) = Service::open(location, ServiceOptions::for_testing(), clock)
            .await
            .unwrap();
        SessionKeeper::new(&service, 60_000, 10).unwrap()
    }

    /// Our own write got its number and was undone; another node gets the same number afterwards.
    async fn is_heard_of(location: &Location) {
        let (here, there) = (node(location).await, node(location).await);
        here.add(session("first")).await.unwrap();
        let (written, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let leaving = tokio::spawn({
            let (keeper, written, go_on) = (here.clone(), written.clone(), go_on.clone());
            async move {
                let (node, limits) = (keeper.node, keeper.limits);
                let slow = keeper.write(move |tx| {
                    Box::pin(async move {
                        mcp_sessions::open(tx, &session("undone"), node, limits).await?;
                        written.notify_one();
                        go_on.notified().await;
                        Ok(())
                    })
                });
                slow.await
            }
        });
        written.notified().await;
        leaving.abort();
        assert!(leaving.await.is_err(), "nobody waits for it");
        go_on.notify_one();
        there.add(session("by another node")).await.unwrap();
        assert!(here.get("undone").await.unwrap().is_none());
        let last = mcp_sessions::last_rev(&mut here.service.store.look_up().await.unwrap())
            .await
            .unwrap();
        assert!(here.is_behind(last), "there is something to look at");
        let heard = here.written().await.unwrap();
        let ids: Vec<&str> = heard.iter().map(|written| written.id.as_str()).collect();
        assert_eq!(ids, ["by another node"]);
    }

    //= specs/spexus-store.md#sessions
    //= type=test
    //# A write of another node MUST be heard of, also where an own write with the same numbers failed.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_numbers_of_a_write_that_was_undone_are_left_to_other_nodes() {
        let folder = tempfile::tempdir().unwrap();
        is_heard_of(&Location::File(folder.path().join("sessions.db"))).await;
        if let Some(url) = test_support::fresh_database() {
            is_heard_of(&Location::Server(url)).await;
        }
    }
}
