//! Several reads and writes in one transaction, asked for by code that knows nothing of it.
//!
//! The writer runs one job that does nothing by itself: it lends its connection to whoever reads and runs the jobs of
//! whoever writes, one after the other, until it is told how to end. So every use case works inside a larger transaction
//! as it does alone, and there is one way to write each.

use crate::engine::Conn;
use crate::error::{Error, Result};
use crate::tx::{Actor, Tx};
use crate::writer::{Job, TypedJob};
use futures_util::future::BoxFuture;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// How long the writer waits for the next wish, or for its connection; all other writes wait as long.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// What is wished for inside a transaction.
enum Wish {
    /// The connection, to read with.
    Conn(oneshot::Sender<Conn>),
    /// A job of its own.
    Job(Box<dyn Job>),
    /// The end: what was done is kept, or nothing is.
    End { keep: bool },
}

/// The way into a running transaction.
#[derive(Clone)]
pub(crate) struct Inside(mpsc::Sender<Wish>);

/// The writer's side of it.
pub(crate) struct Wishes(mpsc::Receiver<Wish>);

impl Inside {
    pub(crate) fn new() -> (Self, Wishes) {
        let (wishes, heard) = mpsc::channel(1);
        (Self(wishes), Wishes(heard))
    }

    /// The connection of the transaction, until it is dropped.
    pub(crate) async fn read(&self) -> Result<Conn> {
        let (lent, conn) = oneshot::channel();
        self.0.send(Wish::Conn(lent)).await.map_err(|_| over())?;
        conn.await.map_err(|_| over())
    }

    /// Runs a job inside. One that fails is undone alone.
    pub(crate) async fn write<T, F>(&self, actor: Actor, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (job, answered) = TypedJob::boxed(actor, work);
        self.0.send(Wish::Job(job)).await.map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over()))
    }

    pub(crate) async fn end(&self, keep: bool) {
        // Where nobody listens any more it has ended already.
        let _ = self.0.send(Wish::End { keep }).await;
    }
}

impl Wishes {
    /// Serves wishes until the end. Whoever wished going away undoes everything.
    pub(crate) async fn serve(mut self, tx: &mut Tx) -> Result<()> {
        loop {
            let wish = tokio::time::timeout(MAX_PAUSE, self.0.recv());
            match wish.await.map_err(|_| too_slow())? {
                Some(Wish::Conn(to)) => lend(tx, to).await?,
                Some(Wish::Job(job)) => run(tx, job).await?,
                Some(Wish::End { keep }) => {
                    tx.decide(keep);
                    return Ok(());
                }
                None => return Err(over()),
            }
        }
    }
}

async fn lend(tx: &mut Tx, to: oneshot::Sender<Conn>) -> Result<()> {
    let (conn, back) = tx.conn.lend();
    // A reader that went away drops it, which gives it back.
    let _ = to.send(conn);
    let returned = tokio::time::timeout(MAX_PAUSE, back);
    let returned = returned.await.map_err(|_| too_slow())?.map_err(|_| over())?;
    tx.conn.take_back(returned);
    Ok(())
}

async fn run(tx: &mut Tx, job: Box<dyn Job>) -> Result<()> {
    tx.conn.script("SAVEPOINT inside").await?;
    let (before, now) = (tx.mark(), tx.now());
    let done = job.run(tx, now).await;
    if !done.keep {
        tx.reset(before);
        tx.conn.script("ROLLBACK TO SAVEPOINT inside").await?;
    }
    tx.conn.script("RELEASE SAVEPOINT inside").await?;
    (done.answer)(Ok(()));
    Ok(())
}

fn over() -> Error {
    Error::Unavailable("the transaction is over".into())
}

fn too_slow() -> Error {
    Error::Unavailable("a transaction was held for too long".into())
}
