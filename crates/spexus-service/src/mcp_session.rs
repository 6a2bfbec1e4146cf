//! Sessions of MCP clients, kept in the database: they outlive the process and are shared by all nodes.
//!
//! No caller and no right here: a session is a place to go on at, not a key. Whoever comes with its id has shown a token
//! to the surface before, and the surface hands a session only to the token it was opened with.

use crate::Service;
use crate::setup::random_bytes;
use async_recursion::async_recursion as boxed;
use parking_lot::{Mutex, MutexGuard};
use spexus_domain::{Refusal, Ruled, Uuid};
use spexus_store::mcp_sessions::{self, SessionLimits};
use spexus_store::{Actor, Result, Tx};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

pub use spexus_store::mcp_sessions::{SessionWrite, StoredSession};

/// Writes of other nodes read at once.
const MAX_READ: u32 = 200;

/// Own writes that wait for an earlier number; one more is looked at like those of others.
const MAX_WAITING: usize = 1_000;

/// How long a write that may be our own is given to say so.
const MAX_SETTLING: Duration = Duration::from_millis(50);

type BoxedWrite<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

/// Keeps the sessions of one node.
#[derive(Clone)]
pub struct SessionKeeper {
    service: Service,
    /// Tells our own writes from those of others.
    node: Uuid,
    limits: SessionLimits,
    known: Arc<Mutex<Known>>,
    /// Own writes that are under way.
    writing: Arc<watch::Sender<usize>>,
}

/// Which writes need not be looked at.
#[derive(Default)]
struct Known {
    /// The number up to which writes are our own or were looked at; `None` while nothing of what others wrote had to be.
    up_to: Option<i64>,
    /// Own writes further on, from the number before each to its last: they may come back in another order than that of
    /// their numbers.
    own: BTreeMap<i64, i64>,
}

impl Known {
    fn is_behind(&self, number: i64) -> bool {
        self.up_to.is_some_and(|known| number > known)
    }

    /// Our own write took the numbers after `base`, up to `last`.
    fn claim(&mut self, base: i64, last: i64) {
        let known = *self.up_to.get_or_insert(base);
        if base >= known && self.own.len() < MAX_WAITING {
            self.own.insert(base, last);
        }
        self.advance(known);
    }

    /// Everything up to a number was looked at.
    fn advance(&mut self, to: i64) {
        let mut known = self.up_to.map_or(to, |known| known.max(to));
        while let Some(last) = self.own.remove(&known) {
            known = last;
        }
        self.own.retain(|base, _| *base > known);
        self.up_to = Some(known);
    }
}

/// An own write under way; over when it is dropped.
struct Writing(Arc<watch::Sender<usize>>);

impl Writing {
    fn begin(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
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
            known: Arc::default(),
            writing: Arc::new(watch::Sender::new(0)),
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
        if self.known().up_to.is_none() {
            let last = mcp_sessions::last_rev(&mut conn).await?;
            self.known().up_to.get_or_insert(last);
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
        self.known().is_behind(number)
    }

    /// Waits until this number is known as our own, or no own write is under way that could turn out to be it: the
    /// database may tell of a commit before the write that made it hears of it.
    pub async fn settled(&self, number: i64) {
        let mut writing = self.writing.subscribe();
        let settled = writing.wait_for(|count| *count == 0 || !self.is_behind(number));
        let _ = tokio::time::timeout(MAX_SETTLING, settled).await;
    }

    /// What other nodes wrote since this was last asked.
    #[boxed]
    pub async fn written(&self) -> Ruled<Vec<SessionWrite>> {
        let Some(known) = self.known().up_to else {
            return Ok(Vec::new());
        };
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
        self.known().advance(last.max(since));
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
        let _writing = Writing::begin(&self.writing);
        let job = self.service.write_as(nobody(), move |tx| {
            Box::pin(async move {
                let base = mcp_sessions::last_rev(&mut tx.conn).await?;
                let done = work(tx).await?;
                let last = mcp_sessions::last_rev(&mut tx.conn).await?;
                Ok((done, base, last))
            })
        });
        let (done, base, last) = job.await?;
        self.known().claim(base, last);
        Ok(done)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
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

    #[test]
    fn own_writes_are_known_in_whatever_order_they_come_back() {
        let mut known = Known::default();
        assert!(!known.is_behind(9), "nobody had to look at anything yet");
        known.claim(4, 5);
        known.claim(6, 8);
        known.claim(3, 4);
        assert!(known.is_behind(6), "one write between the two is still missing");
        known.claim(5, 6);
        assert!(!known.is_behind(8) && known.is_behind(9));
        assert!(known.own.is_empty());
    }

    #[test]
    fn a_write_of_another_node_between_two_of_ours_is_looked_at() {
        let mut known = Known::default();
        known.claim(0, 1);
        known.claim(2, 3);
        known.claim(3, 4);
        assert!(known.is_behind(2));
        known.advance(2);
        assert!(!known.is_behind(4) && known.is_behind(5));
    }

    #[tokio::test]
    async fn a_number_settles_when_no_own_write_is_under_way_that_could_have_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = node(&Location::File(folder.path().join("sessions.db"))).await;
        keeper.known().claim(0, 1);
        keeper.settled(2).await;
        assert!(keeper.is_behind(2), "another node made it");
        let ours = Writing::begin(&keeper.writing);
        let settled = tokio::spawn({
            let keeper = keeper.clone();
            async move {
                keeper.settled(2).await;
                keeper.is_behind(2)
            }
        });
        tokio::task::yield_now().await;
        keeper.known().claim(1, 2);
        drop(ours);
        assert!(!settled.await.unwrap());
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
