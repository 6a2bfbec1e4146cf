//! The change broadcast: how far the history has come, for everyone who waits for news, and whether accounts may have
//! changed.
//!
//! Listeners never receive changes from here; they learn that there are some and read them from the chain after their
//! own cursor. So nobody is ever too slow, nothing is lost, and changes made by other processes count like our own.

use crate::arrival::{self, Arrived};
use crate::engine::Engine;
use crate::mcp_sessions;
use crate::pool::Pool;
use sqlx::postgres::PgListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// How often the chain is polled for changes of other processes, where the database does not notify.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The same when the database notifies; only a safety net.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A broadcast of the number of the last change.
pub(crate) struct ChangeBroadcast {
    head: watch::Sender<i64>,
    accounts: AtomicU64,
    /// How often something was changed that every writer remembers, as far as it is known.
    shared_rev: AtomicI64,
    /// Wakes who looks how far the history has come.
    look: Arc<Notify>,
    /// The number of the last write to sessions; looked up only while somebody follows it.
    sessions: watch::Sender<i64>,
}

impl ChangeBroadcast {
    pub(crate) fn new(arrived: Arrived) -> Arc<Self> {
        Arc::new(Self {
            head: watch::Sender::new(arrived.settled),
            accounts: AtomicU64::new(0),
            shared_rev: AtomicI64::new(arrived.shared_rev),
            look: Arc::default(),
            sessions: watch::Sender::new(0),
        })
    }

    /// Follows the number of the last change.
    pub(crate) fn follow(&self) -> watch::Receiver<i64> {
        self.head.subscribe()
    }

    /// Follows the number of the last write to sessions.
    pub(crate) fn follow_sessions(&self) -> watch::Receiver<i64> {
        self.sessions.subscribe()
    }

    /// A number that differs from an earlier one when users, tokens or projects may have changed in between.
    pub(crate) fn accounts(&self) -> u64 {
        self.accounts.load(Ordering::Acquire)
    }

    /// Our own writer has committed what lies between the numbers. Where it began further on than we knew of, someone
    /// else had committed in between, and that must not go unnoticed because our own number is larger.
    pub(crate) fn committed(&self, base: i64, seq: i64, accounts: bool) {
        //= specs/spexus-store.md#several-processes
        //# A change of accounts by another process MUST change the generation of accounts, also when an own write follows it.
        if accounts || base > *self.head.borrow() {
            self.accounts.fetch_add(1, Ordering::AcqRel);
        }
        self.advance(seq);
    }

    /// Our own writer has committed while others could, or wrote up to a number while nobody else could.
    pub(crate) fn committed_beside_others(&self, shared_rev: i64, accounts: bool, alone_up_to: Option<i64>) {
        let is_foreign = self.learn(shared_rev);
        if accounts || is_foreign {
            self.accounts.fetch_add(1, Ordering::AcqRel);
        }
        match alone_up_to {
            Some(seq) => self.advance(seq),
            // Only a look tells whether somebody is still busy in front of it.
            None => self.look.notify_one(),
        }
    }

    //= specs/spexus-store.md#several-processes
    //# A commit of another process MUST wake those who follow the history.
    /// Someone else may have committed: whatever is remembered about accounts may be void.
    fn observed(&self, engine: Engine, arrived: Arrived) -> bool {
        let is_news = arrived.settled > *self.head.borrow();
        let changed_shared = match engine {
            Engine::Sqlite => is_news,
            Engine::Postgres => self.learn(arrived.shared_rev),
        };
        if changed_shared {
            self.accounts.fetch_add(1, Ordering::AcqRel);
        }
        if is_news {
            self.advance(arrived.settled);
        }
        is_news
    }

    /// Whether something was changed that every writer remembers, and that was not known yet.
    fn learn(&self, shared_rev: i64) -> bool {
        self.shared_rev.fetch_max(shared_rev, Ordering::AcqRel) < shared_rev
    }

    fn advance(&self, seq: i64) {
        advance_to(&self.head, seq);
    }
}

fn advance_to(number: &watch::Sender<i64>, to: i64) {
    number.send_if_modified(|number| {
        let newer = to > *number;
        *number = to.max(*number);
        newer
    });
}

/// Follows the chain for changes made by other processes, by notification or polling, until the store is closed or dropped.
//= specs/spexus-http.md#feed
//# A listener MUST hear of changes made by other processes on the same database.
pub(crate) async fn follow_other_processes(broadcast: Arc<ChangeBroadcast>, pool: Pool) {
    let look = broadcast.look.clone();
    let weak = Arc::downgrade(&broadcast);
    drop(broadcast);
    let mut listener = None;
    let mut is_waiting = false;
    loop {
        if listener.is_none() {
            listener = pool.listen().await;
        }
        let mut is_ours = false;
        let heard = tokio::select! {
            heard = wait_for_commit(&mut listener, is_waiting) => heard,
            () = look.notified() => {
                is_ours = true;
                true
            }
            () = pool.closed() => return,
        };
        let Some(broadcast) = weak.upgrade() else { return };
        let Ok(mut conn) = pool.acquire().await else {
            continue;
        };
        // Those who do not hear it look by themselves within a second.
        if is_ours && conn.script("NOTIFY spexus").await.is_err() {
            continue;
        }
        if let Ok(arrived) = arrival::look(&mut conn).await {
            let is_news = broadcast.observed(pool.engine(), arrived);
            if is_news && !heard && !is_waiting {
                // Somebody committed and we were not told: the connection may be dead.
                listener = None;
            }
            is_waiting = arrived.is_waiting;
        }
        //= specs/spexus-store.md#sessions
        //# A write to a session by another process MUST wake those who follow sessions.
        if broadcast.sessions.receiver_count() > 0
            && let Ok(rev) = mcp_sessions::last_rev(&mut conn).await
        {
            advance_to(&broadcast.sessions, rev);
        }
    }
}

/// Waits until there may be something new, and says whether that was told. A writer that gives up says nothing, so where
/// changes wait for one, it is looked at more often.
async fn wait_for_commit(listener: &mut Option<PgListener>, is_waiting: bool) -> bool {
    let Some(listening) = listener else {
        tokio::time::sleep(POLL_INTERVAL).await;
        return false;
    };
    let interval = match is_waiting {
        true => POLL_INTERVAL,
        false => FALLBACK_POLL_INTERVAL,
    };
    match tokio::time::timeout(interval, listening.recv()).await {
        Ok(Ok(_)) => true,
        Ok(Err(_)) => {
            *listener = None;
            false
        }
        Err(_) => false,
    }
}
