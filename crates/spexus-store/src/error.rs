//! What can go wrong below, reduced to the branches callers take.

use refusal::{Code, Refusal};

/// Why the store did not do it.
#[derive(Clone, Debug)]
pub enum Error {
    /// A rule said no; the caller should see it.
    Refused(Refusal),
    /// The database does not answer now, and may later.
    Unavailable(String),
    /// Something that must not happen; the text is for the log only.
    Broken(String),
}

/// What the store answers.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What the caller is told. The inside of the database never shows.
    pub fn into_refusal(self) -> Refusal {
        match self {
            Error::Refused(refusal) => refusal,
            Error::Unavailable(_) => {
                Refusal::new(Code::DependencyUnavailable, "the database does not answer")
            }
            Error::Broken(_) => Refusal::new(Code::InternalError, "the server could not finish this request"),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Unavailable(why) => write!(f, "the database does not answer: {why}"),
            Error::Broken(why) => write!(f, "the store failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Error::Unavailable(error.to_string()),
            sqlx::Error::Database(inner) if is_passing(inner.code().as_deref()) => {
                Error::Unavailable(error.to_string())
            }
            sqlx::Error::Database(inner) if inner.is_unique_violation() => {
                let message = "something with the same name or id exists already";
                Error::Refused(Refusal::new(Code::EntityDuplicate, message))
            }
            _ => Error::Broken(error.to_string()),
        }
    }
}

/// Busy, locked, disk full and I/O errors of SQLite; connection, shutdown and resource classes of PostgreSQL.
fn is_passing(code: Option<&str>) -> bool {
    let Some(code) = code else { return false };
    let sqlite = code
        .parse::<i32>()
        .is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13));
    sqlite && code.len() < 5
        || ["08", "53", "57P", "40"]
            .iter()
            .any(|class| code.len() == 5 && code.starts_with(class))
}
