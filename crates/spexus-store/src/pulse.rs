//! The pulse: how far the history has come, for everyone who waits for news, and whether accounts may have changed.
//!
//! Listeners never receive changes from here; they learn that there are some and read them from the chain after their
//! own cursor. So nobody is ever too slow, nothing is lost, and changes made by other processes count like our own.

use crate::chain::Head;
use crate::mcp_sessions;
use crate::pool::Pool;
use sqlx::postgres::PgListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// How often the chain is looked at for changes of other processes, where nobody tells us.
const POLL: Duration = Duration::from_millis(50);
/// The same when the database tells us; only a safety net.
const SLOW_POLL: Duration = Duration::from_secs(1);

/// How far the history has come.
pub(crate) struct Pulse {
    head: watch::Sender<i64>,
    accounts: AtomicU64,
    /// The number of the last write to sessions; looked up only while somebody follows it.
    sessions: watch::Sender<i64>,
}

impl Pulse {
    pub(crate) fn new(head: i64) -> Arc<Self> {
        Arc::new(Self {
            head: watch::Sender::new(head),
            accounts: AtomicU64::new(0),
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

    //= specs/spexus-store.md#several-processes
    //# A commit of another process MUST wake those who follow the history.
    /// Someone else may have committed: whatever is remembered about accounts is void.
    fn observed(&self, seq: i64) {
        if seq > *self.head.borrow() {
            self.accounts.fetch_add(1, Ordering::AcqRel);
            self.advance(seq);
        }
    }

    fn advance(&self, seq: i64) {
        raise(&self.head, seq);
    }
}

fn raise(number: &watch::Sender<i64>, to: i64) {
    number.send_if_modified(|number| {
        let newer = to > *number;
        *number = to.max(*number);
        newer
    });
}

/// Watches the chain for changes made by other processes until the store is closed or dropped.
//= specs/spexus-http.md#feed
//# A listener MUST hear of changes made by other processes on the same database.
pub(crate) async fn watch(pulse: Arc<Pulse>, pool: Pool) {
    let weak = Arc::downgrade(&pulse);
    drop(pulse);
    let mut listener = None;
    loop {
        if listener.is_none() {
            listener = pool.listen().await;
        }
        tokio::select! {
            () = news(&mut listener) => {}
            () = pool.closed() => return,
        }
        let Some(pulse) = weak.upgrade() else { return };
        let Ok(mut conn) = pool.acquire().await else {
            continue;
        };
        if let Ok(head) = Head::read(&mut conn).await {
            pulse.observed(head.seq);
        }
        //= specs/spexus-store.md#sessions
        //# A write to a session by another process MUST wake those who follow sessions.
        if pulse.sessions.receiver_count() > 0
            && let Ok(rev) = mcp_sessions::last_rev(&mut conn).await
        {
            raise(&pulse.sessions, rev);
        }
    }
}

/// Waits until there may be something new.
async fn news(listener: &mut Option<PgListener>) {
    let Some(heard) = listener else {
        return tokio::time::sleep(POLL).await;
    };
    if let Ok(Err(_)) = tokio::time::timeout(SLOW_POLL, heard.recv()).await {
        *listener = None;
    }
}
