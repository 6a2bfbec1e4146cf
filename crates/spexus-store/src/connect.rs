//! Connecting to a PostgreSQL server: what is agreed on with it, and what is said when it does not let us in.

use crate::error::Result;
use refusal::{Code, Refusal};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often the server looks whether anybody still listens while it works on a statement.
const CHECK_CONNECTION_MS: u64 = 1_000;

/// How long to wait before a server is asked again that refused the connection: it may be starting.
const RETRY: Duration = Duration::from_millis(200);

/// Tells the server how long a statement may take, and to stop one nobody waits for.
pub(crate) async fn agree(conn: &mut PgConnection, max_statement_ms: u64) -> sqlx::Result<()> {
    let sql = format!("SET statement_timeout = {max_statement_ms}");
    conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await?;
    // Servers before version 14, and some systems, cannot do this; there the time limit has to be enough.
    let sql = format!(
        "SELECT set_config(name, '{CHECK_CONNECTION_MS}', false) FROM pg_settings WHERE name = 'client_connection_check_interval'"
    );
    match conn.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await {
        Err(error) if !matches!(error, sqlx::Error::Database(_)) => Err(error),
        _ => Ok(()),
    }
}

/// Connects once, to learn what is wrong: a pool only says that it waited.
pub(crate) async fn try_out(options: &PgConnectOptions, wait: Duration) -> Result<()> {
    let end = Instant::now() + wait;
    loop {
        match timeout_at(end, options.connect()).await {
            Ok(Ok(conn)) => {
                // It is of no more use; whether the server hears of it does not matter.
                let _ = conn.close().await;
                return Ok(());
            }
            Ok(Err(error)) => match refused(&error, options) {
                Some(refusal) if !may_pass(&error) || Instant::now() + RETRY >= end => {
                    return Err(refusal.into());
                }
                None => return Err(error.into()),
                Some(_) => tokio::time::sleep(RETRY).await,
            },
            Err(_) => {
                let message = format!(
                    "the PostgreSQL server {} did not answer within {} ms",
                    address(options),
                    wait.as_millis()
                );
                let refusal = Refusal::new(Code::DependencyUnavailable, message);
                return Err(refusal
                    .hint("Check host, port and the way there, and whether the server runs.")
                    .into());
            }
        }
    }
}

fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(inner) => inner
            .code()
            .is_some_and(|code| code == "57P03" || code == "53300"),
        _ => false,
    }
}

/// What a person can do something about when a server does not let us in.
//= specs/spexus-store.md#errors
//# A PostgreSQL server that does not let the program in MUST be told apart by reason: not reachable, password, user, database,
//# rights, encryption.
fn refused(error: &sqlx::Error, options: &PgConnectOptions) -> Option<Refusal> {
    let (user, database) = (
        options.get_username(),
        options.get_database().unwrap_or("its default"),
    );
    let server = address(options);
    let configuration = |message: String, hint: &str| {
        Some(Refusal::field(Code::ServiceUnavailable, "database", message, "").hint(hint))
    };
    match error {
        sqlx::Error::Io(cause) => {
            let cause = match cause.kind() {
                std::io::ErrorKind::ConnectionRefused => "refused the connection".to_owned(),
                kind => format!("cannot be reached: {kind}"),
            };
            let message = format!("the PostgreSQL server {server} {cause}");
            let refusal = Refusal::new(Code::DependencyUnavailable, message);
            Some(refusal.hint("Check host and port, and whether the server runs."))
        }
        sqlx::Error::Tls(_) => configuration(
            format!("the PostgreSQL server {server} and this program do not agree on encryption"),
            "Check sslmode and sslrootcert in the URL, and the certificate of the server.",
        ),
        sqlx::Error::Database(inner) => match inner.code()?.as_ref() {
            "28P01" => configuration(
                format!("the PostgreSQL server {server} does not take the password of user {user:?}"),
                "Correct the password in the URL of the database.",
            ),
            "28000" => configuration(
                format!("the PostgreSQL server {server} does not let user {user:?} in"),
                "The role may be missing, or pg_hba.conf does not allow it from here, or not without encryption.",
            ),
            "3D000" => configuration(
                format!("the PostgreSQL server {server} has no database {database:?}"),
                "Make it with CREATE DATABASE, or correct the name in the URL.",
            ),
            "42501" => configuration(
                format!("user {user:?} may not connect to the database {database:?}"),
                "Grant it CONNECT on the database.",
            ),
            "57P03" => Some(Refusal::new(
                Code::DependencyUnavailable,
                format!("the PostgreSQL server {server} is starting or stopping"),
            )),
            "53300" => Some(
                Refusal::new(
                    Code::DependencyUnavailable,
                    format!("the PostgreSQL server {server} has no free connection"),
                )
                .hint("Raise max_connections there, or lower store.max_read_connections here."),
            ),
            _ => None,
        },
        _ => None,
    }
}

fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::postgres;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    /// A server that answers everybody with one refusal.
    async fn server_that_says(sqlstate: &'static str) -> PgConnectOptions {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = [0; 1_024];
                let _ = stream.read(&mut asked).await;
                let fields = format!("SFATAL\0VFATAL\0C{sqlstate}\0Mpassword \"hunter2\" is wrong\0\0");
                let mut answer = vec![b'E'];
                answer.extend((fields.len() as u32 + 4).to_be_bytes());
                answer.extend(fields.as_bytes());
                let _ = stream.write_all(&answer).await;
            }
        });
        postgres(&format!(
            "postgres://kim:hunter2@127.0.0.1:{port}/garden?sslmode=disable"
        ))
        .unwrap()
    }

    //= specs/spexus-store.md#errors
    //= type=test
    //# A PostgreSQL server that does not let the program in MUST be told apart by reason: not reachable, password, user, database,
    //# rights, encryption.
    #[tokio::test]
    async fn a_wrong_password_user_database_or_right_is_told_apart() {
        for (sqlstate, code, word) in [
            ("28P01", Code::ServiceUnavailable, "password of user \"kim\""),
            ("28000", Code::ServiceUnavailable, "does not let user \"kim\" in"),
            ("3D000", Code::ServiceUnavailable, "no database \"garden\""),
            ("42501", Code::ServiceUnavailable, "may not connect"),
            ("57P03", Code::DependencyUnavailable, "starting or stopping"),
            ("53300", Code::DependencyUnavailable, "no free connection"),
        ] {
            let options = server_that_says(sqlstate).await;
            let refusal = try_out(&options, Duration::from_millis(300))
                .await
                .unwrap_err()
                .into_refusal();
            assert_eq!(refusal.code, code, "{sqlstate}");
            assert!(refusal.message.contains(word), "{}", refusal.message);
            assert!(!format!("{refusal:?}").contains("hunter2"), "{refusal:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_never_answers_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://kim@{}/garden", listener.local_addr().unwrap());
        let refusal = try_out(&postgres(&url).unwrap(), Duration::from_millis(100))
            .await
            .unwrap_err()
            .into_refusal();
        assert_eq!(refusal.code, Code::DependencyUnavailable);
        assert!(
            refusal.message.contains("did not answer within 100 ms"),
            "{}",
            refusal.message
        );
    }

    #[test]
    fn what_leaves_the_machine_is_told_from_what_does_not() {
        for (url, remote) in [
            ("postgres://db.example.org/x", true),
            ("postgres://10.0.0.7:5432/x", true),
            ("postgres://localhost/x", false),
            ("postgres://127.0.0.1:5433/x", false),
            ("postgres:///x?host=/var/run/postgresql", false),
            ("sqlite:x.db", false),
        ] {
            assert_eq!(crate::Location::parse(url).unwrap().is_remote(), remote, "{url}");
        }
    }
}
