//! Connections: opened with the settings the rest of the crate relies on.

use crate::engine::{Conn, Connection, Engine};
use crate::error::{Error, Result};
use crate::sqlite::pool::ConnectionPool;
use crate::sqlite::{Access, SqliteConnectOptions};
use crate::statement::StatementLimits;
use crate::witness::Witness;
use crate::writer::writers;
use crate::{StoreOptions, connect};
use refusal::{Code, Refusal};
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use sqlx::{ConnectOptions, Connection as _, PgConnection, Postgres};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may lie idle and still be used without asking it first.
const MAX_UNTESTED_IDLE: Duration = Duration::from_secs(1);

/// How long a connection that lay idle may take to answer.
const MAX_PING: Duration = Duration::from_secs(1);

/// How long to wait before connecting to a file again that another process is preparing.
const CONNECT_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Connections to one database.
#[derive(Clone)]
pub(crate) enum Pool {
    Sqlite(Arc<ConnectionPool>, StatementLimits),
    Postgres(sqlx::Pool<Postgres>, StatementLimits, Witness),
}

/// Where a database is, read from its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL URL.
    Server(String),
}

impl Location {
    /// Reads `sqlite:FILE`, `postgres://…` or `postgresql://…`.
    pub fn parse(url: &str) -> std::result::Result<Self, Refusal> {
        let file = url
            .strip_prefix("sqlite://")
            .or_else(|| url.strip_prefix("sqlite:"));
        match file {
            Some(path) if !path.is_empty() && !path.contains('\0') && !is_special(path) => {
                Ok(Self::File(PathBuf::from(path)))
            }
            None if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Ok(Self::Server(url.to_owned()))
            }
            _ => Err(Refusal::field(
                Code::InvalidParams,
                "database",
                "is not a database this program knows",
                "sqlite:FILE or postgres://USER@HOST/NAME",
            )),
        }
    }
}

impl Location {
    /// Whether the way to the database leads over a network.
    pub fn is_remote(&self) -> bool {
        let Self::Server(url) = self else { return false };
        let Ok(options) = postgres(url) else { return false };
        let host = options.get_host();
        let is_loopback = host
            .parse::<std::net::IpAddr>()
            .map_or(host == "localhost", |address| address.is_loopback());
        options.get_socket().is_none() && !host.starts_with('/') && !is_loopback
    }
}

/// SQLite's own words for other things than files: a database in memory would be another one for each connection.
fn is_special(path: &str) -> bool {
    path.contains(":memory:") || path.starts_with("file:")
}

impl Pool {
    /// Connections for reading.
    pub(crate) fn for_reading(location: &Location, options: &StoreOptions, size: u32) -> Result<Self> {
        let limit = StatementLimits::of_reader(options.max_statement_ms);
        match location {
            Location::File(path) => Ok(Self::sqlite(path, Access::Read, size, options, limit)),
            Location::Server(url) => {
                let (witness, server_options) = Witness::of(postgres(url)?, false);
                let asking = witness.clone();
                let pool = PgPoolOptions::new().max_connections(size);
                let pool = server(pool, options).before_acquire(move |conn, about| {
                    let witness = asking.clone();
                    Box::pin(async move { Ok(is_alive(conn, about.idle_for, &witness).await) })
                });
                let pool = pool.connect_lazy_with(server_options);
                Ok(Self::Postgres(pool, limit, witness))
            }
        }
    }

    /// A connection for each writer.
    pub(crate) async fn for_writing(location: &Location, options: &StoreOptions) -> Result<Self> {
        let limit = StatementLimits::of_writer(options.max_statement_ms);
        match location {
            Location::File(path) => {
                let pool = Self::sqlite(path, Access::Create, 1, options, limit);
                connect_with_retry(&pool, path, options).await?;
                Ok(pool)
            }
            Location::Server(url) => {
                let server_options = postgres(url)?;
                connect::try_out(&server_options, Duration::from_millis(options.acquire_timeout_ms)).await?;
                let (witness, server_options) = Witness::of(server_options, true);
                let pool = server(
                    PgPoolOptions::new().max_connections(writers(Engine::Postgres, options)),
                    options,
                );
                let pool = pool.connect_with(server_options).await?;
                Ok(Self::Postgres(pool, limit, witness))
            }
        }
    }

    /// One more connection to a SQLite file, for work that is neither plain reading nor the writer's.
    pub(crate) fn alone(location: &Location, options: &StoreOptions) -> Result<Self> {
        match location {
            Location::File(path) => Ok(Self::sqlite(
                path,
                Access::Write,
                1,
                options,
                StatementLimits::default(),
            )),
            Location::Server(_) => Err(Error::Broken("only a file can be opened alone".into())),
        }
    }

    /// A database of SQLite's own, without a name: only this connection sees it, and it is gone with it.
    pub(crate) fn private() -> Self {
        let options = StoreOptions::default();
        Self::sqlite(
            Path::new(""),
            Access::Create,
            1,
            &options,
            StatementLimits::default(),
        )
    }

    fn sqlite(
        path: &Path,
        access: Access,
        size: u32,
        options: &StoreOptions,
        limit: StatementLimits,
    ) -> Self {
        let wait = Duration::from_millis(options.acquire_timeout_ms);
        let file = SqliteConnectOptions::new(path.to_owned(), access, options);
        Self::Sqlite(ConnectionPool::new(file, size, wait), limit)
    }

    pub(crate) async fn acquire(&self) -> Result<Conn> {
        Ok(match self {
            Self::Sqlite(pool, limit) => Conn::new(Connection::Sqlite(pool.acquire().await?), *limit),
            Self::Postgres(pool, limit, witness) => {
                let acquired = Box::pin(pool.acquire()).await?;
                let conn = Conn::new(Connection::Postgres(acquired), *limit);
                conn.with_witness(witness.clone())
            }
        })
    }

    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(..) => Engine::Sqlite,
            Self::Postgres(..) => Engine::Postgres,
        }
    }

    /// The channel on which PostgreSQL tells of commits; `None` where there is none. It has a connection of its own, so
    /// that listening takes none away from those who read.
    pub(crate) async fn listen(&self) -> Option<PgListener> {
        let Self::Postgres(pool, ..) = self else {
            return None;
        };
        //= specs/spexus-store.md#several-processes
        //# Following the history MUST NOT take a connection away from readers.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with((*pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await.ok()?;
        listener.listen("spexus").await.ok()?;
        Some(listener)
    }

    /// Waits until it is closed.
    pub(crate) async fn closed(&self) {
        match self {
            Self::Sqlite(pool, _) => pool.closed().await,
            Self::Postgres(pool, ..) => pool.close_event().await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool, _) => pool.close().await,
            Self::Postgres(pool, ..) => pool.close().await,
        }
    }
}

/// Turning a new file into a write-ahead one does not wait for another process that does the same; so we do.
async fn connect_with_retry(pool: &Pool, path: &Path, options: &StoreOptions) -> Result<()> {
    let deadline = tokio::time::Instant::now() + Duration::from_millis(options.acquire_timeout_ms);
    loop {
        match pool.acquire().await {
            // A file that could not even be made will not be made by waiting.
            Err(Error::Unavailable(_)) if tokio::time::Instant::now() < deadline && path.exists() => {
                tokio::time::sleep(CONNECT_RETRY_INTERVAL).await;
            }
            outcome => return outcome.map(drop),
        }
    }
}

/// Whether a connection that lay idle still leads to the server. A server that was restarted, or a network that swallowed
/// everything while nobody read, must not cost the next reader an error.
async fn is_alive(conn: &mut PgConnection, idle_for: Duration, witness: &Witness) -> bool {
    if witness.distrusts(idle_for) {
        return false;
    }
    if idle_for <= MAX_UNTESTED_IDLE {
        return true;
    }
    match tokio::time::timeout(MAX_PING, conn.ping()).await {
        Ok(answer) => answer.is_ok(),
        Err(_) => {
            witness.note_dead();
            false
        }
    }
}

fn server(pool: PgPoolOptions, options: &StoreOptions) -> PgPoolOptions {
    let max_statement_ms = options.max_statement_ms;
    pool.acquire_timeout(Duration::from_millis(options.acquire_timeout_ms))
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .after_connect(move |conn, _| Box::pin(connect::agree(conn, max_statement_ms)))
}

pub(crate) fn postgres(url: &str) -> Result<PgConnectOptions> {
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        // The parser's own words may repeat the password.
        let refusal = Refusal::field(
            Code::InvalidParams,
            "database",
            "is not a PostgreSQL URL",
            "postgres://USER:PASSWORD@HOST:PORT/NAME",
        );
        Error::Refused(refusal)
    })?;
    Ok(options
        .application_name("spexus")
        .statement_cache_capacity(256)
        .disable_statement_logging())
}
