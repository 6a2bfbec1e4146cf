//! Snapshots: several reads that see one moment, asked for by code that knows nothing of it.
//!
//! A connection for reading opens a transaction and is lent to one reader after the other until the work is done. No
//! writer is involved: writes go on meanwhile and are not seen. Each such work holds a connection, so only half of them
//! can be held at once; the others stay for everybody else. One user can hold half of these, so that another gets in.

use crate::engine::{Conn, Engine, ReturnedConnection};
use crate::error::{Error, Result};
use crate::pool::Pool;
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use spexus_domain::Uuid;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Permits to hold a snapshot.
pub(crate) struct SnapshotPermits {
    permits: Arc<Semaphore>,
    /// How many of them one owner may have.
    max_of_owner: usize,
    owners: Mutex<HashMap<Uuid, Weak<Semaphore>>>,
    acquire_timeout: Duration,
}

/// A permit to hold a snapshot: one of all, and one of those its owner may have.
pub(crate) struct SnapshotPermit {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
}

/// The handle of a snapshot that is held.
#[derive(Clone)]
pub(crate) struct SnapshotHandle(mpsc::Sender<oneshot::Sender<Conn>>);

/// A snapshot that is held: a connection in a read transaction.
pub(crate) struct HeldSnapshot {
    /// `None` once it is given back.
    conn: Option<Conn>,
    /// Where it comes back from whoever has it now.
    lent: Option<oneshot::Receiver<ReturnedConnection>>,
    readers: mpsc::Receiver<oneshot::Sender<Conn>>,
    _permit: SnapshotPermit,
}

impl SnapshotPermits {
    pub(crate) fn new(max_read_connections: u32, acquire_timeout_ms: u64) -> Self {
        let permits = usize::try_from(max_read_connections / 2).unwrap_or(1).max(1);
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            max_of_owner: (permits / 2).max(1),
            owners: Mutex::default(),
            acquire_timeout: Duration::from_millis(acquire_timeout_ms),
        }
    }

    /// A permit, as soon as there is one.
    //= specs/spexus-store.md#reads
    //# Reads of one moment, such as reports and exports, MUST leave half of the connections for reading to everybody else.
    pub(crate) async fn acquire(&self, owner: Uuid) -> Result<SnapshotPermit> {
        let own = self.of_owner(owner);
        // First among the owner's, so that nobody waits with a place that others could have.
        let both = async {
            let own = own.acquire_owned().await.ok()?;
            let shared = self.permits.clone().acquire_owned().await.ok()?;
            Some(SnapshotPermit {
                _own: own,
                _shared: shared,
            })
        };
        let permit = tokio::time::timeout(self.acquire_timeout, both).await;
        permit.ok().flatten().ok_or_else(|| self.busy())
    }

    //= specs/spexus-store.md#reads
    //# One user MUST NOT hold more than half of what may be read at one moment, or one.
    /// What an owner may have, kept for as long as somebody has or awaits it.
    fn of_owner(&self, owner: Uuid) -> Arc<Semaphore> {
        let mut owners = self.owners.lock();
        if let Some(known) = owners.get(&owner).and_then(Weak::upgrade) {
            return known;
        }
        owners.retain(|_, known| known.strong_count() > 0);
        let new = Arc::new(Semaphore::new(self.max_of_owner));
        owners.insert(owner, Arc::downgrade(&new));
        new
    }

    fn busy(&self) -> Error {
        let waited_ms = self.acquire_timeout.as_millis();
        let message = format!(
            "as much is read as may be read at once, by you or by all, and nothing ended within {waited_ms} ms"
        );
        Refusal::new(Code::ConcurrentLimitExceeded, message)
            .hint("Try again when reports and exports under way have ended.")
            .into()
    }

    /// Begins a snapshot of this moment.
    pub(crate) async fn hold(&self, owner: Uuid, readers: &Pool) -> Result<(SnapshotHandle, HeldSnapshot)> {
        let permit = self.acquire(owner).await?;
        let (requests, received) = mpsc::channel(1);
        let mut held = HeldSnapshot {
            conn: Some(readers.acquire().await?),
            lent: None,
            readers: received,
            _permit: permit,
        };
        held.begin().await?;
        Ok((SnapshotHandle(requests), held))
    }
}

impl SnapshotHandle {
    /// The connection of the snapshot, until it is dropped.
    pub(crate) async fn read(&self) -> Result<Conn> {
        let (lent, conn) = oneshot::channel();
        self.0.send(lent).await.map_err(|_| over())?;
        conn.await.map_err(|_| over())
    }
}

impl HeldSnapshot {
    async fn begin(&mut self) -> Result<()> {
        let conn = self.conn.as_mut().ok_or_else(over)?;
        let begin = match conn.engine() {
            Engine::Sqlite => "BEGIN DEFERRED",
            Engine::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        };
        conn.script(begin).await
    }

    /// Lends the connection to one reader after the other, for as long as there is somebody who may ask.
    pub(crate) async fn serve(&mut self) {
        while let Some(reader) = self.readers.recv().await {
            let Some(conn) = &mut self.conn else { return };
            let (lent, back) = conn.checkout();
            // Kept here, not in this future: whoever stops waiting must still find what comes back.
            let back = self.lent.insert(back);
            // A reader that went away drops it, which gives it back.
            let _ = reader.send(lent);
            let returned = back.await;
            self.lent = None;
            match returned {
                Ok(returned) => conn.take_back(returned),
                Err(_) => return,
            }
        }
    }

    /// Takes back what the last reader gave back when nobody waited for it any more. A connection that is still away is
    /// closed by whoever has it.
    fn take_back(&mut self) {
        if let (Some(mut back), Some(conn)) = (self.lent.take(), &mut self.conn) {
            back.close();
            if let Ok(returned) = back.try_recv() {
                conn.take_back(returned);
            }
        }
    }

    /// Gives the connection back.
    pub(crate) async fn end(mut self) {
        self.take_back();
        if let Some(mut conn) = self.conn.take()
            && conn.script("ROLLBACK").await.is_err()
        {
            conn.abandon();
        }
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        // Whoever went away in the middle left a transaction open.
        self.take_back();
        if let Some(conn) = self.conn.take() {
            conn.abandon();
        }
    }
}

fn over() -> Error {
    Error::Unavailable("what was read together is over".into())
}
