//! Nested transactions: several reads and writes in one transaction, asked for by code that knows nothing of it.
//!
//! The writer runs one job that does nothing by itself: it receives commands, lends its connection to whoever reads and runs
//! the jobs of whoever writes, each behind a savepoint, until it is told how to end. So every use case works inside a larger
//! transaction as it does alone, and there is one way to write each.

use crate::engine::{Conn, Engine};
use crate::error::{Error, Result};
use crate::job::{Job, JobClass, TypedJob};
use crate::tx::{Actor, Tx};
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

/// A command to a running transaction.
enum Command {
    /// The connection, to read with.
    Conn(oneshot::Sender<Conn>),
    /// A job of its own.
    Job(Box<dyn Job>),
    /// The end: what was done is kept, or nothing is.
    End { keep: bool },
}

/// The handle of a running transaction in which others are nested.
#[derive(Clone)]
pub(crate) struct NestedTransaction(mpsc::Sender<Command>);

/// The writer's side of it: the commands it receives.
pub(crate) struct NestedCommands(mpsc::Receiver<Command>);

impl NestedTransaction {
    pub(crate) fn new() -> (Self, NestedCommands) {
        let (commands, received) = mpsc::channel(1);
        (Self(commands), NestedCommands(received))
    }

    /// The connection of the transaction, until it is dropped.
    pub(crate) async fn read(&self) -> Result<Conn> {
        let (lent, conn) = oneshot::channel();
        self.0.send(Command::Conn(lent)).await.map_err(|_| over())?;
        conn.await.map_err(|_| over())
    }

    /// Runs a nested job. One that fails is rolled back alone.
    pub(crate) async fn write<T, F>(&self, actor: Actor, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + 'static,
    {
        let (job, answered) = TypedJob::boxed(actor, JobClass::Short, None, work);
        self.0.send(Command::Job(job)).await.map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over()))
    }

    pub(crate) async fn end(&self, keep: bool) {
        // Where nobody listens any more it has ended already.
        let _ = self.0.send(Command::End { keep }).await;
    }
}

impl NestedCommands {
    /// Carries out commands until the end, for as long as a transaction may take. A handle that goes away rolls back everything.
    //= specs/spexus-store.md#time
    //# A transaction of many steps that takes longer than its limit MUST be undone and refused, and MUST free the writer.
    pub(crate) async fn serve(mut self, tx: &mut Tx, limit: Duration) -> Result<()> {
        let end = Instant::now() + limit;
        if tx.conn.engine() == Engine::Postgres {
            let sql = format!("SET LOCAL statement_timeout = {}", limit.as_millis());
            tx.conn.script(sql).await?;
        }
        loop {
            let command = timeout_at(end, self.0.recv()).await;
            match command.map_err(|_| transaction_timeout(limit))? {
                Some(Command::Conn(to)) => lend_connection(tx, to, end, limit).await?,
                Some(Command::Job(job)) => run(tx, job).await?,
                Some(Command::End { keep }) => {
                    tx.decide(keep);
                    return Ok(());
                }
                None => return Err(over()),
            }
        }
    }
}

async fn lend_connection(
    tx: &mut Tx,
    to: oneshot::Sender<Conn>,
    end: Instant,
    limit: Duration,
) -> Result<()> {
    let (conn, back) = tx.conn.lend();
    // A reader that went away drops it, which gives it back.
    let _ = to.send(conn);
    let returned = timeout_at(end, back).await;
    let returned = returned
        .map_err(|_| transaction_timeout(limit))?
        .map_err(|_| over())?;
    tx.conn.take_back(returned);
    Ok(())
}

async fn run(tx: &mut Tx, job: Box<dyn Job>) -> Result<()> {
    tx.conn.script("SAVEPOINT nested").await?;
    let (before, now) = (tx.mark(), tx.now());
    let done = job.run(tx, now).await;
    if !done.keep {
        tx.reset(before);
        tx.conn.script("ROLLBACK TO SAVEPOINT nested").await?;
    }
    tx.conn.script("RELEASE SAVEPOINT nested").await?;
    (done.answer)(Ok(()));
    Ok(())
}

fn over() -> Error {
    Error::Unavailable("the transaction is over".into())
}

/// Whether time ran out, that of the transaction or that of a statement in it.
pub(crate) fn is_timeout(error: &Error) -> bool {
    matches!(error, Error::Refused(refusal) if refusal.code == Code::Timeout)
}

/// The end of a transaction as those who asked for it know its limit.
pub(crate) fn explain_timeout(error: Error, limit: Duration) -> Error {
    match is_timeout(&error) {
        true => transaction_timeout(limit),
        false => error,
    }
}

pub(crate) fn transaction_timeout(limit: Duration) -> Error {
    let message = format!(
        "a transaction of several steps may take {} ms, because all other writes wait for it; nothing was done",
        limit.as_millis()
    );
    Refusal::new(Code::Timeout, message)
        .hint("Do it in smaller parts.")
        .fact("outcome", "nothing_done")
        .into()
}
