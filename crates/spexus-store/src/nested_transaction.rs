//! Nested transactions: several reads and writes in one transaction, asked for by code that knows nothing of it.
//!
//! The writer runs one job that does nothing by itself: it receives commands, lends its connection to whoever reads and runs
//! the jobs of whoever writes, each behind a savepoint, until it is told how to end. So every use case works inside a larger
//! transaction as it does alone, and there is one way to write each.

use crate::engine::{Conn, Engine};
use crate::error::{Error, Result};
use crate::job::{Job, JobClass, TypedJob};
use crate::tx::{Actor, Mark, Tx};
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
    /// The beginning of a part that is rolled back alone, should it come to that.
    Begin,
    /// The end of the innermost part that has begun, or of everything: what was done is kept, or nothing is.
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

    /// Begins a part; every command from now on belongs to it, until it ends.
    pub(crate) async fn begin(&self) -> Result<()> {
        self.0.send(Command::Begin).await.map_err(|_| over())
    }

    /// Ends the innermost part, or everything.
    pub(crate) async fn end(&self, keep: bool) {
        // Where nobody listens any more it has ended already.
        let _ = self.0.send(Command::End { keep }).await;
    }
}

impl NestedCommands {
    /// Carries out commands until the end, for as long as a transaction may take. A handle that goes away rolls back everything.
    //= specs/spexus-store.md#time
    //# A transaction of many steps that takes longer than its limit MUST be undone and refused, and MUST free the writer.
    pub(crate) async fn serve(mut self, tx: &mut Tx, limit: Option<Duration>) -> Result<()> {
        let deadline = Deadline::from_now(limit);
        if let (Engine::Postgres, Some(limit)) = (tx.conn.engine(), limit) {
            let sql = format!("SET LOCAL statement_timeout = {}", limit.as_millis());
            tx.conn.script(sql).await?;
        }
        let mut parts = vec![Part::new(tx)];
        loop {
            match deadline.bound(self.0.recv()).await? {
                Some(Command::Conn(to)) => lend_connection(tx, to, &deadline).await?,
                Some(Command::Job(job)) => innermost(&mut parts)?.run(tx, job).await?,
                Some(Command::Begin) => {
                    tx.conn.script("SAVEPOINT part").await?;
                    parts.push(Part::new(tx));
                }
                Some(Command::End { keep }) => {
                    let part = parts.pop().ok_or_else(over)?;
                    if parts.is_empty() {
                        tx.decide(keep);
                        return Ok(());
                    }
                    part.end(tx, keep).await?;
                }
                None => return Err(over()),
            }
        }
    }
}

/// Until when commands are carried out, and how long that is.
struct Deadline(Option<(Duration, Instant)>);

impl Deadline {
    fn from_now(limit: Option<Duration>) -> Self {
        Self(limit.map(|limit| (limit, Instant::now() + limit)))
    }

    /// What comes of something before the time is over.
    async fn bound<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        match self.0 {
            Some((limit, end)) => timeout_at(end, work)
                .await
                .map_err(|_| transaction_timeout(limit)),
            None => Ok(work.await),
        }
    }
}

/// What the next job of a part is rolled back to, and every later one. The savepoint of a job stays until the next one
/// begins, which saves a trip to the server.
const PROTECT: &str = "SAVEPOINT nested";
const PROTECT_NEXT: &str = "RELEASE SAVEPOINT nested;SAVEPOINT nested";

/// A transaction, or a part of one that can be rolled back alone.
struct Part {
    /// What there was beside the database when it began.
    before: Mark,
    /// Whether a job of it left its savepoint.
    protected: bool,
}

impl Part {
    fn new(tx: &Tx) -> Self {
        Self {
            before: tx.mark(),
            protected: false,
        }
    }

    /// Runs a job. One that fails is rolled back alone.
    async fn run(&mut self, tx: &mut Tx, job: Box<dyn Job>) -> Result<()> {
        let protect = if self.protected { PROTECT_NEXT } else { PROTECT };
        tx.conn.script(protect).await?;
        self.protected = true;
        let (before, now) = (tx.mark(), tx.now());
        let done = job.run(tx, now).await;
        if !done.keep {
            tx.reset(before);
            tx.conn.script("ROLLBACK TO SAVEPOINT nested").await?;
        }
        (done.answer)(Ok(()));
        Ok(())
    }

    async fn end(self, tx: &mut Tx, keep: bool) -> Result<()> {
        if keep {
            return tx.conn.script("RELEASE SAVEPOINT part").await;
        }
        tx.reset(self.before);
        tx.conn
            .script("ROLLBACK TO SAVEPOINT part;RELEASE SAVEPOINT part")
            .await
    }
}

fn innermost(parts: &mut [Part]) -> Result<&mut Part> {
    parts.last_mut().ok_or_else(over)
}

async fn lend_connection(tx: &mut Tx, to: oneshot::Sender<Conn>, deadline: &Deadline) -> Result<()> {
    let (conn, back) = tx.conn.checkout();
    // A reader that went away drops it, which gives it back.
    let _ = to.send(conn);
    let returned = deadline.bound(back).await?.map_err(|_| over())?;
    tx.conn.take_back(returned);
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
pub(crate) fn explain_timeout(error: Error, limit: Option<Duration>) -> Error {
    match limit.filter(|_| is_timeout(&error)) {
        Some(limit) => transaction_timeout(limit),
        None => error,
    }
}

fn transaction_timeout(limit: Duration) -> Error {
    let message = format!(
        "a transaction of several steps may take {} ms, because all other writes wait for it; nothing was done",
        limit.as_millis()
    );
    Refusal::new(Code::Timeout, message)
        .hint("Do it in smaller parts.")
        .fact("outcome", "nothing_done")
        .into()
}
