//! Several reads and writes in one transaction, asked for by code that knows nothing of it.
//!
//! The writer runs one job that does nothing by itself: it lends its connection to whoever reads and runs the jobs of
//! whoever writes, one after the other, until it is told how to end. So every use case works inside a larger transaction
//! as it does alone, and there is one way to write each.

use crate::engine::{Conn, Engine};
use crate::error::{Error, Result};
use crate::job::{Hold, Job, TypedJob};
use crate::tx::{Actor, Tx};
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

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
        let (job, answered) = TypedJob::boxed(actor, Hold::Short, None, work);
        self.0.send(Wish::Job(job)).await.map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over()))
    }

    pub(crate) async fn end(&self, keep: bool) {
        // Where nobody listens any more it has ended already.
        let _ = self.0.send(Wish::End { keep }).await;
    }
}

impl Wishes {
    /// Serves wishes until the end, for as long as a transaction may take. Whoever wished going away undoes everything.
    //= specs/spexus-store.md#time
    //# A transaction of many steps that takes longer than its limit MUST be undone and refused, and MUST free the writer.
    pub(crate) async fn serve(mut self, tx: &mut Tx, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        if tx.conn.engine() == Engine::Postgres {
            let sql = format!("SET LOCAL statement_timeout = {}", limit.as_millis());
            tx.conn.script(sql).await?;
        }
        loop {
            let wish = timeout_at(end, self.0.recv()).await;
            match wish.map_err(|_| too_slow(limit))? {
                Some(Wish::Conn(to)) => lend(tx, to, end, limit).await?,
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

async fn lend(tx: &mut Tx, to: oneshot::Sender<Conn>, end: Instant, limit: Duration) -> Result<()> {
    let (conn, back) = tx.conn.lend();
    // A reader that went away drops it, which gives it back.
    let _ = to.send(conn);
    let returned = timeout_at(end, back).await;
    let returned = returned.map_err(|_| too_slow(limit))?.map_err(|_| over())?;
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

/// Whether time ran out, that of the transaction or that of a statement in it.
pub(crate) fn is_too_slow(error: &Error) -> bool {
    matches!(error, Error::Refused(refusal) if refusal.code == Code::Timeout)
}

/// The end of a transaction as those who asked for it know its limit.
pub(crate) fn explained(error: Error, limit: Duration) -> Error {
    match is_too_slow(&error) {
        true => too_slow(limit),
        false => error,
    }
}

pub(crate) fn too_slow(limit: Duration) -> Error {
    let message = format!(
        "a transaction of several steps may take {} ms, because all other writes wait for it; nothing was done",
        limit.as_millis()
    );
    Refusal::new(Code::Timeout, message)
        .hint("Do it in smaller parts.")
        .fact("outcome", "nothing_done")
        .into()
}
