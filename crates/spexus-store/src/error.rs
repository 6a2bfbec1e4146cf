//! What can go wrong below, reduced to the branches callers take.

use refusal::{Code, Refusal};
use sqlx::error::DatabaseError;

/// Why the store did not do it.
#[derive(Clone, Debug)]
pub enum Error {
    /// A rule said no; the caller should see it.
    Refused(Refusal),
    /// The database does not answer now, and may later. Nothing was done.
    Unavailable(String),
    /// The answer to a commit was lost: it was carried out, or it was not.
    OutcomeUnknown(String),
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
            //= specs/spexus-store.md#errors
            //# What a caller is told MUST NOT repeat the words of the database.
            Error::Unavailable(_) => {
                Refusal::new(Code::DependencyUnavailable, "the database does not answer")
            }
            //= specs/spexus-store.md#time
            //# When the connection is lost after COMMIT was sent, the writes of that transaction MUST be told that their outcome is not
            //# known.
            Error::OutcomeUnknown(_) => Refusal::new(
                Code::DependencyUnavailable,
                "the connection to the database was lost while the write was being finished; it may have been done or not",
            )
            .hint("Look whether it is there, or send it again with the same idempotency key.")
            .fact("outcome", "unknown"),
            Error::Broken(_) => Refusal::new(Code::InternalError, "the server could not finish this request"),
        }
    }
}

impl From<Error> for Refusal {
    /// What the caller is told of an error below; the rest goes to the log, here and once.
    fn from(error: Error) -> Self {
        match &error {
            Error::Refused(_) => {}
            Error::Unavailable(why) => tracing::warn!(why, "the database does not answer"),
            Error::OutcomeUnknown(why) => tracing::error!(why, "the outcome of a write is not known"),
            // Fulfils 003 R13.8
            //= specs/spexus-service.md#errors
            //# An internal error MUST be logged with its causes and the way that led to it, and MUST NOT be told to the caller.
            Error::Broken(why) => {
                let trace = std::backtrace::Backtrace::force_capture();
                tracing::error!(why, %trace, "the store failed");
            }
        }
        error.into_refusal()
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Unavailable(why) => write!(f, "the database does not answer: {why}"),
            Error::OutcomeUnknown(why) => write!(f, "the outcome of a commit is not known: {why}"),
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
            | sqlx::Error::PoolClosed => Error::Unavailable(chain(&error)),
            sqlx::Error::Database(inner) => match (refused_by_database(inner.as_ref()), inner.code()) {
                (Some(refusal), _) => Error::Refused(refusal),
                (None, code) if is_passing(code.as_deref()) => Error::Unavailable(chain(&error)),
                (None, _) => Error::Broken(chain(&error)),
            },
            _ => Error::Broken(chain(&error)),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error().map(|error| error.extended_code) else {
            return Error::Broken(chain(&error));
        };
        match code {
            // SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE
            1_555 | 2_067 => Error::Refused(duplicate()),
            // SQLITE_NOTADB
            26 => Error::Refused(
                Refusal::new(Code::ServiceUnavailable, "the file is not a database")
                    .hint("Name a file that does not exist yet, or one that spexus made."),
            ),
            code if may_pass(code) => Error::Unavailable(chain(&error)),
            _ => Error::Broken(chain(&error)),
        }
    }
}

/// Whether nobody knows what became of the statement, and the connection is of no use any more.
pub(crate) fn ends_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(inner) => {
            let code = inner.code();
            code.is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
        }
        sqlx::Error::RowNotFound
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::Decode(_)
        | sqlx::Error::Encode(_) => false,
        _ => true,
    }
}

// Fulfils 003 R13.8
/// An error and what caused it, each once, for the log.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}

fn duplicate() -> Refusal {
    let message = "something with the same name or id exists already";
    Refusal::new(Code::EntityDuplicate, message)
}

/// What a person can do something about.
fn refused_by_database(error: &dyn DatabaseError) -> Option<Refusal> {
    if error.is_unique_violation() {
        return Some(duplicate());
    }
    match error.code()?.as_ref() {
        // query_canceled: by the time limit of the session, since nobody else may cancel it.
        "57014" => match crate::statement::statement_timeout() {
            Error::Refused(refusal) => Some(refusal),
            _ => None,
        },
        // insufficient_privilege
        "42501" => Some(
            Refusal::new(Code::ServiceUnavailable, "the database user lacks a right it needs")
                .hint("Make the user the owner of the database, or grant it CREATE and USAGE on its schema and all rights on the tables."),
        ),
        // character_not_in_repertoire: PostgreSQL keeps no NUL, SQLite does; whoever asks for one asks for nothing.
        "22021" => Some(Refusal::new(
            Code::InvalidParams,
            "a text has a character that cannot be stored",
        )),
        _ => None,
    }
}

/// Connection, shutdown, resource, time limit and conflict classes of PostgreSQL.
fn is_passing(code: Option<&str>) -> bool {
    let Some(code) = code else { return false };
    match code.len() {
        5 => ["08", "53", "57", "40", "55P03", "25006", "25P02", "25P03"]
            .iter()
            .any(|class| code.starts_with(class)),
        _ => false,
    }
}

/// Busy, locked, read-only, I/O, disk full and cannot-open errors of SQLite.
fn may_pass(code: i32) -> bool {
    matches!(code & 0xff, 5 | 6 | 8 | 10 | 13 | 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_gets_every_cause() {
        let refused = std::io::Error::new(std::io::ErrorKind::ConnectionRefused, "nobody listens");
        let error = Error::from(sqlx::Error::Configuration(Box::new(refused)));
        let Error::Broken(why) = &error else {
            panic!("{error}")
        };
        assert!(why.contains("nobody listens"), "{why}");
        assert_eq!(why.matches("nobody listens").count(), 1, "{why}");
    }

    //= specs/spexus-store.md#errors
    //= type=test
    //# What a caller is told MUST NOT repeat the words of the database.
    #[test]
    fn the_words_of_the_database_stay_inside() {
        let inside = "relation \"item\" does not exist at postgres://kim:secret@db";
        for error in [Error::Unavailable(inside.into()), Error::Broken(inside.into())] {
            let told = error.into_refusal();
            let all = format!("{told:?}");
            assert!(!all.contains("item") && !all.contains("secret"), "{all}");
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_is_broken() {
        for passing in [5, 517, 6, 8, 10, 266, 13, 14] {
            assert!(may_pass(passing), "{passing}");
        }
        for broken in [1, 11, 19, 787, 2_067] {
            assert!(!may_pass(broken), "{broken}");
        }
        for passing in [
            "08006", "53300", "57P01", "57014", "40001", "55P03", "25P02", "25P03",
        ] {
            assert!(is_passing(Some(passing)), "{passing}");
        }
        for broken in ["23503", "42P01", "XX000"] {
            assert!(!is_passing(Some(broken)), "{broken}");
        }
        assert!(!is_passing(None));
    }
}
