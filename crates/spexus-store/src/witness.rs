//! A second opinion on a PostgreSQL connection that says nothing.
//!
//! A statement may take long, and a network that swallows everything looks the same from here. So once an answer is late, a
//! new connection asks the server whether it still works on the statement. Where it does not and the answer has not come,
//! the connection is dead: it is given up after seconds, however long a statement may take. Keepalives of TCP would not do:
//! a proxy in between answers them, and the driver has no setting for them.

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// How long a statement stays unanswered before the server is asked what became of it.
pub(crate) const DOUBT_AFTER: Duration = Duration::from_secs(1);

/// How long an answer may be on its way that the server has given.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// How long the server is waited for when it is asked.
const MAX_LOOK: Duration = Duration::from_secs(2);

/// The longest pause between two looks at a statement that the server works on.
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// Characters by which a statement is told from others.
const MAX_OPENING_CHARS: usize = 200;

/// Whoever can be asked about the connections of one pool.
#[derive(Clone, Debug)]
pub(crate) struct Witness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: PgConnectOptions,
    /// What the connections of the pool call themselves.
    name: String,
    /// Whether the pool has one connection, so that whatever bears the name is the one that was given up.
    is_single: bool,
    /// When a connection of the pool was last found dead; those that were idle then are not trusted.
    found_dead: Mutex<Option<Instant>>,
}

impl Witness {
    /// A witness for a pool that will be made with these options, and the options to make it with.
    pub(crate) fn of(options: PgConnectOptions, is_single: bool) -> (Self, PgConnectOptions) {
        let name = format!("spexus-{}", uuid::Uuid::now_v7().simple());
        let inner = Inner {
            options: options.clone(),
            name: name.clone(),
            is_single,
            found_dead: Mutex::new(None),
        };
        (Self(Arc::new(inner)), options.application_name(&name))
    }

    /// Notes that a connection of the pool is dead.
    pub(crate) fn note_dead(&self) {
        *self.0.found_dead.lock() = Some(Instant::now());
    }

    /// Whether a connection that is idle for so long was so already when another one was found dead.
    pub(crate) fn distrusts(&self, idle_for: Duration) -> bool {
        let found = *self.0.found_dead.lock();
        found.is_some_and(|at| at.elapsed() <= idle_for)
    }

    //= specs/spexus-store.md#time
    //# A statement that the server works on MUST be waited for as long as it may take.
    /// Returns when the server does not work on a statement whose answer is late, and not before. While the server cannot be
    /// asked nothing is known.
    pub(crate) async fn until_dead(&self, opening: &str) {
        let mut pause = ON_ITS_WAY;
        let mut was_missing = false;
        loop {
            match timeout(MAX_LOOK, self.runs(opening)).await {
                Ok(Ok(false)) if was_missing => break,
                Ok(Ok(false)) => {
                    was_missing = true;
                    sleep(ON_ITS_WAY).await;
                }
                _ => {
                    was_missing = false;
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
        self.note_dead();
        if self.0.is_single {
            // What it holds, others wait for. Where this does not work the server ends it by itself a little later.
            let _ = timeout(MAX_LOOK, self.end_those_given_up()).await;
        }
    }

    async fn runs(&self, opening: &str) -> sqlx::Result<bool> {
        // A server that is told not to say what it does leaves the question open.
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 \
                   AND (coalesce(state, 'disabled') = 'disabled' OR (state = 'active' AND left(query, $3) = $2))";
        let mut conn = self.connect().await?;
        let chars = i32::try_from(MAX_OPENING_CHARS).unwrap_or(i32::MAX);
        let query = sqlx::query_scalar::<_, i64>(sql).bind(&self.0.name).bind(opening);
        let running = query.bind(chars).fetch_one(&mut conn).await?;
        conn.close().await?;
        Ok(running > 0)
    }

    async fn end_those_given_up(&self) -> sqlx::Result<()> {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        let mut conn = self.connect().await?;
        sqlx::query(sql).bind(&self.0.name).execute(&mut conn).await?;
        conn.close().await
    }

    async fn connect(&self) -> sqlx::Result<PgConnection> {
        self.0.options.connect().await
    }
}

/// The beginning of a statement, by which the server is asked about it.
pub(crate) fn opening(sql: &str) -> String {
    sql.chars().take(MAX_OPENING_CHARS).collect()
}
